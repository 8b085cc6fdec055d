// Lost memory: that of a plain device (vmm/plain.h) whose context was reset or destroyed.
//
// A segment whose memory has ended so is *lost*. Nothing of it is free any more: what was is
// dropped. A live block stays what it is, so that it is found when it is freed; then it is dropped,
// too. Nothing is ever taken from a lost segment, so a block that was handed out before the segment
// was known to be lost is dropped wherever it would be put into a tier.
//
// The driver may give the addresses to somebody else, another pool or this one. So the page map
// forgets what is dropped, page by page. New memory that lies where a page isn't forgotten yet is
// not used (vmm/plain.h).
//
//   reserved = what is mapped + what of lost segments isn't dropped
#ifndef STREAMPOOL_REGION_LOST_H
#define STREAMPOOL_REGION_LOST_H

#include "region/pool.h"

// Says that a segment's memory has ended. The map lock and the pool's lock are held, and nobody is
// giving memory of the segment back to the driver.
void sp_lost_note(struct sp_segment *segment);

// Buries a block of a lost segment that is BUSY or handed back, and in no index. Returns the block
// that it became part of. The pool's lock is held.
struct sp_block *sp_lost_drop(struct sp_pool *pool, struct sp_block *block);

// Closes the lost segments that have nothing live. The map lock is held.
void sp_lost_close(struct sp_pool *pool);

#endif
