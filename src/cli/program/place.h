// A place is where an output goes: standard output for the path "-", else a file.
//
// A regular file is written beside its place and then renamed, so there is never half of one; a
// link is followed. Anything else (a pipe, a device) is written to directly.
#ifndef STREAMPOOL_CLI_PLACE_H
#define STREAMPOOL_CLI_PLACE_H

#include <stdbool.h>

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
