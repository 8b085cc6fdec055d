// The allocators that a trace is replayed through, behind one table of functions.
//
// A stage is one allocator at work on one device, with a pool of its own where the allocator has
// pools, so that replays can't feed on each other's memory. The caller owns the stage; one thread
// at a time uses it, with the device's context current. For memory of another place an allocator
// that has pools there has a stage of its own.
#ifndef STREAMPOOL_CLI_ALLOCATOR_H
#define STREAMPOOL_CLI_ALLOCATOR_H

#include "cli/plot/series.h"
#include "cli/program/device.h"
#include "cli/program/peer.h"
#include "cli/program/statistics.h"
#include "cli/trace/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <streampool/streampool.h>

//   X(name, its title and one line about it), in the order in which they are listed
#define SP_ALLOCATORS(X)                                                                           \
    X(pool, "streampool: poolMallocAsync and poolFreeAsync")                                       \
    X(promised, "StreamPromises: as pool, with all that a program can promise of its streams")     \
    X(driver, "CUDA's pool: cuMemAllocFromPoolAsync and cuMemFreeAsync")                           \
    X(direct, "cuMemAlloc, and cuMemFree")

struct sp_stage {
    const struct sp_device *device;
    enum sp_trace_place place; // of the pool's memory
    uint64_t threshold;        // the release threshold of the pool, in bytes
    uint64_t limit;            // of what `pool` may reserve; 0: what the device has
    poolMemPool_t pool;        // of the allocators pool and promised
    CUmemoryPool driver_pool;  // of the allocator driver
    const poolPeer *peer;      // of a peer
    void *peer_state;
    // The allocator direct notes here how much memory the device has free when the pass begins ...
    size_t free_before;
    size_t free_at_peak; // ... and when most was alive
    // The allocators pool and promised read the gauges when most was alive.
    struct sp_statistics at_peak;
    struct sp_growths *growths;   // where these two note the pool's growths; null: nobody asks
    uint64_t held_reserved_bytes; // for the block that is held before and during all passes
    char reason[512];             // why something failed, in words
};

//   X(action of a trace, its name in a message, the call: behind "cu" the driver's, behind "pool"
//     the library's)
//
// The device is synchronised by calls that have no such names.
#define SP_ORDERS(X)                                                                               \
    X(RECORD, "event record", EventRecord(event, stream))                                          \
    X(WAIT, "event wait", StreamWaitEvent(stream, event, 0))                                       \
    X(SYNCHRONIZE_EVENT, "synchronise", EventSynchronize(event))                                   \
    X(SYNCHRONIZE_STREAM, "synchronise", StreamSynchronize(stream))                                \
    X(QUERY_EVENT, "query", EventQuery(event))                                                     \
    X(QUERY_STREAM, "query", StreamQuery(stream))                                                  \
    X(DESTROY_EVENT, "event destroy", EventDestroy(event))                                         \
    X(DESTROY_STREAM, "stream destroy", StreamDestroy(stream))

enum { SP_UNSUITED_TEXT = 256 };

// Statuses are the driver's error numbers; 0 is success. A size of 0 succeeds with the pointer 0,
// and so does the free of it.
struct sp_allocator {
    const char *name;
    const char *title;    // for people
    const poolPeer *peer; // null: it is none
    bool has_places;      // it has pools of other places than a device, too
    // False, with the reason written to `reason`, when the trace must not be replayed through the
    // allocator. Null: it may replay all.
    bool (*suits)(const struct sp_trace *trace, char reason[SP_UNSUITED_TEXT]);
    // Makes the stage's pool, where the allocator has one. False, with the stage's reason, when
    // that fails or the device lacks what the allocator needs.
    bool (*open)(struct sp_stage *stage);
    // Gives all memory back to the device. Nothing may be allocated any more. False, with the
    // stage's reason, when a peer fails to.
    bool (*close)(struct sp_stage *stage);
    // The player calls these before a pass, at its operation with the most bytes alive (outside the
    // timing), and after it. False, with the stage's reason, when a figure can't be reset or read.
    // When the reserved peak is asked for, `bytes` holds what was live at most: an allocator that
    // can't know its peak returns no less. What is null has nothing to do, and no statistics.
    bool (*begin_pass)(struct sp_stage *stage);
    void (*at_peak)(struct sp_stage *stage);
    bool (*reserved_peak)(struct sp_stage *stage, uint64_t *bytes);
    bool (*statistics)(struct sp_stage *stage, struct sp_statistics *statistics);
    // The player calls these for a plot, outside the timing: the first after each operation, the
    // second more rarely. They add figures that are known, call no driver's stream or clock, and
    // move nothing in the pool. Null: it has no such figure.
    void (*look)(struct sp_stage *stage, struct sp_figures *figures);
    void (*look_through)(struct sp_stage *stage, struct sp_figures *figures);
    // The calls of these two are timed. A free with no stream is one in no stream's order.
    int (*allocate)(struct sp_stage *stage, uint64_t *pointer, size_t size, CUstream stream);
    int (*free)(struct sp_stage *stage, uint64_t pointer, size_t size, const CUstream *stream);
    // Gives memory back to the device until the pool has no more than `keep` bytes. It does nothing
    // where the allocator has no pool.
    int (*trim)(struct sp_stage *stage, uint64_t keep);
    // Does what a line of a trace says that is about a stream or an event and no block: orders
    // streams, synchronises, asks, destroys. It makes the allocator's own call where it has one,
    // else the driver's. A question whose answer is no returns CUDA_ERROR_NOT_READY.
    int (*order)(struct sp_stage *stage, enum sp_trace_action action, CUstream stream,
                 CUevent event);
    const char *(*error_name)(int status);
};

