// streampool run, with programs on the newer driver.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/program.h"

#define DRIVER "LD_LIBRARY_PATH=" NEWER_DRIVER
#define ACT    DROPIN_ACT

// Runs an act, and reads what run has written as JSON.
static cJSON *act_with(struct outcome *outcome, const char *const settings[], const char *what) {
    const char *path = file_path("run.json");
    program_run(outcome, settings,
                ARGUMENTS("run", "--json", path, "--", ACT, what, UNSEEN_LIBRARY));
    char *text = file_read(path);
    assert_non_null(text);
    cJSON *json = cJSON_Parse(text);
    free(text);
    assert_non_null(json);
    return json;
}

static cJSON *act(struct outcome *outcome, const char *what) {
    return act_with(outcome, SETTINGS(DRIVER), what);
}

static void forget(struct outcome *outcome, cJSON *json) {
    cJSON_Delete(json);
    program_forget(outcome);
}

static const cJSON *process(const cJSON *json, int index) {
    const cJSON *list = cJSON_GetObjectItem(json, "processes");
    assert_true(cJSON_IsArray(list));
    return cJSON_GetArrayItem(list, index);
}

static double number(const cJSON *object, const char *field) {
    const cJSON *item = cJSON_GetObjectItem(object, field);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static double count(const cJSON *of, const char *name) {
    return number(cJSON_GetObjectItem(of, "counts"), name);
}

static const char *text(const cJSON *object, const char *field) {
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(object, field));
    assert_non_null(value);
    return value;
}

// Long lines go on in the next one, so blanks are compared as one. Copies without the others.
static void squeeze(const char *from, char *to, size_t room) {
    size_t length = 0;
    for (; *from && length < room - 1; from++) {
        bool blank = *from == ' ' || *from == '\n';
        if (!blank || length == 0 || to[length - 1] != ' ')
            to[length++] = blank ? ' ' : *from;
    }
    to[length] = '\0';
}

static void assert_words(const char *text, const char *part) {
    static char words[65536], expected[1024];
    squeeze(text, words, sizeof words);
    squeeze(part, expected, sizeof expected);
    assert_says(words, expected);
}

// -------------------------------------------------------------------------------- who served what

static void both_figures_are_told(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act(&outcome, "three_pairs");
    const cJSON *only = process(json, 0);
    const cJSON *cuda = cJSON_GetArrayItem(cJSON_GetObjectItem(only, "cuda"), 0);
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "  streampool served     3 allocations, 3 frees\n");
    assert_says(outcome.errors, "  CUDA's pools served   0 allocations, 0 frees\n");
    assert_says(outcome.errors, "  took hold             yes: CUDA's default pool had nothing\n");
    assert_says(outcome.errors, "default pool of device 0: 1.0 MiB live, ");
    assert_says(outcome.errors, "CUDA's default pool of device 0: 0 B live, 0 B reserved\n");
    assert_true(count(only, "allocations") == 3 && count(only, "frees") == 3);
    assert_true(count(only, "pool_calls") == 6 && count(only, "pool_time") > 0);
    assert_true(count(only, "start_time") > 0);
    assert_true(number(cuda, "used_high") == 0);
    assert_string_equal(text(only, "took_hold"), "yes");
    forget(&outcome, json);
}

// No word is longer here than the rest of a line but paths, which stand behind "streampool run:"
// and "driver".
static void no_line_has_more_than_80_columns(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS(DRIVER),
                ARGUMENTS("run", "--seams", DROPIN_PROGRAM, "ask2", LOOKUPS_LIST));
    const char *at = strstr(outcome.errors, "streampool run: ");
    assert_non_null(at);
    for (; *at; at += strcspn(at, "\n") + 1)
        if (!strchr(at, '/') || strchr(at, '/') > at + strcspn(at, "\n"))
            assert_true(strcspn(at, "\n") <= 80);
    assert_says(outcome.errors, "\n                        ");
    program_forget(&outcome);
}

