// Files as the host's side of a copy: slices are read and written by several threads at a time.
//
// A read takes a slice from the page cache that has all of it. It reads other bytes around the
// cache, by O_DIRECT, where their place in the file and in memory is aligned and the file system
// can, and else through it. A write goes through the cache. A descriptor that was opened with
// O_DIRECT is used for all that is aligned, and the cache for the rest.
#ifndef STREAMPOOL_COPY_FILE_H
#define STREAMPOOL_COPY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_copy_file {
    int fd;
    bool reads;        // the copy reads it, and else writes it
    bool is_own;       // to be closed
    bool is_direct;    // was opened with O_DIRECT
    uint64_t offset;   // of the copy's first byte
    _Atomic int other; // a descriptor of the other kind; or one of these:
};

enum { SP_COPY_FILE_UNTRIED = -1, SP_COPY_FILE_HAS_NO_OTHER = -2 };

// Why a file's bytes couldn't be moved: an errno, and the place of the first byte that couldn't.
struct sp_copy_file_problem {
    int code; // 0: none
    uint64_t at;
};

// The file ends before the bytes do.
enum { SP_COPY_FILE_ENDS = -1 };

// A file of the program's; and one that stays open when the program closes its own, with false and
// errno where there can't be one.
void sp_copy_file_open(struct sp_copy_file *file, int fd, bool reads, uint64_t offset);
bool sp_copy_file_open_own(struct sp_copy_file *file, int fd, bool reads, uint64_t offset);
void sp_copy_file_close(struct sp_copy_file *file);

// Tells what is wrong with a copy of so many bytes, as far as it can be seen before: the
// descriptor, how it was opened, the end of a regular file.
struct sp_copy_file_problem sp_copy_file_check(int fd, bool reads, uint64_t offset, size_t bytes);

// Tells if a copy reads, by way of the page cache, and finds its first byte there.
bool sp_copy_file_is_cached(const struct sp_copy_file *file);

// The descriptor with O_DIRECT, the file's or another one, which is closed with the file. It is
// negative where there is none.
int sp_copy_file_direct(struct sp_copy_file *file);

// Moves bytes between the file and memory. `at` counts from the copy's first byte.
struct sp_copy_file_problem sp_copy_file_move(struct sp_copy_file *file, size_t at, char *memory,
                                              size_t bytes);

#endif
