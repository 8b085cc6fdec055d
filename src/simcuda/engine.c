#include "simcuda/engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/thread.h"
#include "simcuda/common/config.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/stack.h"
#include "simcuda/common/thread.h"
#include "simcuda/context_end.h"
#include "simcuda/kernel/module.h"
#include "simcuda/live.h"
#include "simcuda/memory/address.h"
#include "simcuda/memory/allocation.h"
#include "simcuda/memory/block.h"
#include "simcuda/memory/bytes.h"
#include "simcuda/memory/device.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/memory/peer.h"
#include "simcuda/memory/pinned.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/cost.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/queue.h"
#include "simcuda/queue/schedule.h"
#include "simcuda/queue/stream.h"
#include "simcuda/report/fault.h"
#include "simcuda/report/finding.h"
#include "simcuda/report/report.h"
#include "simcuda/work/event.h"
#include "simcuda/work/host_function.h"
#include "simcuda/work/work.h"

static bool configured;
static bool environment_is_bad;
static bool atfork_is_set;
static _Atomic int api_level = 0;
static uint64_t digest;

static bool is_usable_before_init(enum sim_entry entry) {
    return entry == SIM_ENTRY_cuInit || entry == SIM_ENTRY_cuDriverGetVersion ||
           entry == SIM_ENTRY_cuGetProcAddress || entry == SIM_ENTRY_cuGetProcAddress_v2 ||
           entry == SIM_ENTRY_cuGetExportTable;
}

static CUresult refuse_by_life(enum sim_entry entry) {
    int life = atomic_load_explicit(&sim_life, memory_order_acquire);
    if (life == SIM_GONE)
        return CUDA_ERROR_DEINITIALIZED;
    if (life == SIM_FORKED || (life == SIM_UNUSED && !is_usable_before_init(entry)))
        return CUDA_ERROR_NOT_INITIALIZED;
    return CUDA_SUCCESS;
}

