// A lead keeps the threads of a replay close to each other: none begins an operation before all are
// done that lie more than SP_LEAD_MAX before it in the trace. So memory that a queue between the
// threads kept small when the trace was recorded stays small. The first operation that is not done
// waits for nobody, so there always is one that goes on.
//
// Each call but open, close and reset is made by the thread that plays the operation. Its cost
// depends neither on how many threads there are nor on how many wait: an operation that is done
// lets go at most the ones that it is the last to be in the way of, and each waits in a semaphore
// of its own thread's.
#ifndef STREAMPOOL_CLI_LEAD_H
#define STREAMPOOL_CLI_LEAD_H

#include "cli/trace/trace.h"

#include <semaphore.h>
#include <stdatomic.h>

// No operation begins more than SP_LEAD_MAX ahead of the first that is not done, so a slot is used
// again only when its operation has been passed.
enum { SP_LEAD_MAX = 256, SP_LEAD_SLOTS = 512 };

struct sp_lead_waiter {
    sem_t turn;
    _Atomic size_t operation; // that its thread waits to begin; SIZE_MAX: it doesn't wait
};

struct sp_lead {
    const struct sp_trace *trace;
    struct sp_lead_waiter *waiters;     // by the trace's thread index
    _Atomic size_t behind;              // all operations before this one are done
    _Atomic size_t done[SP_LEAD_SLOTS]; // operation i is done: i + 1 in slot i % SP_LEAD_SLOTS
};

// Makes the lead of a trace, which outlives it. False without host memory; then there is nothing to
// close.
bool sp_lead_open(struct sp_lead *lead, const struct sp_trace *trace);
void sp_lead_close(struct sp_lead *lead);

// Begins anew, with no operation done. No thread is between the two calls below.
void sp_lead_reset(struct sp_lead *lead);

// Waits until the operation may begin.
void sp_lead_wait(struct sp_lead *lead, size_t operation);

// Waits until all operations before this one are done.
void sp_lead_wait_for_all(struct sp_lead *lead, size_t operation);

// Notes that the operation is done.
void sp_lead_done(struct sp_lead *lead, size_t operation);

#endif
