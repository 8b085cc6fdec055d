// `streampool plot` draws results that were written as JSON, on this or another machine: those of
// streampool-bench as lines, and those of `streampool replay` as bars.
#include "cli/play/allocator.h"
#include "cli/plot/plot.h"
#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/json.h"
#include "cli/program/output.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Lines have medians, with bars from the lower to the upper quartile, over logarithmic axes. Bars
// have a group for each setting, and on each bar a line from the least to the most.
struct chart {
    const char *name, *title;
    const char *case_name; // of streampool-bench; "": replays
    const char *settings;  // as fnmatch() has patterns
    enum sp_axis_unit unit;
    double multiple; // from tick to tick
    const char *across, *up;
};

static const struct chart charts[] = {
    {"pair", "A malloc and a free on one stream", "pair", "*", SP_AXIS_BYTES, 16, "bytes",
     "a malloc and a free"},
    {"live", "A malloc and a free beside live blocks", "live", "*, pair", SP_AXIS_COUNT, 10,
     "live blocks", "a free and a malloc of 512 B"},
    {"threads", "Threads that malloc and free", "threads", "4 KiB, +([0-9]) thread?(s)",
     SP_AXIS_COUNT, 2, "threads", "thousand pairs of 4 KiB per second, of all threads together"},
    {"threads-written", "Threads that malloc, write and free", "threads", "4 KiB, *, written",
     SP_AXIS_COUNT, 2, "threads", "thousand pairs of 4 KiB per second, of all threads together"},
    {"growth", "Growth of a new pool", "growth", "*, grow", SP_AXIS_BYTES, 4, "bytes",
     "the first allocation"},
    {"trim", "Trim of a pool", "growth", "*, trim", SP_AXIS_BYTES, 4, "bytes",
     "the synchronise that trims"},
    {"mam", "A malloc and a free without streams", "mam", "*B", SP_AXIS_BYTES, 16, "bytes",
     "a malloc and a free"},
    {"mam-live", "A malloc and a free without streams, beside live blocks", "mam", "* live",
     SP_AXIS_COUNT, 10, "live blocks", "a free and a malloc of 512 B"},
    {"copy-in", "Pageable memory to the device", "copy", "+([0-9]) @(M|G)iB, in", SP_AXIS_BYTES, 4,
     "bytes", "GB/s"},
    {"copy-out", "Pageable memory to the host", "copy", "+([0-9]) @(M|G)iB, out", SP_AXIS_BYTES, 4,
     "bytes", "GB/s"},
    {"copy-small-in", "A small copy to the device, and a synchronise", "copy",
     "+([0-9]) @(B|KiB), in", SP_AXIS_BYTES, 4, "bytes", "a copy and a synchronise"},
    {"copy-small-out", "A small copy to the host, and a synchronise", "copy",
     "+([0-9]) @(B|KiB), out", SP_AXIS_BYTES, 4, "bytes", "a copy and a synchronise"},
    {"copy-pieces-in", "Many pieces of pinned memory to the device", "copy",
     "+([0-9]) ?iB pieces, in", SP_AXIS_BYTES, 4, "bytes of a piece", "GB/s"},
    {"copy-pieces-out", "Many pieces of pinned memory to the host", "copy",
     "+([0-9]) ?iB pieces, out", SP_AXIS_BYTES, 4, "bytes of a piece", "GB/s"},
    {"memory", "Memory held for each byte in use", "", "*", SP_AXIS_PLAIN, 0, NULL,
     "the most that was reserved / the most that was live"},
};

// A point is what one subject measured in one setting.
struct point {
    const char *device, *case_name, *setting, *subject;
    double at, low, median, high; // times in nanoseconds
    double pass;                  // of a replay
    bool is_time, is_simulated;
    size_t subject_index, setting_index; // in the order of the chart's points
};

struct points {
    struct point *list;
    size_t count, subjects, settings;
};

struct request {
    const char *folder;
    const char *without[16];
    size_t without_count;
    char **paths;
    size_t path_count;
    struct points points; // of all files
    cJSON *files;         // which have their texts
};

// ----------------------------------------------------------------------------------- the arguments

