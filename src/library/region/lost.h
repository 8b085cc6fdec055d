// Lost memory: that of a plain device (vmm/view.h) whose context was reset or destroyed.
//
// A segment whose memory has ended so is *lost*. Nothing of it is free any more: what was is
// dropped. A live block stays what it is, so that it is found when it is freed; then it is dropped,
// too. Nothing is ever taken from a lost segment, so a block that was handed out before the segment
// was known to be lost is dropped wherever it would be put into a tier.
//
// The driver may give the addresses to somebody else, another pool or this one. So the page map
// forgets what is dropped, page by page. New memory that lies where a page isn't forgotten yet is
// not used (vmm/view.h).
//
// A trim asks what is lost, and so does a miss that finds the primary context to be another one
// than before. So no request is served from memory that was lost before it began. Before a request
// is refused, all pools of the device are asked: what they have lost, new memory can't lie at.
//
//   reserved = what is mapped + what of lost segments isn't dropped
#ifndef STREAMPOOL_REGION_LOST_H
#define STREAMPOOL_REGION_LOST_H

#include "region/pool.h"

// Asks whether the contexts of the pool's memory are gone, once each, takes note of what is lost,
// and closes the segments that have nothing else. The map lock is held, and nobody is giving memory
// of the pool back to the driver.
void sp_lost_find(struct sp_pool *pool);

// Buries a block of a lost segment that is BUSY or handed back, and in no index. Returns the block
// that it became part of. The pool's lock is held.
struct sp_block *sp_lost_drop(struct sp_pool *pool, struct sp_block *block);

#endif
