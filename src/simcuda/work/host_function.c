#include "simcuda/work/host_function.h"

#include <pthread.h>

#include "base/thread.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"
#include "simcuda/entry/abi.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/queue/schedule.h"
#include "simcuda/work/work.h"

#define IDLE_MILLISECONDS 20

static pthread_t thread;
static bool has_thread;
static bool must_end;
static uint64_t last_activity;

static void call(const struct sim_job *job, CUresult status) {
    if (job->is_callback)
        ((CUstreamCallback)(void (*)(void))job->host_function)(job->stream, status, job->user_data);
    else
        job->host_function(job->user_data);
}

static void run(struct sim_item *item) {
    struct sim_thread *self = sim_thread_self();
    CUresult status = sim_context_error(item->queue->context);
    self->in_host_function = true;
    sim_unlock();
    call(&item->job, status);
    sim_lock();
    self->in_host_function = false;
    sim_work_host_function_done(item);
}

// Time does not pass under latest: only a waiter moves work there.
static bool step(void) {
    return sim_pending_host_functions > 0 && sim_config.completion != simcudaCompletionLatest &&
           sim_work_step();
}

static void await_work_scheduled(const struct sim_thread *self) {
    if (!sim_schedule_is_alone(self) || !step())
        sim_sleep();
}

// The host has made no call since the last look, and waits for a host function perhaps.
static void await_work_free(void) {
    if (sim_pending_host_functions == 0) {
        sim_sleep();
        return;
    }
    sim_sleep_for(IDLE_MILLISECONDS);
    bool was_idle = last_activity == sim_activity;
    last_activity = sim_activity;
    if (was_idle)
        step();
}

static void *serve(void *argument) {
    struct sim_thread *self = argument;
    sim_thread_adopt(self);
    sim_lock();
    if (self->registered)
        sim_schedule_enter(self);
    while (!must_end) {
        struct sim_item *item = sim_work_take_host_function();
        if (item)
            run(item);
        else if (self->registered)
            await_work_scheduled(self);
        else
            await_work_free();
    }
    sim_schedule_remove(self);
    sim_unlock();
    return NULL;
}

CUresult sim_host_function_prepare(void) {
    if (has_thread) {
        sim_changed();
        return CUDA_SUCCESS;
    }
    struct sim_thread *self = sim_thread_make();
    self->serves = true;
    must_end = false;
    if (!sp_thread_start(&thread, serve, self)) {
        sim_thread_discard(self);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    has_thread = true;
    if (sim_config.mode == simcudaModeScheduled)
        sim_schedule_add(self);
    return CUDA_SUCCESS;
}

void sim_host_function_end(void) {
    if (!has_thread)
        return;
    must_end = true;
    sim_changed();
    sim_unlock();
    pthread_join(thread, NULL);
    sim_lock();
    has_thread = false;
}
