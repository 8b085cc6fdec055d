#include "order/captures.h"

#include "base/fork.h"
#include "base/thread.h"

#include <stdlib.h>

struct capture {
    struct capture *next;
    CUstream stream;
    CUcontext context;
    uint64_t thread;    // that began it
    uint32_t beginning; // the driver's begins that are under way
    uint64_t number;    // of the last begin
};

// Written at a capture's begin and end, and in a line that nothing else writes.
_Alignas(64) _Atomic uint32_t sp_captures_open;
static _Alignas(64) struct sp_lock lock;
static struct capture *first;
static _Atomic uint64_t begins;

static bool is_on(const struct capture *capture, CUstream stream, CUcontext context) {
    if (capture->stream != stream)
        return false;
    return stream != CU_STREAM_PER_THREAD ||
           (capture->thread == sp_thread_number() && capture->context == context);
}

static struct capture *find_locked(CUstream stream, CUcontext context) {
    struct capture *capture = first;
    while (capture && !is_on(capture, stream, context))
        capture = capture->next;
    return capture;
}

static void remove_locked(struct capture **link) {
    struct capture *capture = *link;
    *link = capture->next;
    free(capture);
    atomic_fetch_sub(&sp_captures_open, 1);
}

// Without host memory a capture is counted whose end nobody will find.
static struct capture *add_locked(CUstream stream, CUcontext context) {
    struct capture *capture = calloc(1, sizeof *capture);
    atomic_fetch_add(&sp_captures_open, 1);
    if (!capture)
        return NULL;
    *capture = (struct capture){first, stream, context, sp_thread_number(), 0, 0};
    first = capture;
    return capture;
}

void sp_captures_begin(CUstream stream, CUcontext context) {
    if (sp_fork_is_child())
        return;
    sp_lock_acquire(&lock);
    struct capture *capture = find_locked(stream, context);
    if (!capture)
        capture = add_locked(stream, context);
    if (capture) {
        capture->beginning++;
        capture->number = sp_seen_next();
    }
    sp_lock_release(&lock);
    atomic_fetch_add(&begins, 1); // it is counted by then
}

void sp_captures_begun(CUstream stream, CUcontext context) {
    if (sp_fork_is_child())
        return;
    sp_lock_acquire(&lock);
    struct capture *capture = find_locked(stream, context);
    if (capture && capture->beginning > 0)
        capture->beginning--;
    sp_lock_release(&lock);
}

// The number of a capture that may have ended, or 0.
static uint64_t number_of(CUstream stream, CUcontext context) {
    sp_lock_acquire(&lock);
    const struct capture *capture = find_locked(stream, context);
    uint64_t number = capture && capture->beginning == 0 ? capture->number : 0;
    sp_lock_release(&lock);
    return number;
}

static void remove_if_still(CUstream stream, CUcontext context, uint64_t number) {
    sp_lock_acquire(&lock);
    struct capture **link = &first;
    while (*link && !is_on(*link, stream, context))
        link = &(*link)->next;
    if (*link && (*link)->number == number && (*link)->beginning == 0)
        remove_locked(link);
    sp_lock_release(&lock);
}

// A begin by another thread, while the driver is asked, gives the capture another number.
void sp_captures_settle(CUstream stream, CUcontext context, sp_captures_question *captures) {
    uint64_t number = sp_fork_is_child() ? 0 : number_of(stream, context);
    if (number != 0 && !captures(stream))
        remove_if_still(stream, context, number);
}

// Removes the captures of a created stream, or of a context where the stream is null.
static void end_those_of(CUstream stream, CUcontext context, uint64_t until) {
    if (sp_captures_are_none() || sp_fork_is_child())
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
}

void sp_captures_end_of_stream(CUstream stream, uint64_t until) {
    if (!sp_stream_is_default(stream))
        end_those_of(stream, NULL, until);
}

void sp_captures_end_of_context(CUcontext context, uint64_t until) {
    if (context)
        end_those_of(NULL, context, until);
}

// The capture may have been counted, and may have ended, before the look at the count. So the
// driver is asked again, and the answer counts where no capture has begun meanwhile.
bool sp_captures_note(struct sp_outcome answer, CUstream stream) {
    uint64_t before = atomic_load(&begins);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!sp_outcome_is_capture(answer) || !sp_seen_is_on() || atomic_load(&sp_captures_open) != 0 ||
        sp_driver->cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
        status == CU_STREAM_CAPTURE_STATUS_NONE)
        return false;
    sp_lock_acquire(&lock);
    bool is_unseen = sp_captures_are_none() && atomic_load(&begins) == before;
    if (is_unseen)
        atomic_fetch_add(&sp_captures_open, 1);
    sp_lock_release(&lock);
    return is_unseen;
}
