// The chunks of a device heap, and their places in its book. Calls nothing but malloc and free.
//
// A *unit* is 2 MiB: as many slabs as these hold. A chunk is one allocation of the pool, of one
// unit or more. It gets as many units of the book, side by side: those behind the chunk that ends
// where it begins, if they are free, so that a run of slabs may reach over both.
//
// The caller guards it by the heap's lock.
#ifndef STREAMPOOL_DEVHEAP_CHUNKS_H
#define STREAMPOOL_DEVHEAP_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>

enum { SP_HEAP_UNIT_SHIFT = 21 };
#define SP_HEAP_UNIT_BYTES ((uint64_t)1 << SP_HEAP_UNIT_SHIFT)

enum sp_heap_chunk_state {
    SP_HEAP_CHUNK_NONE,    // the unit is free
    SP_HEAP_CHUNK_BODY,    // another unit of the chunk that begins before it
    SP_HEAP_CHUNK_OPEN,    // kernels may use it
    SP_HEAP_CHUNK_OFFERED, // trims may close it: an answer isn't read yet
    SP_HEAP_CHUNK_CLOSED   // nobody uses it: the pool gets it back once all answers are read
};

struct sp_heap_chunk {
    uint64_t address;
    uint32_t units;
    uint32_t offers; // trims whose answers aren't read
    enum sp_heap_chunk_state state;
};

// taken = the sum of `units` of the chunks <= units
struct sp_heap_chunks {
    uint32_t units; // entries of `at`
    uint32_t taken;
    struct sp_heap_chunk *at; // a chunk's entry is that of its first unit
};

// False where the host has no memory.
bool sp_heap_chunks_begin(struct sp_heap_chunks *chunks, uint32_t units);
void sp_heap_chunks_end(struct sp_heap_chunks *chunks);

// Finds a place for `units` units of memory at this address. Returns its first unit, and how many
// fit there: at least `least`, or 0 where there is no such place.
uint32_t sp_heap_chunks_place(const struct sp_heap_chunks *chunks, uint64_t address, uint32_t units,
                              uint32_t least, uint32_t *fit);

// Enters an open chunk at a place that is free, and takes a chunk out.
void sp_heap_chunks_add(struct sp_heap_chunks *chunks, uint32_t first, uint32_t units,
                        uint64_t address);
void sp_heap_chunks_remove(struct sp_heap_chunks *chunks, uint32_t first);

// True when the open chunk before this one ends where it begins.
bool sp_heap_chunks_joined(const struct sp_heap_chunks *chunks, uint32_t first);

// True when the open chunk after this one begins where it ends.
bool sp_heap_chunks_leads(const struct sp_heap_chunks *chunks, uint32_t first);

// The first unit of the next chunk, from the unit `from` on; chunks->units where there is none.
uint32_t sp_heap_chunks_next(const struct sp_heap_chunks *chunks, uint32_t from);

#endif
