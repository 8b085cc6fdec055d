#include "devheap/count.h"

#include "devheap/fail.h"
#include "devheap/marks.h"

#include <inttypes.h>
#include <string.h>

_Static_assert((int)POOL_HEAP_CLASSES == (int)poolHeapClassesMost,
               "heap.h has the number of classes");
_Static_assert((int)POOL_HEAP_ERRORS == (int)poolHeapBadFreesMost,
               "heap.h has the number of errors");

// Notes what the host knows.
static void note_host(const struct poolHeap_st *heap, struct poolHeapStatistics *statistics) {
    statistics->slabSize = (size_t)1 << heap->plan.shift;
    statistics->bytesMost = heap->chunks.units * SP_HEAP_UNIT_BYTES;
    statistics->bytesTaken = heap->chunks.taken * SP_HEAP_UNIT_BYTES;
    statistics->bytesTrimmed = heap->bytes_trimmed;
    statistics->slabsLeftByTrim = heap->slabs_left;
}

static poolError_t launch(struct poolHeap_st *heap, CUstream stream) {
    struct sp_heap_machine *machine = heap->machine;
    struct sp_heap_count count = {heap->book, heap->told};
    size_t mark;
    poolError_t error = sp_heap_marks_reserve(heap, stream, &mark);
    if (error == poolSuccess)
        error = machine->launch(machine, SP_HEAP_KERNEL_count, 1, stream, &count);
    if (error != poolSuccess)
        return error;
    error = sp_heap_marks_set(heap, mark, 0);
    return sp_heap_fail_first(error, machine->record(machine, heap->count_event, stream));
}

static void note_classes(const struct poolHeap_st *heap, const struct sp_heap_counted *counted,
                         struct poolHeapStatistics *statistics) {
    statistics->classes = heap->plan.classes;
    for (uint32_t cls = 0; cls < heap->plan.classes; cls++) {
        struct poolHeapClass *noted = &statistics->byClass[cls];
        noted->blockSize = heap->cls[cls].size;
        noted->blocksPerSlab = heap->cls[cls].blocks;
        noted->slabs = counted->sum[SP_HEAP_SUM_CLASS_SLABS + cls];
        noted->blocks = counted->sum[SP_HEAP_SUM_CLASS_BLOCKS + cls];
        noted->failures = counted->failures[cls];
    }
}

static void note_errors(const struct sp_heap_counted *counted,
                        struct poolHeapStatistics *statistics) {
    statistics->foreignFrees = counted->foreign_frees;
    statistics->doubleFrees = counted->double_frees;
    for (uint64_t i = 0; i < counted->errors && i < POOL_HEAP_ERRORS; i++) {
        struct poolHeapBadFree *noted = &statistics->badFree[statistics->badFrees];
        noted->address = (void *)(uintptr_t)counted->error[i].address;
        noted->kind = (enum poolHeapErrorKind)counted->error[i].kind;
        if (counted->error[i].kind != 0) // else it is being written
            statistics->badFrees++;
    }
}

static void note_device(const struct poolHeap_st *heap, const struct sp_heap_counted *counted,
                        struct poolHeapStatistics *statistics) {
    statistics->slabs = counted->sum[SP_HEAP_SUM_SLABS];
    statistics->slabsFree = counted->sum[SP_HEAP_SUM_FREE];
    statistics->runs = counted->sum[SP_HEAP_SUM_RUNS];
    statistics->slabsOfRuns = counted->sum[SP_HEAP_SUM_RUN_SLABS];
    statistics->failuresOfRuns = counted->failures[POOL_HEAP_CLASSES];
    statistics->largestFailed = counted->bytes_failed_most;
    note_classes(heap, counted, statistics);
    note_errors(counted, statistics);
}

poolError_t sp_heap_count(struct poolHeap_st *heap, CUstream stream,
                          struct poolHeapStatistics *statistics) {
    struct poolHeapStatistics noted;
    memset(&noted, 0, sizeof noted);
    pthread_mutex_lock(&heap->count_lock);
    pthread_mutex_lock(&heap->lock);
    poolError_t error = launch(heap, stream);
    note_host(heap, &noted);
    pthread_mutex_unlock(&heap->lock);
    if (error == poolSuccess)
        error = heap->machine->synchronize(heap->machine, heap->count_event);
    if (error == poolSuccess) {
        note_device(heap, &heap->told->counted, &noted);
        *statistics = noted;
    }
    pthread_mutex_unlock(&heap->count_lock);
    return error;
}

static void print_class(const struct poolHeapClass *printed, FILE *file) {
    uint64_t room = printed->slabs * printed->blocksPerSlab;
    if (printed->slabs == 0 && printed->failures == 0)
        return;
    fprintf(file, "%10zu %12" PRIu64 " %10" PRIu64 " %9.1f %% %10" PRIu64 "\n", printed->blockSize,
            printed->blocks, printed->slabs,
            room != 0 ? 100.0 * (double)printed->blocks / (double)room : 0.0, printed->failures);
}

bool sp_heap_count_print(const struct poolHeapStatistics *counted, FILE *file) {
    fprintf(file,
            "taken from the pool   %zu of at most %zu bytes\n"
            "slabs                 %" PRIu64 " of %zu bytes, %" PRIu64
            " free\n"
            "large blocks          %" PRIu64 " in %" PRIu64 " slabs, %" PRIu64
            " refused\n"
            "largest refused       %zu bytes\n"
            "trimmed               %" PRIu64 " bytes; %" PRIu64
            " slabs in use stayed\n"
            "bad frees             %" PRIu64 " of no block, %" PRIu64 " of free blocks\n",
            counted->bytesTaken, counted->bytesMost, counted->slabs, counted->slabSize,
            counted->slabsFree, counted->runs, counted->slabsOfRuns, counted->failuresOfRuns,
            counted->largestFailed, counted->bytesTrimmed, counted->slabsLeftByTrim,
            counted->foreignFrees, counted->doubleFrees);
    for (size_t i = 0; i < counted->badFrees; i++)
        fprintf(file, "  %p %s\n", counted->badFree[i].address,
                counted->badFree[i].kind == poolHeapErrorForeign ? "is no block" : "was free");
    fprintf(file, "%10s %12s %10s %11s %10s\n", "block size", "live blocks", "slabs", "full",
            "refused");
    for (size_t cls = 0; cls < counted->classes; cls++)
        print_class(&counted->byClass[cls], file);
    return ferror(file) == 0;
}
