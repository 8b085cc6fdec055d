// Pictures of replays: they are read again, and what they draw is compared with the figures in
// JSON.
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "program.h"
#include "svg.h"

// Two streams; 8 MiB are alive at most; the last block is never freed.
static const char small[] = TRACE_HEADER
    "1,0,allocate,0x1000000,4194304,0\n"
    "1,10,allocate,0x2000000,4194304,7\n"
    "1,20,free,0x1000000,4194304,0\n"
    "1,30,allocate,0x1000000,1024,0\n"
    "1,40,free,0x2000000,4194304,7\n";

static struct svg *parse_file(const char *path) {
    char *text = file_read(path);
    assert_non_null(text);
    struct svg *svg = svg_parse(text);
    free(text);
    return svg;
}

static void run(struct outcome *outcome, const char *const arguments[]) {
    program_run(outcome, NO_SETTINGS, arguments);
    assert_replayed(outcome);
}

static const struct svg_element *panel_of(const struct svg *svg, const char *trace) {
    const struct svg_element *panel = svg_find(svg, svg->list, NULL, "data-trace", trace);
    if (!panel)
        fail_msg("no panel for %s", trace);
    return panel;
}

static uint64_t count_of(const struct svg_element *element, const char *name) {
    const char *value = svg_value(element, name);
    assert_non_null(value);
    return strtoull(value, NULL, 10);
}

// The panel that a line stands in has the scale. Coordinates are tenths of a pixel.
static void assert_height(const struct svg *svg, const struct svg_element *line, uint64_t bytes) {
    const struct svg_element *panel = line;
    while (!svg_value(panel, "data-top") || panel->end <= (size_t)(line - svg->list))
        panel--;
    assert_int_equal(count_of(line, "data-peak-bytes"), bytes);
    double pixel = (double)count_of(panel, "data-top") / (double)count_of(panel, "data-height");
    double drawn = ((double)count_of(panel, "data-bottom") - svg_extent_of(svg, line).top) * pixel;
    if (fabs(drawn - (double)bytes) > 0.06 * pixel)
        fail_msg("%.0f bytes are drawn for %" PRIu64, drawn, bytes);
}

static void assert_drawn(const struct svg *svg, const struct svg_element *within,
                         const char *figure, uint64_t bytes) {
    const struct svg_element *line = svg_find(svg, within, NULL, "data-figure", figure);
    if (!line)
        fail_msg("%s is not drawn", figure);
    else
        assert_height(svg, line, bytes);
}

// What a holder reserved is a line, or, where only the peak is known, a dashed one.
static void assert_reserved(const struct svg *svg, const struct svg_element *panel,
                            const char *holder, uint64_t bytes) {
    const struct svg_element *drawn = svg_find(svg, panel, NULL, "data-holder", holder);
    if (!drawn)
        fail_msg("no line for %s", holder);
    else
        assert_height(svg, drawn, bytes);
}

// ----------------------------------------------------------------------------------- with its JSON

struct drawing {
    struct svg *svg;
    cJSON *json;
    struct outcome outcome;
};

// Runs a command with --plot and --json to files, beside these arguments.
static void draw(struct drawing *drawing, const char *const arguments[]) {
    const char *all[24] = {NULL}, *plot = file_path("drawn.svg"), *json = file_path("drawn.json");
    size_t count = 0;
    while (arguments[count]) {
        all[count] = arguments[count];
        count++;
    }
    all[count++] = "--plot";
    all[count++] = plot;
    all[count++] = "--json";
    all[count++] = json;
    run(&drawing->outcome, all);
    drawing->svg = parse_file(plot);
    char *text = file_read(json);
    drawing->json = cJSON_Parse(text);
    assert_non_null(drawing->json);
    free(text);
}

static void drawing_forget(struct drawing *drawing) {
    svg_forget(drawing->svg);
    cJSON_Delete(drawing->json);
    program_forget(&drawing->outcome);
}

static const char *text_at(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    assert_non_null(text);
    return text;
}

static uint64_t number_at(const cJSON *object, const char *key) {
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(number));
    return (uint64_t)number->valuedouble;
}

