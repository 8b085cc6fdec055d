// The columns of each table stand in one list: titles and what goes into a cell.
#include "cli/report/report.h"

#include "cli/program/quantity.h"
#include "cli/program/table.h"

#include <inttypes.h>

// ---------------------------------------------------------------------------- columns of one start

//   X(first line of the title, second line, what fills the cell of the summary s, whose first start
//       is r)
#define KEY_COLUMNS(X)                                                                             \
    X("", "trace", sp_cell_text(cell, r->trace))                                                   \
    X("", "allocator", sp_cell_text(cell, r->allocator))                                           \
    X("", "pass", sp_cell_count(cell, r->pass))

#define LOAD_COLUMNS(X)                                                                            \
    X("", "operations", sp_cell_count(cell, r->operations))                                        \
    X("", "streams", sp_cell_count(cell, r->streams))                                              \
    X("", "errors", sp_cell_count(cell, r->errors))                                                \
    X("peak", "live", sp_cell_bytes(cell, r->live_peak_bytes))                                     \
    X("peak", "reserved", sp_cell_bytes(cell, r->reserved_peak_bytes))

#define CALL_COLUMNS(X)                                                                            \
    X("reserved", "/ live", sp_cell_ratio(cell, r->reserved_peak_bytes, r->live_peak_bytes))       \
    X("malloc", "mean", sp_cell_time(cell, r->malloc_ns.mean))                                     \
    X("malloc", "p50", sp_cell_time(cell, (double)r->malloc_ns.p50))                               \
    X("malloc", "p99", sp_cell_time(cell, (double)r->malloc_ns.p99))                               \
    X("malloc", "max", sp_cell_time(cell, (double)r->malloc_ns.max))                               \
    X("free", "mean", sp_cell_time(cell, r->free_ns.mean))                                         \
    X("free", "p99", sp_cell_time(cell, (double)r->free_ns.p99))                                   \
    X("calls", "total", sp_cell_time(cell, (double)r->total_ns))

#define PARTS_COLUMNS(X)                                                                           \
    X("driver calls", "modelled", sp_cell_time(cell, (double)r->modelled_ns))                      \
    X("library", "measured", sp_cell_time(cell, (double)sp_result_measured_ns(r)))

#define WORK_COLUMNS(X)                                                                            \
    X("device", "busy", sp_cell_ratio(cell, r->work_ns, r->end_to_end_ns))                         \
    X("end to", "end", sp_cell_time(cell, (double)r->end_to_end_ns))

#define POOL_COLUMNS(X) X("", "growths", fill_growths(cell, s))

#define ALL_COLUMNS(X)                                                                             \
    KEY_COLUMNS(X) LOAD_COLUMNS(X) CALL_COLUMNS(X) PARTS_COLUMNS(X) WORK_COLUMNS(X) POOL_COLUMNS(X)

// ----------------------------------------------------------------------- columns of several starts

#define STARTS_LOAD_COLUMNS(X)                                                                     \
    X("", "starts", sp_cell_count(cell, s->start_count))                                           \
    X("", "errors", sp_cell_count(cell, s->errors))

#define STARTS_CALL_COLUMNS(X)                                                                     \
    X("reserved", "/ live", fill_ratio(cell, s->ratio.median))                                     \
    X("", "[least .. most]", fill_ratio_range(cell, &s->ratio))                                    \
    X("calls", "total", sp_cell_time(cell, s->total_ns.median))                                    \
    X("", "[least .. most]", fill_time_range(cell, &s->total_ns))                                  \
    X("malloc", "max", sp_cell_time(cell, s->malloc_max_ns.median))                                \
    X("mean of", "max", sp_cell_time(cell, s->malloc_max_ns.mean))

#define STARTS_PARTS_COLUMNS(X)                                                                    \
    X("driver calls", "modelled", sp_cell_time(cell, s->modelled_ns.median))                       \
    X("library", "measured", sp_cell_time(cell, s->measured_ns.median))

#define STARTS_WORK_COLUMNS(X) X("end to", "end", sp_cell_time(cell, s->end_to_end_ns.median))

#define ALL_STARTS_COLUMNS(X)                                                                      \
    KEY_COLUMNS(X)                                                                                 \
    STARTS_LOAD_COLUMNS(X)                                                                         \
    STARTS_CALL_COLUMNS(X)                                                                         \
    STARTS_PARTS_COLUMNS(X)                                                                        \
    STARTS_WORK_COLUMNS(X)                                                                         \
    POOL_COLUMNS(X)

// -------------------------------------------------------------------------------------- the tables

enum { TITLE_ROWS = 2, TEXT_COLUMN_COUNT = 2, PASS_COLUMN = TEXT_COLUMN_COUNT };

struct title {
    const char *lines[TITLE_ROWS];
};

