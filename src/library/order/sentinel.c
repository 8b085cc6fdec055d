#include "order/sentinel.h"

#include "base/atomic.h"
#include "base/hash.h"
#include "base/lock.h"
#include "order/capture_mode.h"

#include <stdlib.h>

enum { BUCKETS = 64, SIZE = 64 };

// A sentinel is that of the latest context at a handle. It stays when the context is gone, until
// another one takes its place.
//
// A reader may see the id of the one before with the memory of the next one. These two never belong
// together, so what it concludes is that the context of that id is gone; and it is.
struct sentinel {
    struct sentinel *next;
    CUcontext context;
    void *_Atomic memory; // written before `id`
    _Atomic uint64_t id;
};

// `lock` guards writing.
static struct {
    struct sp_lock lock;
    struct sentinel *_Atomic buckets[BUCKETS];
} table;

// --------------------------------------------------------------------------------------- the table

static struct sentinel *_Atomic *bucket_of(CUcontext context) {
    return &table.buckets[sp_hash((uintptr_t)context) % BUCKETS];
}

static struct sentinel *find(CUcontext context) {
    struct sentinel *sentinel = sp_load_acquire(bucket_of(context));
    while (sentinel && sentinel->context != context)
        sentinel = sentinel->next;
    return sentinel;
}

// Adds a sentinel with id 0 as yet. Null without host memory.
static struct sentinel *add_locked(CUcontext context) {
    struct sentinel *sentinel = calloc(1, sizeof *sentinel);
    if (!sentinel)
        return NULL;
    sentinel->context = context;
    sentinel->next = *bucket_of(context);
    sp_store_release(bucket_of(context), sentinel);
    return sentinel;
}

// Puts the memory into the place of the sentinel with the id `before` (0: there was none). When
// another thread was faster, its id is the context's, and the memory stays the caller's.
static CUresult keep(CUcontext context, uint64_t before, void **memory, uint64_t *id) {
    sp_lock_acquire(&table.lock);
    struct sentinel *sentinel = find(context);
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
    sp_lock_release(&table.lock);
    return sentinel ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// -------------------------------------------------------------------------------------- the driver

// Tells the number of the allocation at an address, 0 when there is none.
static CUresult ask(void *memory, uint64_t *id) {
    unsigned long long value = 0;
    CUresult error = sp_driver->cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                      (CUdeviceptr)(uintptr_t)memory);
    *id = error == CUDA_SUCCESS ? value : 0;
    return error == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS
                                             : sp_native_noted(error, "cuPointerGetAttribute");
}

// Tells the id of the latest context that is known at a handle, 0 for none, and whether it is
// alive.
static CUresult look_at(const struct sentinel *sentinel, uint64_t *id, bool *alive) {
    uint64_t now = 0;
    *id = sentinel ? sp_load_acquire(&sentinel->id) : 0;
    *alive = *id != 0;
    if (*id == 0)
        return CUDA_SUCCESS;
    CUresult error = ask(sp_load_relaxed(&sentinel->memory), &now);
    *alive = now == *id;
    return error;
}

// Makes a sentinel in the context, which is the current one.
static CUresult make_here(CUcontext context, uint64_t before, uint64_t *id) {
    void *memory = NULL;
    CUresult error = sp_native_noted(sp_driver->cuMemHostAlloc(&memory, SIZE, 0), "cuMemHostAlloc");
    if (error != CUDA_SUCCESS)
        return error;
    error = ask(memory, id);
    if (error == CUDA_SUCCESS)
        error = *id ? keep(context, before, &memory, id) : CUDA_ERROR_NOT_SUPPORTED;
    if (memory)
        sp_driver->cuMemFreeHost(memory);
    return error;
}

static CUresult make(CUcontext context, uint64_t before, uint64_t *id) {
    CUcontext popped;
    CUresult error = sp_native_noted(sp_driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
    if (error != CUDA_SUCCESS)
        return error;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    error = make_here(context, before, id);
    sp_capture_mode_restore(mode);
    sp_driver->cuCtxPopCurrent(&popped);
    return error;
}

// ---------------------------------------------------------------------------------------- contexts

CUresult sp_sentinel_id(CUcontext context, uint64_t *id) {
    bool alive;
    CUresult error = look_at(find(context), id, &alive);
    return error == CUDA_SUCCESS && !alive ? make(context, *id, id) : error;
}

CUresult sp_sentinel_known_id(CUcontext context, uint64_t *id) {
    bool alive;
    CUresult error = look_at(find(context), id, &alive);
    if (!alive)
        *id = 0;
    return error;
}

// A sentinel that has taken its place shows as well that a context is gone.
bool sp_sentinel_is_gone(CUcontext context, uint64_t id) {
    uint64_t latest;
    bool alive;
    return look_at(find(context), &latest, &alive) == CUDA_SUCCESS && (latest != id || !alive);
}

static void destroy(struct sentinel *sentinel) {
    uint64_t id;
    bool alive;
    CUcontext popped;
    if (look_at(sentinel, &id, &alive) == CUDA_SUCCESS && alive &&
        sp_driver->cuCtxPushCurrent(sentinel->context) == CUDA_SUCCESS) {
        sp_driver->cuMemFreeHost(sentinel->memory);
        sp_driver->cuCtxPopCurrent(&popped);
    }
    free(sentinel);
}

void sp_sentinel_close_all(void) {
    for (size_t i = 0; i < BUCKETS; i++) {
        struct sentinel *sentinel = table.buckets[i];
        while (sentinel) {
            struct sentinel *next = sentinel->next;
            destroy(sentinel);
            sentinel = next;
        }
        table.buckets[i] = NULL;
    }
}
