// Files that the program writes for other programs are whole, or not there.
#ifndef STREAMPOOL_CLI_OUTPUT_H
#define STREAMPOOL_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

// Writes a text and a newline to a file, or to standard output for the path "-". A regular file is
// written beside its place and then renamed, so there is never half of one; anything else (a pipe,
// a device) is written to directly. False when that fails; standard error says why.
bool sp_output_write(const char *path, const char *text);

// True when such a file can be written, or none is asked for; else standard error says why. To be
// asked before long work. Nothing is there afterwards that wasn't there.
bool sp_output_ready(const char *path);

// Flushes standard output. False when not all could be written that was printed there; standard
// error says why, once.
bool sp_output_flush(void);

// Has the program do that when it exits, and fail if it does: a parser that has shown a help or the
// version ends the program itself.
void sp_output_flush_at_exit(void);

// True for "-". A null path, for a file that nobody asked for, is none.
static inline bool sp_output_is_standard(const char *path) {
    return path && path[0] == '-' && path[1] == '\0';
}

#endif
