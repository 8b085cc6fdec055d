// Where this library lies.
#ifndef STREAMPOOL_DRIVER_BESIDE_H
#define STREAMPOOL_DRIVER_BESIDE_H

#include <limits.h>
#include <stdbool.h>

// The path of a file in the folder of the shared library that this code is in, or of the program,
// where it is linked into that. Whether there is such a file isn't asked. False when the folder is
// unknown.
bool sp_driver_beside(const char *name, char path[PATH_MAX]);

#endif
