// Each bucket has a list, which is read without the lock. What is removed from it is used again for
// another stream and never freed, so a reader that stands there goes on, perhaps through another
// list: then it may miss its stream, which is asked for that once, but finds none that isn't here.
#include "dropin/seen.h"
#include "dropin/captures.h"
#include "dropin/stream.h"

#include "api/interpose.h"
#include "base/atomic.h"
#include "base/lock.h"
#include "base/number.h"

#include <stdlib.h>

enum { BUCKETS = 4096 };

struct seen {
    struct seen *_Atomic next;
    _Atomic(CUstream) handle; // null among the spare ones
    CUcontext context;
    int device;
    uint64_t number;
};

static struct sp_lock lock;
static struct seen *_Atomic buckets[BUCKETS];
static struct seen *spare;

static struct seen *_Atomic *bucket_of(CUstream handle) {
    return &buckets[sp_hash((uintptr_t)handle) % BUCKETS];
}

static bool has(CUstream handle) {
    const struct seen *seen = sp_load_acquire(bucket_of(handle));
    while (seen && sp_load_relaxed(&seen->handle) != handle)
        seen = sp_load_acquire(&seen->next);
    return seen != NULL;
}

int sp_seen_promises(CUstream stream) {
    if (!sp_stream_is_created(stream))
        return poolPromiseNoCapture;
    return has(stream) ? poolPromiseStreamDestroy | poolPromiseNoCapture : poolPromiseNothing;
}

// ------------------------------------------------------------------------------ with the lock held

// The link to the stream with a handle, or to nothing.
static struct seen *_Atomic *find_locked(CUstream handle) {
    struct seen *_Atomic *link = bucket_of(handle);
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

static void remove_locked(struct seen *_Atomic *link) {
    struct seen *seen = *link;
    sp_store_relaxed(&seen->handle, NULL);
    sp_store_release(link, seen->next);
    sp_store_release(&seen->next, spare);
    spare = seen;
}

static struct seen *make_locked(void) {
    struct seen *made = spare;
    if (!made)
        return calloc(1, sizeof *made);
    spare = made->next;
    sp_store_relaxed(&made->next, NULL);
    return made;
}

// ----------------------------------------------------------------------------------------- streams

// True when the handle was here.
static bool add(CUstream handle, CUcontext context, int device) {
    sp_lock_acquire(&lock);
    struct seen *_Atomic *link = find_locked(handle);
    bool was_here = *link != NULL;
    struct seen *seen = was_here ? *link : make_locked();
    if (seen) {
        seen->context = context;
        seen->device = device;
        seen->number = sp_captures_next();
        sp_store_relaxed(&seen->handle, handle);
        sp_store_release(link, seen);
    }
    sp_lock_release(&lock);
    return was_here;
}

void sp_seen_created(CUstream stream, CUcontext context, int device) {
    uint64_t before = sp_captures_now();
    if (!sp_captures_watch())
        return;
    bool was_here = add(stream, context, device);
    sp_interpose_forget(stream); // a call may have remembered an earlier one that was ending
    if (was_here)
        sp_captures_end_of_stream(stream, before);
}

void sp_seen_ends(CUstream stream) {
    if (sp_captures_is_child())
        return;
    sp_lock_acquire(&lock);
    struct seen *_Atomic *link = find_locked(stream);
    if (*link)
        remove_locked(link);
    sp_lock_release(&lock);
    sp_interpose_forget(stream);
}

static bool is_of(const struct seen *seen, CUcontext context, int device) {
    return !seen->context || seen->context == context || (device >= 0 && seen->device == device);
}

// It isn't known yet which streams will end, and a call that is under way may remember one that
// lives on, and is no longer here, once more. So all are forgotten before any context ends.
uint64_t sp_seen_context_ends(void) {
    sp_interpose_forget_all();
    return sp_captures_now();
}

static void remove_those_of(struct seen *_Atomic *bucket, CUcontext context, int device,
                            uint64_t until) {
    struct seen *_Atomic *link = bucket;
    sp_lock_acquire(&lock);
    while (*link) {
        if ((*link)->number <= until && is_of(*link, context, device))
            remove_locked(link);
        else
            link = &(*link)->next;
    }
    sp_lock_release(&lock);
}

void sp_seen_context_ended(CUcontext context, int device, uint64_t until) {
    if (sp_captures_is_child())
        return;
    for (int i = 0; i < BUCKETS; i++) {
        if (sp_load_relaxed(&buckets[i]))
            remove_those_of(&buckets[i], context, device, until);
    }
}

CUcontext sp_seen_context(CUstream stream) {
    if (sp_captures_is_child())
        return NULL;
    sp_lock_acquire(&lock);
    const struct seen *seen = *find_locked(stream);
    CUcontext context = seen ? seen->context : NULL;
    sp_lock_release(&lock);
    return context;
}
