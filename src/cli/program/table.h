// A table has text cells and is printed whole once all of them are filled, so that every column is
// as wide as it must be. The caller owns the struct; one thread at a time uses it.
#ifndef STREAMPOOL_CLI_TABLE_H
#define STREAMPOOL_CLI_TABLE_H

#include "cli/program/page.h"
#include "cli/program/quantity.h"

enum { SP_CELL_TEXT = 288, SP_TABLE_TITLES = 2 };

struct sp_table {
    size_t columns;
    size_t text_columns;         // the first ones, set flush left; the others are set flush right
    size_t rows;                 // with the titles, which are the first ones
    char (*cells)[SP_CELL_TEXT]; // row by row
    size_t *widths;              // by column, while the table is printed
};

// Makes a table of empty cells: two rows of titles, and so many others. False without host memory;
// then there is nothing to release.
bool sp_table_open(struct sp_table *table, size_t columns, size_t text_columns, size_t rows);
void sp_table_release(struct sp_table *table);

// Returns a cell of a row below the titles.
char *sp_table_cell(const struct sp_table *table, size_t row, size_t column);

// Takes away the rows from one on.
void sp_table_cut(struct sp_table *table, size_t rows);

// Fills in the two lines of a column's title.
void sp_table_title(const struct sp_table *table, size_t column, const char *const lines[2]);

// Prints the table without the columns that have no text but their title. Where it would be wider
// than the page, a text that is too long for its column stands on a line of its own, above its row.
void sp_table_print(struct sp_table *table, const struct sp_page *page);

// These write a value into a cell, as text.
void sp_cell_text(char *cell, const char *text);
void sp_cell_quantity(char *cell, enum sp_unit unit, double value);

#endif
