// Tells a process that loaded the driver from a forked child of it.
//
// The driver's state does not survive a fork: a child that touches the device through its parent's
// state gets errors at best. So sp_fork_watch() is called before the driver is loaded, and code
// that is about to touch the device asks sp_fork_is_child() first. A child of a process that
// had not called sp_fork_watch() is a process like any other. The functions are thread safe.
#ifndef STREAMPOOL_BASE_FORK_H
#define STREAMPOOL_BASE_FORK_H

#include "base/atomic.h"

#include <stdbool.h>

// Only the handler of sp_fork_watch() writes it, in a child that has one thread.
extern _Atomic bool sp_forked;

// Begins to watch; later calls do nothing. False when there is no host memory for the handler.
bool sp_fork_watch(void);

// True in a forked child.
static inline bool sp_fork_is_child(void) {
    return sp_load_relaxed(&sp_forked);
}

// Has a flag cleared in each child that is forked from now on, so that a hot path which looks at
// the flag needs no second look. There is one such flag.
void sp_fork_clear_in_child(_Atomic bool *flag);

#endif