// Each allocation came by one rule. A pool has a name, and no figure is above what bounds it.
static void figures_do_not_contradict_each_other(void **state) {
    (void)state;
    static const char *const acts[] = {"three_pairs", "workers", "fork_behind", "free_at_exit"};
    static const char *const rules[] = {
        "ReuseSameStream",  "ReuseComplete", "ReuseOrdered", "ReuseFoundComplete",
        "ReuseMadeOrdered", "Growths",       "Remaps"};
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        struct outcome outcome;
        cJSON *json = act(&outcome, acts[i]);
        const cJSON *each, *pool;
        cJSON_ArrayForEach(each, cJSON_GetObjectItem(json, "processes")) {
            const cJSON *statistics = cJSON_GetObjectItem(each, "statistics");
            double served = 0;
            if (!cJSON_IsTrue(cJSON_GetObjectItem(each, "used_pools")))
                continue;
            for (size_t k = 0; k < sizeof rules / sizeof rules[0]; k++)
                served += number(statistics, rules[k]);
            assert_true(served == count(each, "allocations"));
            assert_true(count(each, "pool_time") >= number(statistics, "GrowthTime"));
            cJSON_ArrayForEach(pool, cJSON_GetObjectItem(each, "pools")) {
                assert_true(number(pool, "used_high") <= number(pool, "reserved_high"));
                assert_says(outcome.errors, text(pool, "name"));
            }
        }
        forget(&outcome, json);
    }
}

// A pool of the host is no device's. Its place is told, and the name of a default pool has it.
static void pools_of_the_host_are_told_by_their_place(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act_with(&outcome, SETTINGS(DRIVER, "STREAMPOOL_STATS=1"), "host_pools");
    const cJSON *pool, *pools = cJSON_GetObjectItem(process(json, 0), "pools");
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "default pool of the host: 1.0 MiB live, ");
    assert_says(outcome.errors, "pool 1 of the host: 1.0 MiB live, ");
    assert_says(outcome.errors, "pool 2 of NUMA node 0: 1.0 MiB live, ");
    assert_says(outcome.errors, "\ndefault pool of the host\n");
    assert_says(outcome.errors, "\npool 1 of the host\n");
    assert_null(strstr(outcome.errors, "device -1"));
    assert_int_equal(cJSON_GetArraySize(pools), 3);
    cJSON_ArrayForEach(pool, pools) {
        const char *place = text(pool, "place");
        assert_null(cJSON_GetObjectItem(pool, "device"));
        assert_true(strcmp(place, "the host") == 0 || strcmp(place, "NUMA node 0") == 0);
    }
    forget(&outcome, json);
}

static void memory_comes_by_rules(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act(&outcome, "three_pairs");
    const cJSON *statistics = cJSON_GetObjectItem(process(json, 0), "statistics");
    assert_true(number(statistics, "Growths") == 1);
    assert_true(number(statistics, "ReuseSameStream") == 2);
    assert_says(outcome.errors, "  Growths               1 allocations for which new memory was ");
    forget(&outcome, json);
}

static void growths_are_explained_where_the_environment_asks(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json =
        act_with(&outcome, SETTINGS(DRIVER, "STREAMPOOL_EXPLAIN_GROWTH=1"), "three_pairs");
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "streampool: default pool of device 0 grew by ");
    assert_says(outcome.errors, "; for a block of 1.0 on the legacy stream; ");
    forget(&outcome, json);
}

static void what_stays_with_cuda_is_told_by_reason(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", DROPIN_PROGRAM, "ask2"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "  streampool served     11 allocations, 11 frees\n");
    assert_says(outcome.errors, "  CUDA's pools served   4 allocations, 5 frees\n");
    assert_says(outcome.errors, "  2 in streams that capture\n");
    assert_says(outcome.errors, "  2 from pools that stay CUDA's");
    assert_words(outcome.errors, "took hold             yes: but for the allocations that stay ");
    assert_says(outcome.errors, "most of a destroyed pool, of 2: 1.0 MiB live, ");
    program_forget(&outcome);
}

static void an_allocation_that_nobody_saw_is_found(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act(&outcome, "unseen");
    assert_string_equal(text(process(json, 0), "took_hold"), "partly");
    assert_words(outcome.errors, "CUDA's default pool had allocations that the drop-in didn't see");
    assert_says(outcome.errors, "CUDA's default pool of device 0: 1.0 KiB live, ");
    forget(&outcome, json);
}

static void a_library_that_refuses_to_start_is_named_as_the_reason(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json =
        act_with(&outcome, SETTINGS(DRIVER, "STREAMPOOL_DRIVER_API=10000"), "three_pairs");
    const cJSON *only = process(json, 0);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(text(only, "took_hold"), "no");
    assert_words(outcome.errors, "took hold             no: streampool couldn't start: poolError");
    assert_true(count(only, "allocations") == 0 && count(only, "cuda_unserved") == 3);
    forget(&outcome, json);
}

// ----------------------------------------------------------------------------------- the processes

