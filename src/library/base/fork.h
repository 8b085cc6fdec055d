// Whether this process is a forked child of the one that loaded the driver.
//
// The driver's state does not survive a fork: a child that touches the device through its parent's
// state gets errors at best. So sp_fork_watch() is called before the driver is loaded, and whoever
// is about to touch the device asks sp_process_is_forked() first. A child of a process that had not
// called sp_fork_watch() is a process like any other. Thread safe.
#ifndef STREAMPOOL_BASE_FORK_H
#define STREAMPOOL_BASE_FORK_H

#include "base/atomic.h"

#include <stdbool.h>

// Written by sp_fork_watch()'s handler only, in a child that has one thread.
extern _Atomic bool sp_forked;

// Begins to watch; later calls do nothing. False when there was no host memory for the handler.
bool sp_fork_watch(void);

// One load: for hot paths.
static inline bool sp_process_is_forked(void) {
    return sp_load_relaxed(&sp_forked);
}

#endif
