#include "order/seen.h"

#include "base/fork.h"

#include <stdlib.h>

enum { BUCKETS = 4096 };

struct seen {
    struct seen *next;
    CUstream handle;
    struct sp_seen_place place;
    uint64_t number;
};

_Atomic bool sp_seen_on;

static struct sp_lock lock;
static struct seen *buckets[BUCKETS];
static _Atomic uint64_t last_number;

void sp_seen_begin(void) {
    sp_store_relaxed(&sp_seen_on, true);
}

uint64_t sp_seen_now(void) {
    return atomic_load(&last_number);
}

uint64_t sp_seen_next(void) {
    return atomic_fetch_add(&last_number, 1) + 1;
}

// The link to the stream with a handle, or to nothing.
static struct seen **find_locked(CUstream handle) {
    struct seen **link = &buckets[sp_hash((uintptr_t)handle) % BUCKETS];
    while (*link && (*link)->handle != handle)
        link = &(*link)->next;
    return link;
}

static void remove_locked(struct seen **link) {
    struct seen *seen = *link;
    *link = seen->next;
    free(seen);
}

bool sp_seen_add(CUstream handle, const struct sp_seen_place *place) {
    if (!sp_fork_watch() || sp_fork_is_child())
        return false;
    sp_lock_acquire(&lock);
    struct seen **link = find_locked(handle);
    bool was_here = *link != NULL;
    if (!was_here)
        *link = calloc(1, sizeof **link);
    if (*link) {
        (*link)->handle = handle;
        (*link)->place = *place;
        (*link)->number = sp_seen_next();
    }
    sp_lock_release(&lock);
    return was_here;
}

void sp_seen_remove(CUstream handle) {
    if (!sp_seen_is_on() || sp_fork_is_child())
        return;
    sp_lock_acquire(&lock);
    struct seen **link = find_locked(handle);
    if (*link)
        remove_locked(link);
    sp_lock_release(&lock);
}

static bool is_of(const struct seen *seen, const struct sp_seen_place *ended) {
    return !seen->place.context || seen->place.context == ended->context ||
           (ended->device >= 0 && seen->place.device == ended->device);
}

CUstream sp_seen_remove_of(const struct sp_seen_place *ended, uint64_t until, unsigned *bucket) {
    CUstream handle = NULL;
    if (sp_fork_is_child())
        return NULL;
    sp_lock_acquire(&lock);
    while (*bucket < BUCKETS && !handle) {
        struct seen **link = &buckets[*bucket];
        while (*link && ((*link)->number > until || !is_of(*link, ended)))
            link = &(*link)->next;
        if (*link) {
            handle = (*link)->handle;
            remove_locked(link);
        } else {
            ++*bucket;
        }
    }
    sp_lock_release(&lock);
    return handle;
}

bool sp_seen_has(CUstream handle) {
    if (!sp_seen_is_on() || sp_fork_is_child())
        return false;
    sp_lock_acquire(&lock);
    bool has = *find_locked(handle) != NULL;
    sp_lock_release(&lock);
    return has;
}

CUcontext sp_seen_context(CUstream handle) {
    if (sp_fork_is_child())
        return NULL;
    sp_lock_acquire(&lock);
    const struct seen *seen = *find_locked(handle);
    CUcontext context = seen ? seen->place.context : NULL;
    sp_lock_release(&lock);
    return context;
}
