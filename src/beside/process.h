// Each call of a library beside the pools asks first if the process may use the driver: in a child
// made by fork() a lock may be held by nobody.
#ifndef STREAMPOOL_BESIDE_PROCESS_H
#define STREAMPOOL_BESIDE_PROCESS_H

#include <streampool/streampool.h>

// Succeeds where the process may use the driver, which is loaded then.
poolError_t sp_process_find(void);

#endif
