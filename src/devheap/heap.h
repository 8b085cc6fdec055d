// A device heap on the host: its state, and who guards it.
//
// `lock` guards all that has no other comment. No call holds it while it waits for the device, but
// the pool may, where its policies let an allocation wait.
//
//   public        the public calls: which heaps there are, and what a call may be given
//   life          makes a heap, destroys it
//   grow          takes chunks, and admits them
//   survey        looks at the heap from time to time, and grows it
//   trim          closes chunks; reaper gives them back
//   count         statistics
//   marks         which streams have kernels of the host's
#ifndef STREAMPOOL_DEVHEAP_HEAP_H
#define STREAMPOOL_DEVHEAP_HEAP_H

#include "devheap/chunks.h"
#include "devheap/machine.h"
#include "devheap/plan.h"

#include <pthread.h>
#include <streampool/heap.h>

// An event behind the last of the host's kernels on a stream.
struct sp_heap_mark {
    uint64_t stream; // its number
    CUstream handle;
    CUevent event;
    uint32_t slabs; // that the kernels before the event admit
    bool recorded;  // false: the event stands for nothing
    bool failed;    // to be recorded: kernels may run behind the event
};

struct sp_heap_marks {
    struct sp_heap_mark *mark;
    size_t count, room;
};

// The newest survey. Kernels write what it found to told->surveyed.
struct sp_heap_look {
    CUevent event;
    bool pending;
    uint32_t slabs_unseen; // that may be admitted behind it: its result is acted on with these
};

// A trim, from its kernels to the reaper.
struct sp_heap_trim {
    struct sp_heap_trim *next;
    CUevent event;
    uint32_t *chunk; // first units of the chunks that it offered
    uint32_t chunks;
};

struct sp_heap_reaper {
    pthread_t thread;
    pthread_cond_t wake;
    bool runs;
    bool ends; // the thread returns when the list is empty
    struct sp_heap_trim *first, **last;
    poolError_t error; // the first one that the thread met
    char detail[256];
};

// Where a count for statistics is told. One call has it at a time.
struct sp_heap_counting {
    struct sp_heap_counting *next;
    struct sp_heap_counted *counted; // memory of the host that kernels write
    CUevent event;
    bool runs; // a kernel may write to it
};

struct poolHeap_st {
    struct poolHeap_st *next; // of the list of heaps (public.c)
    pthread_mutex_t lock;
    struct sp_heap_machine *machine;
    struct sp_heap_plan plan;
    struct ph_class cls[POOL_HEAP_CLASSES]; // as in the book
    struct ph_book *book;                   // on the device
    struct sp_heap_told *told;
    struct sp_heap_chunks chunks;
    struct sp_heap_marks marks;
    struct sp_heap_look look;
    struct sp_heap_reaper reaper;
    struct sp_heap_counting *countings; // that no call has
    struct sp_heap_counting *uncertain; // of calls that failed before their kernel was complete
    CUevent join_event;                 // for a moment, to make one stream wait for another
    unsigned mark_percent;              // of the slabs that shall be free (poolHeapSetMark)
    uint64_t slabs_closed;              // by trims, ever, as far as their answers are read
    uint64_t slabs_left;                // by the last trim that is complete, as they were in use
    uint64_t bytes_trimmed;             // that the pool got back
};

static inline uint32_t sp_heap_slabs_of_units(const struct poolHeap_st *heap, uint32_t units) {
    return units << (SP_HEAP_UNIT_SHIFT - heap->plan.shift);
}

#endif
