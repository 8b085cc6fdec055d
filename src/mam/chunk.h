// The chunk: how large it is, and how a manager's first allocation takes it.
#ifndef STREAMPOOL_MAM_CHUNK_H
#define STREAMPOOL_MAM_CHUNK_H

#include "mam/manager.h"

#include <stddef.h>

// Rounds the size of a fixed chunk up to 32 MiB, as pools do with their limit.
size_t sp_chunk_of_steps(size_t size);

// Returns the size of a chunk that leaves its share free on a device with so much memory, of which
// so much is free.
size_t sp_chunk_of_free(size_t available, size_t total);

// Takes the chunk, if no thread has taken it: the manager has a home when this succeeds. Else it is
// as it was, and the thread's last error says why.
poolError_t sp_chunk_take(struct sp_manager *manager);

#endif