#define SP_DECLARE_ALLOCATOR(name, summary) extern const struct sp_allocator sp_allocator_##name;
SP_ALLOCATORS(SP_DECLARE_ALLOCATOR)
#undef SP_DECLARE_ALLOCATOR

#define SP_COUNT_ALLOCATOR(name, summary) +1
enum {
    SP_ALLOCATOR_COUNT = 0 SP_ALLOCATORS(SP_COUNT_ALLOCATOR),
    SP_ALLOCATORS_MAX = SP_ALLOCATOR_COUNT + SP_PEERS_MAX
};
#undef SP_COUNT_ALLOCATOR

// Allocators that were named, in that order.
struct sp_allocator_list {
    const struct sp_allocator *items[SP_ALLOCATORS_MAX];
    size_t count;
};

bool sp_allocator_suits(const struct sp_allocator *allocator, const struct sp_trace *trace,
                        char reason[SP_UNSUITED_TEXT]);

// Returns the allocator of this name, which need not end with a null byte; null when there is none.
const struct sp_allocator *sp_allocator_find(const char *name, size_t length);

// Returns what people read for the allocator of a name; for a peer, the name.
const char *sp_allocator_title(const char *name);

// The peer must outlive what is returned.
struct sp_allocator sp_allocator_of_peer(const poolPeer *peer);

// These are of allocators that have no such calls or figures of their own.
int sp_driver_order(struct sp_stage *stage, enum sp_trace_action action, CUstream stream,
                    CUevent event);
const char *sp_driver_status_name(int status);
int sp_no_trim(struct sp_stage *stage, uint64_t keep);

static inline const struct sp_driver *sp_stage_driver(const struct sp_stage *stage) {
    return stage->device->driver;
}

// Notes in the stage why a function of its allocator failed. Returns false, so that the function
// can return it.
bool sp_stage_fail(struct sp_stage *stage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Does so when a status is no success, "what: its name"; else returns true.
bool sp_stage_check(struct sp_stage *stage, const char *what, int status);

// Hands the reason of another place's stage on to the device's, which all look at. Returns false.
bool sp_stage_hand_on(const struct sp_stage *stage, struct sp_stage *of_device);

// ----------------------------------------------------------------------------------------- growths
//
// The growths of replays, explained: each one that raised the most that the pool had reserved in
// its pass, in the order in which they came.
//
// The pool's observer notes them, on the thread that plays the allocation. So a thread says before
// an allocation which operation of the trace it is. Outside of passes nothing is noted: what is
// held from the start is no operation. The caller owns the struct.

struct sp_growth {
    const char *trace;
    const char *allocator;
    unsigned start; // from 1
    unsigned pass;  // from 1
    size_t operation;
    struct poolMemPoolGrowth told; // with the trace's numbers as the ids of its streams
};

struct sp_growths {
    const struct sp_trace *trace; // that is played; null: outside of passes, for the player to set
    const CUstream *streams;      // the device's, by the trace's stream index
    struct sp_growth playing;     // what is the same of all growths of the pass
    struct sp_growth *list;
    size_t count;
    bool failed; // for want of host memory: some are missing
};

void sp_growths_release(struct sp_growths *growths);

// Says which operation the calling thread plays.
void sp_growths_note_operation(size_t operation);

#endif
