// streampool-bench on the simulated driver: every case prints its lines, and says whose figures
// they are.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "program.h"

static void assert_every_line_says(char *text, const char *part) {
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_says(line, part);
}

static void run_case(struct outcome *outcome, const char *name) {
    program_run(outcome, NO_SETTINGS,
                ARGUMENTS("--device=sim", "--rounds=1", "--divide=1000", "--wide", name));
    assert_string_equal(outcome->errors, "");
    assert_int_equal(outcome->status, 0);
}

// --------------------------------------------------------------------------------------- the lines

// A line that is there where the C library has mallinfo2.
#ifdef STREAMPOOL_HAVE_MALLINFO2
#define MALLINFO_LINE(line) line
#else
#define MALLINFO_LINE(line) "\nwhat malloc handed out: left out, "
#endif

struct expectation {
    const char *name;
    const char *lines[24]; // what some lines begin with
};

static const struct expectation expectations[] = {
    {"pair",
     {"\npair: ", " cuMemAlloc ", " streampool, StreamPromises ", " floor: lock and list ",
      "\n256 B ", "\n1 KiB ", "\n4 KiB ", "\n64 KiB ", "\n1 MiB ", "\n16 MiB ", "\n1 GiB "}},
    {"live",
     {"\nlive: ", " floor: lock and list ", "\n100 live, pair ", "\n1000 live, pair ",
      "\n100000 live, pair ", MALLINFO_LINE("\n100000 live, mallinfo2 "),
      "\n100000 live, resident "}},
#ifndef WITH_SANITIZER // a million blocks take it long, and the case is run below, too
    {"mam",
     {"\nmam: malloc + free, by size", " streampool mam ", " cuMemAlloc ",
      " streampool, default pool ", "\n256 B ", "\n64 KiB ", "\n1 GiB ",
      "\nmam: free and malloc of 512 B, by live blocks", "\n100 live ", "\n1000000 live ",
      "\nmanager, 1 GiB / 1 KiB ", "\nmanager, 1000000 / 100 live ",
      "\ncuMemAlloc / manager, 1 GiB "}},
#endif
    {"sizes",
     {"\nsizes: ", " cuMemAlloc ", "\n16 live, free + malloc ", "\n512 live, free + malloc ",
      "\n512 live, reserved "}},
    {"growth",
     {"\ngrowth: ", " streampool, TrimByReaper ", " streampool, primed ", " cuMemAlloc ",
      " floor: one extent ", "\n2 MiB, grow ", "\n2 MiB, grow, p99 ", "\n2 MiB, trim ",
      "\n8 GiB, grow ", "\n8 GiB, trim, p99 ", "\n8 GiB, released ", "\n8 GiB, left "}},
    {"loop",
     {"\nloop: ", " streampool, TrimByReaper ", " streampool, ReleaseDelay 1 ",
      " floor: one block kept ", "\n2 MiB, threshold 0 ", "\n2 GiB, threshold 0, p99 ",
      "\n64 MiB, threshold max ", "\n2 GiB, threshold max "}},
    {"alternate", {"\nalternate: ", "\n512 B ", "\n64 KiB ", "\n1 MiB ", "\n16 MiB "}},
    {"handoff",
     {"\nhandoff: ", "\n512 B, handoff ", "\n512 B, its events alone ", "\n16 MiB, handoff ",
      "\n16 MiB, reserved "}},
    {"ahead",
     {"\nahead: two streams that take turns, the host ahead: in the program's order",
      "\nahead: two streams that take turns, the host ahead: side by side",
      "\nahead: one stream allocates and another one frees, the host ahead", "\nstreampool ",
      "\nstreampool, beyond use 20 "}},
    {"streams",
     {"\nstreams: ", " floor: lock and list ", "\n1 stream, pair ", "\n10 streams, pair ",
      "\n100 streams, miss, told ", "\n1000 streams, miss, untold ", "\n1000 streams, reserved ",
      MALLINFO_LINE("\n1000 streams, mallinfo2 ")}},
    {"unfenced",
     {"\nunfenced: ", "\nstreampool, 0 B ", "\nstreampool, 1 MiB ", "\nstreampool, 2 MiB ",
      "\nstreampool, 4 MiB ", "\nstreampool, 8 MiB ", "\nstreampool, 16 MiB ",
      "\nstreampool, 32 MiB ", "\nstreampool, 64 MiB "}},
    {"threads",
     {"\nthreads: ", "\n4 KiB, 1 thread ", "\n4 KiB, 16 threads ", "\n1 MiB, 2 threads ",
      "\n1 MiB, 16 threads ", " streampool, default pool ", "\n1 MiB, 16 threads, one stream ",
      "\n4 KiB, 16 threads, own pools ", "\n4 KiB, 1 thread, 64 streams ",
      "\n4 KiB, 8 threads, written ", "\n1 MiB, 16 threads, freed elsewhere "}},
    {"fragments",
     {"\nfragments: ", "\n1 GiB, malloc ", "\n1 GiB, new memory ", "\n1 GiB, floor ",
      "\n1 GiB, mappings kept "}},
    {"full",
     {"\nfull: 28 blocks ", "\n3584 MiB, malloc ", "\n3584 MiB, new memory ", "\n3584 MiB, floor ",
      "\n3584 MiB, address space "}},
#ifndef WITH_SANITIZER // ten thousand streams take it long
    {"after",
     {"\nafter: a huge block ", "\nafter: few small ", "\nafter: drawn ",
      "\nafter: a peak of 8 GiB", " streampool, primed ", "\nhuge, 1 in 100 of 16 MiB, held ",
      "\nhuge, 1 in 10 of 16 MiB, served ", "\nhuge, 1 in 10 of 16 MiB, again ",
      "\n10 small, 10000 streams, calls ", "\n10 small, 1024 streams, held ", "\ndrawn, held ",
      "\ndrawn, 8 streams, calls ", "\n1 MiB, 1 in 10, held ", "\n16 MiB, 1 in 40, in use "}},
    {"cold_lanes",
     {"\ncold_lanes: ", MALLINFO_LINE("\n10000 streams, mallinfo2, each "), "\n10 streams, miss ",
      "\n1000 streams, synchronise ", "\n10000 streams, device synchronise ",
      "\n10000 keeping, trim ", "\n10000 keeping, set attribute "}},
#endif
    {"stall",
     {"\nstall: ", "\nown pool, hit p50 ", "\nown pool, miss worst ", "\nown pool, fill ",
      "\nown pool, fill, loss ", "\nown pool, remaps ", "\nown pool, reaper ",
      "\nshared pool, hit worst ", "\nshared pool, miss p99 ", "\nshared pool, remaps "}},
    {"kinds",
     {"\nkinds: ", " floor: lock and list ", "\nnon-blocking, 1 KiB ", "\nlegacy, 1 MiB ",
      "\nblocking, 64 MiB ", "\nper-thread, 1 KiB ", "\nlegacy, beside blocking, 1 MiB "}},
    {"host",
     {"\nhost: malloc + free", " streampool, host, at once ", " streampool, managed ",
      " cuMemHostAlloc ", "\npair of 64 KiB ", "\npair of 16 MiB ", "\nhost: copies of 4 MiB",
      "\ncopy to the host ", "\nkernel writes ", "\nkernel reads ", "\nhost: much memory at once",
      " streampool, NUMA node 0 ", " floor: extent at node 0 ", "\n64 MiB, get ",
      "\n64 MiB, give back "}},
    {"copy",
     {"\ncopy: the host has ",
      "\ncopy: pageable memory in and out, ",
      " streampool, completion ",
      " CUDA, pageable ",
      " floor: memcpy ",
      "\n1 MiB, in ",
      "\n4 MiB, out ",
      "\n1 GiB: left out, ",
      "\n4 MiB, out, fresh ",
      "\n8 threads, out ",
      "\nby depth, in ",
      " cuStreamWriteValue32 ",
      "\n8 B, in, issue ",
      "\n256 KiB, out, issue ",
      "\n1 MiB, out: our copy ",
      "\ncopy: batches of 8 pinned pieces, ",
      " CUDA, batch ",
      "\n4 KiB pageable pieces, in ",
      "\n4 KiB pieces, in, beside ",
      "\ncopy: a file of 4 MiB ",
      "\nfile, out into the cache "}},
    {"heap", {"\nheap: left out, "}}, // it has kernels that the simulated driver doesn't run
    {"ended_threads",
     {"\nended_threads: ", "\n100 threads, each ", "\n1000 threads, resident ",
      "\ngrowth, threads, each ", "\ngrowth, threads, resident "}},
    {"ended_streams",
     {"\nended_streams: ", "\n100 streams, pool, each ", "\n1000 streams, driver, resident ",
      "\ngrowth, streams, pool, resident ", "\ngrowth, streams, driver, each "}},
    {"ended_contexts",
     {"\nended_contexts: ", "\n10 contexts, each ", "\n100 contexts, resident ",
      "\ngrowth, contexts, each "}},
    {"ended_slots",
     {"\nended_slots: ", "\n1 gone, first pair ", "\n16 gone, pair ", "\ngrowth, gone, pair "}},
    {"user_events",
     {"\nuser_events: ", "\n10 events, each ", "\n100 events, resident ",
      "\ngrowth, events, each "}},
    {"queries",
     {"\nqueries: ", "\n1 streams, pool, pair, record ", "\n10 streams, driver, resident ",
      "\ngrowth, streams, driver, pair, record "}},
    {"pending",
     {"\npending: ", "\n5 streams, miss ", "\n10 streams, miss ", "\ngrowth, streams, miss "}},
    {"many_pools",
     {"\nmany_pools: ", "\n10 pools, trimmed, each ", "\n100 pools, trimmed, address space ",
      "\n50 pools, holding, resident ", "\ngrowth, pools, holding, each "}},
    {"given_up",
     {"\ngiven_up: ", "\n1 given up, create and destroy ", "\n2 given up, synchronise ",
      "\ngrowth, given up, synchronise "}},
    {"fixed_sizes", {"\nfixed_sizes: ", "\n1 sizes, each ", "\n1 sizes, beside the peak in use "}},
    {"many_holes",
     {"\nmany_holes: ", "\n0 holes, malloc 16 MiB ", "\n400 holes, malloc 512 MiB ",
      "\n400 holes, others' p99.99 ", "\ngrowth, holes, TrimTo "}},
};

