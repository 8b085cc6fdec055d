#include "pool/reaper.h"

#include "order/end.h"
#include "pool/bury.h"
#include "pool/loan.h"
#include "pool/runtime.h"

#include "base/condition.h"
#include "base/thread.h"
#include "base/time.h"

#include <stdlib.h>

// After a round that came to nothing, in nanoseconds; each time twice as long.
#define PAUSE_MIN (SP_SECOND / 1024)
#define PAUSE_MAX SP_SECOND

// So long with nothing to do, and the thread ends: a process whose own threads have all ended must
// not live on for this one.
#define IDLE_MAX SP_SECOND

// What a process that ends waits for the reaper's last driver call at most.
#define PATIENCE_AT_EXIT_S 2

// What a visit of a pool, or a round, came to. The last of these that one visit came to is what the
// round did.
enum outcome {
    IDLE,    // nothing is left to do
    PENDING, // for zombies whose work isn't known to have completed
    REFUSED, // by the driver
    BUSY,    // others map, and have had no pause yet
    PROGRESS
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed; // `called` or `ending` was set; by the monotonic clock
    pthread_cond_t rested;
    bool ready; // `changed` is made, and the handler at exit registered
    bool started;
    bool ending;
    bool called; // there is something new since the round began
    bool resting;
    struct sp_pool *visited; // just now, or null
    enum outcome outcome;    // of the last round
    uint64_t news;           // when it began
    pthread_t thread;
    struct sp_list pools; // the queue
} reaper = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .rested = PTHREAD_COND_INITIALIZER,
    .pools = {&reaper.pools, &reaper.pools},
};

// ----------------------------------------------------------------------------------------- a visit

static enum outcome bury_one(struct sp_pool *pool) {
    bool buried;
    CUresult error = sp_bury_one(pool, &buried);
    if (buried)
        return PROGRESS;
    if (error != CUDA_SUCCESS)
        return REFUSED;
    if (!sp_loan_has_zombies(pool))
        return IDLE;
    return sp_end_gone_contexts(NULL) ? PROGRESS : PENDING;
}

// A trim that is asked for meanwhile is not lost: it is due again then.
static enum outcome release_one(struct sp_pool *pool) {
    uint64_t released;
    if (!atomic_exchange(&pool->trim_due, false))
        return IDLE;
    bool synchronized = atomic_exchange(&pool->synchronized, false);
    CUresult error = sp_pool_trim_extent(pool, synchronized, &released);
    if (released == 0 && error == CUDA_SUCCESS)
        return IDLE;
    atomic_store(&pool->trim_due, true);
    sp_pool_add(pool, SP_STATISTIC_BytesReleasedByReaper, released);
    return released > 0 ? PROGRESS : REFUSED;
}

// It makes way for others that map, but after a pause it takes its turn: zombies must not pile up.
static bool begin_work(struct sp_pool *pool) {
    if (reaper.outcome == BUSY) {
        sp_lock_acquire(&pool->map_lock);
        return true;
    }
    return sp_load_relaxed(&pool->mappers) == 0 && sp_lock_try(&pool->map_lock);
}

static enum outcome work_on(struct sp_pool *pool) {
    if (!begin_work(pool))
        return BUSY;
    uint64_t begin = sp_time_now();
    enum outcome buried = bury_one(pool);
    enum outcome released = buried == PROGRESS ? IDLE : release_one(pool);
    enum outcome most = buried > released ? buried : released;
    if (most == PROGRESS)
        sp_pool_add(pool, SP_STATISTIC_ReaperTime, sp_time_now() - begin);
    sp_lock_release(&pool->map_lock);
    return most;
}

// A pool that was given up is seen to by its end; and one that comes late in its struct, if it has
// anything to do.
static enum outcome visit(struct sp_pool *pool) {
    poolMemPool_t handle = sp_load_acquire(&pool->handle);
    if (!sp_pool_pin(pool, handle))
        return IDLE;
    enum outcome outcome = IDLE;
    if (sp_reaper_serves(pool))
        outcome = work_on(pool);
    else
        atomic_store(&pool->trim_due, false); // the next synchronise sees to it
    sp_pool_unpin(pool);
    return outcome;
}

