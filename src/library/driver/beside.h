// Files beside this library: in the folder of the shared library that this code is in, or of the
// program where it is linked into that.
#ifndef STREAMPOOL_DRIVER_BESIDE_H
#define STREAMPOOL_DRIVER_BESIDE_H

#include <limits.h>
#include <stdbool.h>

// Makes the path of such a file, which need not exist. False when the folder is unknown.
bool sp_beside_path(const char *name, char path[PATH_MAX]);

#endif