static void each_worker_is_told_of(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act(&outcome, "workers");
    double sum = 0;
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "processes")), 3);
    for (int i = 0; i < 3; i++)
        sum += count(process(json, i), "allocations");
    assert_true(sum == 3);
    assert_says(outcome.errors, "1 other process made no pool call\n");
    forget(&outcome, json);
}

static void a_child_does_not_report_its_parents_calls(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act(&outcome, "fork_behind");
    const cJSON *list = cJSON_GetObjectItem(json, "processes"), *each;
    double sum = 0;
    int used = 0;
    assert_int_equal(outcome.status, 0);
    assert_int_equal(cJSON_GetArraySize(list), 2);
    cJSON_ArrayForEach(each, list) {
        sum += count(each, "allocations");
        used += cJSON_IsTrue(cJSON_GetObjectItem(each, "used_pools"));
    }
    assert_true(sum == 3);
    assert_int_equal(used, 1);
    forget(&outcome, json);
}

static void a_program_that_another_one_replaces_is_told_of(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act(&outcome, "become_another");
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, ": became another program, without a report\n");
    assert_string_equal(text(process(json, 1), "program"), "true");
    forget(&outcome, json);
}

#define APPEND(line) "echo '" line "' >> $STREAMPOOL_DROPIN_REPORT; "

// Nobody checks what comes into the file: half a line of a full disk, or another's.
static void lines_that_make_no_sense_do_no_harm(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path = file_path("lines.json");
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("run", "--seams", "--json", path, "sh", "-c",
                          APPEND("{\"event\":\"end\",\"pid\":12,\"started\":\"serv") APPEND("")
                              APPEND("[1,2]") APPEND("{\"event\":\"load\",\"pid\":1e30}")
                                  APPEND("{\"event\":\"start\",\"pid\":-5}")
                                      APPEND("{\"event\":7,\"pid\":\"x\",\"pools\":{}}")));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "streampool served nothing: ");
    char *written = file_read(path);
    cJSON *json = cJSON_Parse(written);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "processes")), 1); // the shell
    free(written);
    forget(&outcome, json);
}

static void figures_that_could_not_be_read_are_told_of(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("run", "sh", "-c",
                          APPEND("{\"event\":\"start\",\"pid\":4000000}")
                              APPEND("{\"event\":\"end\",\"pid\":4000000,\"pools\":null,"
                                     "\"statistics\":null,\"counts\":{\"allocations\":2}}")));
    assert_says(outcome.errors,
                "process 4000000\n  streampool served     2 allocations, 0 frees\n");
    assert_words(outcome.errors, "yes: but the figures of CUDA's default pool can't be read\n");
    assert_says(outcome.errors, "peaks                 unknown: the process ended inside a call");
    program_forget(&outcome);
}

// A name may have what JSON writes in another way, and bytes that are no text.
static void a_program_of_any_name_is_told_of(void **state) {
    (void)state;
    struct outcome outcome;
    const char *copy = file_path("a \"b\\\xff\tc");
    const char *path = file_path("named.json");
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "cp", ACT, copy));
    program_forget(&outcome);
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", "--json", path, copy, "three_pairs"));
    assert_says(outcome.errors, "  streampool served     3 allocations, 3 frees\n");
    char *written = file_read(path);
    cJSON *json = cJSON_Parse(written);
    assert_string_equal(text(process(json, 0), "program"), "a \"b\\\xef\xbf\xbd c");
    free(written);
    forget(&outcome, json);
}

// The inner one tells of the program, and the outer one of the inner one.
static void a_run_may_be_run(void **state) {
    (void)state;
    struct outcome outcome;
    const char *inner = file_path("inner");
    program_run(&outcome, SETTINGS(DRIVER),
                ARGUMENTS("run", STREAMPOOL_PROGRAM, "run", "--output", inner, ACT, "three_pairs"));
    char *summary = file_read(inner);
    assert_int_equal(outcome.status, 0);
    assert_says(summary, "  streampool served     3 allocations, 3 frees\n");
    assert_says(outcome.errors, "streampool served nothing: ");
    free(summary);
    program_forget(&outcome);
}

static void a_killed_process_ended_without_a_report(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act(&outcome, "die");
    assert_int_equal(outcome.status, 128 + 9);
    assert_says(outcome.errors, " was killed by signal 9 (Killed)\n");
    assert_says(outcome.errors, " (dropin_act): ended without a report");
    assert_true(number(json, "signal") == 9);
    assert_string_equal(text(process(json, 0), "took_hold"), "unknown");
    forget(&outcome, json);
}

