// The functions of streampool/simcuda.h: each takes the engine's lock, calls the engine, and gives
// it back.
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <streampool/simcuda.h>
#include <string.h>

#include "base/thread.h"
#include "simcuda/common/host.h"
#include "simcuda/common/meter.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"
#include "simcuda/engine.h"
#include "simcuda/kernel/registered.h"
#include "simcuda/kernel/unregistered.h"
#include "simcuda/live.h"
#include "simcuda/memory/block.h"
#include "simcuda/memory/bytes.h"
#include "simcuda/memory/device.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/queue/schedule.h"
#include "simcuda/queue/stream.h"
#include "simcuda/report/fault.h"
#include "simcuda/report/report.h"
#include "simcuda/work/launch.h"
#include "simcuda/work/question.h"
#include "simcuda/work/work.h"

int simcudaReset(const simcudaConfig *config) {
    return (int)sim_engine_reset(config);
}

void simcudaGetConfig(simcudaConfig *config) {
    sim_lock();
    *config = sim_config;
    sim_unlock();
}

// --------------------------------------------------------------------------- failures and counters

int simcudaFailCall(const char *entry, uint64_t n, simcudaFaultSpan span, int error) {
    enum sim_entry found = entry ? sim_entry_find(entry, INT_MAX) : SIM_ENTRY_COUNT;
    if ((entry && found == SIM_ENTRY_COUNT) || n == 0 || error == CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE;
    sim_lock();
    bool has_room = sim_fault_set(found, n, span, (CUresult)error);
    sim_unlock();
    return has_room ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void simcudaFailClear(void) {
    sim_lock();
    sim_fault_clear();
    sim_unlock();
}

uint64_t simcudaFailCount(void) {
    sim_lock();
    uint64_t count = sim_fault_count();
    sim_unlock();
    return count;
}

int simcudaContextFail(CUcontext handle, int error) {
    sim_lock();
    struct sim_context *context = sim_context_find(handle);
    if (context)
        sim_context_fail(context, (CUresult)error);
    sim_unlock();
    return context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

uint64_t simcudaCallCount(const char *entry) {
    return sim_call_count(entry);
}

void simcudaCallCountReset(void) {
    sim_call_count_reset();
}

uint64_t simcudaTraceDigest(void) {
    sim_lock();
    uint64_t digest = sim_trace_digest();
    sim_unlock();
    return digest;
}

// ----------------------------------------------------------------------------------------- reports

uint64_t simcudaReportCount(const char *kind) {
    sim_lock();
    uint64_t count = sim_report_count(kind);
    sim_unlock();
    return count;
}

const char *simcudaReportName(uint64_t index) {
    sim_lock();
    const char *name = sim_report_name(index);
    sim_unlock();
    return name;
}

const char *simcudaReportText(uint64_t index) {
    sim_lock();
    const char *text = sim_report_text(index);
    sim_unlock();
    return text;
}

void simcudaReportClear(void) {
    sim_lock();
    sim_report_clear();
    sim_unlock();
}

void simcudaGetLive(simcudaLive *live) {
    sim_lock();
    sim_live_count(live);
    sim_unlock();
}

uint64_t simcudaLeakCheck(void) {
    sim_lock();
    uint64_t count = sim_live_check(SIM_LIVE_ALL);
    sim_unlock();
    return count;
}

static uint64_t count_at(int device, uint64_t (*count)(int place)) {
    if (device == -1)
        return count(SIM_HOST);
    return sim_device_exists(device) ? count(device) : 0;
}

uint64_t simcudaMemoryInUse(int device) {
    sim_lock();
    uint64_t bytes = count_at(device, sim_device_created);
    sim_unlock();
    return bytes;
}

uint64_t simcudaMemoryPeak(int device) {
    sim_lock();
    uint64_t bytes = count_at(device, sim_device_peak);
    sim_unlock();
    return bytes;
}

void simcudaMemoryPeakReset(void) {
    sim_lock();
    sim_device_peak_reset();
    sim_unlock();
}

int simcudaPeek(void *to, uint64_t address, size_t size) {
    sim_lock();
    bool is_mapped = sim_bytes_read(address, to, size);
    sim_unlock();
    return is_mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

int simcudaPoke(uint64_t address, const void *from, size_t size) {
    sim_lock();
    bool is_mapped = sim_bytes_write(address, from, size);
    sim_work_look_at_flags();
    sim_unlock();
    return is_mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void simcudaHostAccess(const void *address, size_t size, simcudaAccessKind kind) {
    sim_lock();
    sim_bytes_touch_by_host((uintptr_t)address, size, kind);
    sim_unlock();
}

// ------------------------------------------------------------------------------------------ blocks

int simcudaIsChecking(void) {
    sim_lock();
    bool checks = sim_checks();
    sim_unlock();
    return checks;
}

// Nothing is known of the order of a stream that does not exist, or whose context isn't current: a
// free there is taken to be the host's, and to be behind everything.
static struct sim_block_order order_of(struct sim_queue *queue, const char *call) {
    return queue ? sim_work_free_order(queue, call)
                 : (struct sim_block_order){
                       .clock = sim_host_clock, .who = sim_who_calls(), .call = call};
}

void simcudaBlockBegin(uint64_t address, uint64_t size) {
    sim_lock();
    if (sim_checks() && size > 0)
        sim_block_begin(address, size, NULL, sim_who_calls());
    sim_unlock();
}

void simcudaBlockBehind(uint64_t address, CUstream stream) {
    sim_lock();
    struct sim_queue *queue = sim_checks() ? sim_stream_look(stream) : NULL;
    if (queue) {
        const struct sim_block_order order = order_of(queue, "");
        sim_block_behind(address, &order);
    }
    sim_unlock();
}

static void end_block(uint64_t address, struct sim_queue *queue, const char *call) {
    const struct sim_block_order order = order_of(queue, call);
    if (sim_block_begins_at(address))
        sim_block_end(address, &order);
    else if (sim_block_is_of_allocator(address)) // others' frees come to the driver itself
        sim_block_report_bad_free(call, address);
}

void simcudaBlockEnd(uint64_t address, CUstream stream) {
    sim_lock();
    if (sim_checks())
        end_block(address, sim_stream_look(stream), "a free");
    sim_unlock();
}

void simcudaBlockEndAtOnce(uint64_t address) {
    sim_lock();
    if (sim_checks())
        end_block(address, NULL, "a free");
    sim_unlock();
}

// ----------------------------------------------------------------------------------- work and time

static uint64_t count_of(CUstream stream) {
    struct sim_queue *queue;
    return sim_stream_queue(stream, &queue) == CUDA_SUCCESS ? queue->count : 0;
}

int simcudaEnqueue(CUstream stream, const simcudaWork *work) {
    struct sim_job job = {.duration = work->duration};
    sim_lock();
    sim_job_name(&job, work->name);
    for (size_t i = 0; i < work->count; i++)
        sim_job_touches(&job, work->accesses[i].address, work->accesses[i].size,
                        work->accesses[i].kind);
    CUresult result = sim_launch(stream, "simcudaEnqueue", &job);
    sim_unlock();
    return (int)result;
}

uint64_t simcudaPending(CUstream stream) {
    sim_lock();
    uint64_t count = count_of(stream);
    sim_unlock();
    return count;
}

uint64_t simcudaPendingAll(void) {
    sim_lock();
    uint64_t count = sim_work_pending();
    sim_unlock();
    return count;
}

int simcudaComplete(CUstream stream, uint64_t n) {
    struct sim_queue *queue;
    sim_lock();
    CUresult result = sim_stream_queue(stream, &queue);
    if (result == CUDA_SUCCESS)
        sim_work_finish_first(queue, n);
    sim_unlock();
    return (int)result;
}

void simcudaCompleteAll(void) {
    sim_lock();
    sim_question_finish_all();
    sim_unlock();
}

uint64_t simcudaQueueFullCount(void) {
    sim_lock();
    uint64_t count = sim_work_full_count();
    sim_unlock();
    return count;
}

uint64_t simcudaNow(void) {
    struct sim_thread *thread = sim_thread_self();
    if (sim_in_kernel)
        return sim_now;
    sim_lock();
    sim_now += thread->cost;
    thread->cost = 0;
    uint64_t now = sim_now;
    sim_unlock();
    return now;
}

void simcudaMeterHost(int on) {
    sim_meter_run(on != 0);
}

void simcudaThreadCost(simcudaCost *cost) {
    const struct sim_thread *thread = sim_thread_self();
    *cost = (simcudaCost){.modelled = thread->spent, .host = thread->host};
}

void simcudaAdvance(uint64_t nanoseconds) {
    sim_lock();
    sim_now += nanoseconds;
    sim_work_progress();
    sim_unlock();
}

// ----------------------------------------------------------------------------------------- kernels

int simcudaRegisterKernel(const char *name, simcudaKernelFunction function,
                          simcudaTouchesFunction touches, const simcudaKernelOptions *options) {
    sim_lock();
    CUresult result = sim_registered_set(name, function, touches, options);
    sim_unlock();
    return (int)result;
}

int simcudaUnregisterKernel(const char *name) {
    sim_lock();
    CUresult result = sim_registered_remove(name);
    sim_unlock();
    return (int)result;
}

const char *simcudaUnregisteredKernel(uint64_t index) {
    sim_lock();
    const char *name = sim_unregistered_name(index);
    sim_unlock();
    return name;
}

// Those below are called by functions of kernels, so the lock is held.

void simcudaTouch(simcudaTouches *touches, uint64_t address, uint64_t size,
                  simcudaAccessKind kind) {
    sim_registered_touch(touches, address, size, kind);
}

void simcudaTake(simcudaTouches *touches, uint64_t nanoseconds) {
    sim_registered_take(touches, nanoseconds);
}

int simcudaRead(const simcudaLaunch *launch, void *to, uint64_t address, size_t size) {
    return (int)sim_registered_read(launch, to, address, size);
}

int simcudaWrite(const simcudaLaunch *launch, uint64_t address, const void *from, size_t size) {
    return (int)sim_registered_write(launch, address, from, size);
}

// ---------------------------------------------------------------------------------- scheduled mode

struct started_thread {
    pthread_t thread;
    struct sim_thread *self;
    simcudaThreadFunction function;
    void *argument;
};

static void *run_thread(void *argument) {
    const struct started_thread *start = argument;
    sim_thread_adopt(start->self);
    if (start->self->registered) {
        sim_lock();
        sim_schedule_enter(start->self);
        sim_unlock();
    }
    start->function(start->argument);
    simcudaThreadUnregister();
    return NULL;
}

static void prepare_threads(struct started_thread *threads, simcudaThreadFunction function,
                            void *const *arguments, size_t count) {
    for (size_t i = 0; i < count; i++) {
        threads[i].function = function;
        threads[i].argument = arguments ? arguments[i] : NULL;
        threads[i].self = sim_thread_make();
    }
}

// All of them are registered before one of them can run: the lock is held until then.
static size_t start_threads(struct started_thread *threads, size_t count) {
    size_t started = 0;
    sim_lock();
    while (started < count) {
        struct started_thread *thread = &threads[started];
        if (sim_config.mode == simcudaModeScheduled)
            sim_schedule_add(thread->self);
        if (pthread_create(&thread->thread, NULL, run_thread, thread) != 0)
            break;
        started++;
    }
    for (size_t i = started; i < count; i++) {
        sim_schedule_remove(threads[i].self);
        sim_thread_discard(threads[i].self);
    }
    sim_unlock();
    return started;
}

int simcudaRunThreads(simcudaThreadFunction function, void *const *arguments, size_t count) {
    SP_UNCANCELLED;
    struct started_thread *threads = sim_allocate(count * sizeof(*threads));
    prepare_threads(threads, function, arguments, count);
    size_t started = start_threads(threads, count);
    simcudaThreadBlock();
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i].thread, NULL);
    simcudaThreadUnblock();
    sim_free(threads);
    return started == count ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

int simcudaIsScheduled(void) {
    sim_lock();
    bool scheduled = sim_config.mode == simcudaModeScheduled;
    sim_unlock();
    return scheduled;
}

void simcudaThreadRegister(void) {
    struct sim_thread *thread = sim_thread_self();
    sim_lock();
    if (sim_config.mode == simcudaModeScheduled && !thread->registered) {
        sim_schedule_add(thread);
        sim_schedule_enter(thread);
    }
    sim_unlock();
}

void simcudaThreadUnregister(void) {
    sim_lock();
    sim_schedule_remove(sim_thread_self());
    sim_unlock();
}

void simcudaThreadBlock(void) {
    struct sim_thread *thread = sim_thread_self();
    sim_lock();
    if (thread->registered)
        sim_schedule_leave(thread);
    sim_unlock();
}

void simcudaThreadUnblock(void) {
    struct sim_thread *thread = sim_thread_self();
    sim_lock();
    if (thread->registered) {
        sim_schedule_unblock(thread);
        sim_schedule_enter(thread);
    }
    sim_unlock();
}

void simcudaYield(void) {
    simcudaLockEvent(0);
}

void simcudaLockEvent(int contended) {
    struct sim_thread *thread = sim_thread_self();
    if (!thread->registered) {
        if (contended)
            sched_yield();
        return;
    }
    sim_lock();
    if (contended)
        sim_schedule_lock_is_held(thread);
    else
        sim_schedule_point(thread);
    sim_unlock();
}
