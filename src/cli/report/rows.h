// The rows are the figures of a replay, each of which stands here once: its name, its unit, where
// it comes from, and where it is shown. The tables, JSON, the spreads of several starts, and what
// is read of recorded results are made of them.
#ifndef STREAMPOOL_CLI_ROWS_H
#define STREAMPOOL_CLI_ROWS_H

#include "cli/play/player.h"
#include "cli/program/json.h"
#include "cli/program/table.h"

// A row reads a field of the result, or is told by a function of it.
enum sp_row_store {
    SP_ROW_TEXT,
    SP_ROW_ALLOCATOR, // a text; tables have what people call the allocator
    SP_ROW_ORIGIN,    // a text of the result's origin
    SP_ROW_UNSIGNED,
    SP_ROW_COUNT,
    SP_ROW_NUMBER,
    SP_ROW_TOLD,
};

// Says which results have the figure.
enum sp_row_need { SP_OF_ALL, SP_OF_TURNS, SP_OF_PARTS, SP_OF_WORK, SP_OF_POOL };

// Says where a row is shown: in the table and the wide table, or in the wide one alone.
enum {
    SP_IN_TABLE = 1,
    SP_IN_WIDE = 2,
    SP_OF_REPLAY = 4, // the same for all starts
    // Over several starts:
    SP_NAMED = 8, // what the figures are of
    SP_SUM_IN_WIDE = 16,
    SP_MEDIAN_IN_TABLE = 32,
    SP_MEDIAN_IN_WIDE = 64,
    SP_RANGE_IN_TABLE = 128, // the least and the most
    SP_RANGE_IN_WIDE = 256,
    SP_MEAN_IN_WIDE = 512,
};

struct sp_row {
    const char *within;     // the key of an object in JSON that the figure is in; null: none
    const char *key;        // in JSON; null: it isn't there
    const char *spread_key; // of its spread, an object in JSON; null: none
    const char *title[SP_TABLE_TITLES];
    enum sp_unit unit;
    enum sp_row_store store;
    size_t offset; // of the field
    double (*told)(const struct sp_result *result);
    enum sp_row_need need;
    double least; // a table has the column only where a figure of it is no less
    unsigned where;
};

// These fill in where a row comes from, with its unit if it has one, and its title.
#define SP_ROW_FIELD(field)                                                                        \
    .store = _Generic(((struct sp_result *)0)->field, const char *                                 \
                      : SP_ROW_TEXT, unsigned                                                      \
                      : SP_ROW_UNSIGNED, uint64_t                                                  \
                      : SP_ROW_COUNT, double                                                       \
                      : SP_ROW_NUMBER),                                                            \
    .offset = offsetof(struct sp_result, field)
#define SP_ROW_ORIGIN_FIELD(field)                                                                 \
    .store = SP_ROW_ORIGIN, .offset = offsetof(struct sp_origin, field)
#define SP_ROW_FUNCTION(function)   .store = SP_ROW_TOLD, .told = (function)
#define SP_ROW_BYTES(field)         .unit = SP_UNIT_BYTES, SP_ROW_FIELD(field)
#define SP_ROW_TIME(field)          .unit = SP_UNIT_NANOSECONDS, SP_ROW_FIELD(field)
#define SP_ROW_RATIO(function)      .unit = SP_UNIT_RATIO, SP_ROW_FUNCTION(function)
#define SP_ROW_TITLE(first, second) .title = {first, second}

// Rows in the order of JSON and of the tables, which set the first ones flush left: texts and
// flags.
struct sp_rows {
    const struct sp_row *list;
    size_t count;
};

#define SP_ROWS_OF(array)                                                                          \
    { (array), sizeof(array) / sizeof(array)[0] }

extern const struct sp_rows sp_rows_of_replay;

// Returns the row whose spread has this key, which there is.
const struct sp_row *sp_row_of_spread(const char *spread_key);

// Returns the row of a statistic.
struct sp_row sp_row_of_statistic(size_t statistic);

// Returns the row of what was live at most at a place, or of what was reserved.
struct sp_row sp_row_of_live_at(enum sp_trace_place place);
struct sp_row sp_row_of_reserved_at(enum sp_trace_place place);

// Return ratios of a result; 0 where there is nothing to divide by.
double sp_row_tell_ratio(const struct sp_result *result);
double sp_row_tell_busy(const struct sp_result *result);

static inline bool sp_row_is_text(const struct sp_row *row) {
    return row->store <= SP_ROW_ORIGIN;
}

bool sp_row_is_of(const struct sp_row *row, const struct sp_result *result);
double sp_row_number(const struct sp_row *row, const struct sp_result *result);

// Writes the figure into a cell of a table, if the result has it.
void sp_row_fill(char *cell, const struct sp_row *row, const struct sp_result *result);

// Adds the figure to an object, if the row has a key and the result has it. False without host
// memory.
bool sp_row_add(cJSON *object, const struct sp_row *row, const struct sp_result *result);

#endif
