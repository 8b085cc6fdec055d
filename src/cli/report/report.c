#include "cli/report/report.h"

#include <inttypes.h>
#include <stdlib.h>

// ----------------------------------------------------------------------------------------- columns

// A column shows a row: its figure, or a part of its spread over several starts.
enum part { OWN, SUM, MEDIAN, LEAST, MOST, MEAN };

struct column {
    const struct sp_row *row;
    enum part part;
};

enum { COLUMNS_MAX = 48 };

struct layout {
    struct column columns[COLUMNS_MAX];
    size_t count;
};

static bool is_worth_a_column(const struct sp_row *row, const struct sp_summaries *summaries) {
    for (size_t i = 0; i < summaries->count; i++) {
        const struct sp_result *first = sp_summary_first(&summaries->list[i]);
        if (sp_row_is_of(row, first) && sp_row_number(row, first) >= row->least)
            return true;
    }
    return false;
}

// The columns that a row has, by the bits that say where it is shown: in every table, and in the
// wide one.
struct place {
    enum part part;
    unsigned table, wide;
};

static const struct place of_one[] = {{OWN, SP_IN_TABLE, SP_IN_WIDE}, {0}};
static const struct place of_starts[] = {
    {OWN, SP_NAMED, 0},
    {SUM, 0, SP_SUM_IN_WIDE},
    {MEDIAN, SP_MEDIAN_IN_TABLE, SP_MEDIAN_IN_WIDE},
    {LEAST, SP_RANGE_IN_TABLE, SP_RANGE_IN_WIDE},
    {MOST, SP_RANGE_IN_TABLE, SP_RANGE_IN_WIDE},
    {MEAN, 0, SP_MEAN_IN_WIDE},
    {0},
};

static struct layout lay_out(const struct sp_page *page, const struct sp_rows *rows,
                             const struct place *places, const struct sp_summaries *summaries) {
    struct layout layout = {.count = 0};
    for (const struct sp_row *row = rows->list; row < rows->list + rows->count; row++) {
        if (!is_worth_a_column(row, summaries))
            continue;
        for (const struct place *place = places; place->table | place->wide; place++)
            if (row->where & (place->table | (page->wide ? place->wide : 0)))
                layout.columns[layout.count++] = (struct column){row, place->part};
    }
    return layout;
}

static double part_of(const struct sp_spread *spread, enum part part, size_t count) {
    switch (part) {
    case LEAST:
        return spread->least;
    case MOST:
        return spread->most;
    case MEAN:
        return spread->mean;
    case SUM:
        return spread->mean * (double)count;
    default:
        return spread->median;
    }
}

static void fill_cell(char *cell, const struct column *column, const struct sp_summaries *summaries,
                      const struct sp_summary *summary) {
    const struct sp_result *first = sp_summary_first(summary);
    if (column->part == OWN) {
        sp_row_fill(cell, column->row, first);
    } else if (sp_row_is_of(column->row, first)) {
        struct sp_spread spread = sp_summary_spread(summaries, summary, column->row);
        sp_cell_quantity(cell, column->row->unit,
                         part_of(&spread, column->part, summary->start_count));
    }
}

// --------------------------------------------------------------------------------------- the table

static void fill(const struct sp_table *table, const struct layout *layout,
                 const struct sp_summaries *summaries) {
    for (size_t i = 0; i < layout->count; i++) {
        const struct column *column = &layout->columns[i];
        const char *const *title = column->row->title;
        const char *first = column->part == MEAN ? "mean of" : title[0];
        const char *second = column->part == LEAST  ? "least"
                             : column->part == MOST ? "most"
                                                    : title[1];
        sp_table_title(table, i, (const char *const[]){first, second});
        for (size_t row = 0; row < summaries->count; row++)
            fill_cell(sp_table_cell(table, row, i), column, summaries, &summaries->list[row]);
    }
}

