// Access of other devices to a pool's memory.
#ifndef STREAMPOOL_SUPPLY_ACCESS_H
#define STREAMPOOL_SUPPLY_ACCESS_H

#include "region/pool.h"

// As the public calls; the caller holds a pin. Waits for threads that map or unmap memory of the
// pool.
poolError_t sp_access_change(struct sp_pool *pool, const struct poolMemAccessDesc *list,
                             size_t count);
poolError_t sp_access_read(const struct sp_pool *pool, const struct poolMemLocation *location,
                           enum poolMemAccessFlags *flags);

#endif
