// A page is where people read: no line of it has more than 80 columns, unless it is wide.
#ifndef STREAMPOOL_CLI_PAGE_H
#define STREAMPOOL_CLI_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SP_PAGE_COLUMNS = 80 };

struct sp_page {
    FILE *out;
    bool wide;    // lines are as long as they are
    size_t title; // columns of a title, behind which a line goes on in the next one; 0: of none
};

// Returns how many columns a terminal needs for a text: it counts the bytes that don't continue a
// UTF-8 sequence.
size_t sp_page_columns_of(const char *text);

// Prints lines. One that is too long goes on in the next one, behind its title or four columns
// further right; a word that no line holds goes on too, unless it is a path, which is to be copied
// whole.
void sp_page_say(const struct sp_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
