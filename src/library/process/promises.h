// Promises: what the program says of the streams that it uses a pool with, so that the driver
// needn't be asked in each call. enum poolStreamPromise has the values, combined in
// poolMemPoolAttrStreamPromises.
#ifndef STREAMPOOL_PROCESS_PROMISES_H
#define STREAMPOOL_PROCESS_PROMISES_H

#include "region/pool.h"

// So many pools have a promise. While none has, a free needn't find out whose memory it is before
// it asks the driver.
extern _Atomic uint32_t sp_promises_pools;

// Sets what a pool is promised, and counts it. Nothing else follows: that is for the next two.
void sp_promises_set(struct sp_pool *pool, int promises);

// Sets what a pool is promised, for the program. poolErrorInvalidValue where that is no combination
// of promises. It walks the pools, so the caller is to look for given-up ones then.
poolError_t sp_promises_change(struct sp_pool *pool, int promises);

// Forgets what was remembered for the sake of a promise that a pool has no longer. No lock is held.
void sp_promises_end(void);

#endif
