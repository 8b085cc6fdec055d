// Files that are installed with the program lie in the folder of the libraries, which is at the
// same place relative to the program in the build folder and in every prefix.
#ifndef STREAMPOOL_CLI_INSTALLED_H
#define STREAMPOOL_CLI_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

// Makes the path of a file, whose name is relative to the folder of the libraries. False with a
// complaint when the program can't find out where it lies itself. The file may be missing.
bool sp_installed_path(const char *name, char path[PATH_MAX]);

#endif
