#include "order/context_wait.h"

#include "base/condition.h"
#include "base/fork.h"
#include "base/thread.h"
#include "base/time.h"
#include "order/closing.h"
#include "order/context_wait_state.h"

#include <stdlib.h>

#define PATIENCE_AT_EXIT (2 * SP_SECOND)

// A wait is one synchronise.
struct wait {
    struct sp_list link; // among those under way
    CUcontext context;
    uint64_t context_id;
    struct sp_closing closing;
    // Guarded by the lock:
    bool is_done; // with `outcome`
    bool is_left; // nobody waits for it any more
    struct sp_outcome outcome;
};

struct sp_context_waits sp_context_waits = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .under_way = {&sp_context_waits.under_way, &sp_context_waits.under_way},
};

static uint64_t time_in(uint64_t nanoseconds) {
    uint64_t now = sp_time_now();
    return nanoseconds < UINT64_MAX - now ? now + nanoseconds : UINT64_MAX;
}

// --------------------------------------------------------------------------------- the synchronise

static struct sp_outcome synchronize(CUcontext context) {
    CUcontext popped;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
    if (!sp_is_done(outcome))
        return outcome;
    outcome = sp_outcome_of_driver(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
    sp_driver->cuCtxPopCurrent(&popped);
    return outcome;
}

static struct sp_outcome synchronize_and_publish(struct wait *wait) {
    struct sp_outcome outcome = synchronize(wait->context);
    if (sp_is_done(outcome))
        sp_closing_publish(&wait->closing, SP_FOUND);
    return outcome;
}

static void free_wait(struct wait *wait) {
    sp_closing_end(&wait->closing);
    free(wait);
}

static struct wait *new_wait(const struct sp_stream *stream) {
    struct wait *wait = calloc(1, sizeof *wait);
    if (!wait)
        return NULL;
    wait->context = stream->context;
    wait->context_id = stream->context_id;
    if (sp_closing_begin(&wait->closing, stream->context, stream->context_id, NULL))
        return wait;
    free(wait);
    return NULL;
}

// -------------------------------------------------------------------------------------- the thread

static void *run(void *argument) {
    struct wait *wait = argument;
    struct sp_outcome outcome = synchronize_and_publish(wait);
    pthread_mutex_lock(&sp_context_waits.lock);
    bool is_left = wait->is_left;
    sp_list_remove(&wait->link);
    wait->outcome = outcome;
    wait->is_done = true;
    pthread_cond_broadcast(&sp_context_waits.ended);
    pthread_mutex_unlock(&sp_context_waits.lock);
    if (is_left)
        free_wait(wait);
    return NULL;
}

// Waits for the end of a synchronise. False once the time is over.
static bool await_end_of_one_locked(uint64_t end) {
    return sp_condition_wait_until(&sp_context_waits.ended, &sp_context_waits.lock, end);
}

// The driver's own end comes behind it.
static void wait_at_exit(void) {
    uint64_t end = time_in(PATIENCE_AT_EXIT);
    if (sp_fork_is_child())
        return;
    pthread_mutex_lock(&sp_context_waits.lock);
    while (!sp_list_empty(&sp_context_waits.under_way) && await_end_of_one_locked(end))
        ;
    pthread_mutex_unlock(&sp_context_waits.lock);
}

static bool make_ready_locked(void) {
    if (!sp_context_waits.is_ready)
        sp_context_waits.is_ready =
            sp_condition_init(&sp_context_waits.ended) && atexit(wait_at_exit) == 0;
    return sp_context_waits.is_ready;
}

static bool start_locked(struct wait *wait) {
    pthread_t thread;
    if (!sp_thread_start(&thread, run, wait))
        return false;
    pthread_detach(thread);
    sp_list_push_back(&sp_context_waits.under_way, &wait->link);
    return true;
}

static bool is_under_way_locked(const struct sp_stream *stream) {
    SP_LIST_FOR_EACH(link, &sp_context_waits.under_way) {
        const struct wait *wait = SP_CONTAINER_OF(link, struct wait, link);
        if (sp_stream_is_of(stream, wait->context, wait->context_id))
            return true;
    }
    return false;
}

// ----------------------------------------------------------------------------------------- waiting

// True when the thread has ended; else it frees the synchronise when it does.
static bool await_locked(struct wait *wait, uint64_t end) {
    while (!wait->is_done && await_end_of_one_locked(end))
        ;
    wait->is_left = !wait->is_done;
    return wait->is_done;
}

// A synchronise that is under way already has closed its numbers before: it may know less than is
// asked for.
static struct sp_outcome await_own_locked(const struct sp_stream *stream, uint64_t end) {
    while (is_under_way_locked(stream)) {
        if (!await_end_of_one_locked(end))
            return sp_outcome_done();
    }
    struct wait *wait = new_wait(stream);
    if (!wait)
        return sp_outcome_done();
    bool has_started = start_locked(wait);
    if (has_started && !await_locked(wait, end))
        return sp_outcome_done();
    struct sp_outcome outcome = wait->outcome; // none if there was no thread
    free_wait(wait);
    return outcome;
}

static struct sp_outcome await_by_thread(const struct sp_stream *stream, uint64_t nanoseconds) {
    uint64_t end = time_in(nanoseconds);
    pthread_mutex_lock(&sp_context_waits.lock);
    struct sp_outcome outcome =
        make_ready_locked() ? await_own_locked(stream, end) : sp_outcome_done();
    pthread_mutex_unlock(&sp_context_waits.lock);
    return outcome;
}

static struct sp_outcome await_here(const struct sp_stream *stream) {
    struct wait *wait = new_wait(stream);
    if (!wait)
        return sp_outcome_done();
    struct sp_outcome outcome = synchronize_and_publish(wait);
    free_wait(wait);
    return outcome;
}

bool sp_context_wait_is_needed(void) {
    return !sp_driver->cuCtxRecordEvent;
}

struct sp_outcome sp_context_wait_for(const struct sp_stream *stream, uint64_t nanoseconds) {
    if (nanoseconds == 0)
        return sp_outcome_done();
    return sp_driver_is_scheduled() ? await_here(stream) : await_by_thread(stream, nanoseconds);
}
