#include "simcuda/host_function.h"

#include <pthread.h>

#include "simcuda/engine.h"
#include "simcuda/schedule.h"
#include "simcuda/thread.h"
#include "simcuda/work.h"

#define IDLE_MILLISECONDS 20

static bool has_thread;
static bool is_running;
static bool joins_scheduler; // the thread is to register with a scheduler that was reset
static struct sp_list started = {&started, &started};
static uint64_t last_activity;

static void run(struct sim_item *item) {
    struct sim_thread *self = sim_thread_self();
    CUhostFn function = item->job.host_function;
    void *user_data = item->job.user_data;
    is_running = true;
    self->in_host_function = true;
    sim_unlock();
    function(user_data);
    sim_lock();
    self->in_host_function = false;
    is_running = false;
    sim_work_host_function_done(item);
}

// The host has made no call since the last look, and waits for a host function perhaps: time passes.
static void pass_time(void) {
    bool was_idle = last_activity == sim_activity();
    last_activity = sim_activity();
    if (was_idle && sim_config.completion != simcudaCompletionLatest)
        sim_work_step();
}

static void await_work(struct sim_thread *self) {
    if (self->registered)
        sim_sleep();
    else if (sim_work_pending_host_functions() == 0 || sim_config.mode == simcudaModeScheduled)
        sim_sleep();
    else {
        sim_sleep_for(IDLE_MILLISECONDS);
        pass_time();
    }
}

static void enter_scheduler(void) {
    struct sim_thread *self = sim_thread_self();
    if (!joins_scheduler)
        return;
    joins_scheduler = false;
    if (sim_config.mode != simcudaModeScheduled)
        return;
    sim_schedule_add(self);
    sim_schedule_enter(self);
}

static void *serve(void *argument) {
    (void)argument;
    sim_lock();
    for (;;) {
        enter_scheduler();
        struct sp_list *link = sp_list_pop_front(&started);
        if (link)
            run(SP_CONTAINER_OF(link, struct sim_item, link));
        else
            await_work(sim_thread_self());
    }
    return NULL;
}

static CUresult start_thread(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    has_thread = pthread_create(&thread, &attributes, serve, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return has_thread ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}
