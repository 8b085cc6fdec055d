// What a synchronise leaves of a pool: the most of what each of these asks for, rounded up to the
// granule.
//
//   the release threshold   so many bytes reserved, as with CUDA's pool
//   priming                 so many bytes free, as long as no more is reserved than when the pool
//                           was primed: what a program has prepared would otherwise go at the first
//                           synchronise, and what it has filled since is not prepared once more
//   the release delay       as much as was in use at once between two of the pool's last
//                           synchronises, as many as the attribute says: what the program comes to
//                           need again doesn't go and grow each time. In use is all that is not
//                           ready: memory that is live, pending, or at hand for its stream. Of that
//                           the pool need not be told: it is its reserved bytes less those of three
//                           tiers
#ifndef STREAMPOOL_POOL_KEEP_H
#define STREAMPOOL_POOL_KEEP_H

#include "pool/pool.h"

// With the pool's lock held. Exact once the tiers are settled.
uint64_t sp_keep_at_synchronize(const struct sp_pool *pool);

// No more than that, told without a lock: a pool that has no more reserved needs no trim, and
// nothing of what it keeps would ever go.
uint64_t sp_keep_at_least(const struct sp_pool *pool);

// Whether there is a delay. Only then it counts what is in use.
static inline bool sp_keep_delays(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->keep.release_delay) != 0;
}

// With the pool's lock held: memory was taken, or mapped; the pool was synchronised, before its
// tiers are settled, and once they are; what was in use up to now counts for nothing.
void sp_keep_raise_peak(struct sp_pool *pool);
static inline void sp_keep_note_use(struct sp_pool *pool) {
    if (sp_keep_delays(pool))
        sp_keep_raise_peak(pool);
}
void sp_keep_end_interval(struct sp_pool *pool);
void sp_keep_begin_interval(struct sp_pool *pool);
void sp_keep_forget(struct sp_pool *pool);

// Setting the delay.
void sp_keep_set_delay(struct sp_pool *pool, uint64_t synchronizes);

// With the pool's lock held: so many bytes were primed; and of what was, so many are wanted still.
void sp_keep_primed(struct sp_pool *pool, uint64_t bytes);
void sp_keep_no_more_than(struct sp_pool *pool, uint64_t bytes);

// With the pool's lock held: what the pool has free is what was mapped ahead.
bool sp_keep_is_primed(const struct sp_pool *pool);

#endif