static const char *title_of(const char *allocator) {
    static const char *const titles[][2] = {
        {"pool", "streampool"}, {"promised", "StreamPromises"}, {"direct", "cuMemAlloc"}};
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        if (strcmp(titles[i][0], allocator) == 0)
            return titles[i][1];
    fail_msg("no title for %s", allocator);
    return NULL;
}

static void assert_peaks(const struct svg *svg, const cJSON *result) {
    const struct svg_element *panel = panel_of(svg, text_at(result, "trace"));
    assert_drawn(svg, panel, "live", number_at(result, "live_peak_bytes"));
    assert_reserved(svg, panel, title_of(text_at(result, "allocator")),
                    number_at(result, "reserved_peak_bytes"));
}

static void the_peaks_that_are_drawn_are_those_of_the_table(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing,
         ARGUMENTS("replay", "--device", "sim", "--allocator", "pool,promised,direct",
                   file_write("first.csv", small), file_write_gzipped("second.csv.gz", small)));
    assert_int_equal(cJSON_GetArraySize(drawing.json), 6);
    const cJSON *result;
    cJSON_ArrayForEach(result, drawing.json) assert_peaks(drawing.svg, result);
    drawing_forget(&drawing);
}

// 20,000 pairs, and one of them is large: far more operations than columns.
static void a_peak_of_one_operation_is_drawn(void **state) {
    (void)state;
    enum { PAIRS = 20000, LARGE = 12345 };
    char *text = malloc(sizeof TRACE_HEADER + (size_t)PAIRS * 100);
    assert_non_null(text);
    size_t length = (size_t)sprintf(text, TRACE_HEADER);
    for (int i = 0; i < PAIRS; i++) {
        unsigned long size = i == LARGE ? 512ul << 20 : 1ul << 20;
        length += (size_t)sprintf(text + length,
                                  "1,0,allocate,0x1000,%lu,0\n1,0,free,0x1000,%lu,0\n", size, size);
    }
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", file_write_gzipped("peak.csv", text)));
    free(text);
    assert_drawn(drawing.svg, panel_of(drawing.svg, "peak"), "live", 512u << 20);
    assert_peaks(drawing.svg, cJSON_GetArrayItem(drawing.json, 0));
    drawing_forget(&drawing);
}

// A request that had failed when the trace was recorded is freed at once if it succeeds.
static void a_peak_within_one_operation_is_drawn(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim",
                             file_write("within.csv",
                                        TRACE_HEADER "1,0,allocate,0x1000000,1048576,0\n"
                                                     "1,1,allocate failure,(nil),67108864,0\n")));
    assert_drawn(drawing.svg, panel_of(drawing.svg, "within"), "live", 68157440);
    assert_peaks(drawing.svg, cJSON_GetArrayItem(drawing.json, 0));
    drawing_forget(&drawing);
}

static const char *const measured[] = {
    "replay", "--device", "sim", "--allocator",   "pool,direct", "--passes",     "2",  "--work",
    "0.9",    "--events", "5",   "--synchronize", "7",           "--statistics", NULL,
};

// The statistics that are measured by the host's clock differ from run to run.
static void blank_host_times(char *text) {
    static const char *const names[] = {"GrowthTime", "RemapTime", "ReaperTime"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (char *at = text; (at = strstr(at, names[i]));) {
            size_t length = strcspn(at, "\n");
            memset(at, ' ', length);
        }
}

// Without the blanks, for a column is as wide as its widest figure.
static void squeeze(char *text) {
    size_t length = 0;
    for (const char *c = text; *c; c++)
        if (*c != ' ')
            text[length++] = *c;
    text[length] = '\0';
}

// With work all times are those of the virtual clock, so any driver call more would be seen.
static void a_replay_that_is_drawn_does_what_it_would_have_done(void **state) {
    (void)state;
    const char *trace = file_write("small.csv", small), *with[20] = {NULL};
    size_t count = 0;
    for (; measured[count]; count++)
        with[count] = measured[count];
    with[count] = trace;
    struct outcome plain, drawn;
    run(&plain, with);
    with[count + 1] = "--plot";
    with[count + 2] = file_path("drawn.svg");
    run(&drawn, with);
    blank_host_times(plain.output);
    blank_host_times(drawn.output);
    squeeze(plain.output);
    squeeze(drawn.output);
    assert_string_equal(drawn.output, plain.output);
    program_forget(&plain);
    program_forget(&drawn);
}

// ----------------------------------------------------------------------------- which line is which

// The free of the second stream's block is behind its work; a synchronise then ends that of both.
static void what_is_freed_behind_work_is_pending_until_a_synchronise(void **state) {
    (void)state;
    const char *trace = file_write("pending.csv", TRACE_HEADER
                                   "1,0,allocate,0x1000000,16777216,7\n"
                                   "1,10,free,0x1000000,16777216,7\n"
                                   "1,20,allocate,0x3000000,1048576,7\n");
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", "--work-ns", "5000", trace));
    assert_drawn(drawing.svg, panel_of(drawing.svg, "pending"), "pending", 16777216);
    drawing_forget(&drawing);
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", "--work-ns", "5000", "--synchronize", "1",
                             "--allocator", "pool", trace));
    assert_drawn(drawing.svg, panel_of(drawing.svg, "pending"), "pending", 0);
    drawing_forget(&drawing);
}

