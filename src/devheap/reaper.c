#include "devheap/reaper.h"

#include "devheap/fail.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sp_heap_reaper_free(struct poolHeap_st *heap, struct sp_heap_trim *trim) {
    if (trim->event != NULL)
        heap->machine->destroy(heap->machine, trim->event);
    free(trim->chunk);
    free(trim);
}

// Returns how many slabs of the chunk are in use. A later trim may have answered meanwhile.
static uint32_t read_answer(struct poolHeap_st *heap, uint32_t first) {
    struct sp_heap_chunk *chunk = &heap->chunks.at[first];
    uint32_t answer = __atomic_load_n(&heap->told->answer[first], __ATOMIC_RELAXED);
    chunk->offers--;
    if (answer == SP_HEAP_ANSWER_CLOSED) {
        if (chunk->state != SP_HEAP_CHUNK_CLOSED)
            heap->slabs_closed += sp_heap_slabs_of_units(heap, chunk->units);
        chunk->state = SP_HEAP_CHUNK_CLOSED;
        return 0;
    }
    if (chunk->offers == 0)
        chunk->state = SP_HEAP_CHUNK_OPEN;
    return answer == SP_HEAP_ANSWER_NONE ? 0 : answer;
}

// Reads what the kernels answered for each chunk. The slabs that stay are the last trim's.
static void read_answers(struct poolHeap_st *heap, const struct sp_heap_trim *trim) {
    heap->slabs_left = 0;
    for (uint32_t i = 0; i < trim->chunks; i++)
        heap->slabs_left += read_answer(heap, trim->chunk[i]);
}

// A chunk that the pool doesn't take back is offered to it again by the next trim.
poolError_t sp_heap_reaper_give(struct poolHeap_st *heap) {
    struct sp_heap_machine *machine = heap->machine;
    struct sp_heap_chunks *chunks = &heap->chunks;
    uint32_t first = sp_heap_chunks_next(chunks, 0);
    for (; first < chunks->units; first = sp_heap_chunks_next(chunks, first + 1)) {
        const struct sp_heap_chunk *chunk = &chunks->at[first];
        if (chunk->state != SP_HEAP_CHUNK_CLOSED || chunk->offers != 0)
            continue;
        poolError_t error = machine->give(machine, chunk->address, machine->own);
        if (error != poolSuccess)
            return error;
        heap->bytes_trimmed += chunk->units * SP_HEAP_UNIT_BYTES;
        sp_heap_chunks_remove(chunks, first);
    }
    return poolSuccess;
}

// The chunks of a trim that failed stay offered: nobody knows which are closed, and destroying the
// heap gives them back.
static void finish(struct poolHeap_st *heap, struct sp_heap_trim *trim, poolError_t error) {
    if (error == poolSuccess) {
        read_answers(heap, trim);
        error = sp_heap_reaper_give(heap);
    }
    if (error != poolSuccess && heap->reaper.error == poolSuccess) {
        heap->reaper.error = error;
        snprintf(heap->reaper.detail, sizeof heap->reaper.detail, "%s", poolGetLastErrorDetail());
    }
    sp_heap_reaper_free(heap, trim);
}

static struct sp_heap_trim *next(struct sp_heap_reaper *reaper) {
    struct sp_heap_trim *trim = reaper->first;
    reaper->first = trim->next;
    if (reaper->first == NULL)
        reaper->last = &reaper->first;
    return trim;
}

static void *run(void *given) {
    struct poolHeap_st *heap = given;
    struct sp_heap_reaper *reaper = &heap->reaper;
    pthread_mutex_lock(&heap->lock);
    for (;;) {
        while (reaper->first == NULL && !reaper->ends)
            pthread_cond_wait(&reaper->wake, &heap->lock);
        if (reaper->first == NULL)
            break;
        struct sp_heap_trim *trim = next(reaper);
        pthread_mutex_unlock(&heap->lock);
        poolError_t error = heap->machine->synchronize(heap->machine, trim->event);
        pthread_mutex_lock(&heap->lock);
        finish(heap, trim, error);
    }
    pthread_mutex_unlock(&heap->lock);
    return NULL;
}

// The program's signals are not for this thread.
poolError_t sp_heap_reaper_begin(struct poolHeap_st *heap) {
    struct sp_heap_reaper *reaper = &heap->reaper;
    if (reaper->runs)
        return poolSuccess;
    sigset_t all, before;
    sigfillset(&all);
    reaper->last = &reaper->first;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&reaper->thread, NULL, run, heap);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0)
        return sp_heap_fail(poolErrorOperatingSystem, "pthread_create: %s", strerror(failed));
    reaper->runs = true;
    return poolSuccess;
}

void sp_heap_reaper_add(struct poolHeap_st *heap, struct sp_heap_trim *trim) {
    struct sp_heap_reaper *reaper = &heap->reaper;
    trim->next = NULL;
    *reaper->last = trim;
    reaper->last = &trim->next;
    pthread_cond_signal(&reaper->wake);
}

poolError_t sp_heap_reaper_end(struct poolHeap_st *heap) {
    struct sp_heap_reaper *reaper = &heap->reaper;
    if (!reaper->runs)
        return poolSuccess;
    pthread_mutex_lock(&heap->lock);
    reaper->ends = true;
    pthread_cond_signal(&reaper->wake);
    pthread_mutex_unlock(&heap->lock);
    pthread_join(reaper->thread, NULL);
    reaper->runs = false;
    return reaper->error == poolSuccess ? poolSuccess
                                        : sp_heap_fail(reaper->error, "%s", reaper->detail);
}