static void a_process_that_leaves_at_once_ended_without_a_report(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act(&outcome, "leave");
    assert_int_equal(outcome.status, 5);
    assert_says(outcome.errors, ": ended without a report");
    forget(&outcome, json);
}

static void an_environment_without_the_drop_in_is_told_of(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", "env", "-i", DRIVER, ACT, "leave"));
    assert_int_equal(outcome.status, 5);
    assert_words(outcome.errors, "or started another program with another environment\n");
    program_forget(&outcome);
}

static void frees_of_exit_handlers_are_counted(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act(&outcome, "free_at_exit");
    assert_true(count(process(json, 0), "allocations") == 1);
    assert_true(count(process(json, 0), "frees") == 1);
    forget(&outcome, json);
}

static void threads_may_go_on_while_the_process_ends(void **state) {
    (void)state;
    struct outcome outcome;
    cJSON *json = act(&outcome, "threads");
    assert_int_equal(outcome.status, 0);
    assert_true(count(process(json, 0), "allocations") >= 100);
    forget(&outcome, json);
}

// ---------------------------------------------------------------------------------- nothing served

static void nothing(const char *act_name, const char *reason) {
    struct outcome outcome;
    cJSON *json = act(&outcome, act_name);
    assert_says(outcome.errors, "streampool served nothing: ");
    assert_words(outcome.errors, reason);
    assert_says(text(json, "nothing_served"), reason);
    assert_int_equal(outcome.status, 0);
    forget(&outcome, json);
}

static void a_program_without_pool_calls_is_told_of(void **state) {
    (void)state;
    nothing("only_look", "no call of CUDA's pools was made; there were ");
}

static void a_driver_that_nobody_asks_is_told_of(void **state) {
    (void)state;
    nothing("open_only", "a driver was loaded, but no look-up of its functions was seen");
}

static void a_program_without_cuda_is_told_of(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", "true"));
    assert_int_equal(outcome.status, 0);
    assert_words(outcome.errors,
                 "streampool run: true ended with status 0\n"
                 "streampool served nothing: no process loaded libcuda.so.1 and ");
    assert_string_equal(outcome.output, "");
    program_forget(&outcome);
}

// What can't be opened as a library is no driver, and stands before those of the system.
static const char *no_driver(void) {
    static char setting[600];
    file_write("libcuda.so.1", "not a library");
    snprintf(setting, sizeof setting, "LD_LIBRARY_PATH=%s", file_path(""));
    return setting;
}

static void a_machine_without_a_driver_is_told_of(void **state) {
    (void)state;
    static const char *const modes[] = {"preload", "library"};
    // A program that loads no driver, one that looks for it, one that is linked with it and doesn't
    // start, and one that ends without a report.
    static const char *const programs[] = {"true", ACT " only_look " UNSEEN_LIBRARY,
                                           DROPIN_LINKED " linked", "kill -9 $$"};
    const char *driver = no_driver();
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 4; k++) {
            struct outcome outcome;
            program_run(&outcome, SETTINGS(driver, "STREAMPOOL_DRIVER"),
                        ARGUMENTS("run", "--mode", modes[i], "sh", "-c", programs[k]));
            assert_words(outcome.errors,
                         "streampool served nothing: there is no CUDA driver on this "
                         "machine (");
            program_forget(&outcome);
        }
}

static void a_program_that_is_linked_with_the_simulated_driver_runs_on_it(void **state) {
    (void)state;
    static const char *const modes[] = {"preload", "library"};
    const char *driver = no_driver();
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        program_run(&outcome, SETTINGS(driver, "STREAMPOOL_DRIVER=sim"),
                    ARGUMENTS("run", "--mode", modes[i], DROPIN_SIMULATED));
        assert_int_equal(outcome.status, 0);
        assert_says(outcome.output, "b got the memory that a freed: yes\n");
        assert_words(outcome.errors, "streampool served nothing: ");
        program_forget(&outcome);
    }
}

#ifdef STATIC_PROGRAM
static void a_static_program_is_told_of(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", STATIC_PROGRAM));
    assert_int_equal(outcome.status, 6);
    assert_words(outcome.errors, "streampool served nothing: the drop-in was not loaded into ");
    assert_words(outcome.errors, ": it is linked statically, with libc\n");
    program_forget(&outcome);
}
#endif

// -------------------------------------------------------------------------------------- the routes