// Refuses a call by what is known without the engine's lock. A call in a forked child has to be
// refused here: the lock may be held by a thread that the child doesn't have.
static CUresult refuse_early(enum sim_entry entry, struct sim_thread **thread) {
    CUresult refused = refuse_by_life(entry);
    if (refused != CUDA_SUCCESS)
        return refused;
    *thread = sim_thread_self();
    (*thread)->entry = (int)entry;
    return (*thread)->in_host_function ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

static CUresult refuse_by_level(enum sim_entry entry) {
    int level = atomic_load_explicit(&api_level, memory_order_relaxed);
    return sim_entries[entry].version > level ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static void end_thread(struct sim_thread *thread) {
    sim_schedule_remove(thread);
    sim_stream_end_thread(thread);
}

static void start(const struct simcudaConfig *config) {
    sim_config = *config;
    sim_chance.state = config->seed;
    sim_now = 0;
    digest = 0xCBF29CE484222325u;
    atomic_store(&api_level, (int)config->api);
    sim_thread_start(end_thread);
    sim_device_start();
    sim_mapping_start();
    sim_context_start();
    sim_stream_start();
}

// Configures the engine from the environment at the first call, unless it has been configured by
// then.
static void configure(void) {
    struct simcudaConfig config;
    if (configured)
        return;
    environment_is_bad = !sim_config_from_environment(&config);
    start(&config);
    configured = true;
}

// Adds what the thread's queries cost to the clock, before a call whose own time is counted.
static void enter(struct sim_thread *thread) {
    sim_now += thread->cost;
    thread->cost = 0;
    thread->entered = sim_now;
}

CUresult sim_call_begin(enum sim_entry entry) {
    struct sim_thread *thread;
    CUresult refused = refuse_early(entry, &thread);
    if (refused != CUDA_SUCCESS) {
        sim_call_count_add(entry);
        return refused;
    }
    sim_lock();
    configure();
    sim_schedule_point(thread);
    enter(thread);
    sim_call_count_add(entry);
    sim_activity++;
    refused = refuse_by_level(entry);
    if (refused == CUDA_SUCCESS && atomic_load_explicit(&sim_fault_armed, memory_order_relaxed))
        refused = sim_fault_check(entry);
    if (refused != CUDA_SUCCESS)
        return sim_call_end(entry, refused);
    sim_now += sim_cost_call(entry);
    sim_work_progress();
    return CUDA_SUCCESS;
}

static void trace(const struct sim_thread *thread, enum sim_entry entry, CUresult result) {
    digest =
        (digest ^ ((uint64_t)thread->ordinal << 32 | (uint64_t)entry << 16 | (uint64_t)result)) *
        0x100000001B3u;
}

CUresult sim_call_end(enum sim_entry entry, CUresult result) {
    struct sim_thread *thread = sim_thread_self();
    thread->spent += sim_now - thread->entered;
    if (thread->registered)
        trace(thread, entry, result);
    sim_unlock();
    return result;
}

CUresult sim_query_begin(enum sim_entry entry) {
    struct sim_thread *thread;
    CUresult refused = refuse_early(entry, &thread);
    if (refused != CUDA_SUCCESS) {
        sim_call_count_add(entry);
        return refused;
    }
    if (thread->registered || atomic_load_explicit(&sim_fault_armed, memory_order_relaxed)) {
        refused = sim_call_begin(entry);
        return refused == CUDA_SUCCESS ? sim_call_end(entry, CUDA_SUCCESS) : refused;
    }
    sim_call_count_add(entry);
    thread->cost += sim_cost_call(entry);
    thread->spent += sim_cost_call(entry);
    return refuse_by_level(entry);
}

static void note_fork(void) {
    if (atomic_load(&sim_life) == SIM_READY)
        atomic_store(&sim_life, SIM_FORKED);
}

static void forget(void) {
    sim_work_reset();
    sim_context_destroy_all();
    sim_context_reset();
    sim_queue_reset();
    sim_event_reset();
    sim_stream_reset();
    sim_capture_reset();
    sim_module_reset();
    sim_peer_reset();
    sim_allocation_reset();
    sim_pinned_reset();
    sim_bytes_reset();
    sim_mapping_reset();
    sim_address_reset();
    sim_device_reset();
    sim_fault_clear();
    sim_call_count_reset();
    sim_block_reset();
    sim_report_clear();
    sim_stack_reset();
    sim_item_reset();
    sim_schedule_reset();
    sim_thread_reset();
}

CUresult sim_engine_start(void) {
    if (environment_is_bad)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_config.devices == 0)
        return CUDA_ERROR_NO_DEVICE;
    if (!atfork_is_set && pthread_atfork(NULL, NULL, note_fork) != 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    if (!atfork_is_set) {
        sim_finding_begin();
        // The first stack loads a library: before another thread loads one that calls the driver.
        sim_stack_here();
        atexit(sim_block_process_ends);
    }
    atfork_is_set = true;
    atomic_store_explicit(&sim_life, SIM_READY, memory_order_release);
    return CUDA_SUCCESS;
}

CUresult sim_engine_reset(const struct simcudaConfig *config) {
    SP_UNCANCELLED;
    struct simcudaConfig fresh;
    if (config)
        fresh = *config;
    else if (!sim_config_from_environment(&fresh))
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_config_problem(&fresh))
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    if (configured) {
        sim_host_function_end();
        forget();
    }
    start(&fresh);
    configured = true;
    environment_is_bad = false;
    sim_unlock();
    return CUDA_SUCCESS;
}

uint64_t sim_trace_digest(void) {
    return digest;
}

// ------------------------------------------------------------------------------- the process's end

static bool leaks_at_exit(void) {
    if (sim_config.onReport == simcudaOnReportKeep || pthread_mutex_trylock(&sim_mutex) != 0)
        return false;
    bool leaks = sim_live_check(SIM_LIVE_OF_PROGRAM) > 0;
    pthread_mutex_unlock(&sim_mutex);
    return leaks;
}

// Another thread may hold the lock for good: one that was cancelled in a call, say.
static uint64_t mistakes_at_exit(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    bool is_locked = pthread_mutex_timedlock(&sim_mutex, &until) == 0;
    if (is_locked) {
        sim_work_touch_pending();
        sim_live_check(SIM_LIVE_OF_PROGRAM);
    }
    uint64_t mistakes = sim_finding_sum_up();
    if (is_locked)
        pthread_mutex_unlock(&sim_mutex);
    return mistakes;
}

// A status that the program chose itself stays. Else the exit() that runs goes on in this one: it
// writes what the program has left to be written, and unlike fflush() waits for no thread that
// reads.
static void end_now(int status, void *ending) {
    if (status == 0)
        exit(*(const int *)ending);
}

// Other libraries' destructors may have something to write, too. A handler that is registered in
// one runs behind them all.
static void end_with(int status) {
    static int ending;
    ending = status;
    if (on_exit(end_now, &ending) != 0)
        end_now(0, &ending);
}

static void end_checked(void) {
    uint64_t mistakes = mistakes_at_exit();
    atomic_store(&sim_life, SIM_GONE);
    if (mistakes > 0)
        end_with(5);
}

// The process ends, or the library is unloaded: memory and streams may be alive, and other threads
// in a call.
static __attribute__((destructor)) void leave(void) {
    if (atomic_load(&sim_life) != SIM_READY)
        return;
    if (sim_checks()) {
        end_checked();
        return;
    }
    bool leaks = leaks_at_exit();
    atomic_store(&sim_life, SIM_GONE);
    if (leaks && sim_config.onReport == simcudaOnReportAbort)
        end_with(86);
}