// Half of an extent is freed beside the other half.
static void free_memory_beside_a_block_in_use_is_pinned(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing,
         ARGUMENTS("replay", "--device", "sim",
                   file_write("pinned.csv", TRACE_HEADER "1,0,allocate,0x1000000,2097152,0\n"
                                                         "1,10,allocate,0x2000000,2097152,0\n"
                                                         "1,20,free,0x1000000,2097152,0\n")));
    const struct svg_element *panel = panel_of(drawing.svg, "pinned");
    const cJSON *result = cJSON_GetArrayItem(drawing.json, 0);
    uint64_t rest = number_at(result, "reserved_peak_bytes") - 2097152;
    assert_drawn(drawing.svg, panel, "pinned", rest);
    drawing_forget(&drawing);
}

// Of cuMemAlloc only the peak is known: it is a dashed line, and there is no panel of what is free.
static void what_an_allocator_does_not_tell_is_not_drawn(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", "--allocator", "direct",
                             file_write("small.csv", small)));
    const struct svg_element *panel = panel_of(drawing.svg, "small");
    assert_null(svg_find(drawing.svg, panel, NULL, "data-figure", "reserved"));
    assert_null(svg_find(drawing.svg, panel, NULL, "data-figure", "pinned"));
    assert_non_null(svg_find_text(drawing.svg, panel, "cuMemAlloc: 8.0 MiB reserved"));
    assert_peaks(drawing.svg, cJSON_GetArrayItem(drawing.json, 0));
    drawing_forget(&drawing);
}

// The pool may not have as much.
static void calls_that_failed_are_told(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing,
         ARGUMENTS("replay", "--device", "sim", "--limit", "32M",
                   file_write("large.csv", TRACE_HEADER "1,0,allocate,0x1000000,50331648,0\n")));
    const struct svg_element *panel = panel_of(drawing.svg, "large");
    assert_int_equal(number_at(cJSON_GetArrayItem(drawing.json, 0), "errors"), 1);
    assert_non_null(
        svg_find_text(drawing.svg, panel, "streampool: 0 B reserved, calls that failed: 1"));
    drawing_forget(&drawing);
}

static void an_allocator_that_is_missing_is_not_drawn(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", "--allocator", "driver,pool",
                             file_write("small.csv", small)));
    assert_null(svg_find(drawing.svg, drawing.svg->list, NULL, "data-holder", "CUDA's pool"));
    assert_peaks(drawing.svg, cJSON_GetArrayItem(drawing.json, 0));
    drawing_forget(&drawing);
}

// ---------------------------------------------------------------------------------------- growths

static size_t marks_of(const struct svg *svg, const char *cause) {
    size_t count = 0;
    for (const struct svg_element *mark = NULL;
         (mark = svg_find(svg, svg->list, mark, "data-cause", cause));)
        count++;
    return count;
}

static double x_of_number(const struct svg *svg, const char *number) {
    const struct svg_element *text = svg_find_text(svg, panel_of(svg, "grown"), number);
    assert_non_null(text);
    return atof(svg_value(text, "x"));
}

