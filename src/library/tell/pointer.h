// Looking at the block that an address lies in, with no lock and no driver call.
//
// The page map leads to the block, in a few steps for any address (region/owner.h). Other threads
// may free what is looked at and hand it out again meanwhile. Blocks, slabs, lanes and pools are
// never given back to the system, so a look at them does no harm; and what was read counts only
// where the block is still what it was behind the last read. Else the look begins again. The thread
// sanitizer is told to pass over it (tests/races.supp).
//
// A block that was freed and handed out to the same lane at the same place in between can't be told
// from one that stayed: then the answer may have the one's requested bytes and the other's stream.
#ifndef STREAMPOOL_TELL_POINTER_H
#define STREAMPOOL_TELL_POINTER_H

#include <stdint.h>
#include <streampool/streampool.h>

// Tells what is known of an address.
void sp_pointer_look(struct poolPointerAttributes *attributes, uint64_t address);

#endif
