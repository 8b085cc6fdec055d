#include "devheap/grow.h"

#include "devheap/fail.h"
#include "devheap/marks.h"

#include <stdlib.h>

// Memory that was taken, until it is admitted.
struct growth {
    struct poolHeap_st *heap;
    CUstream stream;
    uint64_t *address; // of each chunk
    uint32_t *first;   // its place in the book
    uint32_t chunks;   // taken
    uint32_t placed;
    uint32_t admitted;
    uint32_t units; // of a chunk
};

static int compare(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

// Gives back memory that nobody has used.
static poolError_t give(const struct growth *growth, uint64_t address) {
    struct sp_heap_machine *machine = growth->heap->machine;
    poolError_t error = machine->give(machine, address, growth->stream);
    if (error != poolSuccess)
        machine->give_now(machine, address);
    return error;
}

// The memory is taken as a whole first. So nothing else happens where the pool hasn't so much, and
// else the pool has it side by side when the chunks are taken.
static poolError_t try_whole(struct growth *growth, uint64_t bytes) {
    struct sp_heap_machine *machine = growth->heap->machine;
    uint64_t address;
    poolError_t error = machine->take(machine, &address, bytes, growth->stream);
    if (error == poolSuccess)
        error = give(growth, address);
    return error;
}

static poolError_t take(struct growth *growth, uint32_t chunks) {
    struct sp_heap_machine *machine = growth->heap->machine;
    uint64_t bytes = growth->units * SP_HEAP_UNIT_BYTES;
    if (chunks > 1) {
        poolError_t error = try_whole(growth, chunks * bytes);
        if (error != poolSuccess)
            return error;
    }
    for (; growth->chunks < chunks; growth->chunks++) {
        poolError_t error =
            machine->take(machine, &growth->address[growth->chunks], bytes, growth->stream);
        if (error != poolSuccess)
            return error;
    }
    qsort(growth->address, chunks, sizeof *growth->address, compare);
    return poolSuccess;
}

// Chunks from this one on that lie side by side.
static uint32_t row_of(const struct growth *growth, uint32_t first) {
    uint64_t bytes = growth->units * SP_HEAP_UNIT_BYTES;
    uint32_t end = first + 1;
    while (end < growth->chunks && growth->address[end] == growth->address[end - 1] + bytes)
        end++;
    return end - first;
}

static poolError_t place(struct growth *growth) {
    struct sp_heap_chunks *chunks = &growth->heap->chunks;
    while (growth->placed < growth->chunks) {
        uint32_t fit, units = row_of(growth, growth->placed) * growth->units;
        uint32_t first = sp_heap_chunks_place(chunks, growth->address[growth->placed], units,
                                              growth->units, &fit);
        if (fit == 0)
            return sp_heap_fail(poolErrorMemoryAllocation,
                                "the heap has no place for %u MiB side by side: %u of its %u MiB "
                                "are taken, in parts",
                                growth->units * 2, chunks->taken * 2, chunks->units * 2);
        for (uint32_t unit = 0; unit + growth->units <= fit; unit += growth->units) {
            growth->first[growth->placed] = first + unit;
            sp_heap_chunks_add(chunks, first + unit, growth->units,
                               growth->address[growth->placed++]);
        }
    }
    return poolSuccess;
}

static poolError_t admit_some(struct growth *growth, size_t mark) {
    struct poolHeap_st *heap = growth->heap;
    struct sp_heap_admit admit = {.book = heap->book};
    for (; admit.chunks < SP_HEAP_BATCH && growth->admitted + admit.chunks < growth->chunks;
         admit.chunks++) {
        uint32_t i = growth->admitted + admit.chunks, first = growth->first[i];
        admit.chunk[admit.chunks] =
            (struct sp_heap_admitted){.address = growth->address[i],
                                      .first = sp_heap_slabs_of_units(heap, first),
                                      .slabs = sp_heap_slabs_of_units(heap, growth->units),
                                      .joined = sp_heap_chunks_joined(&heap->chunks, first),
                                      .leads = sp_heap_chunks_leads(&heap->chunks, first)};
    }
    poolError_t error = heap->machine->launch(heap->machine, SP_HEAP_KERNEL_admit, admit.chunks,
                                              growth->stream, &admit);
    if (error != poolSuccess)
        return error;
    uint32_t slabs = sp_heap_slabs_of_units(heap, admit.chunks * growth->units);
    growth->admitted += admit.chunks;
    if (heap->look.pending)
        heap->look.slabs_unseen += slabs;
    return sp_heap_marks_set(heap, mark, slabs);
}

// Gives back what no kernel has admitted.
static void undo(struct growth *growth) {
    struct poolHeap_st *heap = growth->heap;
    for (uint32_t i = growth->admitted; i < growth->chunks; i++) {
        give(growth, growth->address[i]);
        if (i < growth->placed)
            sp_heap_chunks_remove(&heap->chunks, growth->first[i]);
    }
}

static poolError_t grow(struct growth *growth, uint32_t chunks) {
    size_t mark;
    poolError_t error = sp_heap_marks_reserve(growth->heap, growth->stream, &mark);
    if (error == poolSuccess)
        error = take(growth, chunks);
    if (error == poolSuccess)
        error = place(growth);
    while (error == poolSuccess && growth->admitted < growth->chunks)
        error = admit_some(growth, mark);
    if (growth->admitted < growth->chunks)
        undo(growth);
    return error;
}

uint32_t sp_heap_grow_left(const struct poolHeap_st *heap) {
    return heap->chunks.units - heap->chunks.taken;
}

poolError_t sp_heap_grow(struct poolHeap_st *heap, uint64_t units, enum sp_heap_shape shape,
                         CUstream stream) {
    if (units > sp_heap_grow_left(heap))
        return sp_heap_fail(poolErrorMemoryAllocation,
                            "the heap may have %u MiB, and %u MiB of these are taken",
                            heap->chunks.units * 2, heap->chunks.taken * 2);
    if (units == 0)
        return poolSuccess;
    struct growth growth = {.heap = heap, .stream = stream};
    uint32_t chunks = shape == SP_HEAP_WHOLE ? 1 : (uint32_t)units;
    growth.units = (uint32_t)units / chunks;
    growth.address = calloc(chunks, sizeof *growth.address);
    growth.first = calloc(chunks, sizeof *growth.first);
    poolError_t error = growth.address == NULL || growth.first == NULL
                            ? sp_heap_fail(poolErrorMemoryAllocation, "out of host memory")
                            : grow(&growth, chunks);
    free(growth.address);
    free(growth.first);
    return error;
}
