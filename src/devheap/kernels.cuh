// The host's kernels, for a thread of some: kernels.cu makes kernels of it, and tests on a
// CPU call it as it is.
#ifndef STREAMPOOL_DEVHEAP_KERNELS_CUH
#define STREAMPOOL_DEVHEAP_KERNELS_CUH

#include "kernels.h"

#include <streampool/heap.cuh>

POOL_HEAP_FN void sp_heap_admit_chunk(struct ph_book *book, const struct sp_heap_admitted *chunk,
                                      uint32_t thread, uint32_t threads) {
    uint32_t next = chunk->first + chunk->slabs;
    if (thread == 0 && chunk->leads)
        ph_mark_joined(book, next);
    for (uint32_t i = thread; i < chunk->slabs; i += threads)
        ph_admit(book, chunk->first + i, chunk->address + ((uint64_t)i << book->shift),
                 i != 0 || chunk->joined);
}

POOL_HEAP_FN uint32_t sp_heap_slabs_in_use(const struct ph_book *book, uint32_t first,
                                           uint32_t slabs) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < slabs; i++)
        used += ph_tag(ph_load(&book->slab[first + i].state)) != POOL_HEAP_FREE;
    return used;
}

// A trim before may have closed the chunk: the host read no answer of that one yet when it offered
// the chunk again.
POOL_HEAP_FN uint32_t sp_heap_close_chunk(const struct sp_heap_close *trim,
                                          const struct sp_heap_offered *chunk) {
    struct sp_heap_told *told = trim->told;
    if (ph_tag(ph_load(&trim->book->slab[chunk->first].state)) == POOL_HEAP_ABSENT)
        return SP_HEAP_ANSWER_CLOSED;
    if (told->slabs_closed + chunk->slabs > trim->most)
        return SP_HEAP_ANSWER_NONE;
    uint32_t used = sp_heap_slabs_in_use(trim->book, chunk->first, chunk->slabs);
    if (used != 0 || !ph_close(trim->book, chunk->first, chunk->slabs))
        return used;
    told->slabs_closed += chunk->slabs;
    return SP_HEAP_ANSWER_CLOSED;
}

// The host may read the answer to a trim before at this moment.
POOL_HEAP_FN void sp_heap_close_chunks(const struct sp_heap_close *trim) {
    for (uint32_t i = 0; i < trim->chunks; i++)
        ph_store(&trim->told->answer[trim->chunk[i].answer],
                 sp_heap_close_chunk(trim, &trim->chunk[i]));
}

POOL_HEAP_FN void sp_heap_count_blocks(const struct ph_book *book, uint32_t state, uint64_t *sum) {
    uint32_t cls = ph_tag(state) - POOL_HEAP_FIRST, blocks = state & POOL_HEAP_COUNT_MASK;
    if (blocks > book->cls[cls].blocks) // others ask in vain at this moment
        blocks = book->cls[cls].blocks;
    ph_add64(&sum[SP_HEAP_SUM_CLASS_SLABS + cls], 1);
    ph_add64(&sum[SP_HEAP_SUM_CLASS_BLOCKS + cls], blocks);
}

POOL_HEAP_FN void sp_heap_count_slab(const struct ph_book *book, uint32_t slab, uint64_t *sum) {
    uint32_t state = ph_load(&book->slab[slab].state), tag = ph_tag(state);
    if (tag == POOL_HEAP_ABSENT)
        return;
    ph_add64(&sum[SP_HEAP_SUM_SLABS], 1);
    if (tag == POOL_HEAP_FREE)
        ph_add64(&sum[SP_HEAP_SUM_FREE], 1);
    else if (tag == POOL_HEAP_RUN)
        ph_add64(&sum[SP_HEAP_SUM_RUNS], 1);
    if (tag == POOL_HEAP_RUN || tag == POOL_HEAP_BODY)
        ph_add64(&sum[SP_HEAP_SUM_RUN_SLABS], 1);
    else if (tag >= POOL_HEAP_FIRST)
        sp_heap_count_blocks(book, state, sum);
}

// Adds this thread's part of the slabs to the sums, which are 0 at first.
POOL_HEAP_FN void sp_heap_count_slabs(const struct ph_book *book, uint32_t thread, uint32_t threads,
                                      uint64_t *sum) {
    for (uint32_t slab = thread; slab < book->slabs; slab += threads)
        sp_heap_count_slab(book, slab, sum);
}

// For one thread, when the sums are complete.
POOL_HEAP_FN void sp_heap_tell_survey(const struct sp_heap_survey *survey, const uint64_t *sum) {
    struct sp_heap_surveyed *surveyed = &survey->told->surveyed;
    surveyed->slabs = sum[SP_HEAP_SUM_SLABS];
    surveyed->slabs_free = sum[SP_HEAP_SUM_FREE];
    surveyed->run_failed_most = ph_and64(&survey->book->run_failed_most, 0);
}

POOL_HEAP_FN void sp_heap_tell_count(const struct sp_heap_count *count, const uint64_t *sum) {
    struct sp_heap_counted *counted = count->counted;
    struct ph_book *book = count->book;
    for (uint32_t i = 0; i < SP_HEAP_SUMS; i++)
        counted->sum[i] = sum[i];
    for (uint32_t i = 0; i <= POOL_HEAP_CLASSES; i++)
        counted->failures[i] = ph_load64(&book->failures[i]);
    counted->bytes_failed_most = ph_load64(&book->bytes_failed_most);
    counted->foreign_frees = ph_load64(&book->foreign_frees);
    counted->double_frees = ph_load64(&book->double_frees);
    counted->errors = ph_load(&book->error_count);
    for (uint32_t i = 0; i < POOL_HEAP_ERRORS; i++) {
        counted->error[i].kind = ph_load(&book->error[i].kind);
        counted->error[i].address = ph_load64(&book->error[i].address);
    }
}

POOL_HEAP_FN void sp_heap_free_block(const struct sp_heap_free *given) {
    struct pool_heap heap = {given->book};
    pool_heap_free(heap, (void *)(uintptr_t)given->address);
}

POOL_HEAP_FN void sp_heap_copy_words(const struct sp_heap_copy *copy, uint64_t thread,
                                     uint64_t threads) {
    for (uint64_t i = thread; i < copy->words; i += threads)
        ((uint64_t *)copy->to)[i] = ((const uint64_t *)copy->from)[i];
}

#endif
