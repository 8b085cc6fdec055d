// Replays through the allocators of a peer library: what they are told, what is made of their
// figures, and which libraries are refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "items.h"
#include "program.h"

#define PEER "--peer=" STREAMPOOL_PEER

// A free on another stream, in no stream's order, of a request of 0 bytes and of a null pointer; a
// request that failed when it was recorded; a block that is never freed. At most 5 MiB are alive.
static const char trace[] = TRACE_HEADER
    "1,0,allocate,0x1000000,1048576,3\n"
    "1,1,allocate,0x2000000,4194304,4\n"
    "1,2,free,0x1000000,1048576,4\n"
    "1,3,free unordered,0x2000000,4194304,0\n"
    "1,4,allocate,0x0,0,3\n"
    "1,5,free,0x0,0,3\n"
    "1,6,allocate failure,0x0,2048,3\n"
    "1,7,allocate,0x3000000,512,4\n";

static const char *write_trace(void) {
    return file_write("trace.csv", trace);
}

// ------------------------------------------------------------------------------------ what they do

static void assert_result(const cJSON *result, const char *allocator, int pass) {
    assert_string_equal(item(result, "allocator")->valuestring, allocator);
    assert_int_equal(item(result, "pass")->valueint, pass);
    assert_int_equal(item(result, "errors")->valueint, 0);
    assert_int_equal(item(result, "live_peak_bytes")->valueint, 5 << 20);
    assert_int_equal(item(result, "reserved_peak_bytes")->valueint, 2 * (5 << 20));
    assert_null(cJSON_GetObjectItemCaseSensitive(result, "statistics"));
}

static void peers_stand_behind_the_other_allocators(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device=sim", "--json=-", "--passes=2", PEER, write_trace()));
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    cJSON *results = cJSON_Parse(outcome.output);
    assert_int_equal(cJSON_GetArraySize(results), 6);
    assert_string_equal(item(cJSON_GetArrayItem(results, 0), "allocator")->valuestring, "pool");
    assert_result(cJSON_GetArrayItem(results, 2), "twice", 1);
    assert_result(cJSON_GetArrayItem(results, 3), "twice", 2);
    assert_result(cJSON_GetArrayItem(results, 4), "twice 2.0_b-c", 1);
    cJSON_Delete(results);
    program_forget(&outcome);
}

static void the_table_has_a_row_for_each_peer(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device=sim", PEER, write_trace()));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\ntrace  twice ");
    assert_says(outcome.output, "\ntrace  twice 2.0_b-c ");
    assert_says(outcome.output, "2.000");
    program_forget(&outcome);
}

static void other_options_hold_for_peers_too(void **state) {
    (void)state;
    static const char *const options[] = {"--threads",       "--perturb=3", "--statistics",
                                          "--synchronize=1", "--one-pool",  "--trim=0"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct outcome outcome;
        program_run(&outcome, NO_SETTINGS,
                    ARGUMENTS("replay", "--device=sim", options[i], PEER, write_trace()));
        assert_int_equal(outcome.status, 0);
        assert_says(outcome.output, "twice");
        program_forget(&outcome);
    }
}

static void peers_take_turns_too(void **state) {
    (void)state;
    struct outcome outcome;
    const char *small = file_write("small.csv", TRACE_HEADER "1,0,allocate,0x1000,4096,3\n");
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device=sim", "--json=-", "--one-pool", "--passes=2", PEER,
                          write_trace(), small));
    assert_int_equal(outcome.status, 0);
    cJSON *results = cJSON_Parse(outcome.output);
    assert_int_equal(cJSON_GetArraySize(results), 12);
    for (int i = 4; i < 8; i++) {
        const cJSON *result = cJSON_GetArrayItem(results, i);
        assert_result(result, "twice", 1 + (i - 4) / 2);
        assert_int_equal(item(result, "turn")->valueint, 1 + i % 2);
        assert_int_equal(item(result, "turn_reserved_peak_bytes")->valueint,
                         2 * (i % 2 ? 4096 : 5 << 20));
    }
    cJSON_Delete(results);
    program_forget(&outcome);
}

