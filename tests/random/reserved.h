// What the pools reserve: the calls that ask for more, for less, or for less later; and whether
// they were heard.
//
// Where a program has one thread, each pool's `keeping` (keeping.h) knows what a synchronise must
// leave.
#ifndef STREAMPOOL_TESTS_RANDOM_RESERVED_H
#define STREAMPOOL_TESTS_RANDOM_RESERVED_H

#include "random/world.h"

// Fails and changes nothing where the limit has no room.
void reserved_prime(struct thread *thread, struct pool *pool, uint64_t bytes);
void reserved_trim(struct thread *thread, struct pool *pool, uint64_t keep);
void reserved_delay(struct thread *thread, struct pool *pool, uint64_t delay);

void reserved_after_malloc(const struct thread *thread, struct pool *pool);

// Bytes of all pools, before a call that may trim them.
struct reserved {
    uint64_t of[POOLS];
};
struct reserved reserved_now(const struct thread *thread);

// A synchronise of the library has succeeded.
enum synchronized { OF_EVENT, OF_STREAM, OF_CONTEXT };
void reserved_after_synchronize(const struct thread *thread, struct reserved before,
                                enum synchronized what);

#endif
