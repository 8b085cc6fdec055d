// The public calls. They look at what they are given; all else is done elsewhere.
//
// A call looks for its heap in the list, so that a handle of a heap that was destroyed is an error.
// Nobody waits for a heap's lock with that of the list.
#include "devheap/count.h"
#include "devheap/fail.h"
#include "devheap/grow.h"
#include "devheap/heap.h"
#include "devheap/life.h"
#include "devheap/marks.h"
#include "devheap/survey.h"
#include "devheap/trim.h"

#include "base/thread.h"

#include <stdbool.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    struct poolHeap_st *first;
    pid_t process; // that made the first heap; 0: none yet
} heaps = {.lock = PTHREAD_MUTEX_INITIALIZER};

// A thread of the parent may have held the lock, so a child doesn't touch it.
static bool is_child(void) {
    pid_t process = __atomic_load_n(&heaps.process, __ATOMIC_RELAXED);
    return process != 0 && process != getpid();
}

static poolError_t refuse_child(void) {
    return sp_heap_fail(poolErrorInitializationError,
                        "a child made by fork() can't use its parent's device");
}

static struct poolHeap_st **find(poolHeap_t heap) {
    struct poolHeap_st **at = &heaps.first;
    while (*at != NULL && *at != heap)
        at = &(*at)->next;
    return at;
}

// Takes the heap's lock.
static poolError_t enter(poolHeap_t heap) {
    if (is_child())
        return refuse_child();
    pthread_mutex_lock(&heaps.lock);
    bool found = heap != NULL && *find(heap) != NULL;
    pthread_mutex_unlock(&heaps.lock);
    if (found)
        pthread_mutex_lock(&heap->lock);
    return found ? poolSuccess
                 : sp_heap_fail(poolErrorInvalidValue, heap == NULL ? "the heap is null"
                                                                    : "the heap is none, or is "
                                                                      "destroyed");
}

static poolError_t leave(poolHeap_t heap, poolError_t error) {
    pthread_mutex_unlock(&heap->lock);
    return error;
}

static uint64_t units_of(size_t bytes) {
    return bytes / SP_HEAP_UNIT_BYTES + (bytes % SP_HEAP_UNIT_BYTES != 0);
}

static void list(poolHeap_t heap) {
    pthread_mutex_lock(&heaps.lock);
    heap->next = heaps.first;
    heaps.first = heap;
    pthread_mutex_unlock(&heaps.lock);
}

poolError_t poolHeapCreate(poolHeap_t *heap, poolMemPool_t pool, size_t maxBytes) {
    SP_UNCANCELLED;
    if (is_child())
        return refuse_child();
    if (heap == NULL)
        return sp_heap_fail(poolErrorInvalidValue, "the place for the heap is null");
    if (pool == NULL)
        return sp_heap_fail(poolErrorInvalidValue, "the pool is null");
    if (maxBytes == 0 || maxBytes > SP_HEAP_BYTES_MOST)
        return sp_heap_fail(poolErrorInvalidValue, "maxBytes is %zu: it must be from 1 to %zu",
                            maxBytes, (size_t)SP_HEAP_BYTES_MOST);
    struct sp_heap_machine *machine;
    poolHeap_t made;
    poolError_t error = sp_heap_machine_make(&machine, pool);
    if (error == poolSuccess)
        error = sp_heap_life_begin(&made, machine, (uint32_t)units_of(maxBytes));
    if (error != poolSuccess)
        return error;
    __atomic_store_n(&heaps.process, getpid(), __ATOMIC_RELAXED);
    list(made);
    *heap = made;
    return poolSuccess;
}

// A stream that captures, or is none, is the caller's mistake. With any other error, such as that
// of a context that is gone, destroying goes on.
static poolError_t check_streams(poolHeap_t heap, const CUstream streams[], size_t count) {
    if (streams == NULL && count != 0)
        return sp_heap_fail(poolErrorInvalidValue, "the list of streams is null");
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        poolError_t error = heap->machine->identify(heap->machine, streams[i], &number);
        if (error == poolErrorInvalidResourceHandle || error == poolErrorInvalidValue ||
            (error >= poolErrorStreamCaptureUnsupported &&
             error <= poolErrorStreamCaptureWrongThread))
            return error;
    }
    return poolSuccess;
}

poolError_t poolHeapDestroy(poolHeap_t heap, const CUstream streams[], size_t count) {
    SP_UNCANCELLED;
    poolError_t error = enter(heap);
    if (error != poolSuccess)
        return error;
    error = leave(heap, check_streams(heap, streams, count));
    if (error != poolSuccess)
        return error;
    pthread_mutex_lock(&heaps.lock);
    struct poolHeap_st **at = find(heap);
    bool found = *at != NULL;
    if (found)
        *at = heap->next;
    pthread_mutex_unlock(&heaps.lock);
    if (!found)
        return sp_heap_fail(poolErrorInvalidValue, "another thread destroys the heap");
    return sp_heap_life_end(heap, streams, count);
}

