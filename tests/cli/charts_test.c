// `streampool plot`: results that were written as JSON become pictures, which are read again.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "program.h"
#include "svg.h"

#define BENCH(case_name, setting, at, subject, unit, low, median, high)                            \
    "{\"device\":\"Some GPU\",\"simulated\":false,\"case\":\"" case_name                           \
    "\",\"setting\":\"" setting "\",\"at\":" at ",\"subject\":\"" subject "\",\"unit\":\"" unit    \
    "\",\"first_quartile\":" low ",\"median\":" median ",\"third_quartile\":" high "}"
#define REPLAY(trace, allocator, pass, live, reserved)                                             \
    "{\"device\":\"Some GPU\",\"trace\":\"" trace "\",\"allocator\":\"" allocator                  \
    "\",\"pass\":" pass ",\"live_peak_bytes\":" live ",\"reserved_peak_bytes\":" reserved "}"

// Draws these files into the folder of the test, whose pictures are gone before.
static void draw(struct outcome *outcome, const char *const files[]) {
    static const char *const pictures[] = {"pair", "threads", "growth", "trim", "mam", "memory"};
    const char *arguments[8] = {"plot", "--output", file_path(".")};
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s.svg", pictures[i]);
        unlink(file_path(name));
    }
    for (size_t i = 0; files[i]; i++)
        arguments[3 + i] = files[i];
    program_run(outcome, NO_SETTINGS, arguments);
}

static void draw_well(const char *const files[]) {
    struct outcome outcome;
    draw(&outcome, files);
    assert_string_equal(outcome.errors, "");
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
}

static struct svg *picture(const char *name) {
    char *text = file_read(file_path(name));
    assert_non_null(text);
    struct svg *svg = svg_parse(text);
    free(text);
    return svg;
}

// ------------------------------------------------------------------------------------------ lines

static const struct svg_element *point_of(const struct svg *svg, const char *subject,
                                          const char *setting) {
    const struct svg_element *point = NULL;
    while ((point = svg_find(svg, svg->list, point, "data-subject", subject)))
        if (strcmp(svg_value(point, "data-setting"), setting) == 0)
            return point;
    return NULL;
}

// The middle of what is drawn of a point: its median, if its quartiles are that too.
static struct svg_extent place_of(const struct svg *svg, const char *subject, const char *setting) {
    const struct svg_element *point = point_of(svg, subject, setting);
    if (!point)
        fail_msg("no point of %s, %s", subject, setting);
    return svg_extent_of(svg, point);
}

// 100 ns, 1 us and 10 us are a decade from each other, and so are 16 times as many bytes.
static void medians_stand_where_both_axes_have_them(void **state) {
    (void)state;
    draw_well(ARGUMENTS(file_write(
        "bench.json",
        "[" BENCH("pair", "256 B", "256", "ours", "ns", "100", "100", "100") "," BENCH(
            "pair", "4 KiB", "4096", "ours", "us", "1", "1",
            "1") "," BENCH("pair", "64 KiB", "65536", "ours", "us", "10", "10", "10") "]")));
    struct svg *svg = picture("pair.svg");
    struct svg_extent first = place_of(svg, "ours", "256 B"),
                      last = place_of(svg, "ours", "64 KiB");
    struct svg_extent middle = place_of(svg, "ours", "4 KiB");
    assert_true(fabs(middle.left - (first.left + last.left) / 2) < 0.11);
    assert_true(fabs(middle.top - (first.top + last.top) / 2) < 0.11);
    assert_true(first.top > last.top && first.left < last.left);
    assert_non_null(svg_find_text(svg, svg->list, "10 µs"));
    assert_non_null(svg_find_text(svg, svg->list, "64 KiB"));
    assert_non_null(svg_find_text(svg, svg->list, "Some GPU"));
    svg_forget(svg);
}