// ----------------------------------------------------------------------------------------- a round

static size_t count_pools(void) {
    size_t count = 0;
    SP_LIST_FOR_EACH(link, &reaper.pools)
        count++;
    return count;
}

// Visits the pools that are in the queue, and leaves in it those that have more to do. A pool that
// is called for during its visit is in it already.
static enum outcome round_locked(void) {
    enum outcome most = IDLE;
    for (size_t left = count_pools(); left > 0 && !reaper.ending; left--) {
        struct sp_list *link = sp_list_pop_front(&reaper.pools);
        reaper.visited = SP_CONTAINER_OF(link, struct sp_pool, reaper_link);
        pthread_mutex_unlock(&reaper.lock);
        enum outcome outcome = visit(reaper.visited);
        pthread_mutex_lock(&reaper.lock);
        reaper.visited = NULL;
        pthread_cond_broadcast(&reaper.rested);
        if (outcome != IDLE && sp_list_empty(link))
            sp_list_push_back(&reaper.pools, link);
        most = outcome > most ? outcome : most;
    }
    return most;
}

static void wake_locked(void) {
    if (reaper.called)
        return;
    reaper.called = true;
    pthread_cond_signal(&reaper.changed);
}

static bool start_locked(void);

// For pools in the queue the thread may have ended meanwhile.
static void hear_news(void) {
    pthread_mutex_lock(&reaper.lock);
    if (!sp_list_empty(&reaper.pools) && start_locked())
        wake_locked();
    pthread_mutex_unlock(&reaper.lock);
}

// Even what is new waits for the pause's end, so that no program can keep the reaper busy with
// nothing.
static void pause_locked(uint64_t nanoseconds) {
    uint64_t end = sp_time_now() + nanoseconds;
    while (!reaper.ending && sp_condition_wait_until(&reaper.changed, &reaper.lock, end))
        ;
}

// False when there was nothing to do for long.
static bool await_call_locked(void) {
    uint64_t end = sp_time_now() + IDLE_MAX;
    bool in_time = true;
    if (reaper.outcome == PENDING && !sp_progress_await_news(reaper.news, hear_news))
        return true;
    while (!reaper.called && !reaper.ending && in_time)
        in_time = sp_condition_wait_until(&reaper.changed, &reaper.lock, end);
    return reaper.called || reaper.ending;
}

static bool rest_locked(uint64_t pause) {
    bool goes_on = true;
    reaper.resting = true;
    pthread_cond_broadcast(&reaper.rested);
    if (reaper.outcome != IDLE)
        pause_locked(pause);
    if (reaper.outcome <= PENDING)
        goes_on = await_call_locked();
    reaper.resting = false;
    return goes_on;
}

// Nobody joins it then.
static void end_idle_locked(void) {
    reaper.started = false;
    pthread_detach(pthread_self());
    pthread_cond_broadcast(&reaper.rested);
}

static void *run(void *unused) {
    uint64_t pause = PAUSE_MIN;
    bool goes_on = true;
    pthread_mutex_lock(&reaper.lock);
    while (goes_on && !reaper.ending) {
        reaper.called = false;
        reaper.news = sp_progress_news();
        reaper.outcome = round_locked();
        if (reaper.outcome == PROGRESS || reaper.outcome == IDLE)
            pause = PAUSE_MIN;
        if (reaper.outcome == PROGRESS)
            continue;
        goes_on = rest_locked(pause);
        pause = pause < PAUSE_MAX ? 2 * pause : pause;
    }
    if (!goes_on && !reaper.ending)
        end_idle_locked();
    pthread_mutex_unlock(&reaper.lock);
    return unused;
}

// -------------------------------------------------------------------------------- its life and end

