// A table has text cells and is printed whole once all of them are filled, so that every column is
// as wide as it must be. The caller owns the struct; one thread at a time uses it.
#ifndef STREAMPOOL_CLI_TABLE_H
#define STREAMPOOL_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { SP_CELL_TEXT = 128 };

struct sp_table {
    size_t columns;
    size_t text_columns; // the first ones, set flush left; the others are set flush right
    size_t rows;
    char (*cells)[SP_CELL_TEXT]; // row by row
    bool *hidden;                // by column
};

// Makes a table of empty cells. False without host memory; then there is nothing to release.
bool sp_table_open(struct sp_table *table, size_t columns, size_t text_columns, size_t rows);
void sp_table_release(struct sp_table *table);

char *sp_table_cell(const struct sp_table *table, size_t row, size_t column);

// Hides a column.
void sp_table_hide(struct sp_table *table, size_t column);

// Prints the table without the columns that are hidden or have no text in any row.
void sp_table_print(const struct sp_table *table, FILE *out);

// These write a value into a cell, as text.
void sp_cell_text(char *cell, const char *text);
void sp_cell_count(char *cell, uint64_t count);
void sp_cell_bytes(char *cell, uint64_t bytes);
void sp_cell_time(char *cell, double nanoseconds);
void sp_cell_ratio(char *cell, uint64_t part, uint64_t whole); // "-" when the whole is 0

#endif