static void quartiles_are_bars(void **state) {
    (void)state;
    draw_well(ARGUMENTS(
        file_write("bench.json",
                   "[" BENCH("pair", "256 B", "256", "ours", "ns", "10", "100", "1000") "," BENCH(
                       "pair", "4 KiB", "4096", "ours", "ns", "10", "10", "10") "]")));
    struct svg *svg = picture("pair.svg");
    struct svg_extent bar = place_of(svg, "ours", "256 B");
    assert_true(bar.bottom - bar.top > 290); // two decades are the whole height
    svg_forget(svg);
}

// Both pictures are of one case, and settings tell which is which.
static void a_picture_has_the_settings_that_it_is_about(void **state) {
    (void)state;
    struct outcome outcome;
    draw(&outcome,
         ARGUMENTS(file_write(
             "bench.json",
             "[" BENCH("growth", "2 MiB, grow", "2097152", "ours", "us", "1", "1",
                       "1") "," BENCH("growth", "2 MiB, trim", "2097152", "ours", "us", "2", "2",
                                      "2") "," BENCH("growth", "2 MiB, left", "2097152", "ours",
                                                     "MiB", "0", "0", "0") "]")));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "/growth.svg\n");
    assert_says(outcome.output, "/trim.svg\n");
    program_forget(&outcome);
    struct svg *growth = picture("growth.svg"), *trim = picture("trim.svg");
    assert_non_null(point_of(growth, "ours", "2 MiB, grow"));
    assert_null(point_of(growth, "ours", "2 MiB, trim"));
    assert_non_null(point_of(trim, "ours", "2 MiB, trim"));
    svg_forget(growth);
    svg_forget(trim);
}

static void have_point(const char *name, const char *setting, size_t points) {
    struct svg *svg = picture(name);
    size_t count = 0;
    for (const struct svg_element *e = NULL;
         (e = svg_find(svg, svg->list, e, "data-subject", "ours"));)
        count++;
    assert_non_null(point_of(svg, "ours", setting));
    assert_int_equal(count, points);
    svg_forget(svg);
}

// Rates and times, of one memory and of pieces.
static void copies_have_pictures_by_direction_and_size(void **state) {
    (void)state;
    static const struct {
        const char *setting, *unit;
        unsigned at;
    } rows[] = {
        {"1 MiB, in", "GB/s", 1048576},
        {"1 GiB, in", "GB/s", 1073741824},
        {"1 MiB, out, fresh", "GB/s", 1048576},
        {"4 MiB, out", "GB/s", 4194304},
        {"64 B, in", "us", 64},
        {"4 KiB, in", "us", 4096},
        {"4 KiB, in, issue", "us", 4096},
        {"4 KiB, out", "us", 4096},
        {"4 KiB pieces, in", "GB/s", 4096},
        {"4 KiB pageable pieces, in", "GB/s", 4096},
        {"4 KiB pieces, out", "GB/s", 4096},
        {"1 MiB, in: returned", "us", 1048576},
    };
    char text[4096] = "[";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "%s{\"device\":\"Some GPU\",\"case\":\"copy\",\"setting\":\"%s\",\"at\":%u,"
                 "\"subject\":\"ours\",\"unit\":\"%s\",\"first_quartile\":5,\"median\":6,"
                 "\"third_quartile\":7}",
                 i ? "," : "", rows[i].setting, rows[i].at, rows[i].unit);
    strcat(text, "]");
    draw_well(ARGUMENTS(file_write("bench.json", text)));
    have_point("copy-in.svg", "1 GiB, in", 2);
    have_point("copy-out.svg", "4 MiB, out", 1);
    have_point("copy-small-in.svg", "64 B, in", 2);
    have_point("copy-small-out.svg", "4 KiB, out", 1);
    have_point("copy-pieces-in.svg", "4 KiB pieces, in", 1);
    have_point("copy-pieces-out.svg", "4 KiB pieces, out", 1);
}