// The peer reserves twice what it has handed out: that of the turn, and of one held block.
static void one_block_is_held_for_all_turns(void **state) {
    (void)state;
    struct outcome outcome;
    const char *small = file_write("small.csv", TRACE_HEADER "1,0,allocate,0x1000,4096,3\n");
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device=sim", "--json=-", "--one-pool", "--perturb=2", PEER,
                          write_trace(), small));
    assert_int_equal(outcome.status, 0);
    cJSON *results = cJSON_Parse(outcome.output);
    assert_int_equal(cJSON_GetArraySize(results), 6);
    for (int i = 2; i < 4; i++) {
        const cJSON *start;
        cJSON_ArrayForEach(start, item(cJSON_GetArrayItem(results, i), "starts")) {
            int held = item(start, "perturbation_bytes")->valueint;
            int live = item(start, "turn_live_peak_bytes")->valueint;
            assert_true(held > 0);
            assert_int_equal(live, (i == 2 ? 5 << 20 : 4096) + held);
            assert_int_equal(item(start, "turn_reserved_peak_bytes")->valueint, 2 * live);
        }
    }
    cJSON_Delete(results);
    program_forget(&outcome);
}

static void a_picture_has_a_panel_for_each_peer(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device=sim", "--plot=-", PEER, write_trace()));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "twice 2.0_b-c");
    program_forget(&outcome);
}

static void a_request_that_fails_is_counted(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path = file_write("large.csv", TRACE_HEADER
                                  "1,0,allocate,0x1000,1099511627776,0\n"
                                  "1,1,allocate,0x2000,4096,0\n");
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("replay", "--device=sim", "--json=-", PEER, path));
    cJSON *results = cJSON_Parse(outcome.output);
    const cJSON *result = cJSON_GetArrayItem(results, 1);
    assert_string_equal(item(result, "allocator")->valuestring, "twice");
    assert_int_equal(item(result, "errors")->valueint, 1);
    assert_int_equal(item(result, "live_peak_bytes")->valueint, 4096);
    cJSON_Delete(results);
    program_forget(&outcome);
}

static void assert_not_opened(const char *fault, const char *error) {
    char expected[128];
    struct outcome outcome;
    snprintf(expected, sizeof expected, "twice 2.0_b-c: not replayed: it can't be opened: %s\n",
             error);
    program_run(&outcome, SETTINGS(fault),
                ARGUMENTS("replay", "--device=sim", PEER, write_trace()));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\ntrace  twice ");
    assert_says(outcome.output, expected);
    program_forget(&outcome);
}

static void a_peer_that_cannot_be_opened_is_named(void **state) {
    (void)state;
    assert_not_opened("PEER_FAULT=open", "CUDA_ERROR_OUT_OF_MEMORY");
    assert_not_opened("PEER_FAULT=number", "error 4242");
}

// Its figures can't be relied on, nor those of what is replayed behind it.
static void a_peer_that_keeps_memory_or_an_old_peak_ends_the_replay(void **state) {
    (void)state;
    static const struct {
        const char *fault;
        const char *words;
    } faults[] = {
        {"PEER_FAULT=close", "it can't be closed: CUDA_ERROR_OUT_OF_MEMORY"},
        {"PEER_FAULT=reset", "its peak can't be reset: CUDA_ERROR_OUT_OF_MEMORY"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char expected[128];
        struct outcome outcome;
        snprintf(expected, sizeof expected, "streampool: trace, twice 2.0_b-c: %s\n",
                 faults[i].words);
        program_run(&outcome, SETTINGS(faults[i].fault),
                    ARGUMENTS("replay", "--device=sim", PEER, write_trace()));
        assert_int_equal(outcome.status, 1);
        assert_string_equal(outcome.errors, expected);
        program_forget(&outcome);
    }
}

// dlopen() alone would take the library of that name that lies beside the program.
static void a_name_without_a_slash_is_a_file_of_the_current_folder(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path = write_trace();
    assert_int_equal(symlink(STREAMPOOL_PEER, file_path("libstreampool_simcuda.so")), 0);
    assert_int_equal(chdir(file_path("")), 0);
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device=sim", "--peer=libstreampool_simcuda.so", path));
    assert_int_equal(chdir("/"), 0);
    assert_string_equal(outcome.errors, "");
    assert_says(outcome.output, "\ntrace  twice ");
    program_forget(&outcome);
}

// --------------------------------------------------------------------------------- what is refused

static void assert_refused(const char *fault, const char *library, const char *words) {
    struct outcome outcome;
    program_run(&outcome, SETTINGS(fault),
                ARGUMENTS("replay", "--device=sim", "--peer", library, write_trace()));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.output, "");
    assert_says(outcome.errors, "streampool: ");
    assert_says(outcome.errors, words);
    program_forget(&outcome);
}

