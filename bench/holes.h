// Memory in pieces: blocks of one size, of which every second one is free. And what a large block
// costs and holds then.
#ifndef STREAMPOOL_BENCH_HOLES_H
#define STREAMPOOL_BENCH_HOLES_H

#include "bench.h"

#include <stddef.h>

struct holes {
    void **blocks; // null where it is free
    size_t count;
};

// Both return 0 or the error's number. Opening allocates `count` blocks, frees the second, the
// fourth and so on, and synchronises. Whether that succeeds or not, closing frees what is left and
// synchronises.
int holes_open(struct holes *holes, const struct subject *subject, size_t count, size_t size,
               CUstream stream);
int holes_close(struct holes *holes, const struct subject *subject, CUstream stream);

struct wanted {
    double microseconds; // of the malloc
    double grown;        // MiB that the pool reserved for it
    struct remapped remapped;
    struct held held; // with the block
};

// What our pool held for it, over the rounds; and that as a table of its own, with `label` in front
// of each row.
enum { HELD_ROWS = 3 };

void held_add(struct samples samples[HELD_ROWS], const struct held *held);
void held_print(struct bench *bench, const char *label, struct samples samples[HELD_ROWS]);

// What remapping takes by the driver's calls alone, beside what the pool took; the samples of each
// row, over the rounds.
enum { FLOOR_ROWS = 3 };

struct remap_floor {
    struct samples samples[FLOOR_ROWS];
    bool has_extents; // the pool says how many it remapped
};

// Measures as many extents as were remapped, of their mean size; where the pool remapped none or
// doesn't say, so many pieces of this size. The device needs room for them.
int remap_floor_add(const struct bench *bench, struct remap_floor *floor,
                    const struct wanted *wanted, size_t pieces, size_t size);
void remap_floor_print(struct bench *bench, const char *label, struct remap_floor *floor);

// Allocates a block and frees it.
int holes_want(const struct subject *subject, size_t size, CUstream stream, struct wanted *wanted);

#endif
