// The name of a pool, by which all that is told of it calls it.
//
// It is the one that the program has given the pool. A pool without one is "default pool of device
// 0", or "pool 1", "pool 2", in the order in which the program made them.
//
// A thread that reads the name of a pool that was destroyed meanwhile may be given that of the
// struct's next pool.
#ifndef STREAMPOOL_TELL_NAME_H
#define STREAMPOOL_TELL_NAME_H

#include <streampool/streampool.h>

struct sp_pool;

struct sp_name {
    char text[STREAMPOOL_NAME_BYTES];
};

struct sp_name sp_name_of(struct sp_pool *pool);

// Has a new pool go without a name. With its device's lock held.
void sp_name_init(struct sp_pool *pool);

// Gives the pool a name, or takes it back with null or "". Refuses what can't be printed on a line.
poolError_t sp_name_set(struct sp_pool *pool, const char *name);

#endif
