// Files that the program writes for other programs are whole, or not there.
#ifndef STREAMPOOL_CLI_OUTPUT_H
#define STREAMPOOL_CLI_OUTPUT_H

#include <stdbool.h>

// Writes a text and a newline to a file, or to standard output for the path "-". A regular file is
// written beside its place and then renamed, so there is never half of one; anything else (a pipe,
// a device) is written to directly. False when that fails; standard error says why.
bool sp_output_write(const char *path, const char *text);

#endif
