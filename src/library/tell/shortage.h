// Shortage: how a refused request stands, and what would have it served. That is told by a *dry*
// climb: what the rungs ask (region/find.h, supply/pieces.h, supply/grow.h) is asked for a request
// that pretends to have more within its reach (region/request.h), and nothing is taken.
//
// Other pools can give back what nobody uses any more. They are looked through if the device has
// too little. Of their memory that is called pending which a wait on the host brings.
//
// Nothing here moves anything: what the lanes hold was collected before (calls/sight.h). The driver
// is asked for nothing but what the device has free. No lock is held but where it says so.
#ifndef STREAMPOOL_TELL_SHORTAGE_H
#define STREAMPOOL_TELL_SHORTAGE_H

#include "region/request.h"
#include "tell/pinning.h"

// A room is what some parts of free memory amount to together, and who holds them back.
struct sp_room {
    uint64_t bytes;
    uint64_t useful;  // a fixed block has no use for less than whole extents of other regions
    uint64_t whole;   // extents
    uint64_t largest; // piece that the request could be cut from
    const struct sp_stream *holder; // a stream that holds some of it back, or null
    bool several, several_contexts; // there are others, and some of other contexts
    bool stays_mine; // some of it is the stream's to have by its order once these are complete
    const struct sp_stream *most; // holds back most of pending or unfenced memory alone, or null
    uint64_t most_bytes;
};

// Adds to a room what these parts of a pool's regions of these kinds (tell/walk.h) have. The pool
// is the request's own or another one, and its map lock and its lock are held.
void sp_shortage_add_room(struct sp_room *room, const struct sp_request *request,
                          struct sp_pool *pool, unsigned kinds, unsigned parts);

// Why the pool didn't grow: the flag forbids it, or the limit does, or somebody has no memory.
enum sp_lack { SP_LACK_FLAG, SP_LACK_LIMIT, SP_LACK_DEVICE, SP_LACK_DRIVER, SP_LACK_HOST };

struct sp_shortage {
    const struct sp_request *request;
    enum sp_lack lack;
    size_t asked;    // for, by the program
    uint64_t needed; // to grow by for the request alone
    uint64_t least;  // and next to what is free here

    // The pool's overflow (process/overflow.h) has lacked this, if it was asked; or why there is
    // none.
    struct sp_outcome overflowed;
    const char *no_overflow;

    // The request's pool:
    uint64_t used, reserved;
    uint64_t left_to_limit;
    struct sp_pinning pinning;

    // The device, and its other pools:
    bool knows_device;
    uint64_t on_device; // free
    bool has_lost;      // blocks of before a reset are in use (region/segment.h)
    bool sees_others;
    uint64_t others_reserved, others_free;
};

// Looks at the request's pool and at the device. `lacking` is the outcome of the request, which
// found no memory, and stays as it is as long as something is asked.
struct sp_shortage sp_shortage_look(const struct sp_request *request, struct sp_outcome lacking,
                                    size_t asked);

// Adds the device's other pools.
void sp_shortage_look_at_others(struct sp_shortage *shortage);

// These parts of the pool, and of the other pools together.
struct sp_room sp_shortage_room(const struct sp_shortage *shortage, unsigned parts);
struct sp_room sp_shortage_others(const struct sp_shortage *shortage, unsigned parts);

// A dry climb: what the request would come to if it could take the parts of `reach`, and if those
// of `ready` were ready as well. Memory in one piece is found, or new memory is missing.
struct sp_climb {
    bool finds;
    uint64_t pieces; // missing beside pieces, which Defragmentation may forbid; UINT64_MAX: all
    uint64_t beside; // the least that is missing beside what is free
    uint64_t anew;   // and in the place of whole extents that the pool gives back
};
struct sp_climb sp_shortage_climb(const struct sp_request *request, unsigned reach, unsigned ready);

// Returns what the pool could grow by, if other pools gave so many bytes back.
uint64_t sp_shortage_growth(const struct sp_shortage *shortage, uint64_t given_back);

// True when the request would be served then.
bool sp_shortage_may_grow(const struct sp_shortage *shortage);
bool sp_shortage_fits(const struct sp_shortage *shortage, unsigned reach, unsigned ready,
                      uint64_t given_back);

#endif
