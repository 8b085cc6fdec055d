// Host memory that runs out on demand: the library's own allocations, caught by the linker
// (--wrap), each of which can be made to fail while the calling thread is inside armed code.
#ifndef STREAMPOOL_TESTS_FAULT_HOST_MEMORY_H
#define STREAMPOOL_TESTS_FAULT_HOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

// From here to host_memory_leave() the thread's allocations count, and the nth of them fails (0:
// none), or that and every later one.
void host_memory_enter(uint64_t nth, bool onwards);

// Returns how many there were, and how many of them failed.
uint64_t host_memory_leave(uint64_t *failed);

#endif
