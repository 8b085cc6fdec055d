// What any operation chooses: a pool, and whether the library is told of a call. Streams are chosen
// in world.h, blocks and events where they are claimed.
#ifndef STREAMPOOL_TESTS_RANDOM_CHOOSE_H
#define STREAMPOOL_TESTS_RANDOM_CHOOSE_H

#include "random/world.h"

static inline struct pool *choose_pool(struct thread *thread) {
    return &thread->world->pools[numbers_below(&thread->numbers, thread->world->plan.pools)];
}

// A program tells the library of three calls in four; of the others it only learns less.
static inline bool choose_to_tell(struct thread *thread) {
    return !numbers_once_in(&thread->numbers, 4);
}

// A quiet one tells it of no synchronise: then a stream that is idle passes for one that was
// synchronised.
static inline bool choose_to_tell_of_synchronize(struct thread *thread) {
    return choose_to_tell(thread) && !thread->world->quiet;
}

#endif
