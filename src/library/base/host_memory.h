// The host's memory: how much there is, and how much of it the process may still take.
//
// A container has a limit (cgroup, of either version), beyond which the kernel ends processes
// without asking: a process that pins memory must look first. So may a NUMA node or the host have
// too little.
#ifndef STREAMPOOL_BASE_HOST_MEMORY_H
#define STREAMPOOL_BASE_HOST_MEMORY_H

#include <stddef.h>
#include <stdint.h>

// In front of each path that is read; a test may set another one.
extern const char *sp_host_memory_root;

// The bytes that a NUMA node has or may get, or, with -1, the host. What can't be found out is the
// host's.
size_t sp_host_memory_total(int node);

// The bytes that may still be taken there, and what limits them, in words.
struct sp_host_memory_left {
    uint64_t bytes;
    const char *by;
};
struct sp_host_memory_left sp_host_memory_left(int node);

#endif