// A layout describes one of the tables: its titles, the function that fills a row, and the numbers
// of some of its columns.
struct layout {
    const struct title *titles;
    void (*fill_row)(const struct sp_table *table, size_t row, const struct sp_summary *summary);
    size_t columns; // the last one is that of the growths
    size_t ratio;
    size_t parts; // the first of those about the parts of a time, which go on to the work
    size_t work;  // the first of those about it, which go on to the growths
};

static void fill_ratio(char *cell, double ratio) {
    if (ratio > 0)
        snprintf(cell, SP_CELL_TEXT, "%.3f", ratio);
    else
        sp_cell_text(cell, "-");
}

static void fill_ratio_range(char *cell, const struct sp_spread *ratio) {
    if (ratio->most > 0)
        snprintf(cell, SP_CELL_TEXT, "[%.3f .. %.3f]", ratio->least, ratio->most);
}

static void fill_time_range(char *cell, const struct sp_spread *time) {
    char least[SP_QUANTITY_TEXT], most[SP_QUANTITY_TEXT];
    snprintf(cell, SP_CELL_TEXT, "[%s .. %s]", sp_time_text(time->least, least),
             sp_time_text(time->most, most));
}

// A median of counts may be half of a number.
static void fill_statistic(char *cell, enum sp_unit unit, double value) {
    switch (unit) {
    case SP_UNIT_BYTES:
        sp_cell_bytes(cell, (uint64_t)value);
        break;
    case SP_UNIT_NANOSECONDS:
        sp_cell_time(cell, value);
        break;
    case SP_UNIT_COUNT:
        snprintf(cell, SP_CELL_TEXT, "%.10g", value);
        break;
    }
}

static void fill_growths(char *cell, const struct sp_summary *summary) {
    if (sp_summary_first(summary)->statistics.known)
        fill_statistic(cell, SP_UNIT_COUNT, summary->statistics[SP_STATISTIC_Growths].median);
}

#define FILL(first, second, fill)                                                                  \
    cell = sp_table_cell(table, row, column++);                                                    \
    fill;

static void fill_row(const struct sp_table *table, size_t row, const struct sp_summary *s) {
    const struct sp_result *r = sp_summary_first(s);
    size_t column = 0;
    char *cell;
    ALL_COLUMNS(FILL)
}

static void fill_row_of_starts(const struct sp_table *table, size_t row,
                               const struct sp_summary *s) {
    const struct sp_result *r = sp_summary_first(s);
    size_t column = 0;
    char *cell;
    ALL_STARTS_COLUMNS(FILL)
}
#undef FILL

#define TITLE(first, second, fill) {{first, second}},
static const struct title titles[] = {ALL_COLUMNS(TITLE)};
static const struct title titles_of_starts[] = {ALL_STARTS_COLUMNS(TITLE)};
#undef TITLE

#define COUNT_COLUMN(first, second, fill) +1
static const struct layout layout_of_one = {
    .titles = titles,
    .fill_row = fill_row,
    .columns = sizeof titles / sizeof titles[0],
    .ratio = 0 KEY_COLUMNS(COUNT_COLUMN) LOAD_COLUMNS(COUNT_COLUMN),
    .parts = 0 KEY_COLUMNS(COUNT_COLUMN) LOAD_COLUMNS(COUNT_COLUMN) CALL_COLUMNS(COUNT_COLUMN),
    .work = 0 KEY_COLUMNS(COUNT_COLUMN) LOAD_COLUMNS(COUNT_COLUMN) CALL_COLUMNS(COUNT_COLUMN)
        PARTS_COLUMNS(COUNT_COLUMN),
};

static const struct layout layout_of_starts = {
    .titles = titles_of_starts,
    .fill_row = fill_row_of_starts,
    .columns = sizeof titles_of_starts / sizeof titles_of_starts[0],
    .ratio = 0 KEY_COLUMNS(COUNT_COLUMN) STARTS_LOAD_COLUMNS(COUNT_COLUMN),
    .parts = 0 KEY_COLUMNS(COUNT_COLUMN) STARTS_LOAD_COLUMNS(COUNT_COLUMN)
        STARTS_CALL_COLUMNS(COUNT_COLUMN),
    .work = 0 KEY_COLUMNS(COUNT_COLUMN) STARTS_LOAD_COLUMNS(COUNT_COLUMN)
        STARTS_CALL_COLUMNS(COUNT_COLUMN) STARTS_PARTS_COLUMNS(COUNT_COLUMN),
};
#undef COUNT_COLUMN

static void fill_titles(const struct sp_table *table, const struct layout *layout) {
    for (size_t row = 0; row < TITLE_ROWS; row++)
        for (size_t column = 0; column < layout->columns; column++)
            sp_cell_text(sp_table_cell(table, row, column), layout->titles[column].lines[row]);
}

