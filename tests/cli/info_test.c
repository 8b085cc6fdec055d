// streampool info on the simulated driver, whole, old, broken and absent.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "program.h"

enum { NO_GPU = 3 };

static void info(struct outcome *outcome, const char *const settings[]) {
    program_run(outcome, settings, ARGUMENTS("info", "--device", "sim"));
}

static void a_working_device_is_shown_and_the_status_is_0(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=3G,granule=64K,api=12030"));
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.errors, "");
    assert_says(outcome.output, "libstreampool_simcuda.so\n");
    assert_says(outcome.output, "CUDA version          12.3\n");
    assert_says(outcome.output, "device 0 ");
    assert_says(outcome.output, "  memory              3.0 GiB\n");
    assert_says(outcome.output, "  granule             64.0 KiB\n");
    assert_says(outcome.output, "  virtual memory      yes\n");
    assert_says(outcome.output, "  streampool          works\n");
    program_forget(&outcome);
}

static void memory_of_the_host_is_shown(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=nodes=3"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output,
                "\nmemory of the host\n"
                "  pinned              works\n"
                "  for staging         works\n"
                "  managed             works\n"
                "  NUMA nodes          works on 0, 1, 2\n");
    program_forget(&outcome);
}

static void memory_of_the_host_that_is_not_mapped_works_in_one_piece(void **state) {
    (void)state;
    const char *const settings[] = {"STREAMPOOL_SIMCUDA=host_vmm=missing", "STREAMPOOL_VMM=0"};
    for (int i = 0; i < 2; i++) {
        struct outcome outcome;
        info(&outcome, SETTINGS(settings[i]));
        assert_int_equal(outcome.status, 0);
        assert_says(outcome.output,
                    "  pinned              works with cuMemHostAlloc, and maps no memory twice\n");
        assert_says(outcome.output, "  NUMA nodes          does not work: poolErrorNotSupported: ");
        program_forget(&outcome);
    }
}

static void every_device_is_shown(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=devices=3"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "device 0 ");
    assert_says(outcome.output, "device 1 ");
    assert_says(outcome.output, "device 2 ");
    assert_null(strstr(outcome.output, "device 3 "));
    program_forget(&outcome);
}

static void what_a_capped_driver_lacks_is_listed_with_its_meaning(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_DRIVER_API=10020"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "entry points up to    10.2\n");
    assert_says(outcome.output,
                "  cuStreamGetId               optional  CUDA 12.0\n"
                "    a new stream at a destroyed one's handle can't be told apart, "
                "so every free\n    records an event\n");
    assert_says(outcome.output, "  cuMemAllocFromPoolAsync     client    CUDA 11.2\n");
    assert_says(outcome.output,
                "  cuMemFreeAsync              optional  CUDA 11.2\n"
                "    poolFreeAsync takes no memory of CUDA's own, and replay");
    assert_null(strstr(outcome.output, "required"));
    program_forget(&outcome);
}

static void a_device_without_virtual_memory_works_with_plain_memory(void **state) {
    (void)state;
    const char *const settings[] = {"STREAMPOOL_SIMCUDA=vmm=missing",
                                    "STREAMPOOL_SIMCUDA=vmm=refused", "STREAMPOOL_VMM=0"};
    for (int i = 0; i < 3; i++) {
        struct outcome outcome;
        info(&outcome, SETTINGS(settings[i]));
        assert_int_equal(outcome.status, 0);
        assert_says(outcome.output,
                    i == 0 ? "  virtual memory      no\n" : "  virtual memory      yes\n");
        assert_says(outcome.output,
                    "  streampool          works with cuMemAlloc, and maps no memory twice\n");
        program_forget(&outcome);
    }
}

// A device that has no room for a granule is none to work with.
static void one_working_device_among_others_is_enough(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=devices=2,memory.0=1M"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "does not work: poolErrorMemoryAllocation: ");
    assert_says(outcome.output, "  streampool          works\n");
    program_forget(&outcome);
    info(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=1M"));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.errors, "streampool: the library works on none of the devices\n");
    program_forget(&outcome);
}

static void sim_is_a_name_for_the_simulated_driver(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_DRIVER=sim"));
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "/libstreampool_simcuda.so\n");
    assert_says(outcome.output,
                "kind                  simulated: no GPU, times by a model of an H200\n");
    assert_says(outcome.output, "  streampool          works\n");
    program_forget(&outcome);

    program_run(&outcome, SETTINGS("STREAMPOOL_DRIVER=sim"), ARGUMENTS("info"));
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
}

