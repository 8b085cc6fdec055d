// An output is what the program writes: to standard output for the path "-", else to a file, which
// is whole, or not there.
//
// A regular file is written beside its place and then renamed, so there is never half of one; a
// link is followed. Anything else (a pipe, a device) is written to directly.
#ifndef STREAMPOOL_CLI_OUTPUT_H
#define STREAMPOOL_CLI_OUTPUT_H

#include <stdbool.h>
#include <string.h>

// Writes a text and a newline. False when that fails; standard error says why.
bool sp_output_write(const char *path, const char *text);

// True when such an output can be written, or none is asked for; else standard error says why. To
// be asked before long work. Nothing is there afterwards that wasn't there.
bool sp_output_ready(const char *path);

// Flushes standard output. False when not all could be written that was printed there; standard
// error says why, once.
bool sp_output_flush(void);

// Has the program do that when it exits, and fail if it does: a parser that has shown a help or the
// version ends the program itself.
void sp_output_flush_at_exit(void);

// True for "-". A null path, for a file that nobody asked for, is none.
static inline bool sp_output_is_standard(const char *path) {
    return path && strcmp(path, "-") == 0;
}

// ---------------------------------------------------------------------------------------- by steps

// The place of an output.
struct sp_place {
    int descriptor;  // to write to; the caller closes it
    char *temporary; // the file beside its place; null when it is written to directly
    char *path;      // that it gets; null likewise
};

// All return false with errno.
bool sp_place_open(struct sp_place *place, const char *path);

// Tries whether an output can go there, and leaves everything as it was.
bool sp_place_try(const char *path);

// To be called when the descriptor is closed: puts the file where it belongs, or removes it. Drop
// leaves errno alone.
bool sp_place_keep(struct sp_place *place);
void sp_place_drop(struct sp_place *place);

// The path as a message names it.
const char *sp_place_name(const char *path);

#endif
