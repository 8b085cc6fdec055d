// The plan of a heap's book: how large slabs are, what they hold, and where each part of the book
// lies. Calls nothing.
#ifndef STREAMPOOL_HEAP_PLAN_H
#define STREAMPOOL_HEAP_PLAN_H

#include <streampool/heap/book.cuh>

// Slabs that a heap aims at: enough that each class and group of processors can have one.
enum { SP_HEAP_SLABS_AIM = 4096 };

// The least and the most that a heap may hold.
#define SP_HEAP_BYTES_LEAST ((uint64_t)1 << POOL_HEAP_SHIFT_MIN)
#define SP_HEAP_BYTES_MOST  ((uint64_t)POOL_HEAP_SLABS_MAX << POOL_HEAP_SHIFT_MAX)

struct sp_heap_plan {
    uint32_t shift;      // of a slab's size
    uint32_t slabs;      // that the heap may have
    uint32_t classes;    // that they can hold
    uint32_t groups;     // of processors
    uint32_t places;     // entries of the hash table
    uint64_t book_bytes; // of the book with all its parts
};

// Plans a heap that may hold so many bytes, from SP_HEAP_BYTES_LEAST to SP_HEAP_BYTES_MOST. They
// are rounded up to whole slabs.
struct sp_heap_plan sp_heap_plan_make(uint64_t bytes_max);

// Writes the book, with no slab admitted yet, as it has to be copied to the address `at`. `image`
// has plan->book_bytes bytes.
void sp_heap_plan_write(const struct sp_heap_plan *plan, uint64_t at, void *image);

#endif