// Fills a row as that of a result of which no more is known.
static void fill_mean(const struct sp_table *table, const struct layout *layout, size_t row,
                      const struct sp_result *of, double ratio) {
    const struct sp_result mean = {.trace = "geometric mean",
                                   .allocator = of->allocator,
                                   .variant = of->variant,
                                   .pass = of->pass};
    for (size_t i = 0; i < layout->count; i++) {
        const struct column *column = &layout->columns[i];
        char *cell = sp_table_cell(table, row, i);
        if (column->row->told == sp_row_tell_ratio &&
            (column->part == OWN || column->part == MEDIAN))
            sp_cell_quantity(cell, SP_UNIT_RATIO, ratio);
        else if (column->row->where & SP_NAMED)
            sp_row_fill(cell, column->row, &mean);
    }
}

// Traces that take turns on one pool have no mean, for each ratio is that of the whole pool.
static void fill_means(struct sp_table *table, const struct layout *layout,
                       const struct sp_summaries *summaries) {
    size_t traces, row = summaries->count;
    for (size_t i = 0; i < summaries->count; i++) {
        const struct sp_result *first = sp_summary_first(&summaries->list[i]);
        if (first->turn > 0 || !sp_summary_is_first(summaries, i))
            continue;
        double ratio = sp_summaries_ratio(summaries, first, &traces);
        if (traces > 1)
            fill_mean(table, layout, row++, first, ratio);
    }
    sp_table_cut(table, row);
}

static bool print(const struct sp_page *page, const struct sp_rows *rows,
                  const struct place *places, const struct sp_summaries *summaries) {
    struct layout layout = lay_out(page, rows, places, summaries);
    struct sp_table table;
    size_t texts = 0;
    while (texts < layout.count && (sp_row_is_text(layout.columns[texts].row) ||
                                    layout.columns[texts].row->unit == SP_UNIT_FLAG))
        texts++;
    if (!sp_table_open(&table, layout.count, texts, 2 * summaries->count))
        return false;
    fill(&table, &layout, summaries);
    fill_means(&table, &layout, summaries);
    sp_table_print(&table, page);
    sp_table_release(&table);
    return true;
}

bool sp_report_print(const struct sp_page *page, const struct sp_rows *rows,
                     const struct sp_summaries *summaries) {
    return print(page, rows, of_one, summaries);
}

bool sp_report_print_starts(const struct sp_page *page, const struct sp_summaries *summaries) {
    return print(page, &sp_rows_of_replay, of_starts, summaries);
}

// ------------------------------------------------------------------------------ around the table

void sp_report_device(const struct sp_page *page, const struct sp_device *device,
                      enum sp_time_base base) {
    static const char *const notes[] = {
        [SP_TIME_OF_MODEL_AND_HOST] =
            "simulated driver: calls total = driver calls as they cost on an H200, modelled, + the "
            "library's own time, measured here",
        [SP_TIME_OF_VIRTUAL_CLOCK] =
            "simulated driver: times are those of its virtual clock, not of a GPU",
    };
    char version[SP_VERSION_TEXT];
    const struct sp_driver *driver = device->driver;
    sp_page_say(page, "%s, driver %s, CUDA %s\n", device->name, driver->path,
                sp_version_text(driver->api_version, version));
    if (sp_device_is_simulated(driver))
        sp_page_say(page, "%s\n", notes[base]);
    fputc('\n', page->out);
}

void sp_report_print_errors(const struct sp_page *page, const struct sp_summaries *summaries) {
    for (size_t i = 0; i < summaries->count; i++) {
        const struct sp_summary *summary = &summaries->list[i];
        const struct sp_result *result = sp_summary_first(summary);
        if (summary->errors > 0)
            sp_page_say(page, "%s, %s, pass %u: %s (errors in all: %" PRIu64 ")\n", result->trace,
                        sp_allocator_title(result->allocator), result->pass, summary->first_error,
                        summary->errors);
    }
}

