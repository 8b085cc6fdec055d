// These functions add pieces of work to queues, complete them, and wait for them.
//
// Each queue runs in order, one piece at a time. A piece may start when the one before it and all
// that it depends on are complete; it is then *due* at start + duration (+ a seeded delay). Due
// pieces lie in a heap by their end. The virtual clock completes them when it passes their end
// (earliest, seeded), or only a waiter does (latest). What a piece does to memory happens when it
// completes, all at once.
//
// A host function is started instead of completed; it is complete when it returns
// (host_function.h).
//
//   QUEUED: in its queue; DUE: also in the heap; RUNNING: a host function that was started;
//   DONE: in neither
//   a piece's dependencies were added before it, so waiting for one always ends
#ifndef STREAMPOOL_SIMCUDA_WORK_H
#define STREAMPOOL_SIMCUDA_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <streampool/simcuda.h>

#include "base/list.h"
#include "driver/abi.h"
#include "simcuda/history.h"
#include "simcuda/queue.h"

enum sim_item_state { SIM_QUEUED, SIM_DUE, SIM_RUNNING, SIM_DONE };

struct sim_job;

// An effect is what a piece does when it completes, after its accesses were checked. A result other
// than CUDA_SUCCESS becomes the sticky error of its context.
typedef CUresult (*sim_effect)(const struct sim_job *job, int device);

// A job says what a piece of work is to do.
struct sim_job {
    char name[SIM_NAME_LENGTH];
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
    CUhostFn host_function; // not null: a host function
    void *user_data;
    bool needs_no_access; // to the bytes that it names, on its device
    // A question of its stream does not look at it (question.h) unless it waits for something.
    bool is_quiet;
};

void sim_job_name(struct sim_job *job, const char *name);
void sim_job_touches(struct sim_job *job, uint64_t address, uint64_t size, simcudaAccessKind kind);

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
    struct sp_list flag_link;     // among the due pieces that look at a flag
    struct sp_list start_link;    // of a host function: among those started
    uint64_t polls;
    unsigned thread;
    struct sim_job job;
};

void sim_item_hold(struct sim_item *item);
void sim_item_drop(struct sim_item *item); // null is allowed

// Adds a piece to a queue that is not capturing. May wait for a place in the queue, so other
// threads may run meanwhile; the caller holds a reference to the queue. The job's accesses are
// taken over, or freed on failure. If `result` is not null it gets a reference to the piece.
// CONTEXT_IS_DESTROYED when the context went while it waited.
CUresult sim_work_add(struct sim_queue *queue, struct sim_job *job,
                      struct sim_item *const *dependencies, size_t dependency_count,
                      struct sim_item **result);

// Makes the queue's next work run after the item, by a piece of work that waits for it. Else as
// sim_work_add.
CUresult sim_work_order_after(struct sim_queue *queue, struct sim_item *item);

// Lets complete what the virtual clock has passed.
void sim_work_progress(void);

// Lets time pass up to the next end of a piece. False when none is due.
bool sim_work_step(void);

// Waits until the item is done; the host has then learned it.
void sim_work_wait(struct sim_item *item);
// Asks whether it is done; the host learns it if it is. A poll that finds it pending counts for the
// patience.
bool sim_work_poll(struct sim_item *item);
// Asks whether it is done as sim_work_poll does, but the host learns nothing.
bool sim_work_look(struct sim_item *item);

// Makes the item complete, as if the device had been quick; the host learns nothing.
void sim_work_finish(struct sim_item *item);
void sim_work_finish_first(struct sim_queue *queue, uint64_t n);

// Bytes were written from outside: spinning kernels look at their flags.
void sim_work_look_at_flags(void);

// A host function has returned.
void sim_work_host_function_done(struct sim_item *item);

// Returns a pending piece that names a byte of the range; null when there is none. One query is
// linear in what is pending.
const struct sim_item *sim_work_naming(uint64_t address, uint64_t size);

uint64_t sim_work_pending(void);
uint64_t sim_work_pending_host_functions(void);
uint64_t sim_work_full_count(void);
void sim_work_reset(void);

#endif
