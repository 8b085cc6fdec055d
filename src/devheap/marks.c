#include "devheap/marks.h"

#include "devheap/fail.h"

#include <stdlib.h>

// True once nothing before the mark is pending. A mark whose event could not be recorded gets
// another try.
static bool is_complete(struct sp_heap_machine *machine, struct sp_heap_mark *mark) {
    if (mark->failed && machine->record(machine, mark->event, mark->handle) == poolSuccess) {
        mark->failed = false;
        mark->recorded = true;
    }
    if (mark->failed || (mark->recorded && machine->query(machine, mark->event) != poolSuccess))
        return false;
    mark->recorded = false;
    mark->slabs = 0;
    return true;
}

static bool find(struct poolHeap_st *heap, uint64_t stream, size_t *index) {
    for (size_t i = 0; i < heap->marks.count; i++) {
        *index = i;
        if (heap->marks.mark[i].stream == stream)
            return true;
    }
    for (size_t i = 0; i < heap->marks.count; i++) {
        *index = i;
        if (is_complete(heap->machine, &heap->marks.mark[i]))
            return true;
    }
    return false;
}

static poolError_t add(struct poolHeap_st *heap, size_t *index) {
    struct sp_heap_marks *marks = &heap->marks;
    if (marks->count == marks->room) {
        size_t room = marks->room * 2 + 4;
        struct sp_heap_mark *more = realloc(marks->mark, room * sizeof *more);
        if (more == NULL)
            return sp_heap_fail(poolErrorMemoryAllocation, "out of host memory");
        marks->mark = more;
        marks->room = room;
    }
    CUevent event;
    poolError_t error = heap->machine->create(heap->machine, &event);
    if (error != poolSuccess)
        return error;
    *index = marks->count++;
    marks->mark[*index] = (struct sp_heap_mark){.event = event};
    return poolSuccess;
}

poolError_t sp_heap_marks_reserve(struct poolHeap_st *heap, CUstream stream, size_t *index) {
    uint64_t number;
    poolError_t error = heap->machine->identify(heap->machine, stream, &number);
    if (error == poolSuccess && !find(heap, number, index))
        error = add(heap, index);
    if (error != poolSuccess)
        return error;
    heap->marks.mark[*index].stream = number;
    heap->marks.mark[*index].handle = stream;
    return poolSuccess;
}

poolError_t sp_heap_marks_set(struct poolHeap_st *heap, size_t index, uint32_t slabs) {
    struct sp_heap_mark *mark = &heap->marks.mark[index];
    if (slabs != 0)
        is_complete(heap->machine, mark); // then the sum begins anew
    poolError_t error = heap->machine->record(heap->machine, mark->event, mark->handle);
    mark->slabs += slabs;
    mark->recorded = mark->recorded || error == poolSuccess;
    mark->failed = error != poolSuccess;
    return error;
}

poolError_t sp_heap_marks_wait(struct poolHeap_st *heap, CUstream stream) {
    poolError_t error = poolSuccess;
    for (size_t i = 0; i < heap->marks.count && error == poolSuccess; i++) {
        struct sp_heap_mark *mark = &heap->marks.mark[i];
        if (is_complete(heap->machine, mark))
            continue;
        if (mark->failed)
            return sp_heap_fail(poolErrorIllegalState, "no event can be recorded behind a kernel");
        error = heap->machine->wait(heap->machine, stream, mark->event);
    }
    return error;
}

uint32_t sp_heap_marks_slabs(struct poolHeap_st *heap, size_t except) {
    uint32_t slabs = 0;
    for (size_t i = 0; i < heap->marks.count; i++)
        if (i != except && !is_complete(heap->machine, &heap->marks.mark[i]))
            slabs += heap->marks.mark[i].slabs;
    return slabs;
}

poolError_t sp_heap_marks_end(struct poolHeap_st *heap) {
    poolError_t error = poolSuccess;
    for (size_t i = 0; i < heap->marks.count; i++) {
        struct sp_heap_mark *mark = &heap->marks.mark[i];
        if (!is_complete(heap->machine, mark))
            error =
                sp_heap_fail_first(error, heap->machine->synchronize(heap->machine, mark->event));
        heap->machine->destroy(heap->machine, mark->event);
    }
    free(heap->marks.mark);
    heap->marks = (struct sp_heap_marks){0};
    return error;
}
