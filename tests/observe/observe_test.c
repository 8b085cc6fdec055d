// What the library tells about a process whose environment asks for it. The processes are those of
// observed.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <streampool/lists.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/program.h"
#include "random/numbers.h"

// What the processes are told. Each test takes some of it away.
#define STATS  "STREAMPOOL_STATS=1"
#define LEAKS  "STREAMPOOL_LEAKS=1"
#define STACKS "STREAMPOOL_STACKS=8"

static struct outcome outcome;

static void observe(const char *scenario, const char *const settings[]) {
    program_run(&outcome, settings, ARGUMENTS(scenario));
    if (outcome.status != 0)
        fputs(outcome.errors, stderr);
    assert_int_equal(outcome.status, 0);
}

// A setting with a path behind it.
static const char *setting(const char *name, const char *path) {
    static char text[1024];
    snprintf(text, sizeof text, "%s%s%s", name, strchr(name, '=') ? "" : "=", path);
    return text;
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

#define assert_has(text, part)    assert_non_null(strstr(text, part))
#define assert_has_no(text, part) assert_null(strstr(text, part))

static int forget(void **state) {
    (void)state;
    program_forget(&outcome);
    outcome = (struct outcome){0}; // a test may run nothing
    return 0;
}

// ---------------------------------------------------------------------------- statistics and leaks

static void a_process_that_asks_for_nothing_prints_nothing(void **state) {
    (void)state;
    observe("leak", NO_SETTINGS);
    assert_string_equal(outcome.errors, "");
}

static void a_process_that_used_no_pool_prints_nothing(void **state) {
    (void)state;
    observe("nothing", SETTINGS(STATS, LEAKS));
    assert_string_equal(outcome.errors, "");
}

static void the_summary_has_peaks_rules_and_what_was_never_freed(void **state) {
    (void)state;
    observe("leak", SETTINGS(STATS));
    assert_has(outcome.errors, "default pool ");
    assert_has(outcome.errors, "used: 2.00 MiB now, 6.00 MiB at most");
    assert_has(outcome.errors, "driver time: growth ");
    assert_has(outcome.errors,
               "3  Growths: allocations for which new memory was mapped, and none a second time");
    assert_has(outcome.errors,
               "never freed: 2 blocks of 2.00 MiB together; 6.00 MiB at most at once");
    assert_has_no(outcome.errors, "1000 bytes");
}

static void leaks_are_listed_with_size_and_stream_largest_first(void **state) {
    (void)state;
    observe("leak", SETTINGS(LEAKS));
    const char *large = strstr(outcome.errors, ": 2097152 bytes, stream ");
    const char *small = strstr(outcome.errors, ": 1000 bytes, stream ");
    assert_non_null(large);
    assert_non_null(small);
    assert_true(large < small);
    assert_int_equal(count_of(outcome.errors, " bytes, stream "), 2);
    assert_has_no(outcome.errors, "default pool ");
    assert_has_no(outcome.errors, "    at ");
}

static void leaks_have_the_stack_that_was_asked_for(void **state) {
    (void)state;
    observe("leak", SETTINGS(LEAKS, "STREAMPOOL_STACKS=2"));
    assert_int_equal(count_of(outcome.errors, "    at "), 4);
    assert_has(outcome.errors, "streampool_observed");
    assert_has_no(outcome.errors, "libstreampool.so");
}

static void leaks_of_one_stack_are_told_together_the_largest_sum_first(void **state) {
    (void)state;
    observe("leak-by-stacks", SETTINGS(LEAKS, "STREAMPOOL_STACKS=2"));
    const char *more =
        strstr(outcome.errors, "  2 blocks, 3145728 bytes together; the largest is 0x");
    const char *one = strstr(outcome.errors, ": 2621440 bytes, the legacy stream, thread ");
    const char *small =
        strstr(outcome.errors, "  4 blocks, 2097152 bytes together; the largest is 0x");
    const char *last = strstr(outcome.errors, ": 1000 bytes, a per-thread default stream, thread ");
    assert_true(more && one && small && last);
    assert_true(more < one && one < small && small < last);
    assert_has(more, ": 2097152 bytes, stream ");
    assert_int_equal(count_of(outcome.errors, "    at "), 8);
    program_forget(&outcome);
    observe("leak-by-stacks", SETTINGS(LEAKS)); // with no stack each block stands alone
    assert_int_equal(count_of(outcome.errors, " bytes, "), 8);
    assert_has_no(outcome.errors, "together; the largest");
}

static void a_number_of_frames_that_makes_no_sense_is_named_and_ignored(void **state) {
    (void)state;
    observe("leak", SETTINGS(LEAKS, "STREAMPOOL_STACKS=65"));
    assert_has(outcome.errors, "STREAMPOOL_STACKS=65 is ignored");
    assert_has_no(outcome.errors, "    at ");
    program_forget(&outcome);
    observe("leak", SETTINGS(LEAKS, "STREAMPOOL_STACKS=-1"));
    assert_has(outcome.errors, "STREAMPOOL_STACKS=-1 is ignored");
}

static void what_a_handler_of_atexit_frees_counts_as_freed(void **state) {
    (void)state;
    observe("free-late", SETTINGS(STATS, LEAKS));
    assert_has(outcome.errors, "never freed: 0 blocks");
}

static void a_forked_child_writes_nothing(void **state) {
    (void)state;
    const char *trace = file_path("fork.csv");
    observe("fork", SETTINGS(STATS, LEAKS, setting("STREAMPOOL_TRACE", trace)));
    assert_int_equal(count_of(outcome.errors, "summary of process"), 1);
    assert_has(outcome.errors, "never freed: 0 blocks");
    char *text = file_read(trace);
    assert_int_equal(count_of(text, ",free,"), 1);
    assert_int_equal(count_of(text, "Thread,"), 1);
    free(text);
}

static void a_free_that_failed_leaves_the_block_live(void **state) {
    (void)state;
    const char *trace = file_path("fail.csv");
    observe("fail", SETTINGS(STATS, setting("STREAMPOOL_TRACE", trace)));
    assert_has(outcome.errors, "never freed: 1 block of 1.00 MiB");
    char *text = file_read(trace);
    assert_int_equal(count_of(text, ",allocate,"), 1);
    assert_int_equal(count_of(text, ",allocate failure,0x0,1125899906842624,"), 1);
    assert_int_equal(count_of(text, ",free"), 0);
    free(text);
}

static void destroyed_pools_are_in_a_sum(void **state) {
    (void)state;
    observe("destroy-pools", SETTINGS(STATS));
    assert_has(outcome.errors, "3 destroyed pools");
    assert_has(outcome.errors, "used: 8.00 MiB at most in one of them");
    assert_has(outcome.errors, "3  Growths:");
}

static void a_pool_that_gave_all_back_is_in_the_summary(void **state) {
    (void)state;
    observe("act", SETTINGS(STATS));
    assert_has(outcome.errors, "reserved: 0 bytes now, ");
}

static void a_pool_prints_its_statistics_when_asked(void **state) {
    (void)state;
    observe("print", NO_SETTINGS);
    assert_has(outcome.output, "default pool ");
    assert_has(outcome.output, "used: 0 bytes now, 1.00 MiB at most");
    assert_has(outcome.output, "1  ReuseSameStream: ");
    assert_has_no(outcome.output, "Failures");
}

// A time is told once, in units.
static void the_time_in_the_driver_is_told_once(void **state) {
    (void)state;
    observe("leak", SETTINGS(STATS));
    assert_int_equal(count_of(outcome.errors, "driver time: growth "), 1);
    assert_has_no(outcome.errors, "remapping 0");
    assert_has_no(outcome.errors, "Time: ");
}

// ------------------------------------------------------------------------------------------- names

static void pools_are_told_of_by_their_names(void **state) {
    (void)state;
    observe("name-pools", SETTINGS(STATS, "STREAMPOOL_EXPLAIN_GROWTH=1"));
    static const char *const names[] = {"cache", "a \"b\" \\ c", "K\xc3\xa4se", "pool 4"};
    for (size_t i = 0; i < 4; i++) {
        char text[128];
        snprintf(text, sizeof text, "\n%s of device 0\n", names[i]);
        assert_has(outcome.errors, text);
        snprintf(text, sizeof text, "streampool: %s grew by 4.0 MiB ", names[i]);
        assert_has(outcome.errors, text);
    }
}

static void a_pool_of_the_host_is_told_of_by_its_place(void **state) {
    (void)state;
    observe("pool-of-host", SETTINGS(STATS));
    assert_has(outcome.errors, "\npool 1 of the host\n");
}

static void settings_reach_pools_of_a_name(void **state) {
    (void)state;
    observe("name-pools", SETTINGS("STREAMPOOL_POOL=ReleaseDelay=9,cache:ReleaseThreshold=1M,"
                                   "pool 4:ReleaseDelay=2,pool 1:ReleaseDelay=3,K\xc3\xa4se:"
                                   "ReleaseThreshold=max,cache:Nothing=1"));
    assert_string_equal(outcome.output, "1048576 3\n0 0\n18446744073709551615 0\n0 2\n");
    assert_has(outcome.errors, "'cache:Nothing=1' is ignored: no attribute has this name");
    assert_int_equal(count_of(outcome.errors, "ignored"), 1);
}

static void a_setting_for_a_name_that_no_pool_had_is_told(void **state) {
    (void)state;
    observe("name-pools", SETTINGS(STATS,
                                   "STREAMPOOL_POOL=cache:ReleaseDelay=1,cahce:ReleaseDelay=1,"
                                   "default pool of device 0:ReleaseDelay=1"));
    assert_has(outcome.errors, "'cahce:ReleaseDelay=1' is ignored: no pool had this name");
    assert_int_equal(count_of(outcome.errors, "ignored"), 1);
}

// -------------------------------------------------------------------------------------------- JSON

static double number(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static const char *text_of(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    assert_non_null(text);
    return text;
}

static cJSON *parse(const char *text) {
    const char *end = NULL;
    cJSON *json = text ? cJSON_ParseWithOpts(text, &end, true) : NULL;
    assert_non_null(json);
    return json;
}

static cJSON *read_json(const char *path) {
    char *text = file_read(path);
    cJSON *json = parse(text);
    free(text);
    return json;
}

static const cJSON *pool_at(const cJSON *json, int index) {
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(json, "pools"), index);
}

// No figure contradicts another one.
static void require_relations(const cJSON *pool) {
    const cJSON *counts = cJSON_GetObjectItemCaseSensitive(pool, "statistics");
    bool is_there = cJSON_HasObjectItem(pool, "gauges");
    assert_true(number(pool, "used_high_bytes") <= number(pool, "reserved_high_bytes"));
    assert_true(number(counts, "GrowthsAfterTrim") <= number(counts, "Growths"));
    assert_true(number(counts, "KeptViewsUsed") <= number(counts, "Remaps"));
    assert_true((number(counts, "GrowthTime") > 0) >= (number(counts, "Growths") > 0));
    if (!is_there)
        return;
    const cJSON *gauges = cJSON_GetObjectItemCaseSensitive(pool, "gauges");
    double reserved = number(pool, "reserved_bytes"), used = number(pool, "used_bytes");
    assert_true(reserved <= number(pool, "reserved_high_bytes"));
    assert_true(used <= number(pool, "used_high_bytes") && used <= reserved);
    assert_true(number(gauges, "PinnedBytes") <= reserved - used);
    assert_true(number(gauges, "PendingBytes") <= reserved - used);
    assert_true(number(gauges, "LargestFree") <= reserved - used);
    assert_true(number(gauges, "LargestFree") <= number(gauges, "LargestRemapped"));
    assert_true((number(gauges, "Extents") > 0) == (reserved > 0));
}

static void require_all_relations(const cJSON *json) {
    const cJSON *pools = cJSON_GetObjectItemCaseSensitive(json, "pools"), *pool;
    const cJSON *live = cJSON_GetObjectItemCaseSensitive(json, "not_freed");
    double used = 0;
    assert_true(cJSON_IsArray(pools));
    cJSON_ArrayForEach(pool, pools) {
        require_relations(pool);
        used += cJSON_HasObjectItem(pool, "used_bytes") ? number(pool, "used_bytes") : 0;
    }
    assert_true(number(live, "bytes") <= number(live, "bytes_high"));
    assert_true(used <= number(live, "bytes")); // what destroyed pools left is live, too
    assert_true((number(live, "blocks") > 0) == (number(live, "bytes") > 0));
}

static void json_has_every_figure_of_every_pool(void **state) {
    (void)state;
    const char *path = file_path("named.json");
    observe("name-pools", SETTINGS(setting("STREAMPOOL_STATS=json:", path)));
    assert_string_equal(outcome.errors, "");
    static const char *const names[] = {"cache", "a \"b\" \\ c", "K\xc3\xa4se", "pool 4"};
    cJSON *json = read_json(path);
    assert_string_equal(text_of(json, "when"), "end");
    for (int i = 0; i < 4; i++) {
        const cJSON *pool = pool_at(json, i);
        const cJSON *statistics = cJSON_GetObjectItemCaseSensitive(pool, "statistics");
        const cJSON *gauges = cJSON_GetObjectItemCaseSensitive(pool, "gauges");
        assert_string_equal(text_of(pool, "name"), names[i]);
        assert_string_equal(text_of(pool, "kind"), "other");
        assert_string_equal(text_of(pool, "place"), "device 0");
        assert_true(number(pool, "device") == 0);
        assert_true(number(pool, "used_high_bytes") == (i + 1) << 20);
#define IS_THERE(name, number_, text) number(object, #name);
        const cJSON *object = statistics;
        STREAMPOOL_POOL_STATISTICS(IS_THERE)
        object = gauges;
        STREAMPOOL_POOL_GAUGES(IS_THERE)
#undef IS_THERE
        assert_true(number(statistics, "Growths") == 1);
    }
    assert_null(pool_at(json, 4));
    require_all_relations(json);
    cJSON_Delete(json);
}

// It has a place, and no device.
static void json_has_the_place_of_a_pool_of_the_host(void **state) {
    (void)state;
    const char *path = file_path("host.json");
    observe("pool-of-host", SETTINGS(setting("STREAMPOOL_STATS=json:", path)));
    cJSON *json = read_json(path);
    assert_string_equal(text_of(pool_at(json, 0), "place"), "the host");
    assert_false(cJSON_HasObjectItem(pool_at(json, 0), "device"));
    cJSON_Delete(json);
}

static void a_pool_of_the_host_has_its_name_and_no_device(void **state) {
    (void)state;
    const char *path = file_path("host.json");
    observe("host-pool", SETTINGS(setting("STREAMPOOL_STATS=json:", path),
                                  "STREAMPOOL_POOL=default pool of the host:ReleaseDelay=1"));
    assert_string_equal(outcome.errors, "");
    cJSON *json = read_json(path);
    const cJSON *pool = pool_at(json, 0);
    assert_string_equal(text_of(pool, "name"), "default pool of the host");
    assert_false(cJSON_HasObjectItem(pool, "device"));
    assert_null(pool_at(json, 1));
    cJSON_Delete(json);
}

// Programs that were drawn, on each kind of driver, and those above.
static void no_figure_contradicts_another(void **state) {
    (void)state;
    static const char *const drivers[] = {"STREAMPOOL_VMM=1", "STREAMPOOL_VMM=0",
                                          "STREAMPOOL_DRIVER_API=10020"};
    static const char *const scenarios[] = {
        "leak", "free-late",      "fail",          "destroy-pools",   "leak-by-stacks",
        "act",  "observe-growth", "renew-streams", "default-streams", "end-threads",
        "much", "end-streams",    "threads"};
    const size_t fixed = sizeof scenarios / sizeof scenarios[0];
    const char *path = file_path("drawn.json");
    for (size_t i = 0; i < fixed + 30; i++) {
        char seed[16];
        snprintf(seed, sizeof seed, "%zu", i);
        program_run_at(i < fixed ? STREAMPOOL_PROGRAM : STREAMPOOL_LEAVING, &outcome,
                       SETTINGS(setting("STREAMPOOL_STATS=json:", path), drivers[i % 3]),
                       ARGUMENTS(i < fixed ? scenarios[i] : seed));
        assert_int_equal(outcome.status, 0);
        cJSON *json = read_json(path);
        require_all_relations(json);
        cJSON_Delete(json);
        program_forget(&outcome);
    }
    outcome = (struct outcome){0};
}

static void json_goes_to_standard_output_behind_the_programs_own(void **state) {
    (void)state;
    observe("attributes", SETTINGS("STREAMPOOL_STATS=json:-"));
    assert_int_equal(strncmp(outcome.output, "0 0 1\n{", 7), 0);
    cJSON *json = parse(outcome.output + 6);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(json, "pools")), 0);
    cJSON_Delete(json);
}

