// Shortage: all free memory, looked through once more as a refused request saw it, by its rooms
// (tell/room.h). What is *here* doesn't fit.
//
// Other pools can give back what nobody uses any more. They are looked through if the device has
// too little.
//
// Nothing here allocates, or moves anything: what the lanes of the pools hold was collected before
// (calls/sight.h). The driver is asked for nothing but what the device has free.
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
    struct sp_room rooms[SP_PART_SETS];

    // The device, and its other pools:
    bool knows_device;
    uint64_t on_device; // free
    bool has_lost;      // blocks of before a reset are in use (region/segment.h)
    uint64_t others_reserved, others_free;
    struct sp_room others[SP_PART_SETS];
};

// Looks at the request's pool and at the device. `lacking` is the outcome of the request, which
// found no memory, and stays as it is as long as something is asked. With no lock held, as the
// next.
struct sp_shortage sp_shortage_look(const struct sp_request *request, struct sp_outcome lacking,
                                    size_t asked);

// Adds the device's other pools.
void sp_shortage_look_at_others(struct sp_shortage *shortage);

// True when the request would be served if it could take the parts of `reach`, if nobody used those
// of `unused` any more, and if other pools gave so many bytes back.
bool sp_shortage_fits(const struct sp_shortage *shortage, unsigned reach, unsigned unused,
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

static inline uint64_t sp_shortage_stitched(const struct sp_room *room) {
    return room->stitchable + room->tail + room->front;
}

#endif
