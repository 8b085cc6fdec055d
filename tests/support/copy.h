// Copies of files.
#ifndef STREAMPOOL_TESTS_SUPPORT_COPY_H
#define STREAMPOOL_TESTS_SUPPORT_COPY_H

#include <stdbool.h>

// Copies a file to a path where none is yet, for a program to load. False when it can't be.
bool test_copy_file(const char *from, const char *to);

#endif
