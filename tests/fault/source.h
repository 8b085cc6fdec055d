// Where failures come from: the driver's entry points, or the host's memory.
#ifndef STREAMPOOL_TESTS_FAULT_SOURCE_H
#define STREAMPOOL_TESTS_FAULT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <streampool/simcuda.h>

#include "driver/abi.h"

enum { MAX_SOURCES = 128 };

// What fails: one call of one source, or it and all later ones. `nth` of 0: nothing does.
struct fault {
    size_t source;
    uint64_t nth;
    simcudaFaultSpan span;
    CUresult error;
};

// `enter` and `leave` stand around one call of the library; `leave` tells how
// often each source was called in it, and how often it failed.
struct sources {
    size_t count;
    // Some calls are made only by a process that has not called the library before.
    bool once_a_process;
    const char *(*name)(size_t source);
    void (*enter)(const struct fault *fault);
    uint64_t (*leave)(uint64_t calls[MAX_SOURCES]);
};

extern const struct sources driver_sources;
extern const struct sources host_sources;

#endif