static void json_and_leaks_go_where_each_belongs(void **state) {
    (void)state;
    const char *path = file_path("leak.json");
    observe("leak", SETTINGS(setting("STREAMPOOL_STATS=json:", path), LEAKS));
    assert_has(outcome.errors, "never freed: 2 blocks of ");
    assert_has_no(outcome.errors, "summary of");
    cJSON *json = read_json(path);
    const cJSON *live = cJSON_GetObjectItemCaseSensitive(json, "not_freed");
    assert_true(number(live, "blocks") == 2 && number(live, "bytes") == 2098152);
    require_all_relations(json);
    cJSON_Delete(json);
}

static void the_file_replaces_an_older_one_and_leaves_nothing_beside(void **state) {
    (void)state;
    size_t before = file_count();
    for (int i = 0; i < 2; i++) { // a file for each process
        observe("leak", SETTINGS(setting("STREAMPOOL_STATS=json:", file_path("a%p.json"))));
        program_forget(&outcome);
    }
    assert_int_equal(file_count(), before + 2);
    const char *path = file_write("b.json", "what was there before");
    observe("leak", SETTINGS(setting("STREAMPOOL_STATS=json:", path)));
    cJSON_Delete(read_json(path));
    assert_int_equal(file_count(), before + 3);
}

static void a_file_that_cannot_be_written_is_named_and_what_was_there_stays(void **state) {
    (void)state;
    observe("leak", SETTINGS("STREAMPOOL_STATS=json:/no/such/folder/x.json"));
    assert_has(outcome.errors, "streampool: /no/such/folder/x.json");
    assert_has(outcome.errors, " can't be written: No such file or directory");
    program_forget(&outcome);
    const char *target = file_write("target.txt", "kept"), *link = file_path("link.json");
    assert_int_equal(symlink(target, link), 0);
    observe("leak", SETTINGS(setting("STREAMPOOL_STATS=json:", link)));
    assert_has(outcome.errors, "it is a symbolic link, which is not followed");
    char *text = file_read(target);
    assert_string_equal(text, "kept");
    free(text);
    program_forget(&outcome);
    observe("leak", SETTINGS("STREAMPOOL_STATS=json:/dev/full"));
    assert_has(outcome.errors, "streampool: /dev/full can't be written: No space left on device");
}

