#include "cli/program/table.h"

#include <stdlib.h>
#include <string.h>

bool sp_table_open(struct sp_table *table, size_t columns, size_t text_columns, size_t rows) {
    rows += SP_TABLE_TITLES;
    *table = (struct sp_table){.columns = columns, .text_columns = text_columns, .rows = rows};
    table->cells = calloc(columns * rows + 1, sizeof *table->cells);
    table->widths = calloc(columns + 1, sizeof *table->widths);
    if (table->cells && table->widths)
        return true;
    sp_table_release(table);
    return false;
}

void sp_table_release(struct sp_table *table) {
    free(table->cells);
    free(table->widths);
    *table = (struct sp_table){.rows = 0};
}

static char *cell_of(const struct sp_table *table, size_t row, size_t column) {
    return table->cells[row * table->columns + column];
}

char *sp_table_cell(const struct sp_table *table, size_t row, size_t column) {
    return cell_of(table, SP_TABLE_TITLES + row, column);
}

void sp_table_cut(struct sp_table *table, size_t rows) {
    table->rows = SP_TABLE_TITLES + rows;
}

void sp_table_title(const struct sp_table *table, size_t column, const char *const lines[2]) {
    for (size_t row = 0; row < SP_TABLE_TITLES; row++)
        sp_cell_text(cell_of(table, row, column), lines[row]);
}

// ------------------------------------------------------------------------------------------ widths

static size_t widest_of(const struct sp_table *table, size_t column, size_t first, size_t end) {
    size_t widest = 0;
    for (size_t row = first; row < end; row++) {
        size_t width = sp_page_columns_of(cell_of(table, row, column));
        widest = width > widest ? width : widest;
    }
    return widest;
}

static size_t width_of_title(const struct sp_table *table, size_t column) {
    return widest_of(table, column, 0, SP_TABLE_TITLES);
}

// Returns the width of the whole table.
static size_t measure(const struct sp_table *table) {
    size_t all = 0;
    for (size_t column = 0; column < table->columns; column++) {
        size_t width = widest_of(table, column, SP_TABLE_TITLES, table->rows);
        size_t title = width_of_title(table, column);
        table->widths[column] = width > 0 && title > width ? title : width;
        all += width > 0 ? table->widths[column] + (all > 0 ? 2 : 0) : 0;
    }
    return all;
}

// Takes from the widest column of texts that are wider than their title, as long as there is one.
static void narrow(const struct sp_table *table, size_t excess) {
    for (; excess > 0; excess--) {
        size_t *widest = NULL;
        for (size_t column = 0; column < table->text_columns; column++)
            if (table->widths[column] > width_of_title(table, column) &&
                (!widest || table->widths[column] > *widest))
                widest = &table->widths[column];
        if (!widest)
            return;
        --*widest;
    }
}

// ---------------------------------------------------------------------------------------- printing

static bool is_too_long(const struct sp_table *table, size_t row, size_t column) {
    size_t width = table->widths[column];
    return width > 0 && sp_page_columns_of(cell_of(table, row, column)) > width;
}

// Prints the texts of a row that are too long for their columns, unless they are those of the row
// before.
static void print_long(const struct sp_table *table, const struct sp_page *page, size_t row) {
    char texts[4 * SP_CELL_TEXT] = "";
    bool is_new = false;
    for (size_t column = 0; column < table->text_columns; column++) {
        const char *text = cell_of(table, row, column);
        if (!is_too_long(table, row, column))
            continue;
        is_new = is_new || strcmp(text, cell_of(table, row - 1, column)) != 0;
        size_t length = strlen(texts);
        snprintf(texts + length, sizeof texts - length, "%s%s", length > 0 ? ", " : "", text);
    }
    if (is_new)
        sp_page_say(page, "%s\n", texts);
}

// Prints a cell behind so many blanks, and returns how many follow it: there are none at the end of
// a line.
static size_t print_cell(const struct sp_table *table, FILE *out, size_t row, size_t column,
                         size_t blanks) {
    const char *text = is_too_long(table, row, column) ? "" : cell_of(table, row, column);
    size_t padding = table->widths[column] - sp_page_columns_of(text);
    bool flush_left = column < table->text_columns;
    if (text[0] == '\0')
        return blanks + padding;
    fprintf(out, "%*s%s", (int)(blanks + (flush_left ? 0 : padding)), "", text);
    return flush_left ? padding : 0;
}

static bool is_empty(const struct sp_table *table, size_t row) {
    size_t column = 0;
    while (column < table->columns &&
           (table->widths[column] == 0 || cell_of(table, row, column)[0] == '\0'))
        column++;
    return column == table->columns;
}

static void print_row(const struct sp_table *table, const struct sp_page *page, size_t row) {
    size_t blanks = 0;
    bool is_first = true;
    print_long(table, page, row);
    for (size_t column = 0; column < table->columns; column++) {
        if (table->widths[column] == 0)
            continue;
        blanks = print_cell(table, page->out, row, column, blanks + (is_first ? 0 : 2));
        is_first = false;
    }
    fputc('\n', page->out);
}

void sp_table_print(struct sp_table *table, const struct sp_page *page) {
    size_t width = measure(table);
    if (!page->wide && width > SP_PAGE_COLUMNS)
        narrow(table, width - SP_PAGE_COLUMNS);
    for (size_t row = 0; row < table->rows; row++)
        if (row > 0 || !is_empty(table, row))
            print_row(table, page, row);
}

// ------------------------------------------------------------------------------------------- cells

void sp_cell_text(char *cell, const char *text) {
    snprintf(cell, SP_CELL_TEXT, "%s", text);
}

void sp_cell_quantity(char *cell, enum sp_unit unit, double value) {
    char text[SP_QUANTITY_TEXT];
    sp_cell_text(cell, sp_quantity_text(unit, value, text));
}