static void every_case_prints_its_lines(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        struct outcome outcome;
        run_case(&outcome, expectations[i].name);
        for (const char *const *line = expectations[i].lines; *line; line++)
            assert_says(outcome.output, *line);
        assert_every_line_says(outcome.output, "simulated driver");
        program_forget(&outcome);
    }
}

// Below a quantity each subject has a line, with the p99 where a sample is a call.
static void tables_have_80_columns(void **state) {
    (void)state;
    static const char *const parts[] = {
        "\npair: malloc + free on one stream", "\n256 B (ns)  sim\n  streampool  ",
        "\n  streampool, StreamPromises  ",    "\n  floor: lock and list  ",
        "\n2 MiB, grow (us)  sim\n",           "] p99 ",
        "\nahead: one stream allocates",       "\nreserved, of used (%)  sim\n"};
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("--device=sim", "--rounds=3", "pair", "growth", "ahead", "streams"));
    assert_string_equal(outcome.errors, "");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_says(outcome.output, parts[i]);
    for (char *line = strtok(outcome.output, "\n"); line; line = strtok(NULL, "\n")) {
        if (strlen(line) > 80 && !strchr(line, '/')) // the driver's path
            fail_msg("%zu columns: %s", strlen(line), line);
        assert_string_equal(line + strlen(line) - 5, "  sim");
    }
    program_forget(&outcome);
}

