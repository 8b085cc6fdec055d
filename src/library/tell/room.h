// Rooms: the free memory of a pool, looked through as a request sees it.
//
// Each free block is in one of four parts:
//
//   ready      nobody uses it any more
//   mine       work may still use it, but the stream may have it by its order
//   pending    work may still use it, and an event tells when that ends
//   unfenced   likewise, but no event stands behind it yet
//
// The first two are *here*: the request may have them now. Every set of parts has a *room*: what
// they amount to together, by rows of neighbouring blocks, and who holds them back. So it can be
// asked whether the request would fit if it could have them.
//
// Another pool's memory is called pending where a wait on the host brings it.
//
// Nothing here allocates, moves memory or calls the driver. The pool's map lock and its lock are
// held.
#ifndef STREAMPOOL_TELL_ROOM_H
#define STREAMPOOL_TELL_ROOM_H

#include "region/request.h"

enum {
    SP_READY = 1,
    SP_MINE = 2,
    SP_PENDING = 4,
    SP_UNFENCED = 8,
    SP_HERE = SP_READY | SP_MINE,
    SP_ALL = 15,
    SP_PART_SETS = 16,
};

struct sp_room {
    uint64_t bytes;
    uint64_t useful;      // a fixed block has no use for less than whole extents of other regions
    uint64_t whole;       // extents
    uint64_t row;         // the longest of the request's own region
    uint64_t other_row;   // and of the others
    uint64_t before_hole; // the longest that new memory can continue to the full size
    // A stitched view is made of these (region/free_extents.h), of pages where nothing else is
    // left.
    uint64_t stitchable, tail, front;

    // The streams that hold it back:
    const struct sp_stream *holder; // one of the streams, or null
    bool several;                   // there are others
    bool stays_mine; // some of it is the stream's to have by its order once these are complete
    bool several_contexts;        // there are others of other contexts
    const struct sp_stream *most; // pending or unfenced alone: the stream that holds back most
    uint64_t most_bytes;
};

// Looks through a pool, the request's own or another, and adds what its regions of these kinds
// (tell/walk.h) have to the rooms, one for each set of parts.
void sp_room_look(const struct sp_request *request, struct sp_pool *pool, unsigned kinds,
                  struct sp_room rooms[SP_PART_SETS]);

// True when nobody uses memory with these fences any more, as far as the pool knows. It becomes
// ready at a miss, which comes later. Needs no lock but one that guards the fences, as the next.
bool sp_room_is_complete(const struct sp_pool *pool, const struct sp_fence_set *fences);

// True when memory with these fences is ready, or the stream's to have.
bool sp_room_is_here(const struct sp_request *request, const struct sp_fence_set *fences);

// The part of a block of the request's own pool and kind. 0 for one that isn't free.
unsigned sp_room_part(const struct sp_request *request, const struct sp_block *block);

#endif