static void a_library_that_breaks_the_interface_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *fault;
        const char *words;
    } faults[] = {
        {"PEER_FAULT=version", "peer 1 has version 2 of the interface, not 1"},
        {"PEER_FAULT=no name", "peer 1 has no name of 1 to 31 letters"},
        {"PEER_FAULT=long name", "peer 1 has no name of 1 to 31 letters"},
        {"PEER_FAULT=bad name", "peer 1 has no name of 1 to 31 letters"},
        {"PEER_FAULT=same name", "there is a peer 'twice' already"},
        {"PEER_FAULT=no function", "the peer 'twice 2.0_b-c' lacks a function"},
        {"PEER_FAULT=empty", " has no peer"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        assert_refused(faults[i].fault, STREAMPOOL_PEER, faults[i].words);
}

static void what_is_no_peer_library_is_refused(void **state) {
    (void)state;
    assert_refused("PEER_FAULT", "/no/such/library.so",
                   "the peer library can't be loaded: /no/such");
    assert_refused("PEER_FAULT", write_trace(), "the peer library can't be loaded: ");
    assert_refused("PEER_FAULT", STREAMPOOL_SIMULATED, "is no peer library: it has no poolPeerAt");
}

static void a_library_is_taken_once(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device=sim", PEER, PEER, write_trace()));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "there is a peer 'twice' already");
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device=sim", PEER, PEER, PEER, PEER, PEER, PEER, PEER, PEER,
                          PEER, write_trace()));
    assert_int_equal(outcome.status, USAGE_ERROR);
    assert_says(outcome.errors, "--peer is given more than 8 times");
    program_forget(&outcome);
}

// A peer has none of the pool's attributes, so they change nothing for it.
static void attributes_are_for_the_pool_alone(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device=sim", "--set=Deterministic=1", "--limit=64M",
                          "--threshold=0", PEER, write_trace()));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\ntrace  twice ");
    assert_says_not(outcome.output, "not replayed");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_stand_behind_the_other_allocators),
        cmocka_unit_test(the_table_has_a_row_for_each_peer),
        cmocka_unit_test(other_options_hold_for_peers_too),
        cmocka_unit_test(peers_take_turns_too),
        cmocka_unit_test(one_block_is_held_for_all_turns),
        cmocka_unit_test(a_picture_has_a_panel_for_each_peer),
        cmocka_unit_test(a_request_that_fails_is_counted),
        cmocka_unit_test(a_peer_that_cannot_be_opened_is_named),
        cmocka_unit_test(a_peer_that_keeps_memory_or_an_old_peak_ends_the_replay),
        cmocka_unit_test(a_name_without_a_slash_is_a_file_of_the_current_folder),
        cmocka_unit_test(a_library_that_breaks_the_interface_is_refused),
        cmocka_unit_test(what_is_no_peer_library_is_refused),
        cmocka_unit_test(a_library_is_taken_once),
        cmocka_unit_test(attributes_are_for_the_pool_alone),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
