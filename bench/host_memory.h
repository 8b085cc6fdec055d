// What this process has of host memory.
#ifndef STREAMPOOL_BENCH_HOST_MEMORY_H
#define STREAMPOOL_BENCH_HOST_MEMORY_H

#include <stdbool.h>

struct host_memory {
    double handed_out; // by malloc
    bool is_counted;   // what was handed out
    double resident;
};

// In bytes. Gives the pages back first that malloc keeps of what was freed, since they would hide
// what is new.
struct host_memory host_memory_now(void);

#endif
