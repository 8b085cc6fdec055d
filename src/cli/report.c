// The columns stand in one table: titles and what goes into a cell.
#include "cli/report.h"

#include "cli/table.h"

#include <inttypes.h>

// ---------------------------------------------------------------------------------------------- columns

//   X(first line of the title, second line, what fills the cell of the result r)
#define TEXT_COLUMNS(X)                                                                                      \
    X("", "trace", sp_cell_text(cell, r->trace))                                                             \
    X("", "allocator", sp_cell_text(cell, r->allocator))

#define PASS_COLUMNS(X) X("", "pass", sp_cell_count(cell, r->pass))

#define NUMBER_COLUMNS(X)                                                                                    \
    X("", "operations", sp_cell_count(cell, r->operations))                                                  \
    X("", "streams", sp_cell_count(cell, r->streams))                                                        \
    X("", "errors", sp_cell_count(cell, r->errors))                                                          \
    X("peak", "live", sp_cell_bytes(cell, r->live_peak_bytes))                                               \
    X("peak", "reserved", sp_cell_bytes(cell, r->reserved_peak_bytes))                                       \
    X("reserved", "/ live", sp_cell_ratio(cell, r->reserved_peak_bytes, r->live_peak_bytes))                 \
    X("malloc", "mean", sp_cell_time(cell, r->malloc_ns.mean))                                               \
    X("malloc", "p50", sp_cell_time(cell, (double)r->malloc_ns.p50))                                         \
    X("malloc", "p99", sp_cell_time(cell, (double)r->malloc_ns.p99))                                         \
    X("malloc", "max", sp_cell_time(cell, (double)r->malloc_ns.max))                                         \
    X("free", "mean", sp_cell_time(cell, r->free_ns.mean))                                                   \
    X("free", "p99", sp_cell_time(cell, (double)r->free_ns.p99))                                             \
    X("calls", "total", sp_cell_time(cell, (double)r->total_ns))

#define WORK_COLUMNS(X)                                                                                      \
    X("device", "busy", sp_cell_ratio(cell, r->work_ns, r->end_to_end_ns))                                   \
    X("end to", "end", sp_cell_time(cell, (double)r->end_to_end_ns))

#define COUNT_COLUMN(first, second, fill) +1
enum {
    TEXT_COLUMN_COUNT = 0 TEXT_COLUMNS(COUNT_COLUMN),
    PASS_COLUMN = TEXT_COLUMN_COUNT,
    WORK_COLUMN = PASS_COLUMN PASS_COLUMNS(COUNT_COLUMN) NUMBER_COLUMNS(COUNT_COLUMN),
    COLUMN_COUNT = WORK_COLUMN WORK_COLUMNS(COUNT_COLUMN),
    TITLE_ROWS = 2
};
#undef COUNT_COLUMN

#define ALL_COLUMNS(X) TEXT_COLUMNS(X) PASS_COLUMNS(X) NUMBER_COLUMNS(X) WORK_COLUMNS(X)

static void fill_titles(const struct sp_table *table) {
    static const char *const titles[COLUMN_COUNT][TITLE_ROWS] = {
#define TITLE(first, second, fill) {first, second},
        ALL_COLUMNS(TITLE)
#undef TITLE
    };
    for (size_t row = 0; row < TITLE_ROWS; row++)
        for (size_t column = 0; column < COLUMN_COUNT; column++)
            sp_cell_text(sp_table_cell(table, row, column), titles[column][row]);
}

static void fill_row(const struct sp_table *table, size_t row, const struct sp_result *r) {
    size_t column = 0;
    char *cell;
#define FILL(first, second, fill)                                                                            \
    cell = sp_table_cell(table, row, column++);                                                              \
    fill;
    ALL_COLUMNS(FILL)
#undef FILL
}

// --------------------------------------------------------------------------------------------- printing

void sp_report_device(FILE *out, const struct sp_device *device, enum sp_time_base base) {
    static const char *const notes[] = {
        [SP_TIME_OF_HOST] = "simulated driver: times are those of the host, not of a GPU",
        [SP_TIME_OF_DEVICE] = "simulated driver: times are those of its virtual clock, not of a GPU",
    };
    char version[SP_VERSION_TEXT];
    const struct sp_driver *driver = device->driver;
    fprintf(out, "%s, driver %s, CUDA %s\n", device->name, driver->path,
            sp_version_text(driver->api_version, version));
    if (sp_device_is_simulated(driver))
        fprintf(out, "%s\n", notes[base]);
    fputc('\n', out);
}

static void print_errors(FILE *out, const struct sp_result *results, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (results[i].errors > 0)
            fprintf(out, "%s, %s, pass %u: %s (errors in all: %" PRIu64 ")\n", results[i].trace,
                    results[i].allocator, results[i].pass, results[i].first_error, results[i].errors);
}

static void hide_columns(struct sp_table *table, const struct sp_result *results, size_t count) {
    bool several_passes = false, work = false;
    for (size_t i = 0; i < count; i++) {
        several_passes = several_passes || results[i].pass > 1;
        work = work || results[i].work_ns > 0;
    }
    if (!several_passes)
        sp_table_hide(table, PASS_COLUMN);
    for (size_t column = WORK_COLUMN; column < COLUMN_COUNT && !work; column++)
        sp_table_hide(table, column);
}

bool sp_report_print(FILE *out, const struct sp_result *results, size_t count) {
    struct sp_table table;
    if (!sp_table_open(&table, COLUMN_COUNT, TEXT_COLUMN_COUNT, TITLE_ROWS + count))
        return false;
    fill_titles(&table);
    for (size_t i = 0; i < count; i++)
        fill_row(&table, TITLE_ROWS + i, &results[i]);
    hide_columns(&table, results, count);
    sp_table_print(&table, out);
    print_errors(out, results, count);
    sp_table_release(&table);
    return true;
}

// ------------------------------------------------------------------------------------------------- JSON

static bool add_times(cJSON *parent, const char *key, const struct sp_times *times) {
    cJSON *object = cJSON_AddObjectToObject(parent, key);
    return object && sp_json_add_number(object, "mean", times->mean) &&
           sp_json_add_count(object, "p50", times->p50) && sp_json_add_count(object, "p99", times->p99) &&
           sp_json_add_count(object, "max", times->max);
}

static bool add_work(cJSON *object, const struct sp_result *result) {
    return result->work_ns == 0 || (sp_json_add_count(object, "work_ns", result->work_ns) &&
                                    sp_json_add_count(object, "end_to_end_ns", result->end_to_end_ns));
}

static bool fill_object(cJSON *object, const void *items, size_t index) {
    const struct sp_result *result = (const struct sp_result *)items + index;
    return sp_json_add_text(object, "trace", result->trace) &&
           sp_json_add_text(object, "allocator", result->allocator) &&
           sp_json_add_text(object, "device", result->device) &&
           sp_json_add_count(object, "pass", result->pass) &&
           sp_json_add_count(object, "operations", result->operations) &&
           sp_json_add_count(object, "streams", result->streams) &&
           sp_json_add_count(object, "errors", result->errors) &&
           sp_json_add_count(object, "live_peak_bytes", result->live_peak_bytes) &&
           sp_json_add_count(object, "reserved_peak_bytes", result->reserved_peak_bytes) &&
           add_times(object, "malloc_ns", &result->malloc_ns) &&
           add_times(object, "free_ns", &result->free_ns) &&
           sp_json_add_count(object, "total_ns", result->total_ns) && add_work(object, result);
}

struct sp_json_list sp_report_list(const struct sp_result *results, size_t count) {
    return (struct sp_json_list){.count = count, .fill = fill_object, .items = results};
}
