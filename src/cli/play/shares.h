// Which operations of a trace each of its threads has.
#ifndef STREAMPOOL_CLI_SHARES_H
#define STREAMPOOL_CLI_SHARES_H

#include "cli/trace/trace.h"

struct sp_shares {
    size_t *operations; // thread by thread, each in the order of the trace
    size_t *begins;     // of each thread's in that list, and its length as the last one
};

// In one walk over the trace, however many threads it has. False without host memory; then there is
// nothing to release.
bool sp_shares_open(struct sp_shares *shares, const struct sp_trace *trace);
void sp_shares_release(struct sp_shares *shares);

#endif
