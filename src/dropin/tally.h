// Counts what the calls of the process did, for the report: the rows of SP_REPORT_COUNTS. Any
// thread may count; threads seldom write the same line of the cache.
#ifndef STREAMPOOL_DROPIN_TALLY_H
#define STREAMPOOL_DROPIN_TALLY_H

#include "driver/abi.h"

#include "base/thread.h"
#include "dropin/format.h"
#include "dropin/wanted.h"

enum sp_tally {
#define SP_TALLY_ROW(name, group, what) SP_TALLY_##name,
    SP_REPORT_COUNTS(SP_TALLY_ROW)
#undef SP_TALLY_ROW
        SP_TALLY_COUNT,
    SP_TALLY_NOTHING = SP_TALLY_COUNT
};

void sp_tally_count(enum sp_tally what, uint64_t number);

// The counts since the process began, which for a forked child is the fork.
uint64_t sp_tally_sum(enum sp_tally what);
void sp_tally_reset(void);

// Counts a call if it succeeded, and returns its result.
static inline CUresult sp_tally_result(CUresult result, enum sp_tally what) {
    if (sp_wanted_is() && result == CUDA_SUCCESS)
        sp_tally_count(what, 1);
    return result;
}

// Counts a call of which a report is wanted, and the time since it began; and `what`, if it
// succeeded.
void sp_tally_call(CUresult result, enum sp_tally what, enum sp_tally calls, enum sp_tally time,
                   uint64_t began);

#endif
