// Pieces of work: what each is to do, and where it stands (work.h).
#ifndef STREAMPOOL_SIMCUDA_QUEUE_ITEM_H
#define STREAMPOOL_SIMCUDA_QUEUE_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <streampool/simcuda.h>

#include "base/list.h"
#include "driver/abi.h"
#include "simcuda/queue/history.h"
#include "simcuda/report/finding.h"

struct sim_queue;

// HELD is a wait for a word of memory whose condition did not hold when its turn came.
enum sim_item_state { SIM_QUEUED, SIM_HELD, SIM_DUE, SIM_RUNNING, SIM_DONE };

// A device has one engine of each kind for copies, which does one after another.
enum sim_engine { SIM_ENGINE_NONE, SIM_ENGINE_IN, SIM_ENGINE_OUT, SIM_ENGINE_ACROSS, SIM_ENGINES };

struct sim_job;
struct sim_copy;

// A condition on a word of 4 or 8 bytes at a device address; of no bytes: none.
struct sim_condition {
    uint64_t address;
    uint64_t value;
    unsigned size;
    unsigned kind; // CUstreamWaitValue_flags
};

// An effect is what a piece does when it completes, after its accesses were checked. A result other
// than CUDA_SUCCESS becomes the sticky error of its context.
typedef CUresult (*sim_effect)(const struct sim_job *job, int device);

// A job says what a piece of work is to do.
struct sim_job {
    const char *name; // kept until the reset
    uint64_t duration;
    struct simcudaAccess *accesses; // owned by the job; null when count is 0
    size_t count;
    sim_effect effect; // null: nothing
    uint64_t address;  // arguments of the effect, each as the effect says
    uint64_t size;
    uint64_t value;
    uint64_t counter_address;
    uint64_t flag_address; // due early once the 32-bit word there is not 0; 0: no such word
    void *host_memory;
    void *owned;            // by the job, which frees it; null: nothing
    CUhostFn host_function; // not null: a host function
    void *user_data;
    enum sim_engine engine;
    struct sim_copy *copies; // of copy.h, owned by the job
    size_t copy_count;
    // The piece is due once this holds, and runs after who made it hold.
    struct sim_condition condition;
    size_t pageable_count; // so many of the accesses, the last ones, are to pageable host memory
    bool is_copy;          // the owner's access to memory is enough
    bool writes_word;
    // The bytes of the host that it reads had this sum at the call, and nothing that was pending
    // then may change them.
    bool watches_source;
    uint64_t source_sum;
    bool is_callback; // the host function is a CUstreamCallback, which is told the stream
    CUstream stream;
    bool is_told; // a report tells of the piece already: what comes of it is no other mistake
    bool is_free; // of the block that it names
    bool needs_no_access; // to the bytes that it names, on its device
    // A question of its stream does not look at it (question.h) unless it waits for something.
    bool is_quiet;
};

// Keeps the name. One that is very long is cut, and ends with three dots.
void sim_job_name(struct sim_job *job, const char *name);
// A range that reaches past the last address ends there.
void sim_job_touches(struct sim_job *job, uint64_t address, uint64_t size, simcudaAccessKind kind);
// Returns how many bytes a job touches, those that it touches twice counted twice.
uint64_t sim_job_bytes(const struct sim_job *job);
// Frees what a job owns that no piece of work took over.
void sim_job_drop(struct sim_job *job);

struct sim_item {
    size_t references; // one of its queue until it is done, one of each holder
    enum sim_item_state state;
    struct sim_queue *queue; // null once done
    size_t slot;
    uint64_t sequence;
    struct sim_clock *clock;
    uint64_t serial; // order of adding, over all queues
    uint64_t enqueued_at;
    uint64_t end; // QUEUED: not before this; DUE: when it will end; DONE: when it ended
    size_t heap_index;
    struct sim_item **dependencies; // those that were not done when it was added
    size_t dependency_count;
    size_t dependency_capacity;
    struct sp_list waiters;       // queues whose first item depends on this one
    struct sp_list link;          // in its queue
    struct sp_list touching_link; // among the pending pieces that name bytes
    struct sp_list flag_link;     // among the due pieces that look at a flag, or those held
    struct sp_list start_link;    // of a host function: among those started
    uint64_t polls;
    struct sim_who who;
    struct sim_job job;
};

static inline void sim_item_hold(struct sim_item *item) {
    item->references++;
}

// Nobody holds the item any more.
void sim_item_destroy(struct sim_item *item);

// Null is allowed.
static inline void sim_item_drop(struct sim_item *item) {
    if (item && --item->references == 0)
        sim_item_destroy(item);
}

// The serial of the piece that was added last.
extern uint64_t sim_item_last_serial;

// Returns the touch that a pending piece makes of bytes that it names, and which of its accesses
// names a byte of a range, where one does.
struct sim_touch sim_item_touch(const struct sim_item *item, const simcudaAccess *access);
const simcudaAccess *sim_item_access_to(const struct sim_item *item, uint64_t address,
                                        uint64_t size);

// These return what a touch does, and its side of a report.
const char *sim_touch_verb(const struct sim_touch *touch);
struct sim_side sim_touch_side(const struct sim_touch *touch);

// The pending pieces that name bytes. A query is linear in them: a piece that names a byte of the
// range, and that no report tells of; null when there is none.
extern struct sp_list sim_touching;
struct sim_item *sim_item_naming(uint64_t address, uint64_t size);
// Returns one that writes a byte of the range, or one that names it at all if `writes`.
struct sim_item *sim_item_conflicting(uint64_t address, uint64_t size, bool writes);

// Forgets all names.
void sim_item_reset(void);

#endif
