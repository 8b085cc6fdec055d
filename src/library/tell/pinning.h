// Pinning: an extent is given back, or mapped at another place, only as a whole, so a block in use
// *pins* what is free beside it. Told are the blocks of which few bytes pin many: those in extents
// of which half or more is free. They are what is left of a peak.
//
// A slab is in use as a whole. A block in pieces (region/stitch.h) is one in each place at home.
#ifndef STREAMPOOL_TELL_PINNING_H
#define STREAMPOOL_TELL_PINNING_H

#include "region/pool.h"

struct sp_pinning {
    uint64_t pinned; // free bytes in extents that are partly in use
    uint64_t beside; // those beside the pinning blocks
    uint64_t blocks, bytes, largest;
};

// Looks through a pool, whose map lock and lock are held.
struct sp_pinning sp_pinning_look(const struct sp_pool *pool);

#endif