// The last growth is at operation 7, the last one, of which the lines have half a step on either
// side of its number.
static void assert_numbers_are_those_of_the_text(const struct drawing *drawing) {
    const struct svg *svg = drawing->svg;
    const struct svg_element *panel = panel_of(svg, "grown");
    struct svg_extent mark =
        svg_extent_of(svg, svg_find(svg, panel, NULL, "data-cause", "beside blocks in use"));
    struct svg_extent line =
        svg_extent_of(svg, svg_find(svg, panel, NULL, "data-figure", "reserved"));
    double first = x_of_number(svg, "1"), last = x_of_number(svg, "7"), half = (last - first) / 12;
    assert_says(drawing->outcome.output, "grown, streampool, pass 1, operation 7: ");
    assert_true(fabs((mark.left + mark.right) / 2 - last) < 0.2);
    assert_true(fabs(line.left - (first - half)) < 0.2);
    assert_true(fabs(line.right - (last + half)) < 0.2);
}

// The first two growths are of need. At the third one two times 3 MiB are free, each in an extent
// that another block is in.
static void growths_are_marked_by_their_cause(void **state) {
    (void)state;
    const char *trace = file_write("grown.csv", TRACE_HEADER
                                   "1,0,allocate,0x1000000,3145728,0\n"
                                   "1,1,allocate,0x2000000,1024000,0\n"
                                   "1,2,allocate,0x3000000,3145728,0\n"
                                   "1,3,allocate,0x4000000,1024000,0\n"
                                   "1,4,free,0x1000000,3145728,0\n"
                                   "1,5,free,0x3000000,3145728,0\n"
                                   "1,6,allocate,0x5000000,4194304,0\n");
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", "--wide", "--explain-growth", "--set",
                             "Defragmentation=0", trace));
    const cJSON *growths =
        cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(drawing.json, 0), "growths");
    size_t of_need = marks_of(drawing.svg, "too little is free");
    size_t pinned = marks_of(drawing.svg, "beside blocks in use");
    assert_true(of_need > 0);
    assert_int_equal(pinned, 1);
    assert_int_equal(of_need + pinned, cJSON_GetArraySize(growths));
    assert_non_null(svg_find_text(drawing.svg, drawing.svg->list,
                                  "1 growth, 4.0 MiB: what is free is beside blocks in use"));
    assert_numbers_are_those_of_the_text(&drawing);
    drawing_forget(&drawing);
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", trace));
    assert_int_equal(marks_of(drawing.svg, "too little is free"), 0);
    drawing_forget(&drawing);
}

// --------------------------------------------------------------------------------------- recorded

// The file has a result of CUDA's pool: that of cuMemAlloc under another name.
static const char *recording_of(const char *trace) {
    struct outcome outcome;
    run(&outcome,
        ARGUMENTS("replay", "--device", "sim", "--allocator", "direct", "--json", "-", trace));
    char *name = strstr(outcome.output, "\"direct\"");
    assert_non_null(name);
    memcpy(name, "\"driver\"", strlen("\"driver\""));
    const char *path = file_write("recorded.json", outcome.output);
    program_forget(&outcome);
    return path;
}

static void a_recorded_result_is_a_dashed_line(void **state) {
    (void)state;
    const char *trace = file_write("small.csv", small), *recorded = recording_of(trace);
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", "--beside", recorded, trace));
    const struct svg_element *panel = panel_of(drawing.svg, "small");
    assert_reserved(drawing.svg, panel, "CUDA's pool", 8 << 20);
    assert_non_null(svg_find_text(drawing.svg, panel, "CUDA's pool: 8.0 MiB reserved, recorded"));
    drawing_forget(&drawing);
}

static void a_result_of_another_trace_of_the_name_is_not_drawn(void **state) {
    (void)state;
    const char *recorded = recording_of(file_write("small.csv", small));
    const char *other = file_write("small.csv", TRACE_HEADER "1,0,allocate,0x1000000,4096,0\n");
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", "--beside", recorded, other));
    assert_null(svg_find(drawing.svg, drawing.svg->list, NULL, "data-holder", "CUDA's pool"));
    drawing_forget(&drawing);
}

// --------------------------------------------------------------------- passes, starts and threads

