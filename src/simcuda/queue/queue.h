// A queue holds what one incarnation of a stream has still to do, and what is known about its
// order.
//
// A queue outlives its stream's handle: a destroyed stream's work still completes, and the order of
// what it did still counts. So handles (stream.h) are recycled at once, and queues are counted.
//
// Slots. A queue has a slot in every vector clock. A slot is given to another queue only once the
// host knows that all work of the former one is complete, so nothing is ordered by the reuse of a
// slot that was not ordered before.
//
//   sequence is the number of pieces of work ever added in the slot; item k has sequence k
//   clock    is what the next piece of work runs after, except for the queue's own order
//   items    are in order, none complete; count is their number
//   last     is the newest one ever added, or null
//   seen     is the newest one ever added that a question of the stream looks at (question.h), or
//            null
//   vouched  is what the complete events stood for that the stream was made to wait for since then
#ifndef STREAMPOOL_SIMCUDA_QUEUE_QUEUE_H
#define STREAMPOOL_SIMCUDA_QUEUE_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "simcuda/common/clock.h"
#include "simcuda/common/who.h"
#include "simcuda/entry/abi.h"

struct sim_context;
struct sim_item;
struct sim_capture;

enum sim_queue_kind {
    SIM_QUEUE_LEGACY,
    SIM_QUEUE_PER_THREAD,
    SIM_QUEUE_BLOCKING,
    SIM_QUEUE_NON_BLOCKING
};

// A queue's place in a capture (capture.h); all of it is unset while there is none.
struct sim_capturing {
    struct sim_capture *capture;
    size_t participant;
    uint64_t sequence;
    struct sim_clock *clock;
};

// The priorities that streams of an H200 can have: the smaller number goes first there, and makes
// no difference here.
#define SIM_LEAST_PRIORITY    0
#define SIM_GREATEST_PRIORITY (-5)

// Returns the priority in that range which is the nearest.
static inline int sim_clamp_priority(int priority) {
    if (priority > SIM_LEAST_PRIORITY)
        return SIM_LEAST_PRIORITY;
    return priority < SIM_GREATEST_PRIORITY ? SIM_GREATEST_PRIORITY : priority;
}

// A program sets these of a stream and reads them again; they change nothing.
struct sim_stream_attributes {
    CUaccessPolicyWindow window;
    CUsynchronizationPolicy policy;
    int priority;
    CUlaunchMemSyncDomainMap domain_map;
    CUlaunchMemSyncDomain domain;
};

struct sim_queue {
    // The queue's stream holds a reference while it lives, and so do each item and each caller that
    // keeps the queue.
    size_t references;
    enum sim_queue_kind kind;
    struct sim_context *context; // null once it is destroyed; then no work is pending
    uint64_t stream_id;
    uint64_t number; // in reports: of the stream that the program created, or of the thread
    size_t slot;
    uint64_t sequence;
    struct sim_clock *clock;
    // This holds what its pieces run after because of a word of memory that one of them waited
    // for; their own clocks are older than that.
    struct sim_clock *acquired;
    uint64_t host_version; // of the host's clock when it was last merged into this one
    struct sp_list items;
    uint64_t count;
    uint64_t free_at; // the end of the last item that completed
    struct sim_item *last;
    struct sim_item *seen;
    struct sim_clock *vouched;
    bool retired;           // its stream is gone
    struct sp_list link;    // in its context's queues
    struct sp_list waiting; // in the waiters of the item that its first item depends on
    struct sim_capturing capturing;
    CUstreamCaptureStatus capture_status;
    // Points to the copy of the status in the stream's handle, which is read with no lock; null
    // when there is none.
    _Atomic int *status_mirror;
    struct sim_stream_attributes attributes;
};

struct sim_queue *sim_queue_create(struct sim_context *context, enum sim_queue_kind kind,
                                   uint64_t stream_id);
void sim_queue_hold(struct sim_queue *queue);
void sim_queue_drop(struct sim_queue *queue);

// The stream is gone, and has left its capture; its work goes on. Drops the stream's reference.
void sim_queue_retire(struct sim_queue *queue);

// Returns the calling thread, in the queue's stream.
struct sim_who sim_queue_who(const struct sim_queue *queue);

// Returns whether the queue takes part in the order of its context's legacy stream.
static inline bool sim_queue_is_blocking(const struct sim_queue *queue) {
    return queue->kind == SIM_QUEUE_BLOCKING || queue->kind == SIM_QUEUE_PER_THREAD;
}

// The clock holds what the host knows to be complete. It follows the total order of driver calls:
// what any call has observed counts for every later one.
extern struct sim_clock *sim_host_clock;
extern uint64_t sim_host_version;

// The host has observed that work with this clock, up to this sequence of its slot, is complete.
void sim_host_learn(size_t slot, uint64_t sequence, struct sim_clock *clock);

// The host has observed that all work that a clock holds is complete.
void sim_host_learn_clock(struct sim_clock *clock);

void sim_queue_reset(void);

#endif
