#include "simcuda/thread.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "simcuda/engine.h"
#include "simcuda/host.h"
#include "simcuda/queue.h"
#include "simcuda/schedule.h"

static _Thread_local struct sim_thread *self;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t current_generation = 1;
static _Atomic unsigned last_ordinal;

// The work that the thread left in its default streams still completes.
static void give_back(void *argument) {
    struct sim_thread *thread = argument;
    if (atomic_load_explicit(&sim_life, memory_order_relaxed) == SIM_READY) {
        sim_lock();
        bool is_current =
            thread->generation == atomic_load_explicit(&current_generation, memory_order_relaxed);
        if (is_current)
            sim_schedule_remove(thread);
        for (size_t i = 0; is_current && i < thread->default_stream_count; i++)
            sim_queue_retire(thread->default_streams[i]);
        sim_unlock();
    }
    pthread_cond_destroy(&thread->turn);
    sim_free(thread->default_streams);
    sim_free(thread);
    self = NULL;
}

static void make_exit_key(void) {
    if (pthread_key_create(&exit_key, give_back) != 0)
        abort();
}

static struct sim_thread *begin(struct sim_thread *thread, uint64_t generation) {
    sim_free(thread->default_streams);
    *thread = (struct sim_thread){
        .generation = generation,
        .ordinal = 1 + atomic_fetch_add_explicit(&last_ordinal, 1, memory_order_relaxed),
        .turn = PTHREAD_COND_INITIALIZER,
    };
    sp_list_init(&thread->link);
    return thread;
}

struct sim_thread *sim_thread_make(void) {
    struct sim_thread *thread = sim_allocate(sizeof(*thread));
    return begin(thread, atomic_load_explicit(&current_generation, memory_order_relaxed));
}

void sim_thread_adopt(struct sim_thread *thread) {
    pthread_once(&exit_once, make_exit_key);
    self = thread;
    pthread_setspecific(exit_key, thread);
}

void sim_thread_discard(struct sim_thread *thread) {
    pthread_cond_destroy(&thread->turn);
    sim_free(thread);
}

struct sim_thread *sim_thread_self(void) {
    if (!self)
        sim_thread_adopt(sim_thread_make());
    uint64_t generation = atomic_load_explicit(&current_generation, memory_order_relaxed);
    return self->generation == generation ? self : begin(self, generation);
}

void sim_thread_reset(void) {
    atomic_fetch_add_explicit(&current_generation, 1, memory_order_relaxed);
    atomic_store_explicit(&last_ordinal, 0, memory_order_relaxed);
}
