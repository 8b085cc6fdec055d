#include "tell/pinning.h"

#include "region/segment.h"
#include "tell/walk.h"

struct look {
    struct sp_pinning told, extent; // the extent that is looked at, as if it counted
    const struct sp_block *last;    // in use, in that extent
    const struct sp_block *counted; // the last one, which may reach into further extents
};

// Memory in a quick list is free, though to its chain it is taken; of a stitched block, too.
static void add_piece(void *context, const struct sp_extent *extent, const struct sp_block *block,
                      uint64_t bytes) {
    struct look *look = context;
    struct sp_pinning *here = &look->extent;
    const struct sp_block *owner =
        sp_block_state(block) == SP_BLOCK_STITCHED ? block->part_of : block;
    (void)extent;
    if (sp_free_extents_is_free(owner) || sp_block_state(owner) == SP_BLOCK_CACHED) {
        here->beside += bytes;
        return;
    }
    look->last = block;
    if (block == look->counted)
        return;
    here->blocks++;
    here->bytes += block->size;
    here->largest = sp_max(here->largest, block->size);
}

// Pieces that different streams hold back may share an extent that nobody uses any more.
static void add_extent(void *context, const struct sp_extent *extent) {
    struct look *look = context;
    struct sp_pinning here = look->extent, *told = &look->told;
    look->extent = (struct sp_pinning){0};
    if (here.beside == extent->size)
        return;
    told->pinned += here.beside;
    if (here.beside < extent->size - here.beside)
        return;
    told->beside += here.beside;
    told->blocks += here.blocks;
    told->bytes += here.bytes;
    told->largest = sp_max(told->largest, here.largest);
    look->counted = look->last;
}

struct sp_pinning sp_pinning_look(const struct sp_pool *pool) {
    static const struct sp_walk_visitor visitor = {.piece = add_piece, .extent = add_extent};
    struct look look = {.last = NULL};
    sp_walk_pool(pool, SP_WALK_ALL, &visitor, &look);
    return look.told;
}
