// A line of JSON in a buffer of the caller's. It needs no memory and no lock, for a process that
// ends. A line that doesn't fit is told by sp_line_end().
#ifndef STREAMPOOL_DROPIN_LINE_H
#define STREAMPOOL_DROPIN_LINE_H

#include <stddef.h>
#include <stdint.h>

struct sp_line {
    char *text;
    size_t room;
    size_t length; // above `room` where the line doesn't fit
};

// `key` is null in a list, and for the line itself. `bracket` is '{' or '['.
void sp_line_open(struct sp_line *line, const char *key, char bracket);
void sp_line_close(struct sp_line *line, char bracket);
void sp_line_number(struct sp_line *line, const char *key, uint64_t number);
void sp_line_word(struct sp_line *line, const char *key, const char *word); // such as null
void sp_line_text(struct sp_line *line, const char *key, const char *text);

// Ends the line, and returns its length with the newline; 0 where it doesn't fit.
size_t sp_line_end(struct sp_line *line);

#endif
