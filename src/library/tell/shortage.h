// Shortage: how a refused request stands, and what would have it served. That is told by a *dry*
// climb: the questions that the rungs ask (region/find.h, supply/pieces.h, supply/plan.h) are put
// for a request that pretends to have more within its reach, and nothing is taken.
//
// Other pools can give back what nobody uses any more. They are looked through if the device has
// too little.
//
// Nothing here moves anything: what the lanes of the pools hold was collected before
// (calls/sight.h). The driver is asked for nothing but what the device has free. With no lock held,
// all of it.
#ifndef STREAMPOOL_TELL_SHORTAGE_H
#define STREAMPOOL_TELL_SHORTAGE_H

#include "tell/room.h"

// Why the pool didn't grow: the flag forbids it, or the limit does, or somebody has no memory.
enum sp_lack { SP_LACK_FLAG, SP_LACK_LIMIT, SP_LACK_DEVICE, SP_LACK_DRIVER, SP_LACK_HOST };

struct sp_shortage {
    const struct sp_request *request;
    enum sp_lack lack;
    size_t asked;    // for, by the program
    uint64_t needed; // to grow by for the request alone
    uint64_t least;  // and next to what is free here

    // The request's pool:
    uint64_t used, reserved;
    uint64_t left_to_limit;

    // The device, and its other pools:
    bool knows_device;
    uint64_t on_device; // free
    bool has_lost;      // blocks of before a reset are in use (region/lost.h)
    bool sees_others;
    uint64_t others_reserved, others_free;
};

// Looks at the request's pool and at the device. `lacking` is the outcome of the request, which
// found no memory, and stays as it is as long as something is asked.
struct sp_shortage sp_shortage_look(const struct sp_request *request, struct sp_outcome lacking,
                                    size_t asked);

// Adds the device's other pools.
void sp_shortage_look_at_others(struct sp_shortage *shortage);

// These parts of the pool, who holds back most of one, and these parts of the other pools together.
struct sp_room sp_shortage_room(const struct sp_shortage *shortage, unsigned parts);
struct sp_room_most sp_shortage_most(const struct sp_shortage *shortage, enum sp_part part);
struct sp_room sp_shortage_others(const struct sp_shortage *shortage, unsigned parts);

// A dry climb of a request that could take the parts of `reach`. True when it would find memory in
// one piece; and the bytes of new memory that it would lack beside pieces, UINT64_MAX where there
// are none.
bool sp_shortage_finds(const struct sp_request *request, unsigned reach);
uint64_t sp_shortage_beside_pieces(const struct sp_request *request, unsigned reach);

// The least new memory that the request would be served with, if the parts of `ready` were ready as
// well: beside what is free, and in the place of what the pool gives back of them.
struct sp_missing {
    uint64_t beside, anew;
};
struct sp_missing sp_shortage_missing(const struct sp_shortage *shortage, unsigned reach,
                                      unsigned ready);

// True when the request would be served then, if other pools gave so many bytes back.
bool sp_shortage_fits(const struct sp_shortage *shortage, unsigned reach, unsigned ready,
                      uint64_t given_back);

// True when what is here, and these parts, would do with new memory, once other pools were trimmed
// and had given back whole extents of these parts.
bool sp_shortage_fits_after_trims(const struct sp_shortage *shortage, unsigned parts);

// True when the pool could map all of the request anew, after it and others gave back what they
// have.
bool sp_shortage_fits_anew(const struct sp_shortage *shortage);

// True when the stream can wait for these parts, and the host can: none but streams of its context
// hold them back.
bool sp_shortage_is_near(const struct sp_shortage *shortage, unsigned parts);

bool sp_shortage_may_grow(const struct sp_shortage *shortage);

// Returns what the pool could grow by, if other pools gave so many bytes back.
uint64_t sp_shortage_growth(const struct sp_shortage *shortage, uint64_t given_back);

#endif
