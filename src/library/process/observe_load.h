// The way to the observer's table. A shared library opens the observer's file, which lies beside
// it. Where the library is linked into a program or a plugin, so is the observer
// (src/observe/linked.c).
#ifndef STREAMPOOL_PROCESS_OBSERVE_LOAD_H
#define STREAMPOOL_PROCESS_OBSERVE_LOAD_H

#include "process/observe_table.h"

// Null, with a line in the log at any level, when the file isn't there or is of another build. It
// is never closed.
const struct sp_observe_table *sp_observe_load(const struct sp_observe_host *host);

#endif
