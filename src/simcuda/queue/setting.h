// The settings of a context: its flags, its limits, and its preference for caches. A
// program sets them and reads them again; they change nothing of what is done here.
#ifndef STREAMPOOL_SIMCUDA_QUEUE_SETTING_H
#define STREAMPOOL_SIMCUDA_QUEUE_SETTING_H

#include <stdbool.h>
#include <stddef.h>

#include "simcuda/entry/abi.h"

#define SIM_LIMITS (CU_LIMIT_PERSISTING_L2_CACHE_SIZE + 1)

struct sim_settings {
    unsigned flags; // CUctx_flags
    CUfunc_cache cache;
    size_t limits[SIM_LIMITS];
};

// Gives what a new context has.
void sim_settings_begin(struct sim_settings *settings, unsigned flags);

// Returns whether a context may be given these flags: of the ways to wait at most one is set.
bool sim_settings_flags_are_valid(unsigned flags);

// UNSUPPORTED_LIMIT for a limit that the device doesn't have, INVALID_VALUE for a value that is out
// of the limit's range.
CUresult sim_settings_get_limit(const struct sim_settings *settings, CUlimit limit, size_t *value);
CUresult sim_settings_set_limit(struct sim_settings *settings, CUlimit limit, size_t value);

#endif
