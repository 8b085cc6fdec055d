// A file that is written from front to back, piece by piece. It is gzipped where its name ends with
// ".gz" and libz.so.1 can be opened at run time, and plain text otherwise: who reads traces tells
// them apart by their first bytes.
//
// Each piece of a gzipped file is a whole gzip stream, so that what was written before a process
// died can be read. No signal of a broken pipe or a full quota reaches the program.
#ifndef STREAMPOOL_OBSERVE_FILE_H
#define STREAMPOOL_OBSERVE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sp_file {
    int descriptor;
    bool is_gzipped;
    dev_t device; // of the file, and its number there: the program may close what it doesn't know,
    ino_t inode;  // and have its own file under the same descriptor then
};

// Opens a file, and empties it. False, with a line in the log at any level, when it can't be
// opened; when it is a symbolic link, or a pipe for which no reader comes within a second; or when
// another process holds it: two must not write one file. In the name %p stands for
// the process's number and %% for a percent sign. /dev/stdout and /dev/stderr are the program's
// own, and stay as they are.
bool sp_file_open(struct sp_file *file, const char *name);

// Writes a piece. False when the file takes no more, with errno.
bool sp_file_write(struct sp_file *file, const void *bytes, size_t count);

// Ends the file. False with errno; it is closed anyway.
bool sp_file_close(struct sp_file *file);

// Puts a whole file in the place of what has its name: a reader sees the one or the other. What is
// no file, such as a pipe or a device, is written to. In the name %p and %% stand for what they do
// above. False, with a line in the log at any level, when that fails; then the old file stays.
bool sp_file_put(const char *name, const void *bytes, size_t count);

#endif
