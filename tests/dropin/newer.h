// The newer driver's memory, for the files that it is made of.
#ifndef DROPIN_NEWER_H
#define DROPIN_NEWER_H

#include "driver/abi.h"

#include <stdbool.h>

// An allocation from one of the driver's pools. The pool is null for memory of a graph.
struct newer_block {
    CUdeviceptr base;
    size_t size;
    unsigned long long number;
    CUmemoryPool pool;
};

// The allocation that an address lies in.
bool newer_find_block(CUdeviceptr address, struct newer_block *block);

#endif