// ----------------------------------------------------------------------------------------- signals

#define SIGNAL "STREAMPOOL_STATS_SIGNAL=1"

static void a_signal_has_the_figures_written_while_the_program_runs(void **state) {
    (void)state;
    char own[700];
    const char *path = file_path("asked.json");
    snprintf(own, sizeof own, "OBSERVED_FILE=%s", path);
    observe("ask", SETTINGS(setting("STREAMPOOL_STATS=json:", path), SIGNAL, own));
    assert_string_equal(outcome.errors, "");
    cJSON *json = read_json(path); // that of the end
    assert_string_equal(text_of(json, "when"), "end");
    assert_true(number(pool_at(json, 0), "used_bytes") == 0);
    cJSON_Delete(json);
}

static void a_signal_right_before_the_end_has_its_figures(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        observe("ask-last", SETTINGS(SIGNAL));
        assert_int_equal(count_of(outcome.errors, "summary of process"), 1);
        program_forget(&outcome);
    }
    outcome = (struct outcome){0};
}

static void a_childs_signal_does_nothing(void **state) {
    (void)state;
    char own[700];
    const char *path = file_path("child.json");
    snprintf(own, sizeof own, "OBSERVED_FILE=%s", path);
    observe("ask-in-child", SETTINGS(setting("STREAMPOOL_STATS=json:", path), SIGNAL, own));
    assert_string_equal(outcome.errors, "");
}