static void expect_route(const char *program, const char *way, const char *const parts[]) {
    struct outcome outcome;
    program_run(&outcome, SETTINGS(DRIVER),
                ARGUMENTS("run", "--seams", "--", program, way, LOOKUPS_LIST));
    assert_int_equal(outcome.status, 0);
    for (size_t i = 0; parts[i]; i++)
        assert_says(outcome.errors, parts[i]);
    assert_says(outcome.errors, "  driver                " NEWER_DRIVER "/libcuda.so.1\n");
    program_forget(&outcome);
}

static void each_route_is_told(void **state) {
    (void)state;
    expect_route(DROPIN_PROGRAM, "dlsym",
                 ARGUMENTS("  route                 dlsym, dlvsym: ",
                           "  asked by              the program: "));
    expect_route(DROPIN_PROGRAM, "ask1",
                 ARGUMENTS("  route                 dlsym, dlvsym: 2 look-ups, 2 answered",
                           "  route                 cuGetProcAddress: "));
    expect_route(DROPIN_PROGRAM, "ask2",
                 ARGUMENTS("  route                 cuGetProcAddress_v2: "));
    expect_route(DROPIN_PROGRAM, "runtime",
                 ARGUMENTS("  route                 cuGetProcAddress_v2: 439 look-ups, "));
    expect_route(DROPIN_LINKED, "",
                 ARGUMENTS("  route                 linked names: the program needs "));
}

static void a_route_that_was_not_used_is_not_told(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", "--seams", "--", DROPIN_LINKED));
    assert_says_not(outcome.errors, "dlsym");
    assert_says_not(outcome.errors, "cuGetProcAddress");
    program_forget(&outcome);
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", "--seams", ACT, "only_look"));
    assert_says_not(outcome.errors, "linked names");
    assert_says(outcome.errors, "  route                 dlsym, dlvsym: ");
    program_forget(&outcome);
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", ACT, "three_pairs"));
    assert_says_not(outcome.errors, "route");
    program_forget(&outcome);
}

// Names that aren't the driver's don't count.
static void look_ups_in_all_libraries_are_counted(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", "--seams", ACT, "look_in_all"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "dlsym, dlvsym: 3 look-ups, 1 answered by streampool\n");
    program_forget(&outcome);
}

// ------------------------------------------------------------------------------------- the options

// What the environment has stands before, so that the options win.
static void attributes_are_set(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS(DRIVER, "STREAMPOOL_POOL=ReleaseThreshold=1M"),
                ARGUMENTS("run", "--set", "ReleaseThreshold=64M", ACT, "tell_threshold"));
    assert_string_equal(outcome.output, "67108864\n");
    program_forget(&outcome);
    program_run(&outcome, SETTINGS(DRIVER, "STREAMPOOL_POOL=ReleaseDelay=1"),
                ARGUMENTS("run", "--set", "ReleaseThreshold=64M", "--set",
                          "ReuseAllowOpportunistic=0, RemapTimeMax=5", "sh", "-c",
                          "echo $STREAMPOOL_POOL"));
    assert_string_equal(outcome.output,
                        "ReleaseDelay=1,ReleaseThreshold=64M,"
                        "ReuseAllowOpportunistic=0, RemapTimeMax=5\n");
    program_forget(&outcome);
}

static void a_program_that_died_finishes_with_memory_of_the_host(void **state) {
    (void)state;
    struct outcome outcome;
    const char *const *settings = SETTINGS(DRIVER, "STREAMPOOL_SIMCUDA=memory=256M");
    program_run(&outcome, settings, ARGUMENTS("run", ACT, "twice_the_device"));
    assert_string_equal(outcome.output, "256 of 512\n");
    program_forget(&outcome);
    program_run(&outcome, settings,
                ARGUMENTS("run", "--set", "HostOverflowMax=256M", ACT, "twice_the_device"));
    assert_string_equal(outcome.output, "512 of 512\n");
    assert_null(strstr(outcome.errors, "ignored")); // the host's own default pool has none
    program_forget(&outcome);
}

static void bad_attributes_are_refused_before_the_program_starts(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"NoSuch=1", "no attribute has this name"},
        {"ReleaseThreshold", "it is not NAME=NUMBER"},
        {"ReleaseThreshold=much", "the value is a number"},
        {"ReleaseThreshold=1,Reaper=x", "--set 'Reaper=x': the value is a number"},
        {"", "it is not NAME=NUMBER"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct outcome outcome;
        program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "--set", bad[i][0], "echo", "started"));
        assert_int_equal(outcome.status, 64);
        assert_says(outcome.errors, bad[i][1]);
        assert_string_equal(outcome.output, "");
        program_forget(&outcome);
    }
}

