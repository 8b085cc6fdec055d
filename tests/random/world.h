// The world of one random program: one or two pools, contexts, streams, events and blocks.
//
// Each stream, event and block is a slot that stays, and what it holds comes and goes. A thread
// claims what it works on (claim.h): a block and an event for itself, a stream together with others
// unless it destroys it. A block is known to be used by nothing but the work of one stream, `last`,
// and whoever brings it to another stream sees to the order.
//
// A second context is there in programs of one thread only, where nobody else is about when it is
// destroyed.
#ifndef STREAMPOOL_TESTS_RANDOM_WORLD_H
#define STREAMPOOL_TESTS_RANDOM_WORLD_H

#include <stddef.h>

#include <streampool/streampool.h>

#include "driver/abi.h"
#include "random/claim.h"
#include "random/keeping.h"
#include "random/numbers.h"
#include "support/places.h"
#include "support/simulated.h"

enum {
    MAX_STREAMS = 1024,
    EVENTS = 24,
    BLOCKS = 128,
    MAX_BLOCKS = 512, // of programs with peaks
    CONTEXTS = 2,
    POOLS = 2,
    SIZES = 8,
    LIVES = 4,
    MAX_OPERATIONS = 32
};

// What a program is made from.
struct plan {
    uint64_t seed;
    uint64_t operations;
    uint64_t seconds;  // 0: until the operations are done
    uint64_t streams;  // that are created, besides the default ones
    uint64_t blocking; // so many of a hundred of these are blocking
    uint64_t threads;
    uint64_t policies; // bit n-1: the policy of attribute n
    uint64_t bytes;    // that the pool may reserve; 0: chosen for the driver
    uint64_t overflow; // bytes of the host that it may reserve beside these
    uint64_t contexts;
    uint64_t pools;
    uint64_t faults;         // a call of the driver fails in so many operations of a thousand
    uint64_t short_of_space; // and there is little address space in so many
    // Large blocks, so that memory lies in pieces and is mapped again; and calls that map may
    // fail.
    bool large;
    bool peaks; // of which few blocks survive, and pools that are destroyed early
    // Bytes that a pool may hold behind a peak for each block, beside what all use; 0: any number.
    uint64_t each_survivor;
    bool promises; // the first pool is promised something of the streams
    bool observed; // the library is told of streams, captures and contexts
    // A new block may be used first on a stream that CUDA orders behind its own.
    bool first_use_elsewhere;
    // The last pool is of memory that the host can touch, too: of which kind, its seed says.
    bool host;
    bool trace; // print every step
};

enum stream_kind { STREAM_LEGACY, STREAM_PER_THREAD, STREAM_BLOCKING, STREAM_NON_BLOCKING };

struct stream {
    struct claim claim;
    enum stream_kind kind;
    CUstream handle;
    unsigned context;
    unsigned thread; // whose per-thread stream it is
};

struct event {
    struct claim claim;
    CUevent handle;
    unsigned context;
};

// One allocation that a slot held, for the report of a failure.
struct life {
    void *pointer;
    size_t size;
    uint64_t malloc_operation;
    uint64_t free_operation;
    unsigned malloc_stream;
    unsigned free_stream;
};

struct pool {
    poolMemPool_t handle;
    const struct test_place *place; // null: device 0
    _Atomic int promises;           // enum poolStreamPromise
    struct keeping keeping;
    _Atomic uint64_t most_primed; // bytes, by any call
};

struct block {
    struct claim claim;
    struct pool *pool;
    void *pointer; // null: the slot is empty
    size_t size;
    uint32_t pattern;
    bool used;     // work of `last` names it
    bool is_hosts; // the host can touch it
    bool complete; // when it was allocated nothing was pending on it, so that no order need be kept
    struct stream *last;
    uint64_t lives;
    struct life life[LIVES];
};

struct context {
    CUcontext handle;
    CUmodule module;
    CUfunction fill;
    CUfunction check;
    CUfunction spin;
    CUdeviceptr wrong_words; // one number for each block
};

