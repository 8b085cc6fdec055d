// Settings of copies in a file: a few lines of text, such as `threads = 8`.
#ifndef STREAMPOOL_COPY_REMEMBERED_H
#define STREAMPOOL_COPY_REMEMBERED_H

#include <streampool/copy.h>

// Settings hold for machines with so many processors.
struct sp_remembered {
    unsigned int processors; // 0: nothing is remembered
    struct poolCopySettings settings;
};

// Reads a file, which is made, without a line, where there is none. Refuses one that makes no
// sense; whether the settings are within their ranges isn't looked at.
poolError_t sp_remembered_read(const char *path, struct sp_remembered *remembered);

// Puts a new file in the place of the file. Where that fails the file stays as it is.
void sp_remembered_write(const char *path, const struct sp_remembered *remembered);

#endif