static void one_trace_has_the_name_that_was_asked_for(void **state) {
    (void)state;
    struct outcome outcome;
    const char *trace = file_path("one%p.csv");
    program_run(&outcome, SETTINGS(DRIVER),
                ARGUMENTS("run", "--record", trace, ACT, "three_pairs"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "trace: ");
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--json", "-", trace));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\"live_peak_bytes\":\t1048576,");
    assert_says(outcome.output, "\"ReuseSameStream\":\t2,");
    program_forget(&outcome);
    assert_int_equal(remove(trace), 0);
}

static void threads_that_are_cancelled_leave_a_whole_trace(void **state) {
    (void)state;
    struct outcome outcome;
    const char *trace = file_path("cancelled.csv.gz");
    program_run(&outcome, SETTINGS(DRIVER),
                ARGUMENTS("run", "--record", trace, ACT, "cancelled_threads"));
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--json", "-", trace));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\"live_peak_bytes\":\t1048576,");
    program_forget(&outcome);
    assert_int_equal(remove(trace), 0);
}

static void several_traces_have_the_numbers_of_their_processes(void **state) {
    (void)state;
    struct outcome outcome;
    const char *folder = file_path("");
    const char *path = file_path("traces.json");
    char trace[600];
    snprintf(trace, sizeof trace, "%smany.csv.gz", folder);
    program_run(&outcome, SETTINGS(DRIVER),
                ARGUMENTS("run", "--record", trace, "--json", path, ACT, "workers"));
    assert_int_equal(outcome.status, 0);
    char *written = file_read(path);
    cJSON *json = cJSON_Parse(written);
    const cJSON *traces = cJSON_GetObjectItem(json, "traces"), *each;
    assert_int_equal(cJSON_GetArraySize(traces), 2);
    cJSON_ArrayForEach(each, traces) {
        char expected[600];
        size_t stem = strlen(trace) - strlen("csv.gz");
        assert_int_equal(strncmp(text(each, "file"), trace, stem), 0);
        snprintf(expected, sizeof expected, "%.*s%ld.csv.gz", (int)stem, trace,
                 atol(text(each, "file") + stem));
        assert_string_equal(text(each, "file"), expected);
        assert_int_equal(remove(text(each, "file")), 0);
    }
    free(written);
    forget(&outcome, json);
}

static void a_trace_that_can_not_be_written_is_refused(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("run", "--record", "/no/such/folder/run.csv", "echo", "started"));
    assert_int_equal(outcome.status, 125);
    assert_says(outcome.errors, "--record /no/such/folder/run.csv: No such file or directory\n");
    assert_string_equal(outcome.output, "");
    program_forget(&outcome);
}

static void the_summary_goes_to_a_file(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path = file_path("summary");
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", "--output", path, "true"));
    char *summary = file_read(path);
    assert_string_equal(outcome.errors, "");
    assert_says(summary, "streampool run: true ended with status 0\nstreampool served nothing: ");
    assert_string_equal(summary + strlen(summary) - 1, "\n");
    free(summary);
    program_forget(&outcome);
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", "--json", "-", "true"));
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.output[0], '{');
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "--output", "/no/such/file", "true"));
    assert_int_equal(outcome.status, 125);
    program_forget(&outcome);
}

// ------------------------------------------------------------------------------------- the program

static void statuses_are_the_programs(void **state) {
    (void)state;
    static const struct {
        const char *program, *argument, *what;
        int status;
    } rows[] = {
        {"sh", "-c", "exit 7", 7},
        {"sh", "-c", "kill -TERM $$", 128 + 15},
        {"/no/such/program", NULL, NULL, 127},
        {"no-such-program", NULL, NULL, 127},
        {LOOKUPS_LIST, NULL, NULL, 126},
        {"/tmp", NULL, NULL, 126},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct outcome outcome;
        program_run(&outcome, NO_SETTINGS,
                    ARGUMENTS("run", rows[i].program, rows[i].argument, rows[i].what));
        assert_int_equal(outcome.status, rows[i].status);
        program_forget(&outcome);
    }
}

static void a_program_that_is_not_found_is_named(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "/no/such/program"));
    assert_string_equal(outcome.errors,
                        "streampool: /no/such/program: No such file or directory\n");
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run"));
    assert_int_equal(outcome.status, 64);
    assert_says(outcome.errors, "there is no program to run");
    program_forget(&outcome);
}