// In the second pass the pool has kept what it reserved in the first.
static void passes_follow_each_other(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", "--allocator", "pool", "--passes", "2",
                             file_write("small.csv", small)));
    const struct svg_element *panel = panel_of(drawing.svg, "small");
    const struct svg_element *begin = svg_find_text(drawing.svg, panel, "pass 2");
    struct svg_extent line =
        svg_extent_of(drawing.svg, svg_find(drawing.svg, panel, NULL, "data-figure", "reserved"));
    assert_non_null(begin);
    assert_true(line.left < atof(svg_value(begin, "x")));
    assert_true(line.right > atof(svg_value(begin, "x")));
    assert_null(svg_find_text(drawing.svg, panel, "pass 3"));
    drawing_forget(&drawing);
}

static uint64_t most_of_starts(const cJSON *result, const char *key) {
    uint64_t most = 0;
    const cJSON *start;
    cJSON_ArrayForEach(start, cJSON_GetObjectItemCaseSensitive(result, "starts")) {
        uint64_t value = number_at(start, key);
        most = value > most ? value : most;
    }
    return most;
}

static void starts_lie_over_each_other(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", "--perturb", "4", "--passes", "2",
                             file_write("small.csv", small)));
    const struct svg_element *panel = panel_of(drawing.svg, "small");
    const cJSON *result = cJSON_GetArrayItem(drawing.json, 0);
    assert_drawn(drawing.svg, panel, "live", most_of_starts(result, "live_peak_bytes"));
    assert_drawn(drawing.svg, panel, "reserved", most_of_starts(result, "reserved_peak_bytes"));
    drawing_forget(&drawing);
}

static void threads_are_drawn_too(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing,
         ARGUMENTS("replay", "--device", "sim", "--threads",
                   file_write("threads.csv", TRACE_HEADER "1,0,allocate,0x1000,4194304,1\n"
                                                          "2,1,allocate,0x2000,2097152,2\n"
                                                          "2,2,free,0x1000,4194304,2\n"
                                                          "1,3,free,0x2000,2097152,1\n")));
    assert_peaks(drawing.svg, cJSON_GetArrayItem(drawing.json, 0));
    drawing_forget(&drawing);
}

static void a_trace_of_nothing_has_an_empty_panel(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim",
                             file_write("nil.csv", TRACE_HEADER "1,0,allocate,(nil),0,0\n")));
    assert_drawn(drawing.svg, panel_of(drawing.svg, "nil"), "live", 0);
    drawing_forget(&drawing);
}

// ------------------------------------------------------------------------------- names and places

static void assert_name_is_drawn(const char *file, const char *expected) {
    struct drawing drawing;
    draw(&drawing, ARGUMENTS("replay", "--device", "sim", file_write(file, small)));
    panel_of(drawing.svg, expected);
    drawing_forget(&drawing);
}

static void names_are_escaped_and_made_what_xml_can_have(void **state) {
    (void)state;
    assert_name_is_drawn("<a>&\"b'.csv", "<a>&\"b'");
    assert_name_is_drawn("caf\xe9\x01.csv", "caf\xef\xbf\xbd\xef\xbf\xbd");
    assert_name_is_drawn("caf\xc3\xa9\xef\xbf\xbe.csv", "caf\xc3\xa9\xef\xbf\xbd");
}

static void a_dash_is_standard_output_and_leaves_out_the_table(void **state) {
    (void)state;
    static const char *const commands[] = {"replay", "policies"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        run(&outcome, ARGUMENTS(commands[i], "--device", "sim", "--plot", "-",
                                file_write("small.csv", small)));
        svg_forget(svg_parse(outcome.output));
        assert_string_equal(outcome.errors, "");
        program_forget(&outcome);
    }
}

static void assert_same_place_is_refused(const char *command, const char *place) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS(command, "--device", "sim", "--plot", place, "--json", place,
                          file_write("small.csv", small)));
    assert_int_equal(outcome.status, 64);
    assert_non_null(strstr(outcome.errors, "--json and --plot can't both be written to '"));
    assert_string_equal(outcome.output, "");
    program_forget(&outcome);
}

static void the_picture_and_the_results_go_to_different_places(void **state) {
    (void)state;
    assert_same_place_is_refused("replay", "-");
    assert_same_place_is_refused("replay", "both");
    assert_same_place_is_refused("policies", "-");
}

