#include "devheap/trim.h"

#include "devheap/fail.h"
#include "devheap/marks.h"
#include "devheap/reaper.h"

#include <stdlib.h>

// Makes stream `behind` wait for what `before` has to do so far.
static poolError_t join(struct poolHeap_st *heap, CUstream behind, CUstream before) {
    struct sp_heap_machine *machine = heap->machine;
    poolError_t error = machine->record(machine, heap->join_event, before);
    return error != poolSuccess ? error : machine->wait(machine, behind, heap->join_event);
}

static poolError_t join_all(struct poolHeap_st *heap, const CUstream streams[], size_t count) {
    poolError_t error = sp_heap_marks_wait(heap, streams[0]);
    for (size_t i = 1; i < count && error == poolSuccess; i++)
        if (streams[i] != streams[0])
            error = join(heap, streams[0], streams[i]);
    return error;
}

static poolError_t let_all_wait(struct poolHeap_st *heap, const CUstream streams[], size_t count,
                                CUevent event) {
    poolError_t error = poolSuccess;
    for (size_t i = 1; i < count; i++)
        if (streams[i] != streams[0])
            error =
                sp_heap_fail_first(error, heap->machine->wait(heap->machine, streams[i], event));
    return error;
}

// True for a chunk that may be closed. One that a trim before was offered may be free only now.
static bool can_close(const struct sp_heap_chunk *chunk) {
    return chunk->state == SP_HEAP_CHUNK_OPEN || chunk->state == SP_HEAP_CHUNK_OFFERED;
}

// Those chunks, from the highest place to the lowest: kernels fill the lowest first.
static void list_chunks(struct poolHeap_st *heap, struct sp_heap_trim *trim) {
    struct sp_heap_chunks *chunks = &heap->chunks;
    for (uint32_t first = chunks->units; first-- > 0;)
        if (can_close(&chunks->at[first]))
            trim->chunk[trim->chunks++] = first;
}

// Slabs of chunks that no trim is known to have closed.
static uint64_t open_slabs(const struct poolHeap_st *heap) {
    const struct sp_heap_chunks *chunks = &heap->chunks;
    uint64_t slabs = 0;
    for (uint32_t first = 0; first < chunks->units; first++)
        if (can_close(&chunks->at[first]))
            slabs += sp_heap_slabs_of_units(heap, chunks->at[first].units);
    return slabs;
}

static poolError_t make(struct poolHeap_st *heap, struct sp_heap_trim **made) {
    struct sp_heap_trim *trim = calloc(1, sizeof *trim);
    if (trim != NULL)
        trim->chunk = calloc(heap->chunks.units, sizeof *trim->chunk);
    if (trim == NULL || trim->chunk == NULL) {
        free(trim);
        return sp_heap_fail(poolErrorMemoryAllocation, "out of host memory");
    }
    poolError_t error = heap->machine->create(heap->machine, &trim->event);
    if (error != poolSuccess) {
        sp_heap_reaper_free(heap, trim);
        return error;
    }
    list_chunks(heap, trim);
    *made = trim;
    return poolSuccess;
}

// Launches a kernel for some chunks, from *next on.
static poolError_t close_some(struct poolHeap_st *heap, const struct sp_heap_trim *trim,
                              uint32_t *next, uint64_t slabs_most, CUstream stream) {
    struct sp_heap_close close = {.book = heap->book, .told = heap->told, .most = slabs_most};
    for (; close.chunks < SP_HEAP_BATCH && *next + close.chunks < trim->chunks; close.chunks++) {
        uint32_t first = trim->chunk[*next + close.chunks];
        close.chunk[close.chunks] = (struct sp_heap_offered){
            .first = sp_heap_slabs_of_units(heap, first),
            .slabs = sp_heap_slabs_of_units(heap, heap->chunks.at[first].units),
            .answer = first};
    }
    poolError_t error =
        heap->machine->launch(heap->machine, SP_HEAP_KERNEL_close, 1, stream, &close);
    if (error == poolSuccess)
        *next += close.chunks;
    return error;
}

// Offers the chunks on the stream. Afterwards the trim has those that a kernel was launched for.
static poolError_t offer(struct poolHeap_st *heap, struct sp_heap_trim *trim, uint64_t slabs_most,
                         CUstream stream) {
    poolError_t error = poolSuccess;
    uint32_t offered = 0;
    while (error == poolSuccess && offered < trim->chunks)
        error = close_some(heap, trim, &offered, slabs_most, stream);
    trim->chunks = offered;
    for (uint32_t i = 0; i < offered; i++) {
        struct sp_heap_chunk *chunk = &heap->chunks.at[trim->chunk[i]];
        chunk->state = SP_HEAP_CHUNK_OFFERED;
        chunk->offers++;
    }
    return error;
}

// Behind the kernels: the reaper and the other streams wait for them. Where no event can be
// recorded the chunks stay offered, and the heap's end gives them back.
static poolError_t hand_over(struct poolHeap_st *heap, struct sp_heap_trim *trim, size_t mark,
                             const CUstream streams[], size_t count) {
    struct sp_heap_machine *machine = heap->machine;
    poolError_t error = sp_heap_marks_set(heap, mark, 0);
    poolError_t recorded = machine->record(machine, trim->event, streams[0]);
    if (recorded != poolSuccess) {
        sp_heap_reaper_free(heap, trim);
        return recorded;
    }
    error = sp_heap_fail_first(error, let_all_wait(heap, streams, count, trim->event));
    sp_heap_reaper_add(heap, trim);
    return error;
}

static poolError_t begin(struct poolHeap_st *heap, uint64_t slabs_most, const CUstream streams[],
                         size_t count) {
    struct sp_heap_trim *trim = NULL;
    size_t mark;
    poolError_t error = sp_heap_reaper_begin(heap);
    if (error == poolSuccess)
        error = sp_heap_marks_reserve(heap, streams[0], &mark);
    if (error == poolSuccess)
        error = make(heap, &trim);
    if (error != poolSuccess)
        return error;
    error = join_all(heap, streams, count);
    if (error == poolSuccess)
        error = offer(heap, trim, slabs_most, streams[0]);
    else
        trim->chunks = 0;
    if (trim->chunks == 0) {
        sp_heap_reaper_free(heap, trim);
        return error;
    }
    return sp_heap_fail_first(error, hand_over(heap, trim, mark, streams, count));
}

static poolError_t check(struct poolHeap_st *heap, const CUstream streams[], size_t count) {
    poolError_t error = poolSuccess;
    uint64_t number;
    for (size_t i = 0; i < count && error == poolSuccess; i++)
        error = heap->machine->identify(heap->machine, streams[i], &number);
    return error;
}

poolError_t sp_heap_trim(struct poolHeap_st *heap, uint64_t bytes_to_keep, const CUstream streams[],
                         size_t count) {
    poolError_t error = check(heap, streams, count);
    if (error == poolSuccess)
        error = sp_heap_reaper_give(heap);
    uint64_t bytes = open_slabs(heap) << heap->plan.shift;
    if (error != poolSuccess || bytes <= bytes_to_keep)
        return error;
    // Chunks that trims before it close are among these.
    uint64_t most = heap->slabs_closed + ((bytes - bytes_to_keep) >> heap->plan.shift);
    return begin(heap, most, streams, count);
}
