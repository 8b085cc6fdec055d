#include "cli/program/table.h"

#include "cli/program/quantity.h"

#include <inttypes.h>
#include <stdlib.h>

bool sp_table_open(struct sp_table *table, size_t columns, size_t text_columns, size_t rows) {
    *table = (struct sp_table){.columns = columns, .text_columns = text_columns, .rows = rows};
    table->cells = calloc(columns * rows, sizeof *table->cells);
    table->hidden = calloc(columns, sizeof *table->hidden);
    if (table->cells && table->hidden)
        return true;
    sp_table_release(table);
    return false;
}

void sp_table_release(struct sp_table *table) {
    free(table->cells);
    free(table->hidden);
    *table = (struct sp_table){.rows = 0};
}

char *sp_table_cell(const struct sp_table *table, size_t row, size_t column) {
    return table->cells[row * table->columns + column];
}

void sp_table_hide(struct sp_table *table, size_t column) {
    table->hidden[column] = true;
}

// ---------------------------------------------------------------------------------------- printing

// Returns how many characters a terminal shows: it counts the bytes that don't continue a UTF-8
// sequence.
static int width_of_text(const char *text) {
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static int width_of_column(const struct sp_table *table, size_t column) {
    int widest = 0;
    for (size_t row = 0; row < table->rows && !table->hidden[column]; row++) {
        int width = width_of_text(sp_table_cell(table, row, column));
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void print_cell(const struct sp_table *table, FILE *out, size_t row, size_t column,
                       int width) {
    const char *text = sp_table_cell(table, row, column);
    int padding = width - width_of_text(text);
    const char *gap = column == 0 ? "" : "  ";
    if (column < table->text_columns)
        fprintf(out, "%s%s%*s", gap, text, padding, "");
    else
        fprintf(out, "%s%*s%s", gap, padding, "", text);
}

void sp_table_print(const struct sp_table *table, FILE *out) {
    for (size_t row = 0; row < table->rows; row++) {
        for (size_t column = 0; column < table->columns; column++) {
            int width = width_of_column(table, column);
            if (width > 0)
                print_cell(table, out, row, column, width);
        }
        fputc('\n', out);
    }
}

// ------------------------------------------------------------------------------------------- cells

void sp_cell_text(char *cell, const char *text) {
    snprintf(cell, SP_CELL_TEXT, "%s", text);
}

void sp_cell_count(char *cell, uint64_t count) {
    snprintf(cell, SP_CELL_TEXT, "%" PRIu64, count);
}

void sp_cell_bytes(char *cell, uint64_t bytes) {
    char text[SP_QUANTITY_TEXT];
    sp_cell_text(cell, sp_bytes_text(bytes, text));
}

void sp_cell_time(char *cell, double nanoseconds) {
    char text[SP_QUANTITY_TEXT];
    sp_cell_text(cell, sp_time_text(nanoseconds, text));
}

void sp_cell_ratio(char *cell, uint64_t part, uint64_t whole) {
    if (whole == 0)
        sp_cell_text(cell, "-");
    else
        snprintf(cell, SP_CELL_TEXT, "%.3f", (double)part / (double)whole);
}
