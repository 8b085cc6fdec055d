// This keeps what the program has said of the pages of a piece of managed memory, by advice and by
// prefetches, and tells it. It changes nothing else.
//
//   spans are sorted, and each reaches to the next one, the last to the end of the memory
//   the first span begins at 0; without spans nothing was said
#ifndef STREAMPOOL_SIMCUDA_MEMORY_ADVICE_H
#define STREAMPOOL_SIMCUDA_MEMORY_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"

struct sim_advice_said {
    bool is_read_mostly;
    CUmemLocation preferred;  // of type 0: none
    CUmemLocation prefetched; // likewise
    uint32_t accessed_by;     // a bit for each device, and bit SIM_HOST
};

struct sim_advice_span {
    uint64_t begin; // offset in the memory
    struct sim_advice_said said;
};

struct sim_advice {
    struct sim_advice_span *spans;
    size_t count;
    size_t capacity;
};

// Changes what was said of the bytes from `begin` to `end`, one span after another.
typedef void (*sim_advice_change)(struct sim_advice_said *said, const void *data);
void sim_advice_say(struct sim_advice *advice, uint64_t begin, uint64_t end,
                    sim_advice_change change, const void *data);

// Returns what was said of the byte at an offset, and sets `end` to where that ends.
struct sim_advice_said sim_advice_at(const struct sim_advice *advice, uint64_t offset,
                                     uint64_t *end);

void sim_advice_destroy(struct sim_advice *advice);

#endif
