// A walk leads a visitor through a pool. All that only tells goes by it.
//
// A visitor has a function for each thing that it looks at, and null for the others. Of a segment
// it is shown the blocks, by address, and then the extents. Before an extent it is shown the
// *pieces* of it, which are the blocks as far as they lie in it.
#ifndef STREAMPOOL_TELL_WALK_H
#define STREAMPOOL_TELL_WALK_H

#include "region/pool.h"

struct sp_walk_visitor {
    void (*block)(void *context, const struct sp_block *block);
    void (*piece)(void *context, const struct sp_extent *extent, const struct sp_block *block,
                  uint64_t bytes);
    void (*extent)(void *context, const struct sp_extent *extent);
};

// Sets of kinds of regions.
#define SP_WALK_KIND(kind) (1u << (kind))
#define SP_WALK_ALL        (SP_WALK_KIND(SP_REGION_COUNT) - 1)

// Walks through the regions of these kinds. The pool's lock is held, and for extents its map lock.
void sp_walk_pool(const struct sp_pool *pool, unsigned kinds, const struct sp_walk_visitor *visitor,
                  void *context);

// Visits the blocks in the lanes' quick lists, which are free, but taken to their chain. Each
// lane's lock is held for its own. With no lock held but the pool's map lock.
void sp_walk_lists(struct sp_pool *pool, void (*visit)(void *context, const struct sp_block *block),
                   void *context);

#endif