static void a_handler_of_the_programs_stays(void **state) {
    (void)state;
    observe("own-handler", SETTINGS(STATS, SIGNAL));
    assert_has(outcome.errors, "STREAMPOOL_STATS_SIGNAL is ignored: the program has a handler");
    assert_int_equal(count_of(outcome.errors, "summary of process"), 1);
    program_forget(&outcome);
    observe("later-handler", SETTINGS(STATS, SIGNAL));
    assert_int_equal(count_of(outcome.errors, "summary of process"), 1);
    assert_has_no(outcome.errors, "ignored");
}

static void without_the_option_the_signal_is_the_programs(void **state) {
    (void)state;
    program_run(&outcome, SETTINGS(STATS), ARGUMENTS("ask"));
    assert_int_equal(outcome.status, -1);
}

static void threads_go_on_while_the_figures_are_written(void **state) {
    (void)state;
    observe("play-and-ask", SETTINGS(SIGNAL)); // text, and none at the end
    assert_true(count_of(outcome.errors, "summary of process") >= 1);
    assert_int_equal(count_of(outcome.errors, "not freed yet: "),
                     count_of(outcome.errors, "summary of process"));
    assert_has_no(outcome.errors, "never freed");
}

// ----------------------------------------------------------------------------------------
// attributes

static void settings_reach_the_default_pool(void **state) {
    (void)state;
    observe("attributes",
            SETTINGS("STREAMPOOL_POOL= releasethreshold = max,,poolMemPoolAttrReleaseDelay=3 ,"
                     "ReuseFollowEventDependencies=0"));
    assert_string_equal(outcome.output, "18446744073709551615 3 0\n");
    assert_string_equal(outcome.errors, "");
}

static void a_bad_setting_is_named_and_the_others_are_made(void **state) {
    (void)state;
    observe("attributes",
            SETTINGS("STREAMPOOL_POOL=ReleaseThreshold=1M,Threshold=1,ReleaseDelay=two,"
                     "Defragmentation=9,UsedMemCurrent=1,ReuseFollowEventDependencies=3000000000,"
                     "nothing"));
    assert_string_equal(outcome.output, "1048576 0 1\n");
    assert_has(outcome.errors, "'Threshold=1' is ignored: no attribute has this name");
    assert_has(outcome.errors, "'ReleaseDelay=two' is ignored: the value is a number");
    assert_has(outcome.errors,
               "'Defragmentation=9' is ignored: poolMemPoolAttrDefragmentation can't be 9");
    assert_has(outcome.errors, "'UsedMemCurrent=1' is ignored: ");
    assert_has(outcome.errors, "'ReuseFollowEventDependencies=3000000000' is ignored: the value");
    assert_has(outcome.errors, "'nothing' is ignored: it is not NAME=NUMBER");
    assert_int_equal(count_of(outcome.errors, "ignored"), 6);
}

// ---------------------------------------------------------------------------------------------
// traces

// Copies a trace without its threads and times, and with streams by the letters a, b, ... and
// pointers by the letters A, B, ... in the order of their first line.
static void reduce(const char *text, char *reduced, size_t room) {
    char names[2][26][32];
    size_t known[2] = {0}, length = 0;
    const char *line = strchr(text, '\n') + 1;
    for (; *line; line = strchr(line, '\n') + 1) {
        char action[32], word[2][32];
        unsigned long long size;
        assert_int_equal(sscanf(line, "%*[^,],%*[^,],%31[^,],%31[^,],%llu,%31[^\n]", action,
                                word[0], &size, word[1]),
                         4);
        char letter[2];
        for (int kind = 0; kind < 2; kind++) {
            size_t i = 0;
            while (i < known[kind] && strcmp(names[kind][i], word[kind]) != 0)
                i++;
            assert_true(i < 26);
            if (i == known[kind])
                strcpy(names[kind][known[kind]++], word[kind]);
            letter[kind] = (char)((kind == 0 ? 'A' : 'a') + (int)i);
            if (strcmp(word[kind], kind == 0 ? "0x0" : "0") == 0)
                letter[kind] = '-';
        }
        length += (size_t)snprintf(reduced + length, room - length, "%s %c %llu %c\n", action,
                                   letter[0], size, letter[1]);
        assert_true(length < room);
    }
}

static void assert_replays(const char *trace) {
    struct outcome replay;
    program_run_at(STREAMPOOL_REPLAY, &replay, NO_SETTINGS,
                   ARGUMENTS("replay", "--device", "sim", trace));
    assert_string_equal(replay.errors, "");
    assert_replayed(&replay);
    program_forget(&replay);
}

