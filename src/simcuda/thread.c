#include "simcuda/thread.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "simcuda/host.h"
#include "simcuda/shared.h"

static _Thread_local struct sim_thread *self;
static pthread_key_t exit_key;
static pthread_once_t exit_once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t current_generation = 1;
static _Atomic unsigned last_ordinal;
static void (*end)(struct sim_thread *thread);

// Every thread's state can be found from here, so that a leak checker sees the one of a thread that
// never ends.
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sp_list threads = {&threads, &threads};

static void destroy(struct sim_thread *thread) {
    pthread_mutex_lock(&threads_lock);
    sp_list_remove(&thread->threads_link);
    pthread_mutex_unlock(&threads_lock);
    pthread_cond_destroy(&thread->turn);
    sim_free(thread->default_streams);
    sim_free(thread);
}

static void give_back(void *argument) {
    struct sim_thread *thread = argument;
    if (atomic_load_explicit(&sim_life, memory_order_relaxed) == SIM_READY) {
        sim_lock();
        if (thread->generation == atomic_load_explicit(&current_generation, memory_order_relaxed))
            end(thread);
        sim_unlock();
    }
    destroy(thread);
    self = NULL;
}

static void make_exit_key(void) {
    if (pthread_key_create(&exit_key, give_back) != 0)
        abort();
}

// Makes a thread's state anew, at the same place in the list of all threads.
static struct sim_thread *begin(struct sim_thread *thread, uint64_t generation) {
    sim_free(thread->default_streams);
    pthread_mutex_lock(&threads_lock);
    *thread = (struct sim_thread){
        .threads_link = thread->threads_link,
        .generation = generation,
        .ordinal = 1 + atomic_fetch_add_explicit(&last_ordinal, 1, memory_order_relaxed),
        .turn = PTHREAD_COND_INITIALIZER,
    };
    pthread_mutex_unlock(&threads_lock);
    sp_list_init(&thread->link);
    return thread;
}

struct sim_thread *sim_thread_make(void) {
    struct sim_thread *thread = sim_allocate(sizeof(*thread));
    pthread_mutex_lock(&threads_lock);
    sp_list_push_back(&threads, &thread->threads_link);
    pthread_mutex_unlock(&threads_lock);
    return begin(thread, atomic_load_explicit(&current_generation, memory_order_relaxed));
}

void sim_thread_adopt(struct sim_thread *thread) {
    pthread_once(&exit_once, make_exit_key);
    self = thread;
    pthread_setspecific(exit_key, thread);
}

void sim_thread_discard(struct sim_thread *thread) {
    destroy(thread);
}

struct sim_thread *sim_thread_self(void) {
    if (!self)
        sim_thread_adopt(sim_thread_make());
    uint64_t generation = atomic_load_explicit(&current_generation, memory_order_relaxed);
    return self->generation == generation ? self : begin(self, generation);
}

bool sim_is_for_library(void) {
    return sim_thread_self()->makes_for_library;
}

void sim_thread_start(void (*end_of_thread)(struct sim_thread *thread)) {
    end = end_of_thread;
}

void sim_thread_reset(void) {
    atomic_fetch_add_explicit(&current_generation, 1, memory_order_relaxed);
    atomic_store_explicit(&last_ordinal, 0, memory_order_relaxed);
}