static void an_older_file_is_replaced_and_nothing_else_is_left(void **state) {
    (void)state;
    const char *path = file_write("old.svg", "old\n"), *trace = file_write("small.csv", small);
    size_t files = file_count();
    struct outcome outcome;
    run(&outcome, ARGUMENTS("replay", "--device", "sim", "--plot", path, trace));
    assert_non_null(strstr(outcome.output, "small"));
    svg_forget(parse_file(path));
    assert_int_equal(file_count(), files);
    program_forget(&outcome);
}

static void a_place_that_can_not_be_written_is_an_error(void **state) {
    (void)state;
    static const char *const commands[] = {"replay", "policies"};
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome;
        program_run(&outcome, NO_SETTINGS,
                    ARGUMENTS(commands[i], "--device", "sim", "--plot", "/dev/full",
                              file_write("small.csv", small)));
        assert_int_equal(outcome.status, 1);
        assert_string_equal(outcome.errors, "streampool: /dev/full: No space left on device\n");
        assert_says(outcome.output, "\nsmall "); // the table is there all the same
        program_forget(&outcome);
    }
}

// ---------------------------------------------------------------------------------------- policies

static void each_combination_has_its_line(void **state) {
    (void)state;
    struct drawing drawing;
    draw(&drawing,
         ARGUMENTS("policies", file_write("first.csv", small), file_write("second.csv", small)));
    assert_int_equal(cJSON_GetArraySize(drawing.json), 16);
    for (int i = 0; i < 16; i++) {
        const cJSON *result = cJSON_GetArrayItem(drawing.json, i);
        const struct svg_element *panel = panel_of(drawing.svg, text_at(result, "trace"));
        static const char *const combinations[] = {
            "no policy", "events",        "opportunistic",        "events, opportunistic",
            "waits",     "events, waits", "opportunistic, waits", "events, opportunistic, waits"};
        assert_drawn(drawing.svg, panel, "live", number_at(result, "live_peak_bytes"));
        assert_reserved(drawing.svg, panel, combinations[i % 8],
                        number_at(result, "reserved_peak_bytes"));
    }
    drawing_forget(&drawing);
}

static void policies_that_are_drawn_give_the_same_table(void **state) {
    (void)state;
    struct outcome plain, drawn;
    const char *trace = file_write("small.csv", small);
    run(&plain, ARGUMENTS("policies", trace));
    run(&drawn, ARGUMENTS("policies", "--plot", file_path("drawn.svg"), trace));
    assert_string_equal(drawn.output, plain.output);
    program_forget(&plain);
    program_forget(&drawn);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peaks_that_are_drawn_are_those_of_the_table),
        cmocka_unit_test(a_peak_of_one_operation_is_drawn),
        cmocka_unit_test(a_peak_within_one_operation_is_drawn),
        cmocka_unit_test(a_replay_that_is_drawn_does_what_it_would_have_done),
        cmocka_unit_test(what_is_freed_behind_work_is_pending_until_a_synchronise),
        cmocka_unit_test(free_memory_beside_a_block_in_use_is_pinned),
        cmocka_unit_test(what_an_allocator_does_not_tell_is_not_drawn),
        cmocka_unit_test(calls_that_failed_are_told),
        cmocka_unit_test(an_allocator_that_is_missing_is_not_drawn),
        cmocka_unit_test(growths_are_marked_by_their_cause),
        cmocka_unit_test(a_recorded_result_is_a_dashed_line),
        cmocka_unit_test(a_result_of_another_trace_of_the_name_is_not_drawn),
        cmocka_unit_test(passes_follow_each_other),
        cmocka_unit_test(starts_lie_over_each_other),
        cmocka_unit_test(threads_are_drawn_too),
        cmocka_unit_test(a_trace_of_nothing_has_an_empty_panel),
        cmocka_unit_test(names_are_escaped_and_made_what_xml_can_have),
        cmocka_unit_test(a_dash_is_standard_output_and_leaves_out_the_table),
        cmocka_unit_test(the_picture_and_the_results_go_to_different_places),
        cmocka_unit_test(an_older_file_is_replaced_and_nothing_else_is_left),
        cmocka_unit_test(a_place_that_can_not_be_written_is_an_error),
        cmocka_unit_test(each_combination_has_its_line),
        cmocka_unit_test(policies_that_are_drawn_give_the_same_table),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
