// The observer has this of the library: see process/observe_table.h.
#ifndef STREAMPOOL_OBSERVE_HOST_H
#define STREAMPOOL_OBSERVE_HOST_H

#include "process/observe_table.h"

// Set before anything is noted.
extern const struct sp_observe_host *sp_host;

#endif
