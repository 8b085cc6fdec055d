// The library that the driver is in. A drop-in that is loaded before a program finds it by its
// soname, or as what the program is linked with (driver_file.c). One that has the soname itself
// looks for it (forward/driver_file.c).
#ifndef STREAMPOOL_DROPIN_DRIVER_FILE_H
#define STREAMPOOL_DROPIN_DRIVER_FILE_H

#include <link.h>
#include <stdbool.h>

#define SP_DRIVER_FILE_SONAME "libcuda.so.1"

// The name by which a look-up of our own would find the library, or null for its soname.
const char *sp_driver_file_name(void);

// Loads the library, if it isn't loaded. Returns its handle, or null where there is none. Asked for
// once, and never closed.
void *sp_driver_file_open(void);

// Looks a name up in a library, as dlsym does that nobody stands in for.
void *sp_driver_file_find(void *library, const char *name);

// Looks a name up where there is no such library. A program may be linked with a driver that has
// neither name: that is what it would have called without us.
void *sp_driver_file_find_next(const char *name);

// True when the driver is in this library.
bool sp_driver_file_is(const struct link_map *library);

// True while the process has a driver loaded. Loads nothing. For a drop-in that is loaded before a
// program alone.
bool sp_driver_file_is_loaded(void);

// True where we have the driver's soname, and it is behind us.
bool sp_driver_file_is_behind_us(void);

#endif
