// Stitched views: free memory in pieces as one contiguous block, with no byte copied.
//
// The segments of a region are the *home* of its memory: every extent is mapped there once, and
// stays. The chain over them says, for each byte, whether it is free; that is the only account
// there is. A *stitched view* maps extents that are somewhere in the segments a second time
// (vmm/alias.h), in an order in which free memory lies side by side:
//
//      home      |##......|........|..######|........|....####|
//                   `-1--' `--2---'          `--3---' `4-'
//      stitched  |##......|........|........|....####|
//                   '------- the new block -----'
//
// An extent lies between two bars, and # is memory in use.
//
// A block that lies in such a view uses the home memory under it: for each extent that it touches
// there is one block at home that is STITCHED as long as the stitched one is live or in a quick
// list. So the first extent may be in use up to the block's begin, and the last one behind its end;
// the two users share no byte. When the block is freed for good the pieces are free at home again,
// each with the block's fences.
//
// The view is *kept*: any request that finds enough free memory side by side in it is served with
// no driver call. Kept views are limited in number and in mappings; the one that was used longest
// ago goes first. It becomes a *zombie* until all work through it has completed, and is unmapped
// then (supply/defer.h).
//
// Pages serve large blocks that way where nothing else does: whole ones, for slabs are cut from
// those.
//
//   a view's blocks are live, cached or VACANT; under each that is not vacant every run is valid
//   and its part of the home is STITCHED, with the same boundaries, or up to the end of a page
#ifndef STREAMPOOL_REGION_STITCH_H
#define STREAMPOOL_REGION_STITCH_H

#include "region/request.h"

#include "vmm/alias.h"

// Kept stitched views of one pool at most, and their mappings.
#define SP_KEPT_VIEWS_MAX    256
#define SP_KEPT_MAPPINGS_MAX 8192

// A run is one extent in a stitched view: where it lies there, and where its home is.
struct sp_run {
    uint64_t address;
    uint64_t size;
    uint64_t home;
    struct sp_chain *chain; // of the home
    bool valid;             // false once the extent was released, or is about to be
};

// Guarded by the pool's lock, the alias by its map lock.
struct sp_stitch {
    struct sp_segment segment; // its chain divides the view
    struct sp_list by_use;     // in pool->kept.views or pool->kept.zombies
    struct sp_alias *alias;
    uint32_t blocks;          // live or cached
    struct sp_fence_set used; // the frees of the blocks that lay here
    bool used_more;           // others, for which there was no host memory
    bool kept;
    size_t valid_count; // runs
    size_t count;
    struct sp_run runs[];
};

static inline bool sp_stitch_has_block(const struct sp_block *block) {
    return sp_segment_of(block)->kind == SP_STITCHED;
}

static inline struct sp_stitch *sp_stitch_view_of(const struct sp_block *block) {
    return SP_CONTAINER_OF(sp_segment_of(block), struct sp_stitch, segment);
}

// Takes a part of the home out of the tiers, as one BUSY block of that range. Null, and nothing
// changed, where not all of it is free and within the request's reach, or without host memory.
struct sp_block *sp_stitch_take_home(const struct sp_request *request, struct sp_chain *chain,
                                     uint64_t home, uint64_t size);

// Makes a block in a stitched view live, which uses the pieces: one for each run that it touches,
// in order, BUSY. Null without host memory; then the pieces are what they were.
struct sp_block *sp_stitch_begin(struct sp_stitch *stitch, uint64_t address, uint64_t size,
                                 struct sp_block *const *pieces);

// Makes room in the pieces under a block that is BUSY for so many fences more than it carries now,
// where a free behind several streams adds more than one. False without host memory.
bool sp_stitch_reserve(struct sp_block *block, uint32_t extra);

// Ends a block that is live no more: its pieces go back to their tiers. Returns its size.
uint64_t sp_stitch_end(struct sp_pool *pool, struct sp_block *block);

// Takes a block out of a kept view in which enough memory within the request's reach lies side by
// side. Null when there is none.
struct sp_block *sp_stitch_take_kept(const struct sp_request *request);

// Keeps a view that is in no list and has all its runs.
void sp_stitch_keep(struct sp_pool *pool, struct sp_stitch *stitch);

// The extent is about to be released: views count on it no more, and one with no other isn't kept.
void sp_stitch_invalidate(struct sp_extent *extent);

// Makes zombies of kept views until at most so many views and mappings are kept.
void sp_stitch_limit_kept(struct sp_pool *pool, uint32_t views, size_t mappings);

// Makes a view that is in no list a zombie.
void sp_stitch_add_zombie(struct sp_pool *pool, struct sp_stitch *stitch);

#endif
