// Which lanes are open: those of streams that the program has promised to destroy through the
// library and never to capture; and while no stream captures (process/promises.h) the only one of a
// pool, where its stream is known by its handle.
//
// An open lane records nothing by itself, for the library may ask its stream, or record on it,
// whenever somebody else needs to know (region/open_lanes.h).
#ifndef STREAMPOOL_REGION_OPEN_H
#define STREAMPOOL_REGION_OPEN_H

#include "region/held.h"
#include "region/lane.h"

// The program has promised what it takes for open lanes; lanes of the pool may be open, by that or
// because no stream captures; the stream may be borrowed for what its lane holds back; its lane
// is to be open.
bool sp_open_is_promised(const struct sp_pool *pool);
bool sp_open_is_possible(const struct sp_pool *pool);
bool sp_open_may_borrow(const struct sp_pool *pool, const struct sp_stream *stream);
bool sp_open_may_be(const struct sp_pool *pool, const struct sp_stream *stream);

// True when the lane is open: it may leave all without an event.
static inline bool sp_open_is(const struct sp_lane *lane) {
    return sp_load_relaxed(&lane->share) == SP_HELD_ALL;
}

#endif
