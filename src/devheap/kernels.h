// This is said between the host's kernels and the host that launches them.
//
// A kernel gets one struct by value. What it has to tell it writes to memory of the host that the
// device can write, struct sp_heap_told, which the host reads when an event behind the kernel is
// complete.
#ifndef STREAMPOOL_DEVHEAP_KERNELS_H
#define STREAMPOOL_DEVHEAP_KERNELS_H

#include <streampool/heap/book.cuh>

// Each kernel: its name, what it gets, and how many threads a block has.
//
//   admit   lets all threads use chunks of slabs; a block for each chunk
//   close   closes chunks whose slabs are all free; one thread
//   survey  counts what maintaining needs; one block
//   count   counts for statistics; one block
//   free    frees a block; one thread
//   copy    writes the book; any number of blocks
#define SP_HEAP_KERNELS(X)                                                                         \
    X(admit, 32)                                                                                   \
    X(close, 1)                                                                                    \
    X(survey, 1024)                                                                                \
    X(count, 1024)                                                                                 \
    X(free, 1)                                                                                     \
    X(copy, 256)

enum sp_heap_kernel {
#define SP_HEAP_KERNEL_ENUMERATOR(name, threads) SP_HEAP_KERNEL_##name,
    SP_HEAP_KERNELS(SP_HEAP_KERNEL_ENUMERATOR)
#undef SP_HEAP_KERNEL_ENUMERATOR
        SP_HEAP_KERNEL_COUNT
};

// Chunks that one kernel can be told of: a kernel's parameters have at most 4 KiB.
enum { SP_HEAP_BATCH = 96 };

struct sp_heap_admitted {
    uint64_t address;
    uint32_t first; // slab
    uint32_t slabs;
    uint32_t joined; // 1: it begins where the slab before it ends
    uint32_t leads;  // 1: it ends where the slab after it begins
};

struct sp_heap_admit {
    struct ph_book *book;
    uint32_t chunks;
    struct sp_heap_admitted chunk[SP_HEAP_BATCH];
};

// The answer for a chunk: closed, or how many of its slabs are in use.
#define SP_HEAP_ANSWER_NONE   UINT32_MAX // the trim had closed enough before
#define SP_HEAP_ANSWER_CLOSED (UINT32_MAX - 1)

struct sp_heap_offered {
    uint32_t first; // slab
    uint32_t slabs;
    uint32_t answer; // its index
};

struct sp_heap_close {
    struct ph_book *book;
    struct sp_heap_told *told;
    uint64_t most; // told->slabs_closed may become so many
    uint32_t chunks;
    struct sp_heap_offered chunk[SP_HEAP_BATCH];
};

struct sp_heap_survey {
    struct ph_book *book;
    struct sp_heap_told *told;
};

struct sp_heap_count {
    struct ph_book *book;
    struct sp_heap_counted *counted;
};

struct sp_heap_free {
    struct ph_book *book;
    uint64_t address;
};

struct sp_heap_copy {
    void *to;
    const void *from; // of the host
    uint64_t words;   // of 8 bytes
};

// A survey found this.
struct sp_heap_surveyed {
    uint64_t slabs;
    uint64_t slabs_free;
    uint64_t run_failed_most; // bytes of the largest one since the survey before
};

// Sums of a count, by index, so that threads can add to them.
enum {
    SP_HEAP_SUM_SLABS,
    SP_HEAP_SUM_FREE,
    SP_HEAP_SUM_RUNS,
    SP_HEAP_SUM_RUN_SLABS,
    SP_HEAP_SUM_CLASS_SLABS,                                                // by class
    SP_HEAP_SUM_CLASS_BLOCKS = SP_HEAP_SUM_CLASS_SLABS + POOL_HEAP_CLASSES, // by class
    SP_HEAP_SUMS = SP_HEAP_SUM_CLASS_BLOCKS + POOL_HEAP_CLASSES
};

struct sp_heap_counted {
    uint64_t sum[SP_HEAP_SUMS];
    uint64_t failures[POOL_HEAP_CLASSES + 1];
    uint64_t bytes_failed_most;
    uint64_t foreign_frees;
    uint64_t double_frees;
    uint64_t errors;
    struct ph_error error[POOL_HEAP_ERRORS];
};

struct sp_heap_told {
    struct sp_heap_surveyed surveyed;
    uint64_t slabs_closed; // by trims, ever
    uint32_t answer[];     // for each unit of the heap; a chunk's is that of its first
};

#endif