static void a_driver_that_is_not_there_is_named(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_DRIVER=/nonexistent"), ARGUMENTS("info"));
    assert_int_equal(outcome.status, NO_GPU);
    assert_string_equal(outcome.output, "");
    assert_memory_equal(outcome.errors, "streampool: ", strlen("streampool: "));
    assert_says(outcome.errors, "/nonexistent");
    program_forget(&outcome);
}

static void a_driver_without_a_device_is_named_as_such(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=devices=0"));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.output, "");
    assert_says(outcome.errors, "CUDA_ERROR_NO_DEVICE");
    program_forget(&outcome);
}

static void a_driver_older_than_10_2_is_refused_with_what_it_lacks(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_DRIVER_API=10010"));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.output, "");
    assert_says(outcome.errors, "cuMemCreate");
    assert_says(outcome.errors, "cuMemSetAccess");
    program_forget(&outcome);
}

// A simulation that fails was asked for: no GPU would have helped.
static void without_a_gpu_the_status_is_3_unless_a_simulation_was_asked_for(void **state) {
    (void)state;
    static const struct {
        const char *device;
        const char *driver;
        int status;
    } cases[] = {
        {"gpu", "STREAMPOOL_DRIVER=sim", NO_GPU},
        {"gpu", "STREAMPOOL_DRIVER=/nonexistent", NO_GPU},
        {"auto", "STREAMPOOL_DRIVER=/nonexistent", NO_GPU},
        {"auto", "STREAMPOOL_DRIVER=sim", 1},
        {"auto", "STREAMPOOL_DRIVER=" STREAMPOOL_SIMULATED, 1},
        {"sim", "STREAMPOOL_DRIVER=/nonexistent", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct outcome outcome;
        program_run(&outcome, SETTINGS(cases[i].driver, "STREAMPOOL_SIMCUDA=devices=0"),
                    ARGUMENTS("info", "--device", cases[i].device));
        if (outcome.status != cases[i].status)
            fail_msg("--device %s, %s: status %d", cases[i].device, cases[i].driver,
                     outcome.status);
        assert_string_equal(outcome.output, "");
        program_forget(&outcome);
    }
}

// -------------------------------------------------------------------------------------------- JSON

static cJSON *json_of(const char *const settings[]) {
    struct outcome outcome;
    program_run(&outcome, settings, ARGUMENTS("info", "--device", "sim", "--json", "-"));
    cJSON *object = cJSON_Parse(outcome.output);
    if (!object)
        fail_msg("no JSON: %s%s", outcome.output, outcome.errors);
    program_forget(&outcome);
    return object;
}

static const cJSON *at(const cJSON *object, const char *key) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!value)
        fail_msg("no key %s", key);
    return value;
}

static void assert_text(const cJSON *object, const char *key, const char *text) {
    assert_string_equal(cJSON_GetStringValue(at(object, key)), text);
}

static void assert_flag(const cJSON *object, const char *key, int flag) {
    assert_true(cJSON_IsBool(at(object, key)));
    assert_int_equal(cJSON_IsTrue(at(object, key)), flag);
}

static void the_facts_are_had_as_json(void **state) {
    (void)state;
    cJSON *object =
        json_of(SETTINGS("STREAMPOOL_SIMCUDA=devices=2,memory.1=3G,granule=64K,api=12030"));
    assert_text(object, "streampool", STREAMPOOL_VERSION);
    assert_text(object, "cuda_version", "12.3");
    assert_text(object, "entry_points_up_to", "12.3");
    assert_says(cJSON_GetStringValue(at(object, "driver")), "libstreampool_simcuda.so");
    assert_flag(object, "simulated", 1);
    assert_int_equal(cJSON_GetArraySize(at(object, "devices")), 2);
    const cJSON *device = cJSON_GetArrayItem(at(object, "devices"), 1);
    assert_int_equal(at(device, "ordinal")->valueint, 1);
    assert_text(device, "name", "Simulated GPU");
    assert_true(at(device, "memory_bytes")->valuedouble == (double)(3ull << 30));
    assert_true(at(device, "free_memory_bytes")->valuedouble == (double)(3ull << 30));
    assert_true(at(device, "granule_bytes")->valuedouble == 65536);
    assert_text(device, "compute_capability", "9.0");
    assert_flag(device, "virtual_memory", 1);
    assert_flag(device, "file_descriptors", 1);
    assert_flag(device, "cuda_pools", 0);
    assert_flag(device, "works", 1);
    assert_flag(device, "maps", 1);
    assert_null(cJSON_GetObjectItemCaseSensitive(device, "problem"));
    cJSON_Delete(object);
}