// Two runs measured ours; the picture has it once, and what only the second one has.
static void of_several_files_the_first_one_counts(void **state) {
    (void)state;
    const char *first = file_write(
        "first.json", "[" BENCH("pair", "256 B", "256", "ours", "ns", "50", "50", "50") "]");
    const char *second = file_write(
        "second.json", "[" BENCH("pair", "256 B", "256", "ours", "ns", "60", "60", "60") "," BENCH(
                           "pair", "256 B", "256", "theirs", "ns", "70", "70", "70") "]");
    draw_well(ARGUMENTS(first, second));
    struct svg *svg = picture("pair.svg");
    const struct svg_element *ours = point_of(svg, "ours", "256 B");
    assert_null(svg_find(svg, svg->list, ours, "data-subject", "ours"));
    assert_non_null(point_of(svg, "theirs", "256 B"));
    assert_non_null(svg_find_text(svg, ours, "ours, 256 B: 50"));
    svg_forget(svg);
}

// ------------------------------------------------------------------------------------------- bars

// The height of a bar in pixels.
static double height_of(const struct svg *svg, const char *trace, const char *allocator) {
    const struct svg_element *bar = point_of(svg, allocator, trace);
    if (!bar)
        fail_msg("no bar for %s, %s", trace, allocator);
    for (const struct svg_element *e = bar; e < svg->list + bar->end; e++)
        if (strcmp(e->name, "rect") == 0)
            return atof(svg_value(e, "height"));
    fail_msg("no bar within the group");
    return 0;
}

static void bars_are_as_high_as_what_the_last_pass_held(void **state) {
    (void)state;
    draw_well(ARGUMENTS(
        file_write("replay.json", "[" REPLAY("a", "pool", "1", "100", "900") "," REPLAY(
                                      "a", "pool", "2", "100",
                                      "110") "," REPLAY("a", "driver", "1", "100", "220") "]")));
    struct svg *svg = picture("memory.svg");
    double ours = height_of(svg, "a", "pool"), theirs = height_of(svg, "a", "driver");
    assert_true(fabs(theirs / ours - 2) < 0.01);
    assert_non_null(svg_find_text(svg, svg->list, "streampool"));
    assert_non_null(svg_find_text(svg, svg->list, "CUDA's pool"));
    svg_forget(svg);
}

static void allocators_can_be_left_out(void **state) {
    (void)state;
    const char *path =
        file_write("replay.json", "[" REPLAY("a", "pool", "1", "100", "110") "," REPLAY(
                                      "a", "arena", "1", "100",
                                      "9000") "," REPLAY("a", "bins", "1", "100", "200") "]");
    draw_well(ARGUMENTS("--without", "arena", "--without=bins", path));
    struct svg *svg = picture("memory.svg");
    assert_null(svg_find(svg, svg->list, NULL, "data-subject", "arena"));
    assert_null(svg_find(svg, svg->list, NULL, "data-subject", "bins"));
    assert_true(height_of(svg, "a", "pool") > 0);
    svg_forget(svg);
}

// What --perturb writes has the spread of the ratio in place of the peaks.
static void the_spread_of_starts_is_drawn(void **state) {
    (void)state;
    struct outcome outcome;
    const char *json = file_path("starts.json");
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", "--perturb", "3", "--json", json,
                          file_write("t.csv", TRACE_HEADER "1,0,allocate,0x1000000,4194304,0\n"
                                                           "1,1,free,0x1000000,4194304,0\n")));
    assert_int_equal(outcome.status, 0);
    program_forget(&outcome);
    draw_well(ARGUMENTS(json));
    struct svg *svg = picture("memory.svg");
    assert_true(height_of(svg, "t", "pool") > 0);
    svg_forget(svg);
}

// ------------------------------------------------------------------------------- what isn't drawn

