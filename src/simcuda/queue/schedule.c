#include "simcuda/queue/schedule.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "simcuda/common/shared.h"
#include "simcuda/report/report.h"

// A thread that finds a lock held while no other registered thread can run waits for one that is
// not registered; this many tries without success are a deadlock. It sleeps between the tries.
#define LOCK_TRIES 20000

uint64_t sim_pending_host_functions;

static struct sp_list threads = {&threads, &threads};
static struct sim_thread *running;
static unsigned idle_tries;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static unsigned sleepers; // that are not registered

static struct sim_thread *thread_of(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sim_thread, link);
}

static uint64_t count_runnable(const struct sim_thread *except) {
    uint64_t count = 0;
    SP_LIST_FOR_EACH(link, &threads)
        count += thread_of(link)->state == SIM_RUNNABLE && thread_of(link) != except;
    return count;
}

// A runnable thread by a seeded choice, not counting `except`; null when there is none.
static struct sim_thread *choose(const struct sim_thread *except) {
    uint64_t count = count_runnable(except);
    if (count == 0)
        return NULL;
    uint64_t index = sim_random_below(&sim_chance, count);
    SP_LIST_FOR_EACH(link, &threads) {
        struct sim_thread *thread = thread_of(link);
        if (thread->state == SIM_RUNNABLE && thread != except && index-- == 0)
            return thread;
    }
    return NULL;
}

static void give_turn(struct sim_thread *thread) {
    running = thread;
    if (thread)
        pthread_cond_signal(&thread->turn);
}

static void await_turn(struct sim_thread *thread) {
    while (running != thread)
        pthread_cond_wait(&thread->turn, &sim_mutex);
}

void sim_schedule_add(struct sim_thread *thread) {
    thread->registered = true;
    thread->sleeps = false;
    thread->state = SIM_RUNNABLE;
    sp_list_push_back(&threads, &thread->link);
}

void sim_schedule_enter(struct sim_thread *thread) {
    if (!running)
        give_turn(choose(NULL));
    await_turn(thread);
}

void sim_schedule_remove(struct sim_thread *thread) {
    if (!thread->registered)
        return;
    thread->registered = false;
    sp_list_remove(&thread->link);
    if (running == thread)
        give_turn(choose(NULL));
}

// A thread that is left where it stands for long lets the others do much in between.
static bool goes_on(void) {
    return sim_config.burst > 1 && sim_random_below(&sim_chance, sim_config.burst) != 0;
}

void sim_schedule_point(struct sim_thread *thread) {
    if (!thread->registered || goes_on())
        return;
    struct sim_thread *next = choose(NULL);
    if (next == thread)
        return;
    give_turn(next);
    await_turn(thread);
}

bool sim_schedule_away(struct sim_thread *thread) {
    if (!thread->registered)
        return false;
    struct sim_thread *next = choose(thread);
    if (!next)
        return false;
    give_turn(next);
    await_turn(thread);
    return true;
}

void sim_schedule_lock_is_held(struct sim_thread *thread) {
    if (sim_schedule_away(thread)) {
        idle_tries = 0;
        return;
    }
    if (++idle_tries < LOCK_TRIES)
        return;
    sim_report(simcudaReport_deadlock, "no other registered thread can run, and a lock stays held");
    abort();
}

// When nothing else can run, the thread of the host functions can let time pass.
static struct sim_thread *choose_server(const struct sim_thread *except) {
    SP_LIST_FOR_EACH(link, &threads) {
        struct sim_thread *thread = thread_of(link);
        if (!thread->serves || thread == except || sim_pending_host_functions == 0)
            continue;
        thread->state = SIM_RUNNABLE;
        thread->sleeps = false;
        return thread;
    }
    return NULL;
}

void sim_schedule_leave(struct sim_thread *thread) {
    thread->state = SIM_BLOCKED;
    if (running != thread)
        return;
    struct sim_thread *next = choose(NULL);
    give_turn(next ? next : choose_server(thread));
}

bool sim_schedule_is_alone(const struct sim_thread *thread) {
    return count_runnable(thread) == 0;
}

void sim_schedule_unblock(struct sim_thread *thread) {
    thread->state = SIM_RUNNABLE;
    thread->sleeps = false;
    if (!running)
        give_turn(thread);
}

void sim_schedule_block(struct sim_thread *thread) {
    sim_schedule_leave(thread);
    await_turn(thread);
}

void sim_sleep(void) {
    struct sim_thread *thread = sim_thread_self();
    if (thread->registered) {
        thread->sleeps = true;
        sim_schedule_block(thread);
        return;
    }
    sleepers++;
    pthread_cond_wait(&change, &sim_mutex);
    sleepers--;
}

void sim_sleep_for(unsigned milliseconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    sleepers++;
    pthread_cond_timedwait(&change, &sim_mutex, &until);
    sleepers--;
}

void sim_changed(void) {
    SP_LIST_FOR_EACH(link, &threads) {
        if (thread_of(link)->sleeps)
            sim_schedule_unblock(thread_of(link));
    }
    if (sleepers > 0)
        pthread_cond_broadcast(&change);
}

void sim_schedule_reset(void) {
    SP_LIST_FOR_EACH_SAFE(link, &threads) {
        thread_of(link)->registered = false;
        sp_list_remove(link);
    }
    running = NULL;
    idle_tries = 0;
}