static void memory_of_the_host_stands_in_json(void **state) {
    (void)state;
    cJSON *object = json_of(SETTINGS("STREAMPOOL_SIMCUDA=nodes=2"));
    const cJSON *host = at(object, "host");
    assert_flag(at(host, "pinned"), "works", 1);
    assert_flag(at(host, "pinned"), "maps", 1);
    assert_flag(at(host, "staging"), "works", 1);
    assert_flag(at(host, "staging"), "maps", 0);
    assert_flag(at(host, "managed"), "works", 1);
    assert_flag(at(host, "managed"), "maps", 0);
    assert_int_equal(cJSON_GetArraySize(at(host, "nodes")), 2);
    assert_int_equal(cJSON_GetArrayItem(at(host, "nodes"), 1)->valueint, 1);
    cJSON_Delete(object);
    object = json_of(SETTINGS("STREAMPOOL_SIMCUDA=host_vmm=missing,host_memory=1M"));
    host = at(object, "host");
    assert_flag(at(host, "pinned"), "works", 0);
    assert_says(cJSON_GetStringValue(at(at(host, "pinned"), "problem")),
                "poolErrorMemoryAllocation: ");
    assert_int_equal(cJSON_GetArraySize(at(host, "nodes")), 0);
    cJSON_Delete(object);
}

static void plain_memory_stands_in_json(void **state) {
    (void)state;
    cJSON *object = json_of(SETTINGS("STREAMPOOL_SIMCUDA=vmm=missing"));
    const cJSON *device = cJSON_GetArrayItem(at(object, "devices"), 0);
    assert_flag(device, "virtual_memory", 0);
    assert_flag(device, "works", 1);
    assert_flag(device, "maps", 0);
    cJSON_Delete(object);
}

static void what_is_missing_and_what_does_not_work_stands_in_json(void **state) {
    (void)state;
    cJSON *object =
        json_of(SETTINGS("STREAMPOOL_SIMCUDA=memory=1M", "STREAMPOOL_DRIVER_API=10020"));
    const cJSON *device = cJSON_GetArrayItem(at(object, "devices"), 0), *missing;
    assert_flag(device, "works", 0);
    assert_says(cJSON_GetStringValue(at(device, "problem")), "poolErrorMemoryAllocation: ");
    assert_text(object, "entry_points_up_to", "10.2");
    int found = 0;
    cJSON_ArrayForEach(missing, at(object, "missing_entry_points")) {
        if (strcmp(cJSON_GetStringValue(at(missing, "name")), "cuStreamGetId") != 0)
            continue;
        found++;
        assert_text(missing, "need", "optional");
        assert_text(missing, "cuda_version", "12.0");
        assert_says(cJSON_GetStringValue(at(missing, "meaning")), "every free records an event");
    }
    assert_int_equal(found, 1);
    cJSON_Delete(object);
}

static void json_in_a_file_stands_beside_the_text(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path = file_path("info.json");
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("info", "--device", "sim", "--json", path));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "  streampool          works\n");
    char *text = file_read(path);
    cJSON *object = cJSON_Parse(text);
    assert_flag(object, "simulated", 1);
    cJSON_Delete(object);
    free(text);
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("info", "--device", "sim", "--json", "/dev/full"));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.errors, "streampool: /dev/full: No space left on device\n");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_working_device_is_shown_and_the_status_is_0),
        cmocka_unit_test(every_device_is_shown),
        cmocka_unit_test(memory_of_the_host_is_shown),
        cmocka_unit_test(memory_of_the_host_that_is_not_mapped_works_in_one_piece),
        cmocka_unit_test(what_a_capped_driver_lacks_is_listed_with_its_meaning),
        cmocka_unit_test(a_device_without_virtual_memory_works_with_plain_memory),
        cmocka_unit_test(one_working_device_among_others_is_enough),
        cmocka_unit_test(sim_is_a_name_for_the_simulated_driver),
        cmocka_unit_test(a_driver_that_is_not_there_is_named),
        cmocka_unit_test(a_driver_without_a_device_is_named_as_such),
        cmocka_unit_test(a_driver_older_than_10_2_is_refused_with_what_it_lacks),
        cmocka_unit_test(without_a_gpu_the_status_is_3_unless_a_simulation_was_asked_for),
        cmocka_unit_test(the_facts_are_had_as_json),
        cmocka_unit_test(memory_of_the_host_stands_in_json),
        cmocka_unit_test(plain_memory_stands_in_json),
        cmocka_unit_test(what_is_missing_and_what_does_not_work_stands_in_json),
        cmocka_unit_test(json_in_a_file_stands_beside_the_text),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