static void cases_are_named_by_an_option_too(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("--device=sim", "--rounds=1", "--case=growth", "--case", "pair"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\npair: ");
    assert_says(outcome.output, "\ngrowth: ");
    assert_null(strstr(outcome.output, "\nthreads: "));
    program_forget(&outcome);
}

// The driver that STREAMPOOL_DRIVER names is taken without an option.
static void the_environment_names_the_driver(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--rounds=1", "alternate"));
    assert_int_equal(outcome.status, 0);
    assert_every_line_says(outcome.output, "  sim");
    program_forget(&outcome);
}

// ---------------------------------------------------------------------------------- what they mean

// Of one subject's setting in the results; fails when it isn't there.
static const cJSON *result_of(const cJSON *results, const char *subject, const char *setting) {
    const cJSON *result;
    cJSON_ArrayForEach(result, results) {
        if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(result, "subject")), subject) == 0 &&
            strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(result, "setting")), setting) == 0)
            return result;
    }
    fail_msg("no result for %s, %s", subject, setting);
    return NULL;
}

static double figure_of(const cJSON *result, const char *key) {
    const cJSON *figure = cJSON_GetObjectItem(result, key);
    if (!cJSON_IsNumber(figure))
        fail_msg("no %s", key);
    return cJSON_GetNumberValue(figure);
}

