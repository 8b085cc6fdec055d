// A complaint is a line on standard error.
#ifndef STREAMPOOL_CLI_COMPLAIN_H
#define STREAMPOOL_CLI_COMPLAIN_H

#include <stdbool.h>

// Prints the name that the program was called by, and the text. Returns false, so that a caller can
// return it.
bool sp_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
