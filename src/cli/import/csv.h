// A row of comma-separated values, split into its fields.
//
// A field may stand in double quotes, in which two quotes are one and a comma is a character as any
// other. Space around a field is no part of it.
#ifndef STREAMPOOL_CLI_CSV_H
#define STREAMPOOL_CLI_CSV_H

#include "cli/trace/lines.h"

enum { SP_CSV_FIELDS_MAX = 64 };

struct sp_csv {
    size_t count;
    struct sp_csv_field {
        const char *text; // in `buffer`
        size_t length;
    } fields[SP_CSV_FIELDS_MAX];
    char buffer[SP_LINE_LENGTH_MAX];
};

// Splits a line of at most SP_LINE_LENGTH_MAX characters. False, with the reason in words, when it
// has too many fields, or a quote that isn't closed or stands before something else than a comma.
bool sp_csv_split(struct sp_csv *csv, const char *line, size_t length, const char **reason);

#endif
