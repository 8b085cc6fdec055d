// Attributes: a table with a row for each, of how a pool keeps it, what a new pool has, and what a
// change brings about. What each one means is said in the public header, with its type.
#ifndef STREAMPOOL_PROCESS_ATTRIBUTES_H
#define STREAMPOOL_PROCESS_ATTRIBUTES_H

#include "region/pool.h"

// Gives a new pool what CUDA's would have, and our own defaults. With the device's lock held.
void sp_attributes_init(struct sp_pool *pool);

// `value` points to the attribute's type, or is refused. Statistics and gauges are attributes, too.
poolError_t sp_attributes_get(struct sp_pool *pool, enum poolMemPoolAttr attribute, void *value);
poolError_t sp_attributes_set(struct sp_pool *pool, enum poolMemPoolAttr attribute,
                              const void *value);

// Has an overflow follow its pool: sets what is the same in both, and how much it may have.
void sp_attributes_follow(struct sp_pool *overflow, const struct sp_pool *pool);

// Sets the attributes that STREAMPOOL_POOL has for pools of a name; of "" for default pools. A
// setting that can't be read, or that the pool refuses, is named on standard error once in the
// process, and the others are made. The program's call doesn't fail.
void sp_attributes_preset(struct sp_pool *pool, const char *name);

// Names the settings for pools of a name that no pool had, on standard error.
void sp_attributes_tell_unused(void);

#endif