static error_t parse(int key, char *argument, struct argp_state *state) {
    enum { WITHOUT_MAX = sizeof(((struct request *)0)->without) / sizeof(char *) };
    struct request *request = state->input;
    switch (key) {
    case 'o':
        request->folder = argument;
        return 0;
    case 'w':
        if (request->without_count == WITHOUT_MAX)
            argp_error(state, "--without is there more than %d times", WITHOUT_MAX);
        request->without[request->without_count++] = argument;
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
    {"without", 'w', "SUBJECT", 0,
     "Leave out this subject of streampool-bench, or this allocator of replays; may be there "
     "several times",
     0},
    {0},
};

static const struct argp argp = {
    .options = options,
    .children = sp_help_children,
    .parser = parse,
    .args_doc = "RESULTS.json...",
    .doc =
        "Draws results that `streampool-bench --json` or `streampool replay --json` wrote earlier, "
        "on this or another machine, as SVG. No device is needed.\v"
        "Of streampool-bench it draws the cases pair, live, threads, growth, mam and copy: "
        "medians, with bars from the lower to the upper quartile. Of replays it draws memory.svg: "
        "the most that each allocator reserved, divided by the most that was live, in the last "
        "pass. Each picture that is written is named on a line. What several files have is drawn "
        "of the first one. The exit status is 0 when a picture was written, else 1.",
};

// ------------------------------------------------------------------------------------- the results

// The values of an object, of which none is missing as long as it is good.
struct reader {
    const cJSON *object;
    bool good;
};

static const char *text_of(struct reader *reader, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(reader->object, key));
    reader->good = reader->good && text;
    return text ? text : "";
}

static double number_of(struct reader *reader, const char *key) {
    double number = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(reader->object, key));
    reader->good = reader->good && isfinite(number);
    return number;
}

// A setting that is no number has no place in a chart.
static bool read_measured(const cJSON *object, struct point *point) {
    struct reader reader = {object, true};
    const char *unit = text_of(&reader, "unit");
    double worth = strcmp(unit, "us") == 0 ? 1e3 : 1;
    *point = (struct point){
        .device = text_of(&reader, "device"),
        .case_name = text_of(&reader, "case"),
        .setting = text_of(&reader, "setting"),
        .subject = text_of(&reader, "subject"),
        .low = worth * number_of(&reader, "first_quartile"),
        .median = worth * number_of(&reader, "median"),
        .high = worth * number_of(&reader, "third_quartile"),
        .is_time = worth > 1 || strcmp(unit, "ns") == 0,
        .is_simulated = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "simulated")),
    };
    point->at = cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, "at"));
    return reader.good;
}

// With several starts there is the spread of the ratio in place of the peaks.
static bool read_replayed(const cJSON *object, struct point *point) {
    struct reader reader = {object, true};
    struct reader spread = {cJSON_GetObjectItemCaseSensitive(object, "ratio"), true};
    *point = (struct point){
        .device = text_of(&reader, "device"),
        .case_name = "",
        .setting = text_of(&reader, "trace"),
        .subject = text_of(&reader, "allocator"),
        .pass = number_of(&reader, "pass"),
    };
    if (spread.object) {
        point->low = number_of(&spread, "least");
        point->median = number_of(&spread, "median");
        point->high = number_of(&spread, "most");
    } else {
        double reserved = number_of(&reader, "reserved_peak_bytes");
        point->low = point->median = point->high = reserved / number_of(&reader, "live_peak_bytes");
    }
    point->at = 1; // what it is comes of its trace
    return reader.good && spread.good;
}

static bool is_left_out(const struct request *request, const struct point *point) {
    for (size_t i = 0; i < request->without_count; i++)
        if (strcmp(point->subject, request->without[i]) == 0)
            return true;
    return !(point->at > 0 && point->low > 0 && isfinite(point->high));
}

static bool read_file(struct request *request, const char *path) {
    struct points *points = &request->points;
    cJSON *file = sp_json_read(path);
    const cJSON *object;
    size_t index = 0;
    if (!file)
        return false;
    cJSON_AddItemToArray(request->files, file);
    if (!cJSON_IsArray(file))
        return sp_complain("%s: is no list of results", path);
    size_t room = points->count + (size_t)cJSON_GetArraySize(file) + 1;
    struct point *list = realloc(points->list, room * sizeof *list);
    if (!list)
        return sp_complain("out of host memory");
    points->list = list;
    cJSON_ArrayForEach(object, file) {
        struct point *point = &points->list[points->count];
        index++;
        if (!read_measured(object, point) && !read_replayed(object, point))
            return sp_complain("%s: result %zu is neither of streampool-bench nor of a replay",
                               path, index);
        points->count += !is_left_out(request, point);
    }
    return true;
}

