// The check of chains, with their tables of units and of rows.
#ifndef STREAMPOOL_TESTS_INSIDE_CHAIN_H
#define STREAMPOOL_TESTS_INSIDE_CHAIN_H

#include "heap/chain.h"

// True when the blocks cover the range in order and know their neighbours; the tables of units and
// of rows are as heap/units.h and heap/rows.h state; no two holes touch; and exactly the free
// blocks and the holes are in a tier.
bool inside_chain_check(const struct sp_chain *chain);

#endif
