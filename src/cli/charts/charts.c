#include "cli/charts/charts.h"

#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ----------------------------------------------------------------------------------- the arguments

enum { OPTION_WITHOUT = 256 };

struct request {
    struct sp_charts charts;
    char **paths;
    size_t path_count;
};

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct request *request = state->input;
    switch (key) {
    case 'o':
        request->charts.folder = argument;
        return 0;
    case OPTION_WITHOUT:
        if (request->charts.without_count == SP_CHARTS_WITHOUT_MAX)
            argp_error(state, "--without is there more than %d times", SP_CHARTS_WITHOUT_MAX);
        request->charts.without[request->charts.without_count++] = argument;
        return 0;
    case ARGP_KEY_ARGS:
        request->paths = state->argv + state->next;
        request->path_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no file of results is named");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"output", 'o', "FOLDER", 0,
     "Write the pictures into FOLDER, which is made if it isn't there (default: the current one)",
     0},
    {"without", OPTION_WITHOUT, "ALLOCATOR", 0,
     "Draw no bars of this allocator of replays; may be there several times", 0},
    {0},
};

static const struct argp_child children[] = {SP_HELP_CHILD, {0}};

static const struct argp argp = {
    .options = options,
    .children = children,
    .parser = parse,
    .args_doc = "RESULTS.json...",
    .doc =
        "Draws results that `streampool-bench --json` or `streampool replay --json` wrote earlier, "
        "on this or another machine, as SVG. No device is needed.\v"
        "Of streampool-bench it draws the cases pair, live, threads, growth and mam: medians, with "
        "bars from the lower to the upper quartile. Of replays it draws memory.svg: the most that "
        "each allocator reserved, divided by the most that was live. Each picture that is written "
        "is named on a line. What several files have is drawn of the first one. The exit status is "
        "0 when a picture was written, else 1.",
};

// ------------------------------------------------------------------------------------- the results

const char *sp_charts_text(const cJSON *result, const char *key) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(result, key));
}

double sp_charts_number(const cJSON *result, const char *key) {
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(result, key));
}

static bool has_texts(const cJSON *result, const char *const keys[]) {
    while (*keys && sp_charts_text(result, *keys))
        keys++;
    return !*keys;
}

static bool has_numbers(const cJSON *result, const char *const keys[]) {
    while (*keys && isfinite(sp_charts_number(result, *keys)))
        keys++;
    return !*keys;
}

static bool is_measured(const cJSON *result) {
    static const char *const texts[] = {"device", "case", "setting", "subject", "unit", NULL};
    static const char *const numbers[] = {"first_quartile", "median", "third_quartile", NULL};
    return has_texts(result, texts) && has_numbers(result, numbers);
}

// With several starts there is the spread of the ratio in place of the peaks.
static bool is_replayed(const cJSON *result) {
    static const char *const texts[] = {"device", "trace", "allocator", NULL};
    static const char *const pass[] = {"pass", NULL};
    static const char *const peaks[] = {"live_peak_bytes", "reserved_peak_bytes", NULL};
    static const char *const spread[] = {"median", "least", "most", NULL};
    return has_texts(result, texts) && has_numbers(result, pass) &&
           (has_numbers(result, peaks) ||
            has_numbers(cJSON_GetObjectItemCaseSensitive(result, "ratio"), spread));
}

// Moves the results of a file to the end of the list.
static bool read_results(cJSON *results, const char *path) {
    cJSON *file = sp_json_read(path);
    size_t index = 0;
    bool good = file && (cJSON_IsArray(file) || sp_complain("%s: is no list of results", path));
    while (good && file->child) {
        cJSON *result = cJSON_DetachItemFromArray(file, 0);
        index++;
        good = is_measured(result) || is_replayed(result) ||
               sp_complain("%s: result %zu is neither of streampool-bench nor of streampool replay",
                           path, index);
        if (!cJSON_AddItemToArray(results, result))
            cJSON_Delete(result);
    }
    cJSON_Delete(file);
    return good;
}

size_t sp_charts_index(const char *names[], size_t *count, const char *name) {
    size_t i = 0;
    while (i < *count && strcmp(names[i], name) != 0)
        i++;
    if (i == *count)
        names[(*count)++] = name;
    return i;
}

// ------------------------------------------------------------------------------------ the pictures

bool sp_charts_begin(struct sp_svg *svg, const char *title, const cJSON *result) {
    bool is_simulated = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(result, "simulated"));
    if (!sp_svg_begin(svg, title))
        return false;
    sp_svg_text(svg, "title", 20, 30, "%s", title);
    sp_svg_text(svg, "small", 20, 48, "%s%s", sp_charts_text(result, "device"),
                is_simulated ? ", simulated driver: times of the host" : "");
    return true;
}

bool sp_charts_end(struct sp_charts *charts, struct sp_svg *svg, const char *name, double width,
                   double height, const char *title) {
    char *path;
    if (asprintf(&path, "%s/%s.svg", charts->folder, name) < 0)
        return sp_complain("out of host memory for the picture %s", name);
    bool good = sp_svg_end(svg, path, width, height, title);
    if (good)
        puts(path);
    charts->drawn += good;
    free(path);
    return good;
}

static bool draw(struct request *request) {
    struct sp_charts *charts = &request->charts;
    for (size_t i = 0; i < request->path_count; i++)
        if (!read_results(charts->results, request->paths[i]))
            return false;
    if (mkdir(charts->folder, 0777) != 0 && errno != EEXIST)
        return sp_complain("%s: %s", charts->folder, strerror(errno));
    return sp_charts_draw_lines(charts) && sp_charts_draw_bars(charts) &&
           (charts->drawn > 0 || sp_complain("there is nothing to draw among these results"));
}

int sp_command_plot(int argc, char **argv) {
    struct request request = {.charts = {.folder = ".", .results = cJSON_CreateArray()}};
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_FAILURE;
    bool good = request.charts.results ? draw(&request) : sp_complain("out of host memory");
    cJSON_Delete(request.charts.results);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
