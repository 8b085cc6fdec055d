// Pins: a pool on which a thread stands is not taken apart.
#ifndef STREAMPOOL_PROCESS_PIN_H
#define STREAMPOOL_PROCESS_PIN_H

#include "region/pool.h"

// Keeps the pool of a handle from being taken apart while the caller works on it outside its lists.
// False when it is given up: then it must not be touched. A pool with a live allocation that the
// caller holds needs no pin.
bool sp_pin_take(struct sp_pool *pool, poolMemPool_t handle);
void sp_pin_drop(struct sp_pool *pool);

#endif
