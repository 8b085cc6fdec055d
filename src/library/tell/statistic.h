// Statistics: what a pool counts of its calls. The public header lists them, and what each counts.
#ifndef STREAMPOOL_TELL_STATISTIC_H
#define STREAMPOOL_TELL_STATISTIC_H

#include "region/pool.h"

bool sp_statistic_knows(enum poolMemPoolAttr attribute);

// False when the attribute is no statistic.
bool sp_statistic_read(struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value);

// Counts a statistic anew. poolErrorInvalidValue where the number is not 0.
poolError_t sp_statistic_reset(struct sp_pool *pool, enum poolMemPoolAttr attribute,
                               uint64_t number);

// The name of a statistic or a gauge, or null when the attribute is neither.
const char *sp_statistic_name(enum poolMemPoolAttr attribute);

#endif