static void a_script_may_start_the_program(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path = file_write("script", "#!/bin/sh\n" ACT " \"$@\"\nexit 3\n");
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "chmod", "700", path));
    program_forget(&outcome);
    program_run(&outcome, SETTINGS(DRIVER), ARGUMENTS("run", path, "three_pairs"));
    assert_int_equal(outcome.status, 3);
    assert_says(outcome.errors, "  streampool served     3 allocations, 3 frees\n");
    program_forget(&outcome);
}

// Options behind the program are its own, and its environment keeps what was there.
static void arguments_and_environment_are_the_programs(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "echo", "--seams", "--", "-j", "x"));
    assert_string_equal(outcome.output, "--seams -- -j x\n");
    program_forget(&outcome);
    program_run(&outcome, SETTINGS("LD_PRELOAD=libm.so.6"),
                ARGUMENTS("run", "sh", "-c", "echo $LD_PRELOAD"));
    assert_string_equal(outcome.output, DROPIN_LIBRARY ":libm.so.6\n");
    program_forget(&outcome);
}

#ifdef FORWARD_LIBRARY
static void the_library_mode_serves_too(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS(DRIVER, "STREAMPOOL_DRIVER"),
                ARGUMENTS("run", "--mode=library", "--seams", ACT, "three_pairs"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "yes: CUDA's default pool had nothing\n");
    assert_says(outcome.errors, "  route                 streampool's libcuda.so.1, in front ");
    assert_says(outcome.errors, "  streampool served     3 allocations, 3 frees\n");
    assert_says(outcome.errors, "  driver                " NEWER_DRIVER "/libcuda.so.1\n");
    program_forget(&outcome);
    program_run(&outcome, SETTINGS(DRIVER),
                ARGUMENTS("run", "--mode", "library", "sh", "-c", "echo $LD_LIBRARY_PATH"));
    assert_string_equal(outcome.output, FORWARD_LIBRARY ":" NEWER_DRIVER "\n");
    program_forget(&outcome);
}

static void both_modes_note_what_the_environment_asks_for(void **state) {
    (void)state;
    static const char *const modes[] = {"--mode=preload", "--mode=library"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        program_run(&outcome, SETTINGS(DRIVER, "STREAMPOOL_DRIVER", "STREAMPOOL_STATS=1"),
                    ARGUMENTS("run", modes[i], ACT, "three_pairs"));
        assert_int_equal(outcome.status, 0);
        assert_says(outcome.errors, "never freed: 0 blocks of 0 bytes together; ");
        program_forget(&outcome);
    }
}

// The environment may have one form already when run adds the other.
static void both_forms_make_one_report(void **state) {
    (void)state;
    static const char *const rows[][3] = {
        {"--mode=preload", "LD_PRELOAD", "STREAMPOOL_DRIVER"},
        {"--mode=preload", "LD_PRELOAD", "STREAMPOOL_DRIVER=sim"},
        {"--mode=library", "LD_PRELOAD=" DROPIN_LIBRARY, "STREAMPOOL_DRIVER"},
        {"--mode=library", "LD_PRELOAD=" DROPIN_LIBRARY, "STREAMPOOL_DRIVER=sim"},
    };
    for (size_t i = 0; i < 4; i++) {
        struct outcome outcome;
        program_run(
            &outcome,
            SETTINGS("LD_LIBRARY_PATH=" FORWARD_LIBRARY ":" NEWER_DRIVER, rows[i][1], rows[i][2]),
            ARGUMENTS("run", rows[i][0], ACT, "three_pairs"));
        assert_int_equal(outcome.status, 0);
        assert_says(outcome.errors, "  streampool served     3 allocations, 3 frees\n");
        assert_says(outcome.errors, "  CUDA's pools served   0 allocations, 0 frees\n");
        assert_null(strstr(outcome.errors, "made no pool call"));
        program_forget(&outcome);
    }
}
#endif

// A copy of the program has no libraries beside it.
static void a_drop_in_that_is_not_there_is_named(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"preload", "libstreampool_dropin.so"},
                                          {"library", "streampool/dropin/libcuda.so.1"}};
    struct outcome outcome;
    const char *copy = file_path("streampool");
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "cp", STREAMPOOL_PROGRAM, copy));
    program_forget(&outcome);
    for (size_t i = 0; i < 2; i++) {
        program_run_at(copy, &outcome, SETTINGS("LD_LIBRARY_PATH=" LIBRARY_FOLDER),
                       ARGUMENTS("run", "--mode", rows[i][0], "echo", "started"));
        assert_int_equal(outcome.status, 125);
        assert_says(outcome.errors, rows[i][1]);
        assert_says(outcome.errors, ": the drop-in is not built, or not installed\n");
        assert_string_equal(outcome.output, "");
        program_forget(&outcome);
    }
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("run", "--mode=both", "true"));
    assert_int_equal(outcome.status, 64);
    assert_says(outcome.errors, "--mode is preload or library, not 'both'");
    program_forget(&outcome);
}

