// The contents of one pool, saved.
//
// The ranges that were in use lie one behind the other in a line of bytes, each from a multiple of
// 4 KiB on. The line's beginning lies in pieces of the host's memory, and the rest in a file:
//
//   kept[i].at % 4096 == 0,  kept[i].at + kept[i].size <= kept[i + 1].at
//   pieces[0].at == 0,  pieces[i].at + pieces[i].size == pieces[i + 1].at
//   in_host == the sum of all pieces,  fd >= 0  <=>  in_host < line
#ifndef STREAMPOOL_SWAP_SAVED_H
#define STREAMPOOL_SWAP_SAVED_H

#include <stddef.h>
#include <stdint.h>
#include <streampool/streampool.h>

struct sp_kept {
    uint64_t address;
    size_t size;
    uint64_t at;
};

struct sp_piece {
    char *memory;
    uint64_t at;
    size_t size;
};

struct sp_saved {
    struct sp_kept *kept; // by address, and by `at`
    size_t count;
    struct sp_piece *pieces;
    size_t piece_count;
    uint64_t line;
    uint64_t in_host;
    int fd;            // -1: none
    uint64_t unwanted; // bytes that were in use, and weren't saved
};

// Ranges of addresses in order, which don't overlap.
struct sp_unwanted {
    const struct poolMemRange *list;
    size_t count;
};

// Saves the contents of ranges, but for what is unwanted. The current context is the device's; so
// it is in the next. After an error nothing is kept.
poolError_t sp_saved_make(struct sp_saved *saved, int device, const struct poolMemRange *ranges,
                          size_t count, const struct sp_unwanted *unwanted);

// Copies back what was saved of ranges.
poolError_t sp_saved_load(const struct sp_saved *saved, int device,
                          const struct poolMemRange *ranges, size_t count);

// Gives back what it takes. It may be empty, all of it 0 but `fd`.
void sp_saved_drop(struct sp_saved *saved);

#define SP_SAVED_NOTHING ((struct sp_saved){.fd = -1})

#endif
