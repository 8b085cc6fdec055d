#include "devheap/count.h"

#include "devheap/fail.h"
#include "devheap/marks.h"

#include <inttypes.h>
#include <stdlib.h>
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

static void end_counting(struct sp_heap_machine *machine, struct sp_heap_counting *counting) {
    if (counting->counted != NULL)
        machine->unpin(machine, counting->counted);
    if (counting->event != NULL)
        machine->destroy(machine, counting->event);
    free(counting);
}

static poolError_t make_counting(struct sp_heap_machine *machine, struct sp_heap_counting **made) {
    struct sp_heap_counting *counting = calloc(1, sizeof *counting);
    void *counted = NULL;
    if (counting == NULL)
        return sp_heap_fail(poolErrorMemoryAllocation, "out of host memory");
    poolError_t error = machine->create(machine, &counting->event);
    if (error == poolSuccess)
        error = machine->pin(machine, &counted, sizeof *counting->counted);
    counting->counted = counted;
    *made = counting;
    if (error != poolSuccess)
        end_counting(machine, counting);
    return error;
}

// A call waits for its stream, so calls of several threads have one each.
static poolError_t take_counting(struct poolHeap_st *heap, struct sp_heap_counting **taken) {
    pthread_mutex_lock(&heap->lock);
    *taken = heap->countings;
    if (*taken != NULL)
        heap->countings = (*taken)->next;
    pthread_mutex_unlock(&heap->lock);
    return *taken != NULL ? poolSuccess : make_counting(heap->machine, taken);
}

static void give_counting(struct poolHeap_st *heap, struct sp_heap_counting *counting) {
    pthread_mutex_lock(&heap->lock);
    struct sp_heap_counting **list = counting->runs ? &heap->uncertain : &heap->countings;
    counting->next = *list;
    *list = counting;
    pthread_mutex_unlock(&heap->lock);
}

static void end_list(struct sp_heap_machine *machine, struct sp_heap_counting **list) {
    while (*list != NULL) {
        struct sp_heap_counting *counting = *list;
        *list = counting->next;
        end_counting(machine, counting);
    }
}

void sp_heap_count_end(struct poolHeap_st *heap) {
    end_list(heap->machine, &heap->countings);
    end_list(heap->machine, &heap->uncertain);
}

static poolError_t launch(struct poolHeap_st *heap, struct sp_heap_counting *counting,
                          CUstream stream) {
    struct sp_heap_machine *machine = heap->machine;
    struct sp_heap_count count = {heap->book, counting->counted};
    size_t mark;
    poolError_t error = sp_heap_marks_reserve(heap, stream, &mark);
    if (error == poolSuccess)
        error = machine->launch(machine, SP_HEAP_KERNEL_count, 1, stream, &count);
    if (error != poolSuccess)
        return error;
    counting->runs = true;
    error = sp_heap_marks_set(heap, mark, 0);
    return sp_heap_fail_first(error, machine->record(machine, counting->event, stream));
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
    struct sp_heap_counting *counting;
    struct poolHeapStatistics noted;
    memset(&noted, 0, sizeof noted);
    poolError_t error = take_counting(heap, &counting);
    if (error != poolSuccess)
        return error;
    pthread_mutex_lock(&heap->lock);
    error = launch(heap, counting, stream);
    note_host(heap, &noted);
    pthread_mutex_unlock(&heap->lock);
    if (error == poolSuccess)
        error = heap->machine->synchronize(heap->machine, counting->event);
    if (error == poolSuccess) {
        counting->runs = false;
        note_device(heap, counting->counted, &noted);
        *statistics = noted;
    }
    give_counting(heap, counting);
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
