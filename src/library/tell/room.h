// Rooms: what parts of a pool's free memory (region/request.h) amount to together, and who holds
// them back. Of another pool that is called pending which a wait on the host brings.
//
// Nothing here allocates, moves memory or calls the driver. The pool's map lock and its lock are
// held.
#ifndef STREAMPOOL_TELL_ROOM_H
#define STREAMPOOL_TELL_ROOM_H

#include "region/request.h"

struct sp_room {
    uint64_t bytes;
    uint64_t useful;  // a fixed block has no use for less than whole extents of other regions
    uint64_t whole;   // extents
    uint64_t largest; // piece that the request could be cut from

    // The streams that hold it back:
    const struct sp_stream *holder; // one of the streams, or null
    bool several;                   // there are others
    bool several_contexts;          // there are others of other contexts
    bool stays_mine; // some of it is the stream's to have by its order once these are complete
};

// Looks through a pool, the request's own or another, and adds to a room what these parts of its
// regions of these kinds (tell/walk.h) have.
void sp_room_add(struct sp_room *room, const struct sp_request *request, struct sp_pool *pool,
                 unsigned kinds, unsigned parts);

// The stream that holds back most of pending or unfenced memory of the request's pool, or null.
struct sp_room_most {
    const struct sp_stream *stream;
    uint64_t bytes;
};
struct sp_room_most sp_room_most(const struct sp_request *request, unsigned kinds,
                                 enum sp_part part);

#endif
