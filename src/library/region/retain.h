// A synchronise leaves of a pool the most that one of these asks for, rounded up to the granule.
//
//   the release threshold   so many bytes reserved, as with CUDA's pool
//   priming                 so many bytes free in whole extents, as long as no more is reserved
//                           than when the pool was primed: what a program has prepared mustn't go
//                           at the first synchronise, nor be prepared once more where it is filled
//   the release delay       as much as was in use at once between two of the pool's last
//                           synchronises, as many as the attribute says: what the program comes to
//                           need again doesn't go and grow each time. In use is all that is not
//                           ready, live or pending or at hand for its stream: the reserved bytes
//                           less those of three tiers
#ifndef STREAMPOOL_REGION_RETAIN_H
#define STREAMPOOL_REGION_RETAIN_H

#include "region/pool.h"

// The bytes that a synchronise leaves, exact once the tiers are settled. The pool's lock is held.
// And no more than that, without a lock: a pool that has no more reserved needs no trim.
uint64_t sp_retain_at_synchronize(const struct sp_pool *pool);
uint64_t sp_retain_at_least(const struct sp_pool *pool);

// Tells whether there is a delay. Only then memory in use is counted.
static inline bool sp_retain_has_delay(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->retain.release_delay) != 0;
}

// Notes that memory was taken, or mapped: raises the peak to what is in use. The pool's lock is
// held, as in the next three.
void sp_retain_raise_peak(struct sp_pool *pool);
static inline void sp_retain_note_use(struct sp_pool *pool) {
    if (sp_retain_has_delay(pool))
        sp_retain_raise_peak(pool);
}

// The pool was synchronised: an interval ends before its tiers are settled, and the next begins
// once they are.
void sp_retain_end_interval(struct sp_pool *pool);
void sp_retain_begin_interval(struct sp_pool *pool);

// Forgets what was in use up to now.
void sp_retain_forget(struct sp_pool *pool);

// With the pool's lock held: notes that so many bytes were primed, or that no more than so many of
// these are wanted still; and tells whether the pool's free memory is what was mapped ahead.
void sp_retain_primed(struct sp_pool *pool, uint64_t bytes);
void sp_retain_no_more_than(struct sp_pool *pool, uint64_t bytes);
bool sp_retain_is_primed(const struct sp_pool *pool);

#endif