static double median_of(const cJSON *results, const char *subject, const char *setting) {
    return figure_of(result_of(results, subject, setting), "median");
}

static cJSON *results_of_rounds(const char *name, const char *rounds) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--device=sim", rounds, "--json=-", name));
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    cJSON *results = cJSON_Parse(outcome.output);
    assert_non_null(results);
    program_forget(&outcome);
    return results;
}

static cJSON *results_of(const char *name) {
    return results_of_rounds(name, "--rounds=9");
}

// What a setting is as a number, its percentile and both ratios stand in each result.
static void results_say_what_plots_need(void **state) {
    (void)state;
    cJSON *results = results_of("pair");
    const cJSON *result = result_of(results, "streampool", "1 MiB");
    assert_true(figure_of(result, "at") == 1 << 20);
    assert_true(figure_of(result, "p99") >= figure_of(result, "median"));
    assert_true(figure_of(result, "p99") <= figure_of(result, "most"));
    assert_true(figure_of(result, "floor_ratio") > 0);
    assert_null(
        cJSON_GetObjectItem(result, "ratio")); // the simulated driver has no pool to compare with
    assert_null(
        cJSON_GetObjectItem(result_of(results, "floor: lock and list", "1 MiB"), "floor_ratio"));
    cJSON_Delete(results);
}

// Slabs have no header for each block. The floor has pieces of 16 bytes, and malloc makes 32 of
// them; sanitizers don't tell mallinfo2 anything, but the pages are there.
static void a_live_block_takes_little_host_memory(void **state) {
    (void)state;
    cJSON *results = results_of_rounds("live", "--rounds=1");
    double resident = median_of(results, "streampool", "100000 live, resident");
    assert_true(resident > 0);
    assert_true(median_of(results, "floor: lock and list", "100000 live, resident") >= 16);
#ifndef WITH_SANITIZER
    assert_true(resident <= 64);
#ifdef STREAMPOOL_HAVE_MALLINFO2
    assert_true(median_of(results, "streampool", "100000 live, mallinfo2") > 0);
    assert_true(median_of(results, "streampool", "100000 live, mallinfo2") <= 64);
#endif
#endif
    cJSON_Delete(results);
}

static void a_pool_reserves_at_least_what_lives(void **state) {
    (void)state;
    cJSON *results = results_of_rounds("sizes", "--rounds=1");
    const char *const settings[] = {"16 live, reserved", "128 live, reserved",
                                    "512 live, reserved"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        assert_true(median_of(results, "streampool", settings[i]) >= 1);
        assert_true(median_of(results, "streampool", settings[i]) < 2);
    }
    cJSON_Delete(results);
}

// By the synchronise, by the reaper behind it, and by the raw calls.
static void all_memory_goes_back(void **state) {
    (void)state;
    cJSON *results = results_of("growth");
    const char *const subjects[] = {"streampool", "streampool, TrimByReaper", "cuMemAlloc",
                                    "floor: one extent"};
    assert_true(median_of(results, "streampool", "8 GiB, by the reaper") == 0);
    assert_true(median_of(results, "streampool, TrimByReaper", "8 GiB, by the reaper") == 8192);
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        assert_true(figure_of(result_of(results, subjects[i], "8 GiB, left"), "most") == 0);
        assert_true(figure_of(result_of(results, subjects[i], "8 GiB, released"), "least") >=
                    figure_of(result_of(results, subjects[i], "8 GiB, trim"), "least"));
        assert_true(figure_of(result_of(results, subjects[i], "8 GiB, grow"), "samples") ==
                    45); // 9 rounds of 5
    }
    cJSON_Delete(results);
}

