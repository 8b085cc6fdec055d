// What a synchronise leaves of a pool: the most of what each of these asks for, rounded up to the granule.
//
//   the release threshold   so many bytes reserved, as with CUDA's pool
//   priming                 so many bytes free, as long as no more is reserved than when the pool was primed: what a
//                           program has prepared would otherwise go at the first synchronise, and what it
//                           has filled since is not prepared once more
#ifndef STREAMPOOL_POOL_KEEP_H
#define STREAMPOOL_POOL_KEEP_H

#include "pool/pool.h"

// With the pool's lock held. Exact once the tiers are settled.
uint64_t sp_keep_at_synchronize(const struct sp_pool *pool);

// No more than that, told without a lock: a pool that has no more reserved needs no trim.
uint64_t sp_keep_at_least(const struct sp_pool *pool);

// With the pool's lock held: so many bytes were primed; and of what was, so many are wanted still.
void sp_keep_primed(struct sp_pool *pool, uint64_t bytes);
void sp_keep_no_more_than(struct sp_pool *pool, uint64_t bytes);

// With the pool's lock held: what the pool has free is what was mapped ahead.
bool sp_keep_is_primed(const struct sp_pool *pool);

#endif
