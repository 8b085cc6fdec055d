// The check of tiers.
#ifndef STREAMPOOL_TESTS_INSIDE_TIER_H
#define STREAMPOOL_TESTS_INSIDE_TIER_H

#include "heap/tier.h"

// True when the order, the bins and the sum of bytes are right, and the blocks are this tier's.
bool inside_tier_check(const struct sp_tier *tier);

#endif