bool sp_report_print_statistics(const struct sp_page *page, const struct sp_summaries *summaries) {
    for (size_t i = 0; i < summaries->count; i++) {
        const struct sp_summary *summary = &summaries->list[i];
        const struct sp_result *result = sp_summary_first(summary);
        struct sp_table table;
        if (!result->statistics.known)
            continue;
        if (!sp_table_open(&table, 2, 1, SP_STATISTIC_COUNT))
            return false;
        for (size_t statistic = 0; statistic < SP_STATISTIC_COUNT; statistic++) {
            struct sp_row row = sp_row_of_statistic(statistic);
            sp_cell_text(sp_table_cell(&table, statistic, 0), row.key);
            sp_cell_quantity(sp_table_cell(&table, statistic, 1), row.unit,
                             sp_summary_spread(summaries, summary, &row).median);
        }
        sp_table_title(&table, 0, (const char *const[]){"", "statistic"});
        sp_table_title(&table, 1,
                       (const char *const[]){"", summary->start_count > 1 ? "median" : "value"});
        sp_page_say(page, "\n%s, %s, pass %u\n", result->trace,
                    sp_allocator_title(result->allocator), result->pass);
        sp_table_print(&table, page);
        sp_table_release(&table);
    }
    return true;
}

// ------------------------------------------------------------------------------------- the places

// Fills a line of the table; nothing where the place has no figures.
static bool fill_place(const struct sp_table *table, size_t line,
                       const struct sp_summaries *summaries, const struct sp_summary *summary,
                       enum sp_trace_place place) {
    const struct sp_result *result = sp_summary_first(summary);
    struct sp_row live_row = sp_row_of_live_at(place), row = sp_row_of_reserved_at(place);
    double live = sp_summary_spread(summaries, summary, &live_row).median;
    double reserved = sp_summary_spread(summaries, summary, &row).median;
    if (live <= 0)
        return false;
    sp_cell_text(sp_table_cell(table, line, 0), result->trace);
    sp_cell_text(sp_table_cell(table, line, 1), sp_allocator_title(result->allocator));
    sp_cell_text(sp_table_cell(table, line, 2), sp_trace_place_word(place));
    if (sp_summary_first(&summaries->list[summaries->count - 1])->pass > 1)
        sp_cell_quantity(sp_table_cell(table, line, 3), SP_UNIT_COUNT, result->pass);
    sp_cell_quantity(sp_table_cell(table, line, 4), SP_UNIT_BYTES, live);
    sp_cell_quantity(sp_table_cell(table, line, 5), SP_UNIT_BYTES, reserved);
    sp_cell_quantity(sp_table_cell(table, line, 6), SP_UNIT_RATIO, reserved / live);
    return true;
}

bool sp_report_print_places(const struct sp_page *page, const struct sp_summaries *summaries) {
    static const char *const titles[][SP_TABLE_TITLES] = {
        {"", "trace"},    {"", "allocator"},    {"", "place"},         {"", "pass"},
        {"peak", "live"}, {"peak", "reserved"}, {"reserved", "/ live"}};
    enum { COLUMNS = sizeof titles / sizeof titles[0], TEXTS = 3 };
    struct sp_table table;
    size_t lines = 0;
    if (!sp_table_open(&table, COLUMNS, TEXTS, summaries->count * SP_TRACE_PLACE_COUNT))
        return false;
    for (size_t i = 0; i < COLUMNS; i++)
        sp_table_title(&table, i, titles[i]);
    for (size_t i = 0; i < summaries->count; i++)
        for (int place = SP_TRACE_AT_DEVICE + 1; place < SP_TRACE_PLACE_COUNT; place++)
            lines += fill_place(&table, lines, summaries, &summaries->list[i],
                                (enum sp_trace_place)place);
    sp_table_cut(&table, lines);
    if (lines > 0) {
        sp_page_say(page, "\nmemory of other places, whose calls aren't in the table above\n\n");
        sp_table_print(&table, page);
    }
    sp_table_release(&table);
    return true;
}
