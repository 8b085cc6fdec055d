// Sizes: how requests are rounded, and the largest that a slab serves.
//
// Every block is a multiple of SP_ALIGNMENT at a multiple of it. A request of at most SP_SMALL_MAX
// bytes is served from a slab of its size class. A larger one is a block of its own, of at least a
// page, so that no two large blocks begin in the same page of the page map.
//
// The classes stand 512 bytes apart up to 4 KiB, and above that there are four to a doubling. So
// rounding costs less than 512 bytes, or less than a fifth. A slab has as many pages as keep its
// own waste at or under a sixteenth.
#ifndef STREAMPOOL_HEAP_SIZE_CLASS_H
#define STREAMPOOL_HEAP_SIZE_CLASS_H

#include "base/number.h"
#include "base/page_map.h"

#define SP_ALIGNMENT ((size_t)512)

// X(block size in bytes, pages of a slab), by class.
// clang-format off
#define SP_SIZE_CLASSES(X) \
    X(512, 1) X(1024, 1) X(1536, 1) X(2048, 1) X(2560, 1) X(3072, 1) X(3584, 1) X(4096, 1) \
    X(5120, 1) X(6144, 1) X(7168, 1) X(8192, 1) \
    X(10240, 1) X(12288, 1) X(14336, 2) X(16384, 1) \
    X(20480, 1) X(24576, 2) X(28672, 4) X(32768, 2) \
    X(40960, 2) X(49152, 3) X(57344, 7)
// clang-format on

enum {
#define SP_COUNT_CLASS(size, pages) +1
    SP_CLASS_COUNT = SP_SIZE_CLASSES(SP_COUNT_CLASS),
#undef SP_COUNT_CLASS
    SP_SMALL_MAX = 57344
};

struct sp_size_class {
    uint32_t block_size;
    uint32_t pages;
    uint32_t blocks;     // in a slab
    uint64_t reciprocal; // see sp_slab_index
};

extern const struct sp_size_class sp_size_classes[SP_CLASS_COUNT];

// The bin of a size, of which there are eight to a doubling. A larger size is never in a lower bin.
static inline unsigned sp_size_class_bin(uint64_t size) {
    uint64_t units = size / SP_ALIGNMENT;
    if (units < 8)
        return (unsigned)units;
    unsigned doubling = sp_log2_floor(units);
    return doubling * 8 - 16 + (unsigned)(units >> (doubling - 3) & 7);
}

#endif
