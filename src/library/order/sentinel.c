#include "order/sentinel.h"

#include "base/number.h"
#include "order/context.h"

#include <stdlib.h>

enum { SIZE = 64 };

struct sp_sentinels sp_sentinels;

// --------------------------------------------------------------------------------------- the table

static struct sp_sentinel *_Atomic *bucket_of(CUcontext context) {
    return &sp_sentinels.buckets[sp_hash((uintptr_t)context) % SP_SENTINEL_BUCKETS];
}

static struct sp_sentinel *find(CUcontext context) {
    struct sp_sentinel *sentinel = sp_load_acquire(bucket_of(context));
    while (sentinel && sentinel->context != context)
        sentinel = sentinel->next;
    return sentinel;
}

// Adds a sentinel with id 0 as yet. Null without host memory.
static struct sp_sentinel *add_locked(CUcontext context) {
    struct sp_sentinel *sentinel = calloc(1, sizeof *sentinel);
    if (!sentinel)
        return NULL;
    sentinel->context = context;
    sentinel->next = *bucket_of(context);
    sp_store_release(bucket_of(context), sentinel);
    return sentinel;
}

// Puts the memory into the place of the sentinel with the id `before` (0: there was none). When
// another thread was faster, its id is the context's, and the memory stays the caller's.
static struct sp_outcome keep(CUcontext context, uint64_t before, void **memory, uint64_t *id) {
    sp_lock_acquire(&sp_sentinels.lock);
    struct sp_sentinel *sentinel = find(context);
    if (!sentinel)
        sentinel = add_locked(context);
    uint64_t now = sentinel ? sp_load_relaxed(&sentinel->id) : 0;
    if (sentinel && now == before) {
        sp_store_relaxed(&sentinel->memory, *memory);
        sp_store_release(&sentinel->id, *id);
        *memory = NULL;
    } else {
        *id = now;
    }
    sp_lock_release(&sp_sentinels.lock);
    return sentinel ? sp_outcome_done() : sp_outcome_of(SP_NO_HOST_MEMORY);
}

// -------------------------------------------------------------------------------------- the driver

// Tells the number of the allocation at an address, 0 when there is none.
static struct sp_outcome ask(void *memory, uint64_t *id) {
    unsigned long long value = 0;
    CUresult code = sp_driver->cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                     (CUdeviceptr)(uintptr_t)memory);
    *id = code == CUDA_SUCCESS ? value : 0;
    return code == CUDA_ERROR_INVALID_VALUE ? sp_outcome_done()
                                            : sp_outcome_of_code(code, "cuPointerGetAttribute");
}

// Tells the id of the latest context that is known at a handle, 0 for none, and whether it is
// alive.
static struct sp_outcome look_at(const struct sp_sentinel *sentinel, uint64_t *id, bool *alive) {
    uint64_t now = 0;
    *id = sentinel ? sp_load_acquire(&sentinel->id) : 0;
    *alive = *id != 0;
    if (*id == 0)
        return sp_outcome_done();
    struct sp_outcome outcome = ask(sp_load_relaxed(&sentinel->memory), &now);
    *alive = now == *id;
    return outcome;
}

// Makes a sentinel in the context, which is the current one.
static struct sp_outcome make_here(CUcontext context, uint64_t before, uint64_t *id) {
    void *memory = NULL;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuMemHostAlloc(&memory, SIZE, 0), "cuMemHostAlloc");
    if (!sp_is_done(outcome))
        return outcome;
    outcome = ask(memory, id);
    if (sp_is_done(outcome))
        outcome = *id ? keep(context, before, &memory, id) : sp_outcome_of(SP_NOT_SUPPORTED);
    if (memory)
        (void)sp_outcome_of_driver(sp_driver->cuMemFreeHost(memory), "cuMemFreeHost");
    return outcome;
}

static struct sp_outcome make(CUcontext context, uint64_t before, uint64_t *id) {
    struct sp_outcome outcome = sp_context_enter(context);
    if (!sp_is_done(outcome))
        return outcome;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    outcome = make_here(context, before, id);
    sp_capture_mode_restore(mode);
    sp_context_leave();
    return outcome;
}

// ---------------------------------------------------------------------------------------- contexts

struct sp_outcome sp_sentinel_id(CUcontext context, uint64_t *id) {
    bool alive;
    struct sp_outcome outcome = look_at(find(context), id, &alive);
    return sp_is_done(outcome) && !alive ? make(context, *id, id) : outcome;
}

struct sp_outcome sp_sentinel_known_id(CUcontext context, uint64_t *id) {
    bool alive;
    struct sp_outcome outcome = look_at(find(context), id, &alive);
    if (!alive)
        *id = 0;
    return outcome;
}

// A sentinel that has taken its place shows as well that a context is gone.
bool sp_sentinel_is_gone(CUcontext context, uint64_t id) {
    uint64_t latest;
    bool alive;
    return sp_is_done(look_at(find(context), &latest, &alive)) && (latest != id || !alive);
}
