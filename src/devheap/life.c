#include "devheap/life.h"

#include "devheap/count.h"
#include "devheap/fail.h"
#include "devheap/grow.h"
#include "devheap/marks.h"
#include "devheap/reaper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARK_PERCENT = 25, COPY_BLOCKS = 64 };

static poolError_t make_events(struct poolHeap_st *heap) {
    struct sp_heap_machine *machine = heap->machine;
    CUevent *const events[] = {&heap->look.event, &heap->join_event};
    poolError_t error = poolSuccess;
    for (size_t i = 0; i < sizeof events / sizeof *events && error == poolSuccess; i++)
        error = machine->create(machine, events[i]);
    return error;
}

static void destroy_events(struct poolHeap_st *heap) {
    const CUevent events[] = {heap->look.event, heap->join_event};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i] != NULL)
            heap->machine->destroy(heap->machine, events[i]);
}

// Waits until what the own stream has to do is complete. The join event is free for it.
static poolError_t settle(struct poolHeap_st *heap) {
    struct sp_heap_machine *machine = heap->machine;
    poolError_t error = machine->record(machine, heap->join_event, machine->own);
    return error != poolSuccess ? error : machine->synchronize(machine, heap->join_event);
}

static poolError_t copy_book(struct poolHeap_st *heap, void *image) {
    struct sp_heap_machine *machine = heap->machine;
    struct sp_heap_copy copy = {heap->book, image, heap->plan.book_bytes / sizeof(uint64_t)};
    sp_heap_plan_write(&heap->plan, (uint64_t)(uintptr_t)heap->book, image);
    memcpy(heap->cls, ((const struct ph_book *)image)->cls, sizeof heap->cls);
    poolError_t error =
        machine->launch(machine, SP_HEAP_KERNEL_copy, COPY_BLOCKS, machine->own, &copy);
    return error != poolSuccess ? error : settle(heap);
}

static poolError_t make_book(struct poolHeap_st *heap) {
    struct sp_heap_machine *machine = heap->machine;
    uint64_t address;
    void *image;
    poolError_t error = machine->take(machine, &address, heap->plan.book_bytes, machine->own);
    if (error != poolSuccess)
        return error;
    heap->book = (struct ph_book *)(uintptr_t)address;
    error = machine->pin(machine, &image, heap->plan.book_bytes);
    if (error != poolSuccess)
        return error;
    error = copy_book(heap, image);
    machine->unpin(machine, image);
    return error;
}

static poolError_t make_all(struct poolHeap_st *heap) {
    struct sp_heap_machine *machine = heap->machine;
    uint32_t units = heap->chunks.units;
    void *told;
    size_t bytes = sizeof *heap->told + units * sizeof heap->told->answer[0];
    poolError_t error = machine->pin(machine, &told, bytes);
    if (error != poolSuccess)
        return error;
    memset(told, 0, bytes);
    heap->told = told;
    error = make_events(heap);
    if (error == poolSuccess)
        error = make_book(heap);
    if (error == poolSuccess)
        error = sp_heap_grow(heap, units < 8 ? 1 : units / 8, SP_HEAP_UNITS, machine->own);
    return error == poolSuccess ? settle(heap) : error;
}

static void free_host(struct poolHeap_st *heap) {
    pthread_cond_destroy(&heap->reaper.wake);
    pthread_mutex_destroy(&heap->lock);
    sp_heap_chunks_end(&heap->chunks);
    free(heap);
}

static struct poolHeap_st *make_host(struct sp_heap_machine *machine, uint32_t units) {
    struct poolHeap_st *heap = calloc(1, sizeof *heap);
    if (heap == NULL || !sp_heap_chunks_begin(&heap->chunks, units)) {
        free(heap);
        return NULL;
    }
    pthread_mutex_init(&heap->lock, NULL);
    pthread_cond_init(&heap->reaper.wake, NULL);
    heap->machine = machine;
    heap->plan = sp_heap_plan_make(units * SP_HEAP_UNIT_BYTES);
    heap->mark_percent = MARK_PERCENT;
    return heap;
}

poolError_t sp_heap_life_begin(struct poolHeap_st **made, struct sp_heap_machine *machine,
                               uint32_t units) {
    struct poolHeap_st *heap = make_host(machine, units);
    if (heap == NULL) {
        machine->end(machine);
        return sp_heap_fail(poolErrorMemoryAllocation, "out of host memory");
    }
    poolError_t error = make_all(heap);
    if (error == poolSuccess) {
        *made = heap;
        return poolSuccess;
    }
    char detail[512]; // what failed, and not what cleaning up may say
    snprintf(detail, sizeof detail, "%s", poolGetLastErrorDetail());
    sp_heap_life_end(heap, NULL, 0);
    return sp_heap_fail(error, "%s", detail);
}

// Where the streams' context is gone the memory is given back in no stream's order: none uses it.
static poolError_t give(struct poolHeap_st *heap, uint64_t address, const CUstream streams[],
                        size_t count) {
    struct sp_heap_machine *machine = heap->machine;
    poolError_t error = count != 0 ? machine->give_behind(machine, address, streams, count)
                                   : machine->give(machine, address, machine->own);
    if (error == poolSuccess)
        return poolSuccess;
    poolError_t now = machine->give_now(machine, address);
    return now == poolSuccess ? error : now;
}

static poolError_t give_all(struct poolHeap_st *heap, const CUstream streams[], size_t count) {
    struct sp_heap_chunks *chunks = &heap->chunks;
    poolError_t error = poolSuccess;
    uint32_t first = sp_heap_chunks_next(chunks, 0);
    for (; first < chunks->units; first = sp_heap_chunks_next(chunks, first + 1)) {
        error = sp_heap_fail_first(error, give(heap, chunks->at[first].address, streams, count));
        sp_heap_chunks_remove(chunks, first);
    }
    if (heap->book != NULL)
        error =
            sp_heap_fail_first(error, give(heap, (uint64_t)(uintptr_t)heap->book, streams, count));
    return error;
}

poolError_t sp_heap_life_end(struct poolHeap_st *heap, const CUstream streams[], size_t count) {
    struct sp_heap_machine *machine = heap->machine;
    poolError_t error = sp_heap_reaper_end(heap);
    error = sp_heap_fail_first(error, sp_heap_marks_end(heap));
    error = sp_heap_fail_first(error, give_all(heap, streams, count));
    sp_heap_count_end(heap);
    destroy_events(heap);
    if (heap->told != NULL)
        machine->unpin(machine, heap->told);
    error = sp_heap_fail_first(error, machine->end(machine));
    free_host(heap);
    return error;
}
