#include "dropin/captures.h"
#include "dropin/stream.h"

#include "api/interpose.h"
#include "base/atomic.h"
#include "base/lock.h"

#include <pthread.h>
#include <stdlib.h>

struct capture {
    struct capture *next;
    CUstream stream;
    CUcontext context;
    uint64_t thread;    // that began it
    uint32_t beginning; // the driver's begins that are under way
    uint64_t number;    // of the last begin
};

static struct sp_lock lock; // guards the list; nothing is called under it
static struct capture *first;
static _Atomic uint32_t count;
static _Atomic uint64_t last_number;

// ----------------------------------------------------------------------------------- facts, forks

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_watching;
static _Atomic bool is_child;

static void note_fork(void) {
    sp_store_relaxed(&is_child, true);
}

static void watch_forks(void) {
    is_watching = pthread_atfork(NULL, NULL, note_fork) == 0;
}

bool sp_captures_watch(void) {
    pthread_once(&once, watch_forks);
    return is_watching && !sp_captures_is_child();
}

bool sp_captures_is_child(void) {
    return sp_load_relaxed(&is_child);
}

uint64_t sp_captures_now(void) {
    return atomic_load(&last_number);
}

uint64_t sp_captures_next(void) {
    return atomic_fetch_add(&last_number, 1) + 1;
}

// ------------------------------------------------------------------------------------ the promise

static struct sp_lock telling; // held while the library is told what holds
static int told;
static _Atomic bool promises;

// A capture is counted before the lock is taken. So whoever holds it and finds none counted may say
// so: who counts one next says the opposite.
static void tell(void) {
    if (!atomic_load(&promises))
        return;
    sp_lock_acquire(&telling);
    int no_capture = atomic_load(&count) == 0 ? poolPromiseNoCapture : poolPromiseNothing;
    int now = poolPromiseStreamDestroy | no_capture;
    if (now != told)
        sp_interpose_hold(now);
    told = now;
    sp_lock_release(&telling);
}

void sp_captures_promise(void) {
    if (!sp_captures_watch())
        return;
    atomic_store(&promises, true);
    tell();
}

// ---------------------------------------------------------------------------------------- the list

static bool is_on(const struct capture *capture, CUstream stream, CUcontext context) {
    if (capture->stream != stream)
        return false;
    return stream != CU_STREAM_PER_THREAD ||
           (capture->thread == sp_interpose_thread() && capture->context == context);
}

static struct capture **find_locked(CUstream stream, CUcontext context) {
    struct capture **link = &first;
    while (*link && !is_on(*link, stream, context))
        link = &(*link)->next;
    return link;
}

static void remove_locked(struct capture **link) {
    struct capture *capture = *link;
    *link = capture->next;
    free(capture);
    atomic_fetch_sub(&count, 1);
}

// Without host memory a capture is counted whose end nobody will find.
static struct capture *add_locked(CUstream stream, CUcontext context) {
    struct capture *capture = calloc(1, sizeof *capture);
    atomic_fetch_add(&count, 1);
    if (!capture)
        return NULL;
    *capture = (struct capture){first, stream, context, sp_interpose_thread(), 0, 0};
    first = capture;
    return capture;
}

// ------------------------------------------------------------------------------- begins and ends

void sp_captures_begins(CUstream stream, CUcontext context) {
    if (sp_stream_is_legacy(stream) || !sp_captures_watch())
        return;
    sp_lock_acquire(&lock);
    struct capture *capture = *find_locked(stream, context);
    if (!capture)
        capture = add_locked(stream, context);
    if (capture) {
        capture->beginning++;
        capture->number = sp_captures_next();
    }
    sp_lock_release(&lock);
    tell();
}

void sp_captures_begun(CUstream stream, CUcontext context) {
    if (sp_stream_is_legacy(stream) || sp_captures_is_child())
        return;
    sp_lock_acquire(&lock);
    struct capture *capture = *find_locked(stream, context);
    if (capture && capture->beginning > 0)
        capture->beginning--;
    sp_lock_release(&lock);
}

void sp_captures_refused(CUstream stream, CUcontext context, sp_captures_question *captures) {
    sp_captures_begun(stream, context);
    sp_captures_ended(stream, context, captures);
}

// The number of a capture that may have ended, or 0.
static uint64_t number_of(CUstream stream, CUcontext context) {
    sp_lock_acquire(&lock);
    const struct capture *capture = *find_locked(stream, context);
    uint64_t number = capture && capture->beginning == 0 ? capture->number : 0;
    sp_lock_release(&lock);
    return number;
}

static void remove_if_still(CUstream stream, CUcontext context, uint64_t number) {
    sp_lock_acquire(&lock);
    struct capture **link = find_locked(stream, context);
    if (*link && (*link)->number == number && (*link)->beginning == 0)
        remove_locked(link);
    sp_lock_release(&lock);
}

// A begin by another thread, while the driver is asked, gives the capture another number.
void sp_captures_ended(CUstream stream, CUcontext context, sp_captures_question *captures) {
    if (sp_stream_is_legacy(stream) || sp_captures_is_child())
        return;
    uint64_t number = number_of(stream, context);
    if (number == 0 || captures(stream))
        return;
    remove_if_still(stream, context, number);
    tell();
}

// Removes the captures of a created stream, or of a context where the stream is null.
static void end_those_of(CUstream stream, CUcontext context, uint64_t until) {
    if (atomic_load(&count) == 0 || sp_captures_is_child())
        return;
    sp_lock_acquire(&lock);
    struct capture **link = &first;
    while (*link) {
        bool is_of = stream ? (*link)->stream == stream : (*link)->context == context;
        if (is_of && (*link)->number <= until)
            remove_locked(link);
        else
            link = &(*link)->next;
    }
    sp_lock_release(&lock);
    if (atomic_load(&count) == 0)
        tell();
}

void sp_captures_end_of_stream(CUstream stream, uint64_t until) {
    if (sp_stream_is_created(stream))
        end_those_of(stream, NULL, until);
}

void sp_captures_end_of_context(CUcontext context, uint64_t until) {
    if (context)
        end_those_of(NULL, context, until);
}