static void a_trace_has_all_that_passed_through_the_library(void **state) {
    (void)state;
    static const char expected[] =
        "non-blocking stream - 0 a\n"
        "allocate B 1048576 a\n"
        "legacy stream - 0 b\n"
        "allocate C 2097152 b\n"
        "per-thread stream - 0 c\n"
        "allocate D 3145728 c\n"
        "record E 0 a\n"
        "blocking stream - 0 d\n"
        "wait E 0 d\n"
        "free B 1048576 d\n"
        "synchronize event E 0 -\n"
        "query event E 0 -\n"
        "synchronize stream - 0 d\n"
        "query stream - 0 d\n"
        "free unordered C 2097152 -\n"
        "free D 3145728 c\n"
        "synchronize device - 0 -\n"
        "destroy event E 0 -\n"
        "destroy stream - 0 a\n"
        "trim - 4096 -\n";
    char reduced[4096];
    const char *trace = file_path("act.csv");
    observe("act", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    char *text = file_read(trace);
    assert_int_equal(strncmp(text, TRACE_HEADER, strlen(TRACE_HEADER)), 0);
    reduce(text, reduced, sizeof reduced);
    assert_string_equal(reduced, expected);
    assert_string_equal(outcome.errors, "");
    free(text);
}

static void a_trace_says_where_the_memory_of_a_pool_is(void **state) {
    (void)state;
    static const char expected[] =
        "non-blocking stream - 0 a\n"
        "allocate B 2097152 a\n"
        "allocate host C 4194304 a\n"
        "allocate node D 6291456 a\n"
        "allocate staging E 8388608 a\n"
        "allocate managed F 10485760 a\n"
        "allocate failure host - 1125899906842624 a\n"
        "free B 2097152 a\n"
        "free C 4194304 a\n"
        "free D 6291456 a\n"
        "free E 8388608 a\n"
        "free F 10485760 a\n"
        "synchronize stream - 0 a\n"
        "trim - 0 -\n"
        "trim managed - 4096 -\n";
    static const char *const rows[] = {"host", "node", "staging", "managed"};
    char reduced[4096];
    const char *trace = file_path("places.csv");
    observe("places", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    char *text = file_read(trace);
    reduce(text, reduced, sizeof reduced);
    assert_string_equal(reduced, expected);
    free(text);
    struct outcome replay;
    program_run_at(STREAMPOOL_REPLAY, &replay, NO_SETTINGS,
                   ARGUMENTS("replay", "--device", "sim", "--json", "-", trace));
    cJSON *list = cJSON_Parse(replay.output);
    const cJSON *result = cJSON_GetArrayItem(list, 0);
    const cJSON *places = cJSON_GetObjectItemCaseSensitive(result, "places");
    assert_int_equal(cJSON_GetObjectItem(result, "live_peak_bytes")->valueint, 2 << 20);
    assert_true(cJSON_GetObjectItem(result, "reserved_peak_bytes")->valueint <= 4 << 20);
    assert_int_equal(cJSON_GetArraySize(places), 4);
    for (int i = 0; i < 4; i++) {
        const cJSON *place = cJSON_GetObjectItemCaseSensitive(places, rows[i]);
        int bytes = cJSON_GetObjectItem(place, "live_peak_bytes")->valueint;
        assert_int_equal(bytes, (2 << 20) * (i + 2));
        assert_true(cJSON_GetObjectItem(place, "reserved_peak_bytes")->valueint >= bytes);
    }
    cJSON_Delete(list);
    program_forget(&replay);
}

static void a_free_behind_several_streams_waits_for_events_in_the_trace(void **state) {
    (void)state;
    static const char expected[] =
        "non-blocking stream - 0 a\n"
        "allocate B 1048576 a\n"
        "non-blocking stream - 0 b\n"
        "allocate C 1000 b\n"
        "record B 0 b\n"
        "wait B 0 a\n"
        "destroy event B 0 -\n" // the third letter is that of no stream
        "non-blocking stream - 0 d\n"
        "record B 0 d\n"
        "wait B 0 a\n"
        "destroy event B 0 -\n"
        "free B 1048576 a\n"
        "free C 1000 b\n";
    char reduced[4096];
    const char *trace = file_path("free-behind.csv");
    observe("free-behind", SETTINGS(STATS, LEAKS, setting("STREAMPOOL_TRACE", trace)));
    char *text = file_read(trace);
    reduce(text, reduced, sizeof reduced);
    assert_string_equal(reduced, expected);
    assert_has_no(outcome.errors, "leak");
    free(text);
    assert_replays(trace);
}

static void calls_of_a_growth_observer_come_before_the_allocation_in_the_trace(void **state) {
    (void)state;
    static const char expected[] =
        "non-blocking stream - 0 a\n"
        "allocate B 1000 a\n"
        "free B 1000 a\n"
        "allocate C 4194304 a\n"
        "free C 4194304 a\n";
    char reduced[4096];
    const char *trace = file_path("observe-growth.csv");
    observe("observe-growth", SETTINGS(STATS, LEAKS, setting("STREAMPOOL_TRACE", trace)));
    char *text = file_read(trace);
    reduce(text, reduced, sizeof reduced);
    assert_string_equal(reduced, expected);
    assert_has_no(outcome.errors, "leak");
    free(text);
    assert_replays(trace);
}

static void streams_with_one_handle_after_the_other_have_numbers_of_their_own(void **state) {
    (void)state;
    const char *trace = file_path("renew.csv");
    static const char *const levels[] = {"STREAMPOOL_DRIVER_API=13000",
                                         "STREAMPOOL_DRIVER_API=10020"};
    for (size_t i = 0; i < 2; i++) {
        char reduced[4096];
        observe("renew-streams", SETTINGS(setting("STREAMPOOL_TRACE", trace), levels[i]));
        char *text = file_read(trace);
        reduce(text, reduced, sizeof reduced);
        assert_has(reduced, "destroy stream - 0 a\n");
        assert_has(reduced, "destroy stream - 0 b\n");
        assert_has(reduced, "destroy stream - 0 c\n");
        free(text);
        if (i == 0)
            program_forget(&outcome);
    }
}

static void a_name_that_ends_with_gz_is_gzipped(void **state) {
    (void)state;
    const char *trace = file_path("act.csv.gz");
    observe("act", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    char *text = file_read(trace);
    assert_int_equal((unsigned char)text[0], 0x1f);
    assert_int_equal((unsigned char)text[1], 0x8b);
    free(text);
    struct outcome replay;
    program_run_at(STREAMPOOL_REPLAY, &replay, NO_SETTINGS,
                   ARGUMENTS("replay", "--device", "sim", trace));
    assert_int_equal(replay.status, 0);
    program_forget(&replay);
}

static void default_streams_of_many_threads_and_two_contexts_replay(void **state) {
    (void)state;
    const char *trace = file_path("default.csv");
    observe("default-streams", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    char *text = file_read(trace);
    assert_int_equal(count_of(text, ",legacy stream,"), 1);
    assert_int_equal(count_of(text, ",per-thread stream,"), 2);
    assert_int_equal(count_of(text, ",non-blocking stream,"), 4);
    free(text);
    struct outcome replay;
    program_run_at(STREAMPOOL_REPLAY, &replay, NO_SETTINGS,
                   ARGUMENTS("replay", "--device", "sim", "--threads", trace));
    assert_string_equal(replay.errors, "");
    assert_int_equal(replay.status, 0);
    program_forget(&replay);
}

static void the_process_is_in_the_name(void **state) {
    (void)state;
    size_t before = file_count();
    observe("leak", SETTINGS(setting("STREAMPOOL_TRACE", file_path("leak-%p-100%%.csv"))));
    assert_int_equal(file_count(), before + 1);
    char *text = file_read(file_path("leak-%p-100%%.csv"));
    assert_null(text);
}

static void a_trace_that_cannot_be_written_is_named_and_the_program_goes_on(void **state) {
    (void)state;
    observe("leak", SETTINGS("STREAMPOOL_TRACE=/nowhere/at/all.csv"));
    assert_has(outcome.errors, "/nowhere/at/all.csv can't be written: No such file");
    program_forget(&outcome);
    observe("leak", SETTINGS("STREAMPOOL_TRACE=/dev/full"));
    assert_has(outcome.errors, "the trace ends here: it can't be written: No space left");
}

static void a_pipe_that_nobody_reads_is_named_and_not_waited_for(void **state) {
    (void)state;
    const char *pipe = file_path("unread");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    observe("leak", SETTINGS(setting("STREAMPOOL_TRACE", pipe)));
    assert_has(outcome.errors, "unread can't be written: it is a pipe that nobody reads");
}

static void a_link_is_named_and_not_followed(void **state) {
    (void)state;
    const char *others = file_write("others.txt", "theirs\n"), *link = file_path("link.csv");
    assert_int_equal(symlink(others, link), 0);
    observe("leak", SETTINGS(setting("STREAMPOOL_TRACE", link)));
    assert_has(outcome.errors, "link.csv can't be written: it is a symbolic link");
    char *text = file_read(others);
    assert_string_equal(text, "theirs\n");
    free(text);
}

// What may be in the place of a trace, and why nothing is written there; null where a trace is.
enum place { NOTHING, FILE_OF_OLD, FOLDER, PIPE, PLACES };
static const char *const whys[PLACES] = {
    [FOLDER] = "can't be written: Is a directory",
    [PIPE] = "can't be written: it is a pipe that nobody reads",
};

static const char *put(enum place place, unsigned number, const char *end) {
    char name[64];
    snprintf(name, sizeof name, "place-%u%s", number, end);
    const char *path = file_path(name);
    if (place == FILE_OF_OLD)
        file_write(name, "of old, and longer than all of the trace would be otherwise\n");
    else if (place == FOLDER)
        assert_int_equal(mkdir(path, 0700), 0);
    else if (place == PIPE)
        assert_int_equal(mkfifo(path, 0600), 0);
    return path;
}

static void assert_kept(enum place place, const char *path) {
    struct stat status;
    char *text = file_read(path);
    assert_int_equal(stat(path, &status), place == NOTHING ? -1 : 0);
    if (place == FILE_OF_OLD)
        assert_int_equal(strncmp(text, "of old", strlen("of old")), 0);
    free(text);
}

// Draws what is in a trace's place, behind a link or not.
static void a_trace_is_written_to_a_file_or_the_reason_is_told(void **state) {
    (void)state;
    struct numbers numbers = {2};
    for (unsigned i = 0; i < 24; i++) {
        enum place place = (enum place)numbers_below(&numbers, PLACES);
        const char *path = put(place, 2 * i, numbers_below(&numbers, 2) ? ".csv" : ".csv.gz");
        const char *target = path;
        bool is_link = numbers_once_in(&numbers, 2);
        if (is_link) {
            path = put(NOTHING, 2 * i + 1, ".csv");
            assert_int_equal(symlink(target, path), 0);
        }
        observe("leak", SETTINGS(setting("STREAMPOOL_TRACE", path)));
        const char *why = is_link ? "can't be written: it is a symbolic link" : whys[place];
        if (why) {
            assert_has(outcome.errors, why);
            assert_int_equal(count_of(outcome.errors, "\n"), 1);
            if (place != PIPE) // whose reader would wait
                assert_kept(place, target);
        } else {
            assert_string_equal(outcome.errors, "");
            assert_replays(path);
        }
        program_forget(&outcome);
    }
    outcome = (struct outcome){0};
}

static void an_unknown_driver_is_an_error_as_ever(void **state) {
    (void)state;
    program_run(&outcome, SETTINGS(STATS, "STREAMPOOL_DRIVER=/nowhere/libcuda.so"),
                ARGUMENTS("leak"));
    assert_int_equal(outcome.status, 1);
    assert_has_no(outcome.errors, "summary");
}
// Runs a line of a shell, in which %s is the observed program.
static void observe_in_shell(const char *format, const char *first, const char *second) {
    char command[2048];
    snprintf(command, sizeof command, format, first, STREAMPOOL_PROGRAM, second);
    program_run_at("/bin/sh", &outcome, NO_SETTINGS, ARGUMENTS("-c", command));
    assert_int_equal(outcome.status, 0);
}

static void threads_that_only_allocate_have_streams_of_their_own(void **state) {
    (void)state;
    const char *trace = file_path("end-threads.csv");
    observe("end-threads", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    char *text = file_read(trace);
    assert_int_equal(count_of(text, ",per-thread stream,"), 12);
    free(text);
    assert_replays(trace);
}

static void a_thread_whose_stream_the_driver_ends_first_has_one_in_the_trace(void **state) {
    (void)state;
    const char *trace = file_path("destructors.csv");
    observe("free-in-destructors", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    char *text = file_read(trace);
    assert_int_equal(count_of(text, ",per-thread stream,"), 3);
    assert_int_equal(count_of(text, ",free,"), 6);
    free(text);
    assert_replays(trace);
}

static void a_stream_that_was_not_destroyed_goes_on_in_the_trace(void **state) {
    (void)state;
    const char *trace = file_path("fail-to-destroy.csv");
    observe("fail-to-destroy", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    char *text = file_read(trace);
    assert_int_equal(count_of(text, ",legacy stream,"), 1);
    assert_int_equal(count_of(text, ",destroy stream,"), 0);
    free(text);
    assert_replays(trace);
}

static void streams_that_the_driver_ended_end_in_the_trace_when_others_come(void **state) {
    (void)state;
    const char *trace = file_path("end-streams.csv");
    observe("end-streams", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    char *text = file_read(trace);
    assert_int_equal(count_of(text, ",non-blocking stream,"), 40);
    assert_true(count_of(text, ",destroy stream,") >= 30);
    free(text);
    assert_replays(trace);
}

static void what_was_written_before_a_crash_can_be_read(void **state) {
    (void)state;
    const char *trace = file_path("crash.csv.gz");
    observe("crash", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    assert_replays(trace);
}

// A library of this name that is none stands before the system's.
static void without_zlib_a_trace_is_plain_text(void **state) {
    (void)state;
#ifdef WITH_SANITIZER
    skip();
#endif
    char folder[600];
    const char *trace = file_path("plain.csv.gz");
    snprintf(folder, sizeof folder, "LD_LIBRARY_PATH=%s", file_path("."));
    file_write("libz.so.1", "no library\n");
    observe("leak", SETTINGS(setting("STREAMPOOL_TRACE", trace), folder));
    assert_has(outcome.errors, "plain.csv.gz is written as plain text: libz.so.1 can't be used");
    char *text = file_read(trace);
    assert_int_equal(strncmp(text, TRACE_HEADER, strlen(TRACE_HEADER)), 0);
    free(text);
    assert_replays(trace);
}

static void files_of_the_program_get_no_line_of_the_trace(void **state) {
    (void)state;
    char own[600];
    const char *path = file_path("mine.txt");
    snprintf(own, sizeof own, "OBSERVED_FILE=%s", path);
    observe("close-files", SETTINGS(setting("STREAMPOOL_TRACE", file_path("close.csv")), own));
    assert_has(outcome.errors, "the trace ends here");
    char *text = file_read(path);
    assert_string_equal(text, "mine\n");
    free(text);
}

static void a_reader_that_goes_is_no_end_of_the_program(void **state) {
    (void)state;
    const char *pipe = file_path("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    observe_in_shell("head -c 1 '%1$s' > /dev/null & STREAMPOOL_TRACE='%1$s' '%2$s' much", pipe,
                     "");
    assert_has(outcome.errors, "the trace ends here: it can't be written: Broken pipe");
}

static void standard_error_that_is_closed_gets_no_trace(void **state) {
    (void)state;
    const char *trace = file_path("closed.csv");
    observe_in_shell("STREAMPOOL_STATS=1 STREAMPOOL_TRACE='%s' '%s' leak 2>&-", trace, "");
    assert_replays(trace);
}

static void standard_output_keeps_what_it_has(void **state) {
    (void)state;
    const char *log = file_write("log.txt", "before\n");
    observe_in_shell("STREAMPOOL_TRACE='%s' '%s' leak >> '%s'", "/dev/stdout", log);
    char *text = file_read(log);
    assert_int_equal(strncmp(text, "before\nThread,", strlen("before\nThread,")), 0);
    free(text);
}

static void a_child_that_is_left_behind_does_not_hold_the_file(void **state) {
    (void)state;
    const char *trace = file_path("left.csv");
    observe("leave-child", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    program_forget(&outcome);
    observe("leak", SETTINGS(setting("STREAMPOOL_TRACE", trace)));
    assert_string_equal(outcome.errors, "");
}

// ------------------------------------------------------------------- leaks by the simulated driver

static void what_pools_keep_at_the_end_is_no_leak_of_the_program(void **state) {
    (void)state;
    program_run_at(STREAMPOOL_LEAVING, &outcome, SETTINGS("STREAMPOOL_SIMCUDA=reports=print"),
                   ARGUMENTS("1"));
    assert_string_equal(outcome.output, "0\n");
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
}

// Draws what the program does, and leaves behind itself, on each kind of driver.
static void what_the_program_leaves_is_a_leak(void **state) {
    (void)state;
    static const char *const drivers[] = {"STREAMPOOL_VMM=1", "STREAMPOOL_VMM=0",
                                          "STREAMPOOL_DRIVER_API=10020"};
    for (unsigned seed = 1; seed <= 30; seed++) {
        char text[16];
        snprintf(text, sizeof text, "%u", seed);
        program_run_at(STREAMPOOL_LEAVING, &outcome,
                       SETTINGS("STREAMPOOL_SIMCUDA=reports=print", drivers[seed % 3]),
                       ARGUMENTS(text));
        assert_int_equal(outcome.status, 0);
        assert_int_equal(count_of(outcome.errors, ": leak: "), strtoul(outcome.output, NULL, 10));
        assert_int_equal(count_of(outcome.errors, "\n"), count_of(outcome.errors, ": leak: "));
        program_forget(&outcome);
    }
    outcome = (struct outcome){0};
}

// ------------------------------------------------------------------------------------- the replay

static unsigned long long column(const char *line, const char *key) {
    const char *at = strstr(line, key);
    assert_non_null(at);
    return strtoull(at + strlen(key), NULL, 10);
}

static void a_run_with_four_threads_and_eight_streams_replays_with_the_same_peaks(void **state) {
    (void)state;
    unsigned long long used, reserved;
    const char *trace = file_path("threads.csv.gz");
    observe("threads", SETTINGS(setting("STREAMPOOL_TRACE", trace),
                                "STREAMPOOL_POOL=ReleaseThreshold=max,Reaper=0"));
    assert_int_equal(sscanf(outcome.output, "%llu %llu", &used, &reserved), 2);
    struct outcome replay;
    program_run_at(STREAMPOOL_REPLAY, &replay, NO_SETTINGS,
                   ARGUMENTS("replay", "--device", "sim", "--json", "-", trace));
    assert_int_equal(replay.status, 0);
    assert_int_equal(column(replay.output, "\"errors\":"), 0);
    assert_int_equal(column(replay.output, "\"live_peak_bytes\":"), used);
    assert_int_equal(column(replay.output, "\"reserved_peak_bytes\":"), reserved);
    program_forget(&replay);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_process_that_asks_for_nothing_prints_nothing, forget),
        cmocka_unit_test_teardown(a_process_that_used_no_pool_prints_nothing, forget),
        cmocka_unit_test_teardown(the_summary_has_peaks_rules_and_what_was_never_freed, forget),
        cmocka_unit_test_teardown(leaks_are_listed_with_size_and_stream_largest_first, forget),
        cmocka_unit_test_teardown(leaks_have_the_stack_that_was_asked_for, forget),
        cmocka_unit_test_teardown(leaks_of_one_stack_are_told_together_the_largest_sum_first,
                                  forget),
        cmocka_unit_test_teardown(the_time_in_the_driver_is_told_once, forget),
        cmocka_unit_test_teardown(pools_are_told_of_by_their_names, forget),
        cmocka_unit_test_teardown(a_pool_of_the_host_is_told_of_by_its_place, forget),
        cmocka_unit_test_teardown(settings_reach_pools_of_a_name, forget),
        cmocka_unit_test_teardown(a_setting_for_a_name_that_no_pool_had_is_told, forget),
        cmocka_unit_test_teardown(json_has_every_figure_of_every_pool, forget),
        cmocka_unit_test_teardown(json_has_the_place_of_a_pool_of_the_host, forget),
        cmocka_unit_test_teardown(a_pool_of_the_host_has_its_name_and_no_device, forget),
        cmocka_unit_test_teardown(no_figure_contradicts_another, forget),
        cmocka_unit_test_teardown(json_goes_to_standard_output_behind_the_programs_own, forget),
        cmocka_unit_test_teardown(json_and_leaks_go_where_each_belongs, forget),
        cmocka_unit_test_teardown(the_file_replaces_an_older_one_and_leaves_nothing_beside, forget),
        cmocka_unit_test_teardown(a_file_that_cannot_be_written_is_named_and_what_was_there_stays,
                                  forget),
        cmocka_unit_test_teardown(a_signal_has_the_figures_written_while_the_program_runs, forget),
        cmocka_unit_test_teardown(a_signal_right_before_the_end_has_its_figures, forget),
        cmocka_unit_test_teardown(a_childs_signal_does_nothing, forget),
        cmocka_unit_test_teardown(a_handler_of_the_programs_stays, forget),
        cmocka_unit_test_teardown(without_the_option_the_signal_is_the_programs, forget),
        cmocka_unit_test_teardown(threads_go_on_while_the_figures_are_written, forget),
        cmocka_unit_test_teardown(a_number_of_frames_that_makes_no_sense_is_named_and_ignored,
                                  forget),
        cmocka_unit_test_teardown(what_a_handler_of_atexit_frees_counts_as_freed, forget),
        cmocka_unit_test_teardown(a_forked_child_writes_nothing, forget),
        cmocka_unit_test_teardown(a_free_that_failed_leaves_the_block_live, forget),
        cmocka_unit_test_teardown(destroyed_pools_are_in_a_sum, forget),
        cmocka_unit_test_teardown(a_pool_that_gave_all_back_is_in_the_summary, forget),
        cmocka_unit_test_teardown(a_pool_prints_its_statistics_when_asked, forget),
        cmocka_unit_test_teardown(settings_reach_the_default_pool, forget),
        cmocka_unit_test_teardown(a_bad_setting_is_named_and_the_others_are_made, forget),
        cmocka_unit_test_teardown(a_trace_has_all_that_passed_through_the_library, forget),
        cmocka_unit_test_teardown(a_trace_says_where_the_memory_of_a_pool_is, forget),
        cmocka_unit_test_teardown(
            calls_of_a_growth_observer_come_before_the_allocation_in_the_trace, forget),
        cmocka_unit_test_teardown(a_free_behind_several_streams_waits_for_events_in_the_trace,
                                  forget),
        cmocka_unit_test_teardown(streams_with_one_handle_after_the_other_have_numbers_of_their_own,
                                  forget),
        cmocka_unit_test_teardown(a_name_that_ends_with_gz_is_gzipped, forget),
        cmocka_unit_test_teardown(default_streams_of_many_threads_and_two_contexts_replay, forget),
        cmocka_unit_test_teardown(the_process_is_in_the_name, forget),
        cmocka_unit_test_teardown(a_trace_that_cannot_be_written_is_named_and_the_program_goes_on,
                                  forget),
        cmocka_unit_test_teardown(a_pipe_that_nobody_reads_is_named_and_not_waited_for, forget),
        cmocka_unit_test_teardown(a_link_is_named_and_not_followed, forget),
        cmocka_unit_test_teardown(a_trace_is_written_to_a_file_or_the_reason_is_told, forget),
        cmocka_unit_test_teardown(what_pools_keep_at_the_end_is_no_leak_of_the_program, forget),
        cmocka_unit_test_teardown(what_the_program_leaves_is_a_leak, forget),
        cmocka_unit_test_teardown(an_unknown_driver_is_an_error_as_ever, forget),
        cmocka_unit_test_teardown(threads_that_only_allocate_have_streams_of_their_own, forget),
        cmocka_unit_test_teardown(a_thread_whose_stream_the_driver_ends_first_has_one_in_the_trace,
                                  forget),
        cmocka_unit_test_teardown(a_stream_that_was_not_destroyed_goes_on_in_the_trace, forget),
        cmocka_unit_test_teardown(streams_that_the_driver_ended_end_in_the_trace_when_others_come,
                                  forget),
        cmocka_unit_test_teardown(what_was_written_before_a_crash_can_be_read, forget),
        cmocka_unit_test_teardown(without_zlib_a_trace_is_plain_text, forget),
        cmocka_unit_test_teardown(files_of_the_program_get_no_line_of_the_trace, forget),
        cmocka_unit_test_teardown(a_reader_that_goes_is_no_end_of_the_program, forget),
        cmocka_unit_test_teardown(standard_error_that_is_closed_gets_no_trace, forget),
        cmocka_unit_test_teardown(standard_output_keeps_what_it_has, forget),
        cmocka_unit_test_teardown(a_child_that_is_left_behind_does_not_hold_the_file, forget),
        cmocka_unit_test_teardown(
            a_run_with_four_threads_and_eight_streams_replays_with_the_same_peaks, forget),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
