// The check of slabs.
#ifndef STREAMPOOL_TESTS_INSIDE_SLAB_H
#define STREAMPOOL_TESTS_INSIDE_SLAB_H

#include "heap/slab.h"

// True when the sums that heap/slab.h states hold, and the lists have the blocks that they should.
bool inside_slab_check(const struct sp_slab *slab);

#endif
