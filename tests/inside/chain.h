// The check of chains, with their tables of units, of rows and of free blocks.
#ifndef STREAMPOOL_TESTS_INSIDE_CHAIN_H
#define STREAMPOOL_TESTS_INSIDE_CHAIN_H

#include "heap/block.h"

// True when the blocks cover the range in order and know their neighbours; the tables are as
// heap/block.h and heap/search.h state; no two holes touch; and exactly the free blocks and the
// holes are in a tier.
bool inside_chain_check(const struct sp_chain *chain);

#endif
