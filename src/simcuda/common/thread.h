// struct sim_thread holds what belongs to a host thread: its stack of current contexts, its capture
// mode, its per-thread default streams, and its place in the scheduler. It is made at the thread's
// first call and given back when it ends.
//
// Only the thread itself reads and writes it, except where `scheduler` fields say so, and except
// that a reset leaves it behind: a thread notices by the generation and starts afresh.
#ifndef STREAMPOOL_SIMCUDA_COMMON_THREAD_H
#define STREAMPOOL_SIMCUDA_COMMON_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "driver/abi.h"

#define SIM_CONTEXT_STACK 64

struct sim_context;
struct sim_queue;

struct sim_context_reference {
    struct sim_context *context; // null: none is current
    uint64_t identity;           // of the incarnation that was made current
};

enum sim_run_state { SIM_RUNNABLE, SIM_BLOCKED };

struct sim_thread {
    struct sp_list threads_link; // among all threads; that list has a lock of its own
    uint64_t generation;
    unsigned ordinal; // for reports and the trace: registered threads count from 1 in their order
    pid_t system_id;  // the system's number of it
    int entry;        // the driver call that it made last (entry.h)
    bool in_host_function;
    bool makes_for_library; // see library_entry.h
    CUstreamCaptureMode capture_mode;
    struct sim_context_reference stack[SIM_CONTEXT_STACK];
    size_t depth;
    struct sim_queue **default_streams; // one for each context that it used
    size_t default_stream_count;
    size_t default_stream_capacity;
    uint64_t cost;    // of queries, not yet added to the clock
    uint64_t entered; // the clock when the call began that the thread is in
    uint64_t spent;   // what the clock passed in calls that have returned
    uint64_t host;    // the host's time in them, while the meter ran

    // These are the scheduler's, guarded by the engine's lock.
    bool registered;
    bool sleeps; // blocked until the engine changes
    bool serves; // lets time pass when no other thread can run
    enum sim_run_state state;
    pthread_cond_t turn;
    struct sp_list link;
};

// Returns the state of the calling thread. Needs no lock.
struct sim_thread *sim_thread_self(void);

// Makes the state of a thread that is about to be started, so that it can be registered before it
// runs; the new thread calls sim_thread_adopt with it first of all, before anything asks for its
// own.
struct sim_thread *sim_thread_make(void);
void sim_thread_adopt(struct sim_thread *thread);
// Gives back a state that no thread adopted.
void sim_thread_discard(struct sim_thread *thread);

#define SIM_THREAD_NAME 16

// Gives the name that the program gave to a thread, by its ordinal; false where it gave none. The
// name of one that has ended is kept while the program is checked.
bool sim_thread_name(unsigned ordinal, char name[SIM_THREAD_NAME]);

// Returns whether what the calling thread makes now is the library's (library_entry.h). Needs no
// lock.
bool sim_is_for_library(void);

// Names the function that gives back what a thread has in other modules, when it ends.
void sim_thread_start(void (*end)(struct sim_thread *thread));
// Voids the state of every thread.
void sim_thread_reset(void);

#endif
