// Host memory of the simulated driver. It never runs out as far as callers are concerned: a
// simulation that can't get a few bytes can't go on, so it says so and aborts. Failing calls are
// what faults on demand are for.
#ifndef STREAMPOOL_SIMCUDA_COMMON_HOST_H
#define STREAMPOOL_SIMCUDA_COMMON_HOST_H

#include <stddef.h>

// Zeroed.
void *sim_allocate(size_t size);
// Likewise, for what a program asks for: null where the host has no more.
void *sim_try_allocate(size_t size);
// Room for `count` elements of `size` bytes; what is new is not zeroed.
void *sim_reallocate(void *memory, size_t count, size_t size);
void sim_free(void *memory);

// Makes room for one more element in an array that grows by doubling.
#define SIM_RESERVE_ONE(array, count, capacity)                                                    \
    do {                                                                                           \
        if ((count) == (capacity)) {                                                               \
            (capacity) = (capacity) ? 2 * (capacity) : 8;                                          \
            (array) = sim_reallocate((array), (capacity), sizeof(*(array)));                       \
        }                                                                                          \
    } while (0)

#endif
