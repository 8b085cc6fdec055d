// Between the fronts of a contended lane (region/front.h) and the lane: blocks go to and fro in
// batches, each in one critical section of the lane.
#ifndef STREAMPOOL_REGION_FRONTS_H
#define STREAMPOOL_REGION_FRONTS_H

#include "region/front.h"

// Allocates a small block that a contended lane has at hand, for a stream that owes no action, and
// counts it. 0 when there is none, or the lane isn't contended.
uint64_t sp_fronts_take(struct sp_pool *pool, const struct sp_stream *stream, size_t size);

// True when blocks of the class may come into the front: its bin is theirs or empty, or that of a
// class which hasn't been used there while these came in vain several times. A thread that uses two
// classes of one bin by turns would else have each evict the other.
bool sp_fronts_has_place(struct sp_front *front, unsigned class_index);

// Makes room in the front for a block that is claimed, and so keeps the pool, and has its slab
// counted if the lane may hold that back. `empty` gets the
// slabs that this has left empty and that the lane has no use for.
void sp_fronts_make_room(struct sp_front *front, const struct sp_front_free *free,
                         struct sp_list *empty);

// Closes the fronts of a lane that one thread alone has used of late, unless a block is on its way.
void sp_fronts_look(struct sp_lane *lane, struct sp_front *front);

// Closes the fronts of a lane, likewise.
void sp_fronts_close(struct sp_lane *lane);

// Makes a slab of the lane spare that was empty. A thread that frees an address twice may be
// about to claim a block there, with its front's lock held: what it has looked at isn't another
// slab before it has done so.
void sp_fronts_retire(struct sp_lane *lane, struct sp_slab *slab);

// True when free blocks of the lane are in flight, between the lane and a front:
// in a moment they are in one of both.
bool sp_fronts_has_some_on_their_way(struct sp_lane *lane);

// With the lane's lock held: puts all that its fronts have into its slabs.
void sp_fronts_drain_locked(struct sp_lane *lane);

#endif
