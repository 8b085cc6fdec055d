// Errors of the device heap's calls.
#ifndef STREAMPOOL_DEVHEAP_FAIL_H
#define STREAMPOOL_DEVHEAP_FAIL_H

#include <streampool/streampool.h>

// Notes an error of this thread, with a sentence in the manner of printf, and returns it.
poolError_t sp_heap_fail(poolError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The first failure of two results.
static inline poolError_t sp_heap_fail_first(poolError_t first, poolError_t next) {
    return first != poolSuccess ? first : next;
}

#endif