// -------------------------------------------------------------------------------------- the points

// Puts a point among those of a chart. Of a subject and setting the last pass counts, and the first
// file.
static void add(struct points *chosen, struct point point) {
    struct point *same = NULL;
    point.subject_index = chosen->subjects;
    point.setting_index = chosen->settings;
    for (struct point *other = chosen->list; other < chosen->list + chosen->count; other++) {
        bool of_subject = strcmp(other->subject, point.subject) == 0;
        bool of_setting = strcmp(other->setting, point.setting) == 0;
        point.subject_index = of_subject ? other->subject_index : point.subject_index;
        point.setting_index = of_setting ? other->setting_index : point.setting_index;
        same = of_subject && of_setting ? other : same;
    }
    if (!same || point.pass > same->pass)
        *(same ? same : &chosen->list[chosen->count]) = point;
    chosen->count += !same;
    chosen->subjects += point.subject_index == chosen->subjects;
    chosen->settings += point.setting_index == chosen->settings;
}

static bool has_bars(const struct chart *chart) {
    return *chart->case_name == '\0';
}

// Returns the points of a chart, in a list that has room for all. Bars take four fifths of the
// place of their setting together.
static struct points choose(const struct points *all, const struct chart *chart,
                            struct point *list) {
    struct points chosen = {.list = list};
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->list[i].case_name, chart->case_name) == 0 &&
            fnmatch(chart->settings, all->list[i].setting, FNM_EXTMATCH) == 0)
            add(&chosen, all->list[i]);
    for (size_t i = 0; i < chosen.count && has_bars(chart); i++) {
        double share = ((double)list[i].subject_index + 0.5) / (double)chosen.subjects;
        list[i].at = (double)list[i].setting_index + 0.1 + 0.8 * share;
    }
    return chosen;
}

// ------------------------------------------------------------------------------------- the picture

// The second eight subjects have the colours of the first, and dashes.
static const char *look_of(const struct chart *chart, size_t subject) {
    return has_bars(chart) ? "bar" : subject < SP_COLOURS ? "line" : "dashed";
}

static void write_legend(struct sp_plot *plot, const struct chart *chart,
                         const struct points *points) {
    size_t next = 0;
    for (size_t i = 0; i < points->count; i++) {
        if (points->list[i].subject_index != next)
            continue;
        sp_plot_legend(plot, look_of(chart, next), next, "%s",
                       sp_allocator_title(points->list[i].subject));
        next++;
    }
}

static void draw_axes(struct sp_plot *plot, const struct chart *chart,
                      const struct points *points) {
    enum { HEIGHT = 300 };
    double first = INFINITY, last = 0, least = INFINITY, most = 1;
    for (size_t i = 0; i < points->count; i++) {
        first = fmin(first, points->list[i].at);
        last = fmax(last, points->list[i].at);
        least = fmin(least, points->list[i].low);
        most = fmax(most, points->list[i].high);
    }
    struct sp_axis across =
        sp_axis_logarithmic(chart->unit, first, last, chart->multiple, chart->across);
    struct sp_axis up = sp_axis_decades(points->list->is_time ? SP_AXIS_TIME : SP_AXIS_COUNT, least,
                                        most, chart->up);
    if (has_bars(chart)) {
        across = (struct sp_axis){SP_AXIS_PLAIN, 0, (double)points->settings, 1, NULL};
        up = sp_axis_linear(SP_AXIS_PLAIN, most, sp_plot_ticks(HEIGHT), chart->up);
    }
    sp_plot_panel(plot, HEIGHT, &across, &up);
}

