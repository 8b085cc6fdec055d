// What is installed with the program lies at the same place relative to it in the build folder and
// in every prefix: in the folder of the libraries.
#ifndef STREAMPOOL_CLI_INSTALLED_H
#define STREAMPOOL_CLI_INSTALLED_H

#include <limits.h>
#include <stdbool.h>

// Makes the path of a file, whose name is relative to the folder of the libraries. False with a
// complaint when the program can't find out where it lies itself. The file may be missing.
bool sp_installed_path(const char *name, char path[PATH_MAX]);

#endif
