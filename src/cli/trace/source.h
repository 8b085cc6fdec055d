// sp_source reads a file's bytes one behind the other, unpacked where it is gzipped, without a
// place to go back to: a pipe will do.
//
// The caller owns the struct. A failure is for good: the file has ended, and sp_source_reason()
// says why. Not thread safe.
#ifndef STREAMPOOL_CLI_SOURCE_H
#define STREAMPOOL_CLI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_SOURCE_PEEK_MAX = 64 * 1024 };

struct sp_source {
    struct sp_unpack *file;
    unsigned char *buffer; // of SP_SOURCE_PEEK_MAX bytes
    size_t begin;          // buffer[begin, end) is read and not handed out yet
    size_t end;
    uint64_t offset;     // of buffer[begin] in the unpacked file
    bool exhausted;      // nothing more comes from the file
    const char *trouble; // why the file ended before its time, or null
};

// Opens a file. False, with the reason in words, when it can't be opened or is a directory, or
// without host memory.
bool sp_source_open(struct sp_source *source, const char *path, const char **reason);
void sp_source_close(struct sp_source *source);

// Shows the next bytes without taking them, and returns how many there are: at least `wanted` (at
// most SP_SOURCE_PEEK_MAX), fewer only where the file ends. They are valid until the next call.
size_t sp_source_peek(struct sp_source *source, size_t wanted, const unsigned char **bytes);

// Takes bytes. False when there are fewer; then all of them are gone.
bool sp_source_take(struct sp_source *source, void *bytes, size_t count);
bool sp_source_skip(struct sp_source *source, uint64_t count);

// Why there are no more bytes, in words.
const char *sp_source_reason(const struct sp_source *source);

#endif