static void draw_point(struct sp_plot *plot, const struct chart *chart, const struct points *points,
                       const struct point *point) {
    char title[160];
    double x = sp_plot_x(plot, point->at), y = sp_plot_y(plot, point->median);
    double width = 0.8 * plot->box.width / (double)(points->settings * points->subjects);
    const struct sp_box bar = {x - width / 2, y, width - 1, sp_plot_y(plot, 0) - y};
    const struct sp_class class = sp_class(has_bars(chart) ? "bar" : "line", point->subject_index);
    snprintf(title, sizeof title, "%s, %s: %.4g", sp_allocator_title(point->subject),
             point->setting, point->median);
    sp_svg_begin_group(&plot->svg, title, "subject", point->subject, "setting", point->setting,
                       SP_SVG_END);
    if (has_bars(chart))
        sp_svg_box(&plot->svg, class.text, &bar);
    else
        sp_plot_mark(plot, point->subject_index, x, y);
    sp_svg_line(&plot->svg, has_bars(chart) ? "whisker" : class.text, x,
                sp_plot_y(plot, point->low), x, sp_plot_y(plot, point->high));
    sp_svg_end_group(&plot->svg);
}

static void draw_subject(struct sp_plot *plot, const struct chart *chart,
                         const struct points *points, size_t subject) {
    sp_svg_begin_path(&plot->svg, sp_class(look_of(chart, subject), subject).text);
    for (size_t i = 0; i < points->count; i++)
        if (points->list[i].subject_index == subject && !has_bars(chart))
            sp_svg_go(&plot->svg, sp_plot_x(plot, points->list[i].at),
                      sp_plot_y(plot, points->list[i].median));
    sp_svg_end_path(&plot->svg);
    for (size_t i = 0; i < points->count; i++)
        if (points->list[i].subject_index == subject)
            draw_point(plot, chart, points, &points->list[i]);
}

// The names of the settings stand below their bars, and a line is where nothing is wasted.
static void finish_bars(struct sp_plot *plot, const struct points *points) {
    double one = sp_plot_y(plot, 1), left = plot->box.left;
    size_t next = 0;
    sp_svg_line(&plot->svg, "whisker", left, one, left + plot->box.width, one);
    for (size_t i = 0; i < points->count; i++) {
        if (points->list[i].setting_index != next)
            continue;
        sp_svg_text(&plot->svg, "small middle", sp_plot_x(plot, (double)next + 0.5),
                    sp_plot_y(plot, 0) + 16, points->list[i].setting);
        next++;
    }
}

static bool draw(const char *path, const struct chart *chart, const struct points *points) {
    enum { WIDTH = 660, SETTING = 110 };
    struct sp_plot plot;
    char second[512];
    double width = has_bars(chart) ? fmax(WIDTH, SETTING * (double)points->settings) : WIDTH;
    snprintf(second, sizeof second, "%s%s", points->list->device,
             points->list->is_simulated ? ", simulated driver: times of the host" : "");
    if (!sp_plot_begin(&plot, path, width, chart->title, second))
        return false;
    write_legend(&plot, chart, points);
    draw_axes(&plot, chart, points);
    for (size_t subject = 0; subject < points->subjects; subject++)
        draw_subject(&plot, chart, points, subject);
    if (has_bars(chart))
        finish_bars(&plot, points);
    sp_svg_end_group(&plot.svg);
    return sp_plot_end(&plot) && puts(path) >= 0;
}

static bool draw_all(const struct request *request) {
    struct point *list = calloc(request->points.count + 1, sizeof *list);
    bool good = list || sp_complain("out of host memory"), any = false;
    for (size_t i = 0; i < sizeof charts / sizeof charts[0] && good; i++) {
        const struct points points = choose(&request->points, &charts[i], list);
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.svg", request->folder, charts[i].name);
        good = points.count == 0 || draw(path, &charts[i], &points);
        any = any || points.count > 0;
    }
    free(list);
    return good && (any || sp_complain("there is nothing to draw among these results"));
}

int sp_command_plot(int argc, char **argv) {
    struct request request = {.folder = ".", .files = cJSON_CreateArray()};
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_FAILURE;
    bool good = request.files || sp_complain("out of host memory");
    for (size_t i = 0; i < request.path_count && good; i++)
        good = read_file(&request, request.paths[i]);
    if (good && mkdir(request.folder, 0777) != 0 && errno != EEXIST)
        good = sp_complain("%s: %s", request.folder, strerror(errno));
    good = good && draw_all(&request) && sp_output_flush();
    free(request.points.list);
    cJSON_Delete(request.files);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
