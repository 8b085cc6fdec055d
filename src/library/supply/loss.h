// Losing: finding out what a reset of the device has taken of a plain device's pools (vmm/plain.h).
//
// A trim asks, and so does a miss that finds the primary context to be another one than before. So
// no request is served from memory that was lost before it began. Before a request is refused, all
// pools of the device are asked: what they have lost, new memory can't lie at.
#ifndef STREAMPOOL_SUPPLY_LOSS_H
#define STREAMPOOL_SUPPLY_LOSS_H

#include "region/pool.h"

// Asks whether the contexts of the pool's memory are gone, once each, takes note of what is lost,
// and closes the segments that have nothing else. True when something was lost. The map lock is
// held; on a plain device device.gives, too (supply/trim.h).
bool sp_loss_find(struct sp_pool *pool);

// On a plain device: asks so, and drops what was freed of it. True when something was dropped. No
// lock is held.
bool sp_loss_note(struct sp_pool *pool);

// On a plain device: likewise, if `id` isn't the id of the primary context that the pool was last
// used with. No lock is held.
void sp_loss_note_context(struct sp_pool *pool, uint64_t id);

#endif
