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

enum { COLUMNS_MAX = 48, TEXT_COLUMNS = 2 };

struct layout {
    struct column columns[COLUMNS_MAX];
    size_t count;
};

static void add(struct layout *layout, const struct sp_row *row, enum part part, bool shown) {
    if (shown)
        layout->columns[layout->count++] = (struct column){row, part};
}

static bool is_worth_a_column(const struct sp_row *row, const struct sp_summaries *summaries) {
    size_t i = 0;
    while (i < summaries->count &&
           !sp_row_is_worth_a_column(row, sp_summary_first(&summaries->list[i])))
        i++;
    return i < summaries->count;
}

static struct layout layout_of_one(bool wide, const struct sp_summaries *summaries) {
    struct layout layout = {.count = 0};
    for (const struct sp_row *row = sp_rows; row < sp_rows + sp_row_count; row++)
        add(&layout, row, OWN,
            row->where & (SP_IN_TABLE | (wide ? SP_IN_WIDE : 0)) &&
                is_worth_a_column(row, summaries));
    return layout;
}

static struct layout layout_of_starts(bool wide, const struct sp_summaries *summaries) {
    struct layout layout = {.count = 0};
    for (const struct sp_row *row = sp_rows; row < sp_rows + sp_row_count; row++) {
        unsigned where = is_worth_a_column(row, summaries) ? row->where : 0;
        bool own = where & (SP_IN_TABLE | (wide ? SP_IN_WIDE : 0));
        bool range = where & (SP_RANGE_IN_TABLE | (wide ? SP_RANGE_IN_WIDE : 0));
        add(&layout, row, OWN, own && where & SP_OF_REPLAY);
        add(&layout, row, SUM, wide && where & SP_SUM_IN_WIDE);
        add(&layout, row, MEDIAN, where & (SP_MEDIAN_IN_TABLE | (wide ? SP_MEDIAN_IN_WIDE : 0)));
        add(&layout, row, LEAST, range);
        add(&layout, row, MOST, range);
        add(&layout, row, MEAN, wide && where & SP_MEAN_IN_WIDE);
    }
    return layout;
}

static void fill_title(const struct sp_table *table, size_t index, const struct column *column) {
    static const char *const parts[] = {[LEAST] = "least", [MOST] = "most", [MEAN] = NULL};
    const char *const *title = column->row->title;
    const char *first = column->part == MEAN ? "mean of" : title[0];
    bool named = column->part == LEAST || column->part == MOST;
    const char *second = named ? parts[column->part] : title[1];
    sp_table_title(table, index, (const char *const[]){first, second});
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

// ---------------------------------------------------------------------------------------- the
// table

static void fill(const struct sp_table *table, const struct layout *layout,
                 const struct sp_summaries *summaries) {
    for (size_t i = 0; i < layout->count; i++) {
        fill_title(table, i, &layout->columns[i]);
        for (size_t row = 0; row < summaries->count; row++)
            fill_cell(sp_table_cell(table, row, i), &layout->columns[i], summaries,
                      &summaries->list[row]);
    }
}

// As a result of which no more is known.
static void fill_overall(const struct sp_table *table, const struct layout *layout, size_t row,
                         const struct sp_overall *overall) {
    const struct sp_result result = {
        .trace = "geometric mean", .allocator = overall->allocator, .pass = overall->pass};
    for (size_t i = 0; i < layout->count; i++) {
        const struct column *column = &layout->columns[i];
        char *cell = sp_table_cell(table, row, i);
        bool shows = column->row == sp_row_ratio && column->part != LEAST && column->part != MOST;
        if (shows)
            sp_cell_quantity(cell, SP_UNIT_RATIO, overall->ratio);
        else if (i < TEXT_COLUMNS || column->row->store == SP_ROW_UNSIGNED)
            sp_row_fill(cell, column->row, &result);
    }
}

static bool print(const struct sp_page *page, const struct layout *layout,
                  const struct sp_summaries *summaries) {
    struct sp_table table;
    if (!sp_table_open(&table, layout->count, TEXT_COLUMNS,
                       summaries->count + summaries->overall_count))
        return false;
    fill(&table, layout, summaries);
    for (size_t i = 0; i < summaries->overall_count; i++)
        fill_overall(&table, layout, summaries->count + i, &summaries->overall[i]);
    sp_table_print(&table, page);
    sp_table_release(&table);
    return true;
}

bool sp_report_print(const struct sp_page *page, const struct sp_summaries *summaries) {
    struct layout layout = layout_of_one(page->wide, summaries);
    return print(page, &layout, summaries);
}

bool sp_report_print_starts(const struct sp_page *page, const struct sp_summaries *summaries) {
    struct layout layout = layout_of_starts(page->wide, summaries);
    return print(page, &layout, summaries);
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

static bool print_statistics(const struct sp_page *page, const struct sp_summaries *summaries,
                             const struct sp_summary *summary) {
    const struct sp_result *result = sp_summary_first(summary);
    struct sp_table table;
    if (!sp_table_open(&table, 2, 1, SP_STATISTIC_COUNT))
        return false;
    for (size_t i = 0; i < SP_STATISTIC_COUNT; i++) {
        struct sp_row row = sp_row_of_statistic(i);
        sp_cell_text(sp_table_cell(&table, i, 0), row.key);
        sp_cell_quantity(sp_table_cell(&table, i, 1), row.unit,
                         sp_summary_spread(summaries, summary, &row).median);
    }
    sp_table_title(&table, 0, (const char *const[]){"", "statistic"});
    sp_table_title(&table, 1,
                   (const char *const[]){"", summary->start_count > 1 ? "median" : "value"});
    sp_page_say(page, "\n%s, %s, pass %u\n", result->trace, sp_allocator_title(result->allocator),
                result->pass);
    sp_table_print(&table, page);
    sp_table_release(&table);
    return true;
}

bool sp_report_print_statistics(const struct sp_page *page, const struct sp_summaries *summaries) {
    for (size_t i = 0; i < summaries->count; i++) {
        const struct sp_summary *summary = &summaries->list[i];
        if (sp_summary_first(summary)->statistics.known &&
            !print_statistics(page, summaries, summary))
            return false;
    }
    return true;
}