static bool end(void) {
    pthread_mutex_lock(&reaper.lock);
    bool started = reaper.started;
    reaper.ending = true;
    pthread_cond_broadcast(&reaper.changed);
    pthread_mutex_unlock(&reaper.lock);
    return started;
}

// The handler is registered behind those of the driver, which was loaded before, so it runs first.
// A thread that called exit in the middle of a driver call may hold what the reaper waits for, so
// there is a limit. A library that is linked into one that gets unloaded ends its thread here, too.
static void end_at_exit(void) {
    struct timespec until;
    if (sp_fork_is_child() || !end() || clock_gettime(CLOCK_REALTIME, &until) != 0)
        return;
    until.tv_sec += PATIENCE_AT_EXIT_S;
    pthread_timedjoin_np(reaper.thread, NULL, &until);
}

static bool make_ready_locked(void) {
    if (!reaper.ready)
        reaper.ready = sp_condition_init(&reaper.changed) && atexit(end_at_exit) == 0;
    return reaper.ready;
}

static bool start_locked(void) {
    if (reaper.started || reaper.ending)
        return !reaper.ending;
    reaper.started = make_ready_locked() && sp_thread_start(&reaper.thread, run, NULL);
    return reaper.started;
}

void sp_reaper_stop(void) {
    if (end())
        pthread_join(reaper.thread, NULL);
    for (struct sp_list *link; (link = sp_list_pop_front(&reaper.pools));)
        atomic_store(&SP_CONTAINER_OF(link, struct sp_pool, reaper_link)->trim_due, false);
    reaper.started = false;
    reaper.ending = false;
    reaper.called = false;
    reaper.outcome = IDLE;
}

// What is known to be new must have been seen, too, unless it is of no use.
static bool is_at_rest_locked(void) {
    return reaper.resting && !reaper.called && reaper.outcome != BUSY &&
           (reaper.outcome != PENDING || reaper.news == sp_progress_news());
}

// The pool's struct is never freed, so it may be looked at whoever has it by now.
void sp_reaper_await_given_up(void) {
    pthread_mutex_lock(&reaper.lock);
    while (reaper.visited && atomic_load(&reaper.visited->destroyed) && !reaper.ending &&
           !pthread_equal(pthread_self(), reaper.thread))
        pthread_cond_wait(&reaper.rested, &reaper.lock);
    pthread_mutex_unlock(&reaper.lock);
}

void sp_reaper_rest(void) {
    pthread_mutex_lock(&reaper.lock);
    while (reaper.started && !is_at_rest_locked())
        pthread_cond_wait(&reaper.rested, &reaper.lock);
    pthread_mutex_unlock(&reaper.lock);
}

// ------------------------------------------------------------------------------ what is left to it

bool sp_reaper_serves(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->reaper) && !sp_pool_is_deterministic(pool) &&
           !sp_driver_is_scheduled();
}

bool sp_reaper_call(struct sp_pool *pool) {
    if (!sp_reaper_serves(pool))
        return false;
    pthread_mutex_lock(&reaper.lock);
    bool started = start_locked();
    if (started && sp_list_empty(&pool->reaper_link))
        sp_list_push_back(&reaper.pools, &pool->reaper_link);
    if (started)
        wake_locked();
    pthread_mutex_unlock(&reaper.lock);
    return started;
}

// A trim that is due already needs no call: the pool is in the queue then, or visited and put back,
// until nothing is due.
bool sp_reaper_take_trim(struct sp_pool *pool) {
    if (!sp_load_relaxed(&pool->trim_by_reaper) || !sp_reaper_serves(pool))
        return false;
    atomic_store(&pool->synchronized, true);
    if (atomic_exchange(&pool->trim_due, true))
        return true;
    if (sp_reaper_call(pool))
        return true;
    atomic_store(&pool->trim_due, false);
    return false;
}

void sp_reaper_take_zombies(struct sp_pool *pool) {
    size_t buried;
    if (sp_loan_has_zombies(pool) && !sp_reaper_call(pool))
        sp_bury_all(pool, &buried);
}
