// Peaks: blocks that are allocated one after another, of which few survive. All is drawn before the
// clock starts, and the same for each subject.
//
// A block of all their size may come and go before them, and be wanted again behind the peak. With
// several streams a block in two is freed on the next stream, behind an event.
#ifndef STREAMPOOL_BENCH_PEAK_H
#define STREAMPOOL_BENCH_PEAK_H

#include "bench.h"

enum { PEAK_STREAMS = 8 };

struct peak_block {
    size_t size;
    bool survives;
    void *at;
};

struct peak {
    struct peak_block *blocks;
    size_t *order; // of those that are freed
    size_t count, freed;
    uint64_t bytes, surviving;
    bool huge_first, huge_again;
    unsigned streams;
};

// Blocks of one size. One in `share` survives: each that so many stand before, or drawn ones.
bool peak_make_even(struct peak *peak, size_t size, size_t count, size_t share);
bool peak_make_scattered(struct peak *peak, size_t size, size_t count, size_t share);
// A shape of its own for each number: sizes from 64 KiB to 64 MiB, who survives, the order of
// frees, and whether a block of all their size comes first.
bool peak_make_drawn(struct peak *peak, uint64_t number, uint64_t bytes, unsigned streams);
void peak_release(struct peak *peak);

// What a subject made of it.
struct peak_figures {
    double held;  // MiB, behind a synchronise
    double again; // MiB, with the huge block once more
    double calls; // ms
    bool served;  // the huge block, the second time
};

// Plays it to an open subject with an event and so many streams, and frees all.
int peak_play(struct peak *peak, const struct subject *subject, const CUstream *streams,
              CUevent event, struct peak_figures *figures);

#endif
