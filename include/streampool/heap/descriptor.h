/// @file
/// What the host's part and the kernels' part of a device heap have in common. Included by
/// streampool/heap.h and streampool/heap.cuh.
#ifndef STREAMPOOL_HEAP_DESCRIPTOR_H
#define STREAMPOOL_HEAP_DESCRIPTOR_H

struct ph_book;

/// What a kernel gets of a heap, from poolHeapDevice(). It stays valid until the heap is destroyed.
struct pool_heap {
    /// Internal: see streampool/heap/book.cuh.
    struct ph_book *book;
};

/// Why a free was refused.
enum poolHeapErrorKind {
    /// The address lies in no slab of the heap, or not at the beginning of a block.
    poolHeapErrorForeign = 1,
    /// The block is free.
    poolHeapErrorDouble = 2
};

#endif
