#include "simcuda/common/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"

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

// The names of threads that have ended, while the program is checked. The lock above guards them.
static struct ended {
    unsigned ordinal;
    char name[SIM_THREAD_NAME];
} * ended;
static size_t ended_count;
static size_t ended_capacity;

static void destroy(struct sim_thread *thread) {
    pthread_mutex_lock(&threads_lock);
    sp_list_remove(&thread->threads_link);
    pthread_mutex_unlock(&threads_lock);
    pthread_cond_destroy(&thread->turn);
    sim_free(thread->default_streams);
    sim_free(thread);
}

// ------------------------------------------------------------------------------------------- names

static bool read_name(pid_t system_id, char name[SIM_THREAD_NAME]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)system_id);
    FILE *file = fopen(path, "re");
    bool is_read = file && fgets(name, SIM_THREAD_NAME, file);
    if (file)
        fclose(file);
    if (is_read)
        name[strcspn(name, "\n")] = '\0';
    return is_read;
}

// The first thread has the program's name, and one that nobody has named has that too.
static bool is_given(const char *name) {
    char first[SIM_THREAD_NAME];
    return *name && strncmp(name, program_invocation_short_name, SIM_THREAD_NAME - 1) != 0 &&
           !(read_name(getpid(), first) && strcmp(name, first) == 0);
}

// Needs the lock: another thread may configure the driver anew.
static void keep_name(const struct sim_thread *thread) {
    struct ended kept = {.ordinal = thread->ordinal};
    if (!sim_checks() || prctl(PR_GET_NAME, kept.name) != 0 || !is_given(kept.name))
        return;
    pthread_mutex_lock(&threads_lock);
    SIM_RESERVE_ONE(ended, ended_count, ended_capacity);
    ended[ended_count++] = kept;
    pthread_mutex_unlock(&threads_lock);
}

static pid_t find_live(unsigned ordinal) {
    SP_LIST_FOR_EACH(link, &threads) {
        const struct sim_thread *thread = SP_CONTAINER_OF(link, struct sim_thread, threads_link);
        if (thread->ordinal == ordinal && thread->system_id != 0)
            return thread->system_id;
    }
    return 0;
}

bool sim_thread_name(unsigned ordinal, char name[SIM_THREAD_NAME]) {
    bool is_found = false;
    pthread_mutex_lock(&threads_lock);
    pid_t system_id = find_live(ordinal);
    for (size_t i = 0; system_id == 0 && !is_found && i < ended_count; i++) {
        is_found = ended[i].ordinal == ordinal;
        memcpy(name, ended[i].name, SIM_THREAD_NAME);
    }
    if (system_id != 0)
        is_found = read_name(system_id, name) && is_given(name);
    pthread_mutex_unlock(&threads_lock);
    return is_found;
}

// ------------------------------------------------------------------------------- beginning and end

static void give_back(void *argument) {
    struct sim_thread *thread = argument;
    int life = atomic_load_explicit(&sim_life, memory_order_relaxed);
    if (life == SIM_FORKED)
        return; // a thread that the child doesn't have may hold the locks
    if (life == SIM_READY) {
        sim_lock();
        if (thread->generation == atomic_load_explicit(&current_generation, memory_order_relaxed)) {
            keep_name(thread);
            end(thread);
        }
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
        .system_id = thread->system_id,
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
    pthread_mutex_lock(&threads_lock);
    thread->system_id = (pid_t)syscall(SYS_gettid);
    pthread_mutex_unlock(&threads_lock);
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
    pthread_mutex_lock(&threads_lock);
    sim_free(ended);
    ended = NULL;
    ended_count = ended_capacity = 0;
    pthread_mutex_unlock(&threads_lock);
}
