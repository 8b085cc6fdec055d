// Presets: the attributes that STREAMPOOL_POOL sets in each default pool.
#ifndef STREAMPOOL_PROCESS_PRESET_H
#define STREAMPOOL_PROCESS_PRESET_H

#include "region/pool.h"

// Sets them in a new pool. A setting that can't be read, or that the pool refuses, is named on
// standard error once in the process, and the others are made.
void sp_preset_apply(struct sp_pool *pool);

#endif