struct world {
    struct plan plan;
    const struct test_simulated *simulated; // null on a real driver
    struct pool pools[POOLS]; // all used with the same streams; the first one is the current pool
    struct pool given_up; // in the place of those that were destroyed, with all that was promised
    // Shared by who destroys a stream as it is promised, had alone by who promises.
    struct claim promises;
    // Whose default streams were passed since it was promised that it is one; or CONTEXTS.
    unsigned one_context;
    unsigned stream_count;
    unsigned context_count;
    unsigned block_count;
    size_t sizes[SIZES];              // that come again and again
    unsigned weights[MAX_OPERATIONS]; // how often each operation is chosen
    size_t largest;
    uint64_t longest_spin; // nanoseconds
    _Atomic uint64_t operations;
    _Atomic uint32_t patterns;
    bool quiet;        // the library is told of no synchronise
    bool heard;        // it has been told of one
    uint64_t deadline; // nanoseconds of the monotonic clock; 0: none
    struct context contexts[CONTEXTS];
    struct stream streams[MAX_STREAMS];
    struct event events[EVENTS];
    struct block blocks[MAX_BLOCKS];
};

// What a thread of the program has to itself.
struct thread {
    struct world *world;
    unsigned index;
    struct numbers numbers;
    unsigned context; // that is current
    uint64_t operation;
    const char *name; // of the operation
    bool faulty;      // a call of the driver may have been made to fail in this operation
    bool small;       // new blocks are small
    bool lacks_space; // there is hardly any address space in it
    struct event *held;
};

void world_open(struct world *world, const struct plan *plan);
// Frees everything, and requires that nothing is left and nothing was wrong.
void world_close(struct world *world, struct thread *thread);

// Ends the process with the operation and a reason.
_Noreturn void thread_fail(const struct thread *thread, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// True when the call succeeded. A failure ends the process, unless a fault was set in this
// operation.
bool thread_succeeded(const struct thread *thread, const char *call, int error);
#define SUCCEEDED(thread, call) thread_succeeded((thread), #call, (int)(call))

// One line for a step, where the plan asks for it.
void thread_trace(const struct thread *thread, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The simulated driver has seen nothing wrong so far; and no kernel has found a wrong word, which
// waits for the device.
void thread_require_no_reports(const struct thread *thread);
void world_require_no_wrong_words(struct world *world, struct thread *thread);

// What streams are destroyed by, as far as it is promised. With the world's promises claimed.
bool world_promises_destroy(const struct world *world);
bool world_promises_never_to_capture(const struct world *world);
enum {
    ALL_PROMISES = poolPromiseStreamDestroy | poolPromiseNoCapture | poolPromiseNeverCapture |
                   poolPromiseOneContext
};

// Promises this of the first pool's streams from now on. With the world's promises claimed alone,
// or in a program of one thread.
void world_promise(struct thread *thread, int promises);
// Before a default stream of the context is passed to the library, and before the context is
// destroyed: what wouldn't be true then is promised no longer. The other contexts are for programs
// of one thread.
void world_pass_default_stream(struct thread *thread, unsigned context);
void world_leave_context(struct thread *thread, unsigned context);

// Every invariant of the pools holds. For programs of one thread.
void thread_require_order(const struct thread *thread);

// The numbers by which traces and failures call things.
unsigned world_stream_number(const struct world *world, const struct stream *stream);
unsigned world_event_number(const struct world *world, const struct event *event);
unsigned world_block_number(const struct world *world, const struct block *block);

// Makes the context of a thing the current one.
void thread_enter(struct thread *thread, unsigned context);

void world_make_stream(struct thread *thread, struct stream *stream);
void world_make_event(struct thread *thread, struct event *event);
void world_make_context(struct thread *thread, unsigned index);
void world_make_pool(struct thread *thread, struct pool *pool);
// Destroys it. Its blocks live on, and are freed as any other.
void world_give_up_pool(struct thread *thread, struct pool *pool);

// A stream that the thread may use, shared; null when the one that was chosen isn't to be had. And
// the handle to call it by: the legacy stream has two; the second function is for calls of the
// library, which must not break a promise.
struct stream *thread_claim_stream(struct thread *thread);
bool thread_claim_this_stream(const struct thread *thread, struct stream *stream);
CUstream thread_handle(struct thread *thread, const struct stream *stream);
CUstream thread_handle_to_pass(struct thread *thread, const struct stream *stream);

#endif