static void each_form_of_threads_makes_pairs(void **state) {
    (void)state;
    cJSON *results = results_of_rounds("threads", "--rounds=1");
    const struct {
        const char *subject, *setting;
    } rows[] = {
        {"streampool, default pool", "4 KiB, 16 threads"},
        {"streampool, default pool", "1 MiB, 16 threads, one stream"},
        {"streampool", "1 MiB, 16 threads, own pools"},
        {"streampool, default pool", "4 KiB, 16 threads, 64 streams"},
        {"streampool, default pool", "4 KiB, 16 threads, written"},
        {"floor: one block kept", "4 KiB, 16 threads, written"},
        {"streampool, default pool", "1 MiB, 1 thread, freed elsewhere"},
        {"streampool, default pool", "1 MiB, 16 threads, freed elsewhere"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(figure_of(result_of(results, rows[i].subject, rows[i].setting), "least") > 0);
    cJSON_Delete(results);
}

// The case itself compares the bytes that arrive.
static void each_way_copies(void **state) {
    (void)state;
    cJSON *results = results_of_rounds("copy", "--rounds=1");
    const struct {
        const char *subject, *setting;
    } rows[] = {
        {"streampool", "1 MiB, in"},
        {"streampool, completion", "4 MiB, out"},
        {"floor: memcpy", "4 MiB, out, fresh"},
        {"chunks of 16 MiB", "1 thread, out"},
        {"1 chunk, by the bench", "by depth, out"},
        {"8 chunks", "by depth, in"},
        {"cuStreamWriteValue32", "8 B, in"},
        {"one chunk", "256 KiB, out"},
        {"CUDA, pinned", "64 KiB, in: host function"},
        {"streampool, completion", "1 MiB, out: our copy"},
        {"CUDA, batch", "4 KiB pieces, in"},
        {"CUDA, one by one", "4 KiB pageable pieces, out"},
        {"streampool", "32 KiB pieces, out, beside"},
        {"a loop of pieces", "file, in from the cache"},
        {"streampool, completion", "file, out into the cache"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(figure_of(result_of(results, rows[i].subject, rows[i].setting), "least") > 0);
    cJSON_Delete(results);
}

// 500 blocks of 16 MiB would be 8 GiB.
static void memory_follows_events(void **state) {
    (void)state;
    cJSON *results = results_of("handoff");
    assert_true(median_of(results, "streampool", "16 MiB, reserved") <= 64);
    cJSON_Delete(results);
}

static void a_cap_bounds_what_others_cannot_see(void **state) {
    (void)state;
    cJSON *results = results_of("unfenced");
    assert_true(median_of(results, "streampool, 0 B", "unseen, driver's event") == 0);
    assert_true(median_of(results, "streampool, 64 MiB", "unseen, driver's event") > 1);
    assert_true(median_of(results, "streampool, 64 MiB", "unseen, driver's event") <= 64);
    assert_true(median_of(results, "streampool, 64 MiB", "unseen, hooks") == 0);
    cJSON_Delete(results);
}

static void the_floor_is_measured(void **state) {
    (void)state;
    cJSON *results = results_of("fragments");
    assert_true(median_of(results, "streampool", "1 GiB, floor") > 0);
    assert_true(median_of(results, "streampool", "1 GiB, malloc") > 0);
    assert_true(median_of(results, "streampool", "1 GiB, new memory") == 0);
    assert_true(median_of(results, "streampool", "1 GiB, mappings kept") == 64);
    cJSON_Delete(results);
}

// An eighth of the device is free, and a quarter of its blocks is wanted.
static void a_full_device_can_only_remap(void **state) {
    (void)state;
    cJSON *results = results_of("full");
    assert_true(median_of(results, "streampool", "3584 MiB, new memory") == 0);
    assert_true(median_of(results, "streampool", "3584 MiB, remapped") >= 7);
    assert_true(median_of(results, "streampool", "3584 MiB, floor") > 0);
    assert_true(median_of(results, "streampool", "3584 MiB, mappings kept") >= 7);
    assert_true(median_of(results, "streampool", "3584 MiB, address space") > 3.5);
    cJSON_Delete(results);
}

static void one_thread_remaps_in_every_second_slice(void **state) {
    (void)state;
    cJSON *results = results_of("stall");
    assert_true(median_of(results, "remapping", "own pool, remaps") > 0);
    assert_true(median_of(results, "undisturbed", "own pool, remaps") == 0);
    assert_true(median_of(results, "remapping", "shared pool, remaps") > 0);
    assert_true(median_of(results, "remapping", "own pool, refused") == 0);
    assert_true(median_of(results, "remapping", "shared pool, refused") >= 0);
    assert_true(median_of(results, "remapping", "own pool, fill") > 0);
    assert_true(median_of(results, "undisturbed", "own pool, fill, loss") == 0);
    cJSON_Delete(results);
}

// ----------------------------------------------------------------------------- the device's memory

static void a_part_of_the_device_can_be_filled(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--device=sim", "--device-memory=4096", "full"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output,
                "\nfull: 7 blocks of 512 MiB, every second one freed, then 768 MiB wanted");
    assert_says(outcome.output, "\n768 MiB, malloc ");
    program_forget(&outcome);
}

// The cases behind it find the memory that it had taken.
static void a_device_too_small_is_an_error(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=3G"),
                ARGUMENTS("--device=sim", "--rounds=1", "--device-memory=1024", "fragments", "full",
                          "growth"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "fragments: CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_says(outcome.errors, "full: CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_says(outcome.output, "\n2 GiB, grow ");
    program_forget(&outcome);
}

static void what_does_not_fit_is_left_out_and_named(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(
        &outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=1G"),
        ARGUMENTS("--device=sim", "--rounds=1", "pair", "sizes", "growth", "loop", "threads"));
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\n1 GiB: left out, ");
    assert_says(outcome.output, " MiB are free  sim\n");
    assert_says(outcome.output, "\n512 live: left out, ");
    assert_says(outcome.output, "\n512 MiB, grow ");
    assert_says(outcome.output, "\n2 GiB: left out, ");
    assert_says(outcome.output, "\n2 GiB, threshold 0: left out, ");
    assert_says(outcome.output, "\n1 MiB, 16 threads, freed elsewhere: left out, ");
    program_forget(&outcome);
}

// ------------------------------------------------------------------------------------- the results

// In the text above the figures, and in each result.
static void the_build_and_the_defaults_are_named(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path = file_path("about.json");
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("--device=sim", "--rounds=1", "--json", path, "--wide", "alternate"));
    assert_says(outcome.output, "\nstreampool " STREAMPOOL_VERSION ", ");
    assert_says(outcome.output, " ReleaseThreshold 0, UnfencedBytesMax 67108864, ");
    char *text = file_read(path);
    cJSON *results = cJSON_Parse(text);
    const cJSON *first = cJSON_GetArrayItem(results, 0);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "library")),
                        STREAMPOOL_VERSION);
    assert_says(outcome.output, cJSON_GetStringValue(cJSON_GetObjectItem(first, "build")));
    assert_says(outcome.output, cJSON_GetStringValue(cJSON_GetObjectItem(first, "defaults")));
    cJSON_Delete(results);
    free(text);
    program_forget(&outcome);
}

