// Loose blocks: small blocks that no slab has. When are they loose?
//
// A slab has a page at least, and each lane takes slabs of its own for each class. Where thousands
// of streams have a few small blocks each, most of each slab would be of no use to anybody. So a
// pool's slabs may leave so much idle, SP_LOOSE_IDLE_MIN or a part of what is live in them. Beyond
// that a small block for which its lane has no slab with room is cut from the region of pages in
// its own size. To all but the page map (region/owner.h) it is a large block, in which memory is
// had again by any stream, with the fences of its own.
//
// A lane gets slabs again when the others' are filled, or were given back.
#ifndef STREAMPOOL_REGION_LOOSE_H
#define STREAMPOOL_REGION_LOOSE_H

#include "region/pool.h"

// Slabs may leave so much idle, but not more than this part of what the pool may ever have, or this
// part of what is live in them.
#define SP_LOOSE_IDLE_MIN   ((uint64_t)16 << 20)
#define SP_LOOSE_IDLE_SHARE 16

// For a new pool, which has no slabs, and its limit already.
void sp_loose_forget(struct sp_pool *pool);

// Tells whether the next block of a class for which no slab has room is to be loose: a slab for it
// would leave too much idle. It goes by what was live in the slabs at the last look, and takes what
// came since for idle. Where that is too much it looks anew, as seldom as costs a look at one slab
// or lane for each loose block. No lock is held.
bool sp_loose_is_due(struct sp_pool *pool, unsigned class_index);

// Returns the bytes in the pool's slabs that no live block has. No lock is held.
uint64_t sp_loose_idle(const struct sp_pool *pool);

#endif
