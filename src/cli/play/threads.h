// The threads of a trace that are played each in a thread of its own: which operations each of them
// has, and a lead, which keeps them close to each other.
//
// None begins an operation before all are done that lie more than SP_LEAD_MAX before it in the
// trace. So memory that a queue between the threads kept small when the trace was recorded stays
// small. The first operation that is not done waits for nobody, so there always is one that goes
// on.
#ifndef STREAMPOOL_CLI_THREADS_H
#define STREAMPOOL_CLI_THREADS_H

#include "cli/trace/trace.h"

#include <semaphore.h>
#include <stdatomic.h>

struct sp_shares {
    size_t *operations; // thread by thread, each in the order of the trace
    size_t *begins;     // of each thread's in that list, and its length as the last one
};

// In one walk over the trace, however many threads it has. False without host memory; then there is
// nothing to release.
bool sp_shares_open(struct sp_shares *shares, const struct sp_trace *trace);
void sp_shares_release(struct sp_shares *shares);

// So a slot is used again only when its operation has been passed.
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

// Begins anew, with no operation done. No thread is between the calls below.
void sp_lead_reset(struct sp_lead *lead);

// Each of these is called by the thread that plays the operation. Its cost depends neither on how
// many threads there are nor on how many wait: an operation that is done lets go at most the ones
// that it is the last to be in the way of, and each waits in a semaphore of its own thread's. The
// first waits until the operation may begin, the second until all before it are done, and the third
// notes that it is done.
void sp_lead_wait(struct sp_lead *lead, size_t operation);
void sp_lead_wait_for_all(struct sp_lead *lead, size_t operation);
void sp_lead_done(struct sp_lead *lead, size_t operation);

#endif