static void results_are_written_as_json(void **state) {
    (void)state;
    struct outcome outcome;
    const char *path = file_path("bench.json");
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("--device=sim", "--rounds=3", "--json", path, "growth"));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "\n2 GiB, trim ");
    char *text = file_read(path);
    cJSON *results = cJSON_Parse(text);
    const cJSON *first = cJSON_GetArrayItem(results, 0);
    assert_int_equal(cJSON_GetArraySize(results), 6 * 5 * 5); // sizes, figures, subjects
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(first, "simulated")));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "case")), "growth");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "setting")), "2 MiB, grow");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(first, "unit")), "us");
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(first, "samples")) == 15);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(first, "least")) <=
                cJSON_GetNumberValue(cJSON_GetObjectItem(first, "median")));
    cJSON_Delete(results);
    free(text);
    program_forget(&outcome);
}

// Nothing is measured before.
static void a_file_that_cannot_be_written_is_an_error(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(
        &outcome, NO_SETTINGS,
        ARGUMENTS("--device=sim", "--rounds=1", "--json", file_path("no/such/folder"), "mam"));
    assert_int_equal(outcome.status, 1);
    assert_string_equal(outcome.output, "");
    assert_says(outcome.errors, "No such file or directory");
    program_forget(&outcome);
}

// A case that fails is named, and the others run.
static void a_case_that_fails_is_named(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=memory=1G"),
                ARGUMENTS("--device=sim", "--rounds=1", "fragments", "alternate"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "fragments: CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_says(outcome.output, "\nalternate: ");
    assert_says(outcome.output, "\n16 MiB ");
    program_forget(&outcome);
}

// So is a subject, and the others have their rows.
static void a_subject_that_fails_is_named_and_left_out(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(
        &outcome, SETTINGS("PEER_FAULT=open"),
        ARGUMENTS("--device=sim", "--rounds=1", "--wide", "--peer=" STREAMPOOL_PEER, "growth"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "growth: twice 2.0_b-c at '2 MiB, grow': CUDA_ERROR_OUT_OF_MEMORY");
    assert_says_not(outcome.errors, "growth: CUDA_ERROR");
    assert_says(outcome.output, "\n8 GiB, grow ");
    assert_says_not(outcome.output, "nan");
    program_forget(&outcome);
}

// Where none is left, the case has failed.
static void each_memory_of_the_host_that_cannot_be_had_is_named(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_SIMCUDA=host_memory=512M"),
                ARGUMENTS("--device=sim", "--host-memory=1", "host"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors,
                "host: streampool, host at '1 GiB, get', step get: "
                "CUDA_ERROR_OUT_OF_MEMORY (2): priming: ");
    assert_says(outcome.errors, "host: streampool, staging at '1 GiB, get', step get: ");
    assert_says(outcome.errors, "host: cuMemHostAlloc at '1 GiB, get', step get: ");
    assert_says(outcome.errors, "host: CUDA_ERROR_OUT_OF_MEMORY (2)");
    assert_says(outcome.output, "\nhost: much memory at once");
    assert_says_not(outcome.output, "\nhost: copies");
    program_forget(&outcome);
}

// All pictures that the results of these cases have.
static void the_results_can_be_drawn(void **state) {
    (void)state;
    static const char *const pictures[] = {"pair.svg",   "live.svg", "threads.svg",
                                           "growth.svg", "trim.svg", "threads-written.svg"};
    struct outcome outcome;
    const char *path = file_path("drawn.json");
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("--device=sim", "--rounds=1", "--json", path, "pair", "live", "growth",
                          "threads"));
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
    program_run_at(STREAMPOOL_CLI, &outcome, NO_SETTINGS,
                   ARGUMENTS("plot", "--output", file_path("."), path));
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++) {
        assert_says(outcome.output, pictures[i]);
        char *svg = file_read(file_path(pictures[i]));
        assert_non_null(svg);
        assert_says(svg, "simulated driver");
        assert_says(svg, "data-subject=\"streampool");
        assert_says(svg, "data-subject=\"floor: ");
        free(svg);
    }
    program_forget(&outcome);
}

