// streampool info on the simulated driver, whole, old, broken and absent.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "program.h"

static void assert_says(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

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
    assert_says(
        outcome.output,
        "  cuStreamGetId               optional  CUDA 12.0  a new stream at a destroyed one's "
        "handle can't be told apart, so every free records an event\n");
    assert_says(outcome.output, "  cuMemAllocFromPoolAsync     client    CUDA 11.2  ");
    assert_null(strstr(outcome.output, "required"));
    program_forget(&outcome);
}

static void a_device_without_virtual_memory_does_not_work(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=vmm=missing"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.output, "  virtual memory      no\n");
    assert_says(outcome.output, "  streampool          does not work: poolErrorNotSupported: ");
    assert_string_equal(outcome.errors, "streampool: the library works on none of the devices\n");
    program_forget(&outcome);
}

static void one_working_device_among_others_is_enough(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=devices=2,vmm.0=missing"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "does not work: ");
    assert_says(outcome.output, "  streampool          works\n");
    program_forget(&outcome);
}

static void sim_is_a_name_for_the_simulated_driver(void **state) {
    (void)state;
    struct outcome outcome;
    info(&outcome, SETTINGS("STREAMPOOL_DRIVER=sim"));
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "/libstreampool_simcuda.so\n");
    assert_says(outcome.output, "kind                  simulated");
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
    assert_int_equal(outcome.status, 1);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_working_device_is_shown_and_the_status_is_0),
        cmocka_unit_test(every_device_is_shown),
        cmocka_unit_test(what_a_capped_driver_lacks_is_listed_with_its_meaning),
        cmocka_unit_test(a_device_without_virtual_memory_does_not_work),
        cmocka_unit_test(one_working_device_among_others_is_enough),
        cmocka_unit_test(sim_is_a_name_for_the_simulated_driver),
        cmocka_unit_test(a_driver_that_is_not_there_is_named),
        cmocka_unit_test(a_driver_without_a_device_is_named_as_such),
        cmocka_unit_test(a_driver_older_than_10_2_is_refused_with_what_it_lacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
