// The columns stand in one table: titles and what goes into a cell. All cells are made first, then the
// widths.
#include "cli/report.h"

#include "cli/quantity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------- columns

enum { CELL_TEXT = 128 };

static void text_cell(char *cell, const char *text) {
    snprintf(cell, CELL_TEXT, "%s", text);
}

static void count_cell(char *cell, uint64_t count) {
    snprintf(cell, CELL_TEXT, "%" PRIu64, count);
}

static void bytes_cell(char *cell, uint64_t bytes) {
    char text[SP_QUANTITY_TEXT];
    text_cell(cell, sp_bytes_text(bytes, text));
}

static void time_cell(char *cell, double nanoseconds) {
    char text[SP_QUANTITY_TEXT];
    text_cell(cell, sp_time_text(nanoseconds, text));
}

static void ratio_cell(char *cell, uint64_t part, uint64_t whole) {
    if (whole == 0)
        text_cell(cell, "-");
    else
        snprintf(cell, CELL_TEXT, "%.3f", (double)part / (double)whole);
}

//   X(first line of the title, second line, what fills the cell of the result r)
#define TEXT_COLUMNS(X)                                                                                      \
    X("", "trace", text_cell(cell, r->trace))                                                                \
    X("", "allocator", text_cell(cell, r->allocator))

#define NUMBER_COLUMNS(X)                                                                                    \
    X("", "pass", count_cell(cell, r->pass))                                                                 \
    X("", "operations", count_cell(cell, r->operations))                                                     \
    X("", "streams", count_cell(cell, r->streams))                                                           \
    X("", "errors", count_cell(cell, r->errors))                                                             \
    X("peak", "live", bytes_cell(cell, r->live_peak_bytes))                                                  \
    X("peak", "reserved", bytes_cell(cell, r->reserved_peak_bytes))                                          \
    X("reserved", "/ live", ratio_cell(cell, r->reserved_peak_bytes, r->live_peak_bytes))                    \
    X("malloc", "mean", time_cell(cell, r->malloc_ns.mean))                                                  \
    X("malloc", "p50", time_cell(cell, (double)r->malloc_ns.p50))                                            \
    X("malloc", "p99", time_cell(cell, (double)r->malloc_ns.p99))                                            \
    X("malloc", "max", time_cell(cell, (double)r->malloc_ns.max))                                            \
    X("free", "mean", time_cell(cell, r->free_ns.mean))                                                      \
    X("free", "p99", time_cell(cell, (double)r->free_ns.p99))                                                \
    X("calls", "total", time_cell(cell, (double)r->total_ns))

#define COUNT_COLUMN(first, second, fill) +1
enum {
    TEXT_COLUMN_COUNT = 0 TEXT_COLUMNS(COUNT_COLUMN),
    COLUMN_COUNT = TEXT_COLUMN_COUNT NUMBER_COLUMNS(COUNT_COLUMN),
    PASS_COLUMN = TEXT_COLUMN_COUNT,
    TITLE_ROWS = 2
};
#undef COUNT_COLUMN

typedef char cell_row[COLUMN_COUNT][CELL_TEXT];

static void fill_titles(cell_row *rows) {
    static const char *const titles[COLUMN_COUNT][TITLE_ROWS] = {
#define TITLE(first, second, fill) {first, second},
        TEXT_COLUMNS(TITLE) NUMBER_COLUMNS(TITLE)
#undef TITLE
    };
    for (size_t row = 0; row < TITLE_ROWS; row++)
        for (size_t column = 0; column < COLUMN_COUNT; column++)
            text_cell(rows[row][column], titles[column][row]);
}

static void fill_row(cell_row row, const struct sp_result *r) {
    char(*next)[CELL_TEXT] = row;
    char *cell;
#define FILL(first, second, fill)                                                                            \
    cell = *next++;                                                                                          \
    fill;
    TEXT_COLUMNS(FILL)
    NUMBER_COLUMNS(FILL)
#undef FILL
}

// --------------------------------------------------------------------------------------------- printing

// Characters as a terminal counts them: the bytes that don't continue a UTF-8 sequence.
static int width_of(const char *text) {
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_row(FILE *out, cell_row row, const int widths[COLUMN_COUNT]) {
    for (size_t column = 0; column < COLUMN_COUNT; column++) {
        if (widths[column] == 0)
            continue;
        int padding = widths[column] - width_of(row[column]);
        const char *gap = column == 0 ? "" : "  ";
        if (column < TEXT_COLUMN_COUNT)
            fprintf(out, "%s%s%*s", gap, row[column], padding, "");
        else
            fprintf(out, "%s%*s%s", gap, padding, "", row[column]);
    }
    fputc('\n', out);
}

static void print_rows(FILE *out, cell_row *rows, size_t row_count, unsigned passes) {
    int widths[COLUMN_COUNT] = {0};
    for (size_t row = 0; row < row_count; row++)
        for (size_t column = 0; column < COLUMN_COUNT; column++)
            if (width_of(rows[row][column]) > widths[column])
                widths[column] = width_of(rows[row][column]);
    if (passes == 1)
        widths[PASS_COLUMN] = 0;
    for (size_t row = 0; row < row_count; row++)
        print_row(out, rows[row], widths);
}

static void print_device(FILE *out, const struct sp_device *device) {
    char version[SP_VERSION_TEXT];
    const struct sp_driver *driver = device->driver;
    fprintf(out, "%s, driver %s, CUDA %s\n", device->name, driver->path,
            sp_version_text(driver->api_version, version));
    if (sp_device_is_simulated(driver))
        fputs("simulated driver: times are those of the host, not of a GPU\n", out);
    fputc('\n', out);
}

static void print_errors(FILE *out, const struct sp_result *results, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (results[i].errors > 0)
            fprintf(out, "%s, %s, pass %u: %s (errors in all: %" PRIu64 ")\n", results[i].trace,
                    results[i].allocator, results[i].pass, results[i].first_error, results[i].errors);
}

bool sp_report_print(FILE *out, const struct sp_device *device, const struct sp_result *results,
                     size_t count) {
    cell_row *rows = calloc(TITLE_ROWS + count, sizeof *rows);
    if (!rows)
        return false;
    unsigned passes = 0;
    fill_titles(rows);
    for (size_t i = 0; i < count; i++) {
        fill_row(rows[TITLE_ROWS + i], &results[i]);
        passes = results[i].pass > passes ? results[i].pass : passes;
    }
    print_device(out, device);
    print_rows(out, rows, TITLE_ROWS + count, passes);
    print_errors(out, results, count);
    free(rows);
    return true;
}