// ----------------------------------------------------------------------------------- the arguments

// A row has every peer behind our own figures, and a case that has no peers leaves them out.
static void peers_have_columns(void **state) {
    (void)state;
    static const char *const cases[] = {"pair", "sizes", "growth"};
    struct outcome outcome;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        program_run(&outcome, NO_SETTINGS,
                    ARGUMENTS("--device=sim", "--rounds=1", "--peer=" STREAMPOOL_PEER, cases[i]));
        assert_string_equal(outcome.errors, "");
        assert_int_equal(outcome.status, 0);
        assert_says(outcome.output, " twice ");
        assert_says(outcome.output, " twice 2.0_b-c ");
        program_forget(&outcome);
    }
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("--device=sim", "--rounds=1", "--peer=" STREAMPOOL_PEER, "kinds"));
    assert_int_equal(outcome.status, 0);
    assert_null(strstr(outcome.output, "twice"));
    program_forget(&outcome);
}

static void a_peer_library_that_is_none_is_refused(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--device=sim", "--peer=/no/such.so", "pair"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "the peer library can't be loaded: /no/such.so");
    assert_string_equal(outcome.output, "");
    program_forget(&outcome);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    const struct {
        const char *argument;
        const char *answer;
    } mistakes[] = {
        {"--rounds=0", "--rounds is a number from 1 to 512, not '0'"},
        {"--rounds=513", "--rounds is a number from 1 to 512, not '513'"},
        {"--rounds=3x", "--rounds is a number from 1 to 512, not '3x'"},
        {"--rounds=", "--rounds is a number from 1 to 512, not ''"},
        {"--seconds=0", "--seconds is a number from 1 to 256, not '0'"},
        {"--seconds=1.5", "--seconds is a number from 1 to 256, not '1.5'"},
        {"--divide=0", "--divide is a number from 1 to 100000, not '0'"},
        {"--device-memory=0", "--device-memory is a number from 1 to 16777216, not '0'"},
        {"--device-memory=4G", "--device-memory is a number from 1 to 16777216, not '4G'"},
        {"--device=tpu", "--device is auto, gpu or sim, not 'tpu'"},
        {"--case=pairs", "there is no case 'pairs'"},
        {"grow", "there is no case 'grow'"},
        {"--speed", "unrecognized option"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct outcome outcome;
        program_run(&outcome, NO_SETTINGS, ARGUMENTS(mistakes[i].argument));
        assert_says(outcome.errors, mistakes[i].answer);
        assert_string_equal(outcome.output, "");
        assert_int_equal(outcome.status, USAGE_ERROR);
        program_forget(&outcome);
    }
}

static void the_help_names_every_case(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("--help"));
    assert_int_equal(outcome.status, 0);
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++)
        assert_says(outcome.output, expectations[i].name);
    assert_null(strstr(outcome.output, ":\n\n")); // a heading with nothing under it
    program_forget(&outcome);
}

