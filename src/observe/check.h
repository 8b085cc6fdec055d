// Tells a simulated driver that checks the program which blocks of memory the program has
// (simcudaBlockBegin): so it finds work that leaves its block, or comes behind the block's free.
//
// Nothing is done while the driver doesn't check. No lock is needed: a thread makes one free at a
// time.
#ifndef STREAMPOOL_OBSERVE_CHECK_H
#define STREAMPOOL_OBSERVE_CHECK_H

#include "process/observe_table.h"

// Looks up the driver's functions. Called before all others.
void sp_check_begin(const struct sp_observe_host *host);
bool sp_check_is_on(void);

void sp_check_allocated(const void *pointer, uint64_t size);

// The calling thread begins to free the block at an address.
void sp_check_freeing(const void *pointer);
// The free is behind the work of this stream too, if the event is the mark of such a thing: the
// block's address.
void sp_check_behind(const void *event, const struct sp_observe_stream *stream);
// The free was made, in the order of a stream or, for null, of none.
void sp_check_freed(const struct sp_observe_stream *stream);
// The free was refused. Where the address is that of no block, the driver reports that.
void sp_check_not_freed(bool is_known);

#endif