struct pool_heap poolHeapDevice(poolHeap_t heap) {
    struct pool_heap device = {NULL};
    if (enter(heap) != poolSuccess)
        return device;
    device.book = heap->book;
    leave(heap, poolSuccess);
    return device;
}

size_t poolHeapSlabSize(poolHeap_t heap) {
    if (enter(heap) != poolSuccess)
        return 0;
    size_t bytes = (size_t)1 << heap->plan.shift;
    leave(heap, poolSuccess);
    return bytes;
}

poolError_t poolHeapGrow(poolHeap_t heap, size_t bytes, CUstream stream) {
    SP_UNCANCELLED;
    poolError_t error = enter(heap);
    if (error != poolSuccess)
        return error;
    return leave(heap, sp_heap_grow(heap, units_of(bytes), SP_HEAP_UNITS, stream));
}

poolError_t poolHeapGrowContiguous(poolHeap_t heap, size_t bytes, CUstream stream) {
    SP_UNCANCELLED;
    poolError_t error = enter(heap);
    if (error != poolSuccess)
        return error;
    return leave(heap, sp_heap_grow(heap, units_of(bytes), SP_HEAP_WHOLE, stream));
}

poolError_t poolHeapMaintain(poolHeap_t heap, CUstream stream) {
    SP_UNCANCELLED;
    poolError_t error = enter(heap);
    return error != poolSuccess ? error : leave(heap, sp_heap_survey(heap, stream));
}

poolError_t poolHeapSetMark(poolHeap_t heap, unsigned percent) {
    poolError_t error = enter(heap);
    if (error != poolSuccess)
        return error;
    if (percent > 90)
        return leave(heap,
                     sp_heap_fail(poolErrorInvalidValue,
                                  "the mark is %u percent: at most 90 can be kept free", percent));
    heap->mark_percent = percent;
    return leave(heap, poolSuccess);
}

poolError_t poolHeapTrim(poolHeap_t heap, const CUstream streams[], size_t count) {
    return poolHeapTrimTo(heap, 0, streams, count);
}

poolError_t poolHeapTrimTo(poolHeap_t heap, size_t bytesToKeep, const CUstream streams[],
                           size_t count) {
    SP_UNCANCELLED;
    poolError_t error = enter(heap);
    if (error != poolSuccess)
        return error;
    if (streams == NULL || count == 0)
        return leave(heap, sp_heap_fail(poolErrorInvalidValue,
                                        "a trim names the streams whose kernels use the heap"));
    return leave(heap, sp_heap_trim(heap, bytesToKeep, streams, count));
}

static poolError_t free_block(poolHeap_t heap, void *block, CUstream stream) {
    struct sp_heap_free given = {heap->book, (uint64_t)(uintptr_t)block};
    size_t mark;
    poolError_t error = sp_heap_marks_reserve(heap, stream, &mark);
    if (error == poolSuccess && block != NULL)
        error = heap->machine->launch(heap->machine, SP_HEAP_KERNEL_free, 1, stream, &given);
    if (error == poolSuccess && block != NULL)
        error = sp_heap_marks_set(heap, mark, 0);
    return error;
}

poolError_t poolHeapFree(poolHeap_t heap, void *block, CUstream stream) {
    SP_UNCANCELLED;
    poolError_t error = enter(heap);
    return error != poolSuccess ? error : leave(heap, free_block(heap, block, stream));
}

poolError_t poolHeapGetStatistics(poolHeap_t heap, CUstream stream,
                                  struct poolHeapStatistics *statistics) {
    SP_UNCANCELLED;
    poolError_t error = enter(heap);
    if (error != poolSuccess)
        return error;
    leave(heap, poolSuccess);
    if (statistics == NULL)
        return sp_heap_fail(poolErrorInvalidValue, "the place for the statistics is null");
    return sp_heap_count(heap, stream, statistics);
}

poolError_t poolHeapPrintStatistics(poolHeap_t heap, CUstream stream, FILE *file) {
    SP_UNCANCELLED;
    struct poolHeapStatistics statistics;
    poolError_t error = poolHeapGetStatistics(heap, stream, &statistics);
    if (error != poolSuccess)
        return error;
    if (file == NULL)
        return sp_heap_fail(poolErrorInvalidValue, "the file is null");
    if (!sp_heap_count_print(&statistics, file))
        return sp_heap_fail(poolErrorOperatingSystem, "the file can't be written");
    return poolSuccess;
}