static void nothing_is_left_behind(void **state) {
    (void)state;
    struct outcome outcome;
    char setting[600];
    size_t before = file_count();
    snprintf(setting, sizeof setting, "TMPDIR=%s", file_path(""));
    program_run(&outcome, SETTINGS(DRIVER, setting), ARGUMENTS("run", ACT, "three_pairs"));
    assert_int_equal(outcome.status, 0);
    assert_int_equal(file_count(), before);
    program_forget(&outcome);
    program_run(&outcome, SETTINGS("TMPDIR=/no/such/folder"), ARGUMENTS("run", "true"));
    assert_int_equal(outcome.status, 125);
    assert_says(outcome.errors, "TMPDIR: /no/such/folder: No such file or directory\n");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_figures_are_told),
        cmocka_unit_test(no_line_has_more_than_80_columns),
        cmocka_unit_test(figures_do_not_contradict_each_other),
        cmocka_unit_test(pools_of_the_host_are_told_by_their_place),
        cmocka_unit_test(memory_comes_by_rules),
        cmocka_unit_test(growths_are_explained_where_the_environment_asks),
        cmocka_unit_test(what_stays_with_cuda_is_told_by_reason),
        cmocka_unit_test(an_allocation_that_nobody_saw_is_found),
        cmocka_unit_test(a_library_that_refuses_to_start_is_named_as_the_reason),
        cmocka_unit_test(each_worker_is_told_of),
        cmocka_unit_test(a_child_does_not_report_its_parents_calls),
        cmocka_unit_test(a_program_that_another_one_replaces_is_told_of),
        cmocka_unit_test(lines_that_make_no_sense_do_no_harm),
        cmocka_unit_test(figures_that_could_not_be_read_are_told_of),
        cmocka_unit_test(a_program_of_any_name_is_told_of),
        cmocka_unit_test(a_run_may_be_run),
        cmocka_unit_test(a_killed_process_ended_without_a_report),
        cmocka_unit_test(a_process_that_leaves_at_once_ended_without_a_report),
        cmocka_unit_test(an_environment_without_the_drop_in_is_told_of),
        cmocka_unit_test(frees_of_exit_handlers_are_counted),
        cmocka_unit_test(threads_may_go_on_while_the_process_ends),
        cmocka_unit_test(a_program_without_pool_calls_is_told_of),
        cmocka_unit_test(a_driver_that_nobody_asks_is_told_of),
        cmocka_unit_test(a_program_without_cuda_is_told_of),
        cmocka_unit_test(a_machine_without_a_driver_is_told_of),
        cmocka_unit_test(a_program_that_is_linked_with_the_simulated_driver_runs_on_it),
#ifdef STATIC_PROGRAM
        cmocka_unit_test(a_static_program_is_told_of),
#endif
        cmocka_unit_test(each_route_is_told),
        cmocka_unit_test(a_route_that_was_not_used_is_not_told),
        cmocka_unit_test(look_ups_in_all_libraries_are_counted),
        cmocka_unit_test(attributes_are_set),
        cmocka_unit_test(a_program_that_died_finishes_with_memory_of_the_host),
        cmocka_unit_test(bad_attributes_are_refused_before_the_program_starts),
        cmocka_unit_test(one_trace_has_the_name_that_was_asked_for),
        cmocka_unit_test(threads_that_are_cancelled_leave_a_whole_trace),
        cmocka_unit_test(several_traces_have_the_numbers_of_their_processes),
        cmocka_unit_test(a_trace_that_can_not_be_written_is_refused),
        cmocka_unit_test(the_summary_goes_to_a_file),
        cmocka_unit_test(statuses_are_the_programs),
        cmocka_unit_test(a_program_that_is_not_found_is_named),
        cmocka_unit_test(a_script_may_start_the_program),
        cmocka_unit_test(arguments_and_environment_are_the_programs),
#ifdef FORWARD_LIBRARY
        cmocka_unit_test(the_library_mode_serves_too),
        cmocka_unit_test(both_modes_note_what_the_environment_asks_for),
        cmocka_unit_test(both_forms_make_one_report),
#endif
        cmocka_unit_test(a_drop_in_that_is_not_there_is_named),
        cmocka_unit_test(nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