static void a_missing_driver_is_an_error(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, SETTINGS("STREAMPOOL_DRIVER=/no/such/driver.so"),
                ARGUMENTS("--rounds=1"));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "/no/such/driver.so");
    program_forget(&outcome);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_prints_its_lines),
        cmocka_unit_test(tables_have_80_columns),
        cmocka_unit_test(cases_are_named_by_an_option_too),
        cmocka_unit_test(the_environment_names_the_driver),
        cmocka_unit_test(results_say_what_plots_need),
        cmocka_unit_test(a_live_block_takes_little_host_memory),
        cmocka_unit_test(a_pool_reserves_at_least_what_lives),
        cmocka_unit_test(all_memory_goes_back),
        cmocka_unit_test(each_form_of_threads_makes_pairs),
        cmocka_unit_test(each_way_copies),
        cmocka_unit_test(memory_follows_events),
        cmocka_unit_test(a_cap_bounds_what_others_cannot_see),
        cmocka_unit_test(the_floor_is_measured),
        cmocka_unit_test(a_full_device_can_only_remap),
        cmocka_unit_test(one_thread_remaps_in_every_second_slice),
        cmocka_unit_test(a_part_of_the_device_can_be_filled),
        cmocka_unit_test(a_device_too_small_is_an_error),
        cmocka_unit_test(what_does_not_fit_is_left_out_and_named),
        cmocka_unit_test(the_build_and_the_defaults_are_named),
        cmocka_unit_test(results_are_written_as_json),
        cmocka_unit_test(a_file_that_cannot_be_written_is_an_error),
        cmocka_unit_test(a_case_that_fails_is_named),
        cmocka_unit_test(a_subject_that_fails_is_named_and_left_out),
        cmocka_unit_test(each_memory_of_the_host_that_cannot_be_had_is_named),
        cmocka_unit_test(the_results_can_be_drawn),
        cmocka_unit_test(peers_have_columns),
        cmocka_unit_test(a_peer_library_that_is_none_is_refused),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(the_help_names_every_case),
        cmocka_unit_test(a_missing_driver_is_an_error),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