static void fill_overall(const struct sp_table *table, const struct layout *layout, size_t row,
                         const struct sp_overall *overall) {
    sp_cell_text(sp_table_cell(table, row, 0), "geometric mean");
    sp_cell_text(sp_table_cell(table, row, 1), overall->allocator);
    sp_cell_count(sp_table_cell(table, row, PASS_COLUMN), overall->pass);
    fill_ratio(sp_table_cell(table, row, layout->ratio), overall->ratio);
}

static void hide(struct sp_table *table, size_t first, size_t end) {
    for (size_t column = first; column < end; column++)
        sp_table_hide(table, column);
}

static void hide_columns(struct sp_table *table, const struct layout *layout,
                         const struct sp_summaries *summaries) {
    size_t growths_column = layout->columns - 1;
    bool several_passes = false, parts = false, work = false, growths = false;
    for (size_t i = 0; i < summaries->count; i++) {
        const struct sp_result *result = sp_summary_first(&summaries->list[i]);
        several_passes = several_passes || result->pass > 1;
        parts = parts || result->base == SP_TIME_OF_MODEL_AND_HOST;
        work = work || result->work_ns > 0;
        growths = growths || result->statistics.known;
    }
    if (!several_passes)
        sp_table_hide(table, PASS_COLUMN);
    if (!parts)
        hide(table, layout->parts, layout->work);
    if (!work)
        hide(table, layout->work, growths_column);
    if (!growths)
        sp_table_hide(table, growths_column);
}

// ---------------------------------------------------------------------------------------- printing

void sp_report_device(FILE *out, const struct sp_device *device, enum sp_time_base base) {
    static const char *const notes[] = {
        [SP_TIME_OF_MODEL_AND_HOST] =
            "simulated driver: calls total = driver calls as they cost on an H200, modelled, + the "
            "library's own time, measured here",
        [SP_TIME_OF_VIRTUAL_CLOCK] =
            "simulated driver: times are those of its virtual clock, not of a GPU",
    };
    char version[SP_VERSION_TEXT];
    const struct sp_driver *driver = device->driver;
    fprintf(out, "%s, driver %s, CUDA %s\n", device->name, driver->path,
            sp_version_text(driver->api_version, version));
    if (sp_device_is_simulated(driver))
        fprintf(out, "%s\n", notes[base]);
    fputc('\n', out);
}

static bool print(FILE *out, const struct layout *layout, const struct sp_summaries *summaries) {
    size_t first_overall = TITLE_ROWS + summaries->count;
    struct sp_table table;
    if (!sp_table_open(&table, layout->columns, TEXT_COLUMN_COUNT,
                       first_overall + summaries->overall_count))
        return false;
    fill_titles(&table, layout);
    for (size_t i = 0; i < summaries->count; i++)
        layout->fill_row(&table, TITLE_ROWS + i, &summaries->list[i]);
    for (size_t i = 0; i < summaries->overall_count; i++)
        fill_overall(&table, layout, first_overall + i, &summaries->overall[i]);
    hide_columns(&table, layout, summaries);
    sp_table_print(&table, out);
    sp_table_release(&table);
    return true;
}

bool sp_report_print(FILE *out, const struct sp_summaries *summaries) {
    return print(out, &layout_of_one, summaries);
}

bool sp_report_print_starts(FILE *out, const struct sp_summaries *summaries) {
    return print(out, &layout_of_starts, summaries);
}

static void print_name(FILE *out, const struct sp_summary *summary) {
    const struct sp_result *result = sp_summary_first(summary);
    fprintf(out, "%s, %s, pass %u: ", result->trace, result->allocator, result->pass);
}

void sp_report_print_errors(FILE *out, const struct sp_summaries *summaries) {
    for (size_t i = 0; i < summaries->count; i++) {
        const struct sp_summary *summary = &summaries->list[i];
        if (summary->errors == 0)
            continue;
        print_name(out, summary);
        fprintf(out, "%s (errors in all: %" PRIu64 ")\n", summary->first_error, summary->errors);
    }
}

static bool print_statistics(FILE *out, const struct sp_summary *summary) {
    struct sp_table table;
    if (!sp_table_open(&table, 2, 1, SP_STATISTIC_COUNT))
        return false;
    for (size_t i = 0; i < SP_STATISTIC_COUNT; i++) {
        sp_cell_text(sp_table_cell(&table, i, 0), sp_statistics_name(i));
        fill_statistic(sp_table_cell(&table, i, 1), sp_statistics_unit(i),
                       summary->statistics[i].median);
    }
    fputc('\n', out);
    print_name(out, summary);
    fputs(summary->start_count > 1 ? "medians of the statistics\n" : "statistics\n", out);
    sp_table_print(&table, out);
    sp_table_release(&table);
    return true;
}

bool sp_report_print_statistics(FILE *out, const struct sp_summaries *summaries) {
    for (size_t i = 0; i < summaries->count; i++) {
        const struct sp_summary *summary = &summaries->list[i];
        if (sp_summary_first(summary)->statistics.known && !print_statistics(out, summary))
            return false;
    }
    return true;
}
