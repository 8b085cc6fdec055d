// Looking at the heap from time to time, and growing it. The caller holds the heap's lock.
#ifndef STREAMPOOL_DEVHEAP_SURVEY_H
#define STREAMPOOL_DEVHEAP_SURVEY_H

#include "devheap/heap.h"

// Facts by which maintaining decides.
struct sp_heap_facts {
    uint64_t slabs;           // that the heap has
    uint64_t slabs_free;      // of these
    uint64_t run_failed_most; // bytes of the largest run that found nothing; 0: none
    unsigned mark_percent;
    uint32_t shift;      // of a slab's size
    uint32_t units_left; // that the heap may still have
};

// Units to take. Calls nothing.
struct sp_heap_wish {
    uint32_t units_run; // as one chunk
    uint32_t units;     // beside that
};

struct sp_heap_wish sp_heap_survey_decide(const struct sp_heap_facts *facts);

// Acts on the newest survey that is complete, and enqueues the next one.
poolError_t sp_heap_survey(struct poolHeap_st *heap, CUstream stream);

#endif
