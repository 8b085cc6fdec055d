// A file that is written from front to back. It is gzipped where its name ends with ".gz" and
// libz.so.1 can be opened at run time, and plain text otherwise: who reads traces tells them apart
// by their first bytes.
#ifndef STREAMPOOL_OBSERVE_FILE_H
#define STREAMPOOL_OBSERVE_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct sp_file {
    int descriptor;
    void *gzip; // zlib's handle, or null for plain text
};

// Opens a file, and empties it. False, with a line in the log at any level, when it can't be
// opened, or when another process holds it: two must not write one file. In the name %p stands for
// the process's number and %% for a percent sign.
bool sp_file_open(struct sp_file *file, const char *name);

// Writes all bytes. False when the file takes no more, with errno.
bool sp_file_write(struct sp_file *file, const void *bytes, size_t count);

// Hands on to the system what zlib holds back. False as above.
bool sp_file_flush(struct sp_file *file);

// Ends the file. False as above; it is closed anyway.
bool sp_file_close(struct sp_file *file);

#endif