static void what_is_no_result_is_named_and_nothing_is_written(void **state) {
    (void)state;
    static const struct {
        const char *text, *answer;
    } files[] = {
        {"[", "bad.json: is no JSON: byte "},
        {"{}", "bad.json: is no list of results"},
        {"[" BENCH("pair", "256 B", "256", "ours", "ns", "1", "1", "1") ",{\"case\":\"pair\"}]",
         "bad.json: result 2 is neither of streampool-bench nor of a replay"},
        {"[{\"device\":\"D\",\"trace\":\"t\",\"allocator\":\"pool\",\"pass\":\"1\"}]",
         "bad.json: result 1 is neither "},
        {"[]", "there is nothing to draw among these results"},
        {"[" BENCH("kinds", "1 KiB", "1024", "ours", "ns", "1", "1", "1") "]",
         "there is nothing to draw among these results"},
        {"[" REPLAY("a", "pool", "1", "0", "0") "]",
         "there is nothing to draw among these results"},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct outcome outcome;
        const char *path = file_write("bad.json", files[i].text);
        size_t before = file_count();
        draw(&outcome, ARGUMENTS(path));
        assert_says(outcome.errors, files[i].answer);
        assert_string_equal(outcome.output, "");
        assert_int_equal(outcome.status, 1);
        assert_true(file_count() <= before);
        program_forget(&outcome);
    }
    struct outcome outcome;
    const char *good =
        file_write("good.json", "[" BENCH("pair", "256 B", "256", "ours", "ns", "1", "1", "1") "]");
    draw(&outcome, ARGUMENTS(good, file_write("bad.json", "{}")));
    assert_says(outcome.errors, "bad.json: is no list of results");
    assert_string_equal(outcome.output, "");
    assert_int_equal(outcome.status, 1);
    program_forget(&outcome);
    draw(&outcome, ARGUMENTS(file_path("missing.json")));
    assert_says(outcome.errors, "missing.json: No such file or directory");
    assert_int_equal(outcome.status, 1);
    program_forget(&outcome);
}

static void the_folder_is_made_where_it_can_be(void **state) {
    (void)state;
    const char *json = file_write(
        "bench.json", "[" BENCH("pair", "256 B", "256", "ours", "ns", "1", "1", "1") "]");
    const char *made = file_path("made"), *nowhere = file_path("no/such");
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("plot", "-o", nowhere, json));
    assert_says(outcome.errors, "no/such: No such file or directory");
    assert_int_equal(outcome.status, 1);
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("plot", "-o", made, json));
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "/made/pair.svg\n");
    assert_int_equal(unlink(file_path("made/pair.svg")), 0);
    assert_int_equal(rmdir(made), 0);
    program_forget(&outcome);
    program_run(&outcome, NO_SETTINGS, ARGUMENTS("plot", "-o", json, json));
    assert_int_equal(outcome.status, 1);
    assert_says(outcome.errors, "bench.json/pair.svg: Not a directory");
    program_forget(&outcome);
}

static void a_command_line_without_a_file_is_refused(void **state) {
    (void)state;
    assert_usage_error(ARGUMENTS("plot"), "no file of results is named");
    assert_usage_error(ARGUMENTS("plot", "--gnuplot", "x.json"), "unrecognized option");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_stand_where_both_axes_have_them),
        cmocka_unit_test(quartiles_are_bars),
        cmocka_unit_test(a_picture_has_the_settings_that_it_is_about),
        cmocka_unit_test(copies_have_pictures_by_direction_and_size),
        cmocka_unit_test(of_several_files_the_first_one_counts),
        cmocka_unit_test(bars_are_as_high_as_what_the_last_pass_held),
        cmocka_unit_test(allocators_can_be_left_out),
        cmocka_unit_test(the_spread_of_starts_is_drawn),
        cmocka_unit_test(what_is_no_result_is_named_and_nothing_is_written),
        cmocka_unit_test(the_folder_is_made_where_it_can_be),
        cmocka_unit_test(a_command_line_without_a_file_is_refused),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
