// The calls that allocate and free memory.
#include "api/api.h"
#include "api/interpose.h"
#include "calls/free.h"
#include "calls/malloc.h"
#include "order/resolve.h"
#include "process/observe.h"
#include "process/promises.h"
#include "region/held.h"
#include "region/lane.h"

#include <stdlib.h>

static poolError_t refuse_capture(struct sp_outcome outcome) {
    if (sp_outcome_is_capture(outcome))
        return sp_fail(poolErrorStreamCaptureUnsupported, "the stream is capturing");
    return sp_fail_outcome(outcome, "asking whether the stream is capturing");
}

// In a capture only memory of the graph could be freed, and none of ours is.
static poolError_t refuse_free_in_capture(struct sp_outcome outcome) {
    if (sp_outcome_is_capture(outcome))
        return sp_fail(poolErrorInvalidValue,
                       "the stream is capturing, and the memory is not the graph's");
    return refuse_capture(outcome);
}

// True when the promises let a thread know the stream by its handle.
static inline bool let_cache(int promises, CUstream handle) {
    if (!(promises & poolPromiseStreamDestroy))
        return false;
    return !sp_stream_is_default(handle) || promises & poolPromiseOneContext;
}

// Finds the stream after the driver has not told the handle's capture state, which may be for want
// of a context.
SP_COLD static struct sp_stream *admit_late(struct sp_outcome capture, CUstream handle,
                                            const struct sp_pool *pool,
                                            poolError_t (*refuse)(struct sp_outcome outcome),
                                            poolError_t *error) {
    struct sp_stream *stream = NULL;
    sp_promises_note_capture(capture, handle);
    capture = sp_api_supply_context(capture, handle, pool);
    if (sp_is_done(capture))
        capture = sp_resolve_capture(handle);
    *error = sp_is_done(capture) ? sp_api_stream(handle, pool, &stream) : refuse(capture);
    return stream;
}

// Finds the stream when the driver was asked nothing before, or the thread's cache has it not yet.
SP_APART static struct sp_stream *identify(CUstream handle, const struct sp_pool *pool, bool caches,
                                           poolError_t *error) {
    struct sp_stream *stream = NULL;
    *error = sp_api_stream(handle, pool, &stream);
    if (stream && caches)
        sp_stream_cache_add(stream, handle);
    return stream;
}

// Finds the stream of a call that names this pool, or none, and asks the driver nothing that the
// promises answer, unless there was a fault: the driver's answer tells if the stream's context has
// it. Returns null with an error. `refuse` makes the error of a call in a capture.
static SP_HOT struct sp_stream *admit(CUstream handle, const struct sp_pool *pool, int promises,
                                      poolError_t (*refuse)(struct sp_outcome outcome),
                                      poolError_t *error) {
    struct sp_stream *stream = NULL;
    bool asks = !(promises & (poolPromiseNoCapture | poolPromiseNeverCapture)) ||
                SP_UNLIKELY(sp_load_relaxed(&sp_fail_had_fault));
    if (asks) {
        struct sp_outcome capture = sp_resolve_capture(handle);
        if (SP_UNLIKELY(!sp_is_done(capture)))
            return admit_late(capture, handle, pool, refuse, error);
    }
    if (promises && let_cache(promises, handle)) {
        stream = sp_stream_cache_find(handle);
        return SP_LIKELY(stream) ? stream : identify(handle, pool, true, error);
    }
    if (SP_UNLIKELY(!asks))
        return identify(handle, pool, false, error);
    struct sp_outcome resolved = sp_resolve_stream(handle, &stream);
    if (SP_UNLIKELY(!sp_is_done(resolved)))
        *error = sp_fail_outcome(resolved, "identifying the stream");
    return stream;
}

// From the pool that has this handle, or had it a moment ago.
static SP_HOT poolError_t take(struct sp_pool *pool, poolMemPool_t handle, struct sp_stream *stream,
                               size_t size, unsigned int flags, void **pointer) {
    if (SP_UNLIKELY(sp_load_relaxed(&stream->acts) ||
                    flags & (poolMallocFixed | poolMallocCompleteOnly)))
        return sp_malloc_acting(pool, handle, stream, size, flags, pointer);
    uint64_t address = sp_at_hand_take(pool, stream, size, flags, NULL);
    if (SP_UNLIKELY(!address))
        return sp_malloc_missed(pool, handle, stream, size, flags, pointer);
    if (SP_UNLIKELY(sp_at_hand_is_another_now(pool, handle)))
        return sp_malloc_hand_over(pool, handle, stream, address, SP_OWED_NONE, pointer);
    *pointer = (void *)(uintptr_t)address;
    return poolSuccess;
}

// Allocates from the pool behind a handle. `known` are promises that hold for the stream beside
// those of the pool.
static SP_HOT poolError_t allocate_from(struct sp_pool *pool, poolMemPool_t named, void **ptr,
                                        size_t size, CUstream handle, unsigned int flags,
                                        int known) {
    poolError_t error = poolSuccess;
    struct sp_stream *stream =
        admit(handle, pool, sp_load_relaxed(&pool->promises) | known, refuse_capture, &error);
    if (SP_UNLIKELY(!stream))
        return error;
    if (SP_UNLIKELY(size == 0)) {
        *ptr = NULL;
        return poolSuccess;
    }
    error = take(pool, named, stream, size, flags, ptr);
    return SP_UNLIKELY(error == SP_MALLOC_GONE)
               ? sp_fail(poolErrorInvalidValue, "the pool was destroyed meanwhile")
               : error;
}

// Returns the promises of the current pool, which depends on the stream's device. So they are known
// only for streams in the thread's cache. Where the thread may cache the stream only by
// another pool's promises, the result is none, and the driver is asked.
static SP_HOT int promises_of_current(CUstream handle, int known) {
    poolMemPool_t pool;
    const struct sp_stream *stream = sp_stream_cache_find(handle);
    struct sp_device *device = stream ? sp_device_at(stream->device) : NULL;
    int promises = known;
    if (device)
        promises |= sp_pool_promises(sp_device_current_pool(device, &pool));
    return let_cache(promises, handle) ? promises : known;
}

// Allocates from the current pool of the stream's device. Another thread may destroy that pool
// meanwhile; then another pool is current.
static SP_HOT poolError_t allocate_from_current(void **ptr, size_t size, CUstream handle,
                                                unsigned int flags, int known) {
    struct sp_device *device;
    poolError_t error = poolSuccess;
    struct sp_stream *stream =
        admit(handle, NULL, promises_of_current(handle, known), refuse_capture, &error);
    if (SP_UNLIKELY(!stream))
        return error;
    if (SP_UNLIKELY(size == 0)) {
        *ptr = NULL;
        return poolSuccess;
    }
    device = sp_device_at(stream->device);
    if (SP_UNLIKELY(!device)) {
        error = sp_runtime_open(stream->device, &device);
        if (error != poolSuccess)
            return error;
    }
    do {
        poolMemPool_t current;
        struct sp_pool *pool = sp_device_current_pool(device, &current);
        if (sp_stream_cache_find(handle) != stream &&
            let_cache(sp_pool_promises(pool) | known, handle))
            sp_stream_cache_add(stream, handle);
        error = take(pool, current, stream, size, flags, ptr);
    } while (error == SP_MALLOC_GONE);
    return error;
}

// An allocation as the program asked for it. A null handle that was not `named` stands for the
// current pool.
struct wanted {
    void **ptr;
    size_t size;
    poolMemPool_t handle;
    bool named;
    CUstream stream;
    unsigned int flags;
};

enum {
    ALL_FLAGS = poolMallocSameStreamOnly | poolMallocNoInsertedWaits | poolMallocNoGrowth |
                poolMallocFixed | poolMallocCompleteOnly
};

SP_COLD static poolError_t allocate_wanted(const struct wanted *wanted) {
    struct sp_pool *pool = NULL;
    poolError_t error = poolSuccess;
    if (!wanted->ptr)
        return sp_fail(poolErrorInvalidValue, "ptr is null");
    if (wanted->flags & ~(unsigned int)ALL_FLAGS)
        return sp_fail(poolErrorInvalidValue, "%#x is not a combination of poolMallocFlags",
                       wanted->flags);
    if (wanted->named || wanted->handle)
        error = sp_api_pool(wanted->handle, &pool);
    if (error != poolSuccess)
        return error;
    return pool ? allocate_from(pool, wanted->handle, wanted->ptr, wanted->size, wanted->stream,
                                wanted->flags, poolPromiseNothing)
                : allocate_from_current(wanted->ptr, wanted->size, wanted->stream, wanted->flags,
                                        poolPromiseNothing);
}

// Finds a stream to note it. Null for one that captures: asking who it is would end the capture.
static struct sp_stream *stream_to_note(CUstream handle) {
    struct sp_stream *stream = NULL;
    if (sp_is_done(sp_resolve_capture(handle)) && sp_is_done(sp_resolve_stream(handle, &stream)))
        return stream;
    return NULL;
}

// Allocates where the runtime isn't started, somebody observes, or an argument is wrong. `caller`
// is where the public call returns to.
SP_COLD static poolError_t allocate_aside(const struct wanted *wanted, const void *caller) {
    poolError_t error = sp_runtime_start();
    if (error != poolSuccess)
        return error;
    if (!sp_observe_is_on())
        return allocate_wanted(wanted);
    bool turn = sp_observe_take_turn();
    const struct sp_pool *pool = sp_handle_pool(wanted->handle);
    error = allocate_wanted(wanted);
    const void *taken = error == poolSuccess ? *wanted->ptr : NULL;
    if (taken || error == poolErrorMemoryAllocation)
        sp_observe_allocated(taken, wanted->size, stream_to_note(wanted->stream), pool, caller);
    sp_observe_give_turn(turn);
    return error;
}

#define CALLER __builtin_return_address(0)

poolError_t poolMallocAsync(void **ptr, size_t size, CUstream stream) {
    if (SP_UNLIKELY(!sp_runtime_is_plain() || !ptr))
        return allocate_aside(&(struct wanted){ptr, size, NULL, false, stream, 0}, CALLER);
    return allocate_from_current(ptr, size, stream, poolMallocDefault, poolPromiseNothing);
}

poolError_t poolMallocFromPoolAsync(void **ptr, size_t size, poolMemPool_t handle,
                                    CUstream stream) {
    struct sp_pool *pool = sp_handle_pool(handle);
    if (SP_UNLIKELY(!sp_runtime_is_plain() || !ptr || !pool))
        return allocate_aside(&(struct wanted){ptr, size, handle, true, stream, 0}, CALLER);
    return allocate_from(pool, handle, ptr, size, stream, poolMallocDefault, poolPromiseNothing);
}

poolError_t poolMallocAsyncWithFlags(void **ptr, size_t size, poolMemPool_t handle, CUstream stream,
                                     unsigned int flags) {
    struct wanted wanted = {ptr, size, handle, false, stream, flags};
    return sp_runtime_is_plain() ? allocate_wanted(&wanted) : allocate_aside(&wanted, CALLER);
}

poolError_t poolMallocFromPool(void **ptr, size_t size, poolMemPool_t handle) {
    struct wanted wanted = {ptr, size, handle, true, CU_STREAM_LEGACY, poolMallocCompleteOnly};
    return sp_runtime_is_plain() ? allocate_wanted(&wanted) : allocate_aside(&wanted, CALLER);
}

// ------------------------------------------------------------------------------------------- frees

// Returns the promises of the pool that the pointer belongs to, or none.
static inline int promises_of_owner(uintptr_t owner) {
    const struct sp_lane *lane =
        sp_load_relaxed(&sp_promises_pools) != 0 ? sp_owner_lane(owner) : NULL;
    const struct sp_pool *pool = lane ? lane->pool : NULL;
    return pool ? sp_pool_promises(pool) : poolPromiseNothing;
}

// `owner` is that of the pointer: see sp_owner_of_freed().
static SP_HOT poolError_t free_in_order(void *pointer, uintptr_t owner, CUstream handle,
                                        int known) {
    uint64_t sequence;
    poolError_t error = poolSuccess;
    struct sp_stream *stream =
        admit(handle, NULL, promises_of_owner(owner) | known, refuse_free_in_capture, &error);
    if (SP_UNLIKELY(!stream))
        return error;
    struct sp_lane *lane = sp_at_hand_lane(owner, stream, &sequence);
    struct sp_put done = {.left = SP_LEFT_ALL};
    if (SP_UNLIKELY(!lane))
        return sp_free_other(pointer, owner, stream);
    sp_biased_lock_acquire(&lane->lock);
    if (SP_LIKELY(sp_load_relaxed(&lane->puts) == stream))
        done = sp_at_hand_put_locked(lane, owner, (uint64_t)(uintptr_t)pointer, sequence);
    sp_biased_lock_release(&lane->lock);
    if (SP_LIKELY(!done.left))
        return poolSuccess;
    return done.left == SP_LEFT_ALL ? sp_free_other(pointer, owner, stream)
                                    : sp_free_finish(lane, owner, stream, sequence, done);
}

// Memory that belongs to no pool goes to the driver, which needs a current context, and refuses to
// free any while that has a fault.
static poolError_t free_in_no_order(void *ptr) {
    poolError_t unread = sp_fail_unread();
    bool asks = sp_load_relaxed(&sp_fail_had_fault);
    struct sp_outcome asked = asks ? sp_resolve_capture(NULL) : sp_outcome_done();
    if (sp_fail_is_fault(asked.code))
        return sp_fail_outcome(asked, "looking at the current context");
    poolError_t error = sp_free_other(ptr, sp_owner_of((uint64_t)(uintptr_t)ptr), NULL);
    if (error != poolErrorDeviceUninitialized)
        return error;
    struct sp_outcome supplied = sp_api_supply_context(sp_outcome_of(SP_NO_CONTEXT), NULL, NULL);
    if (!sp_is_done(supplied))
        return sp_fail_outcome(supplied, "looking for a current context");
    sp_fail_set_unread(unread); // the first attempt is made good
    return sp_free_other(ptr, sp_owner_of((uint64_t)(uintptr_t)ptr), NULL);
}

// Frees where the runtime isn't started, or somebody observes: in the order of a stream, or of none
// where `handle` is null.
SP_COLD static poolError_t free_aside(void *ptr, const CUstream *handle) {
    poolError_t error = sp_runtime_start();
    if (error != poolSuccess || !ptr)
        return error;
    bool turn = sp_observe_take_turn(), notes = sp_observe_is_on();
    const struct sp_stream *stream = notes && handle ? stream_to_note(*handle) : NULL;
    struct sp_live_block *block = notes ? sp_observe_freeing(ptr) : NULL;
    error = handle ? free_in_order(ptr, sp_owner_of_freed((uint64_t)(uintptr_t)ptr), *handle,
                                   poolPromiseNothing)
                   : free_in_no_order(ptr);
    if (notes)
        sp_observe_freed(block, error, stream);
    sp_observe_give_turn(turn);
    return error;
}

poolError_t poolFreeAsync(void *ptr, CUstream handle) {
    if (SP_UNLIKELY(!sp_runtime_is_plain()))
        return free_aside(ptr, &(CUstream){handle});
    return SP_LIKELY(ptr) ? free_in_order(ptr, sp_owner_of_freed((uint64_t)(uintptr_t)ptr), handle,
                                          poolPromiseNothing)
                          : poolSuccess;
}

poolError_t poolFree(void *ptr) {
    if (!sp_runtime_is_plain())
        return free_aside(ptr, NULL);
    return ptr ? free_in_no_order(ptr) : poolSuccess;
}

// -------------------------------------------------------------------- frees behind several streams

// The streams of one call, each once, by their slots.
struct list {
    const CUstream *handles;
    size_t count;
    bool per_thread; // stream 0 is the per-thread default stream
    struct sp_release_point *points;
    uint32_t distinct;
    const struct sp_stream *first; // of the list
};

static int compare_slots(const void *a, const void *b) {
    const struct sp_release_point *left = a, *right = b;
    return sp_compare(left->stream->slot, right->stream->slot);
}

static poolError_t admit_all(struct list *list, int promises) {
    poolError_t error = poolSuccess;
    for (size_t i = 0; i < list->count; i++) {
        CUstream handle = list->per_thread ? sp_api_per_thread(list->handles[i]) : list->handles[i];
        struct sp_stream *stream = admit(handle, NULL, promises, refuse_free_in_capture, &error);
        if (!stream)
            return error;
        list->points[i] = (struct sp_release_point){.stream = stream};
    }
    list->first = list->points[0].stream;
    qsort(list->points, list->count, sizeof list->points[0], compare_slots);
    for (size_t i = 0; i < list->count; i++) {
        if (i == 0 || list->points[list->distinct - 1].stream != list->points[i].stream)
            list->points[list->distinct++] = list->points[i];
    }
    return poolSuccess;
}

// A list that is longer than most takes host memory.
enum { POINTS_AT_ONCE = 8 };

static poolError_t free_after(void *ptr, struct list list) {
    struct sp_release_point few[POINTS_AT_ONCE];
    poolError_t error = sp_runtime_enter();
    if (error != poolSuccess)
        return error;
    if (!list.handles || list.count == 0)
        return sp_fail(poolErrorInvalidValue, list.handles ? "count is 0" : "streams is null");
    if (!ptr)
        return poolSuccess;
    list.points = list.count <= POINTS_AT_ONCE ? few : calloc(list.count, sizeof few[0]);
    if (!list.points)
        return sp_fail(poolErrorMemoryAllocation, "out of host memory for %zu streams", list.count);
    bool turn = sp_observe_take_turn(), notes = sp_observe_is_on();
    struct sp_live_block *block = notes ? sp_observe_freeing(ptr) : NULL;
    uintptr_t owner = sp_owner_of((uint64_t)(uintptr_t)ptr);
    error = admit_all(&list, promises_of_owner(owner));
    if (error == poolSuccess && list.distinct == 1) // it is that stream's own free
        error = sp_free_other(ptr, owner, list.points[0].stream);
    else if (error == poolSuccess)
        error = sp_free_behind(ptr, owner, list.points, list.distinct);
    // That the free was behind the others' work too is noted as events at the block's address, for
    // which the first stream waits. So a trace has more order than the program.
    for (uint32_t i = 0; notes && error == poolSuccess && i < list.distinct; i++) {
        if (list.points[i].stream == list.first)
            continue;
        sp_observe_act_on_stream(SP_RECORD_RECORD, ptr, list.points[i].stream);
        sp_observe_act_on_stream(SP_RECORD_WAIT, ptr, list.first);
        sp_observe_act(SP_RECORD_DESTROY_EVENT, ptr);
    }
    if (notes)
        sp_observe_freed(block, error, list.first);
    sp_observe_give_turn(turn);
    if (list.points != few)
        free(list.points);
    return error;
}

poolError_t poolFreeAsyncAfter(void *ptr, const CUstream streams[], size_t count) {
    return free_after(ptr, (struct list){.handles = streams, .count = count});
}

poolError_t poolFreeAsyncAfter_ptsz(void *ptr, const CUstream streams[], size_t count) {
    return free_after(ptr, (struct list){.handles = streams, .count = count, .per_thread = true});
}

// --------------------------------------------- the same, with promises of the stream (interpose.h)

poolError_t sp_interpose_malloc(void **ptr, size_t size, CUstream stream, int promises) {
    return SP_LIKELY(sp_runtime_is_plain() && ptr)
               ? allocate_from_current(ptr, size, stream, poolMallocDefault,
                                       sp_promises_that_hold(promises))
               : poolMallocAsync(ptr, size, stream);
}

poolError_t sp_interpose_malloc_from_pool(void **ptr, size_t size, poolMemPool_t handle,
                                          CUstream stream, int promises) {
    struct sp_pool *pool = sp_handle_pool(handle);
    return SP_LIKELY(sp_runtime_is_plain() && ptr && pool)
               ? allocate_from(pool, handle, ptr, size, stream, poolMallocDefault,
                               sp_promises_that_hold(promises))
               : poolMallocFromPoolAsync(ptr, size, handle, stream);
}

poolError_t sp_interpose_free(void *ptr, CUstream stream, int promises, bool *is_foreign) {
    bool is_plain = SP_LIKELY(sp_runtime_is_plain() && ptr);
    uintptr_t owner = is_plain ? sp_owner_of_freed((uint64_t)(uintptr_t)ptr) : 0;
    *is_foreign = SP_UNLIKELY(!owner) && ptr && !sp_page_map_has((uint64_t)(uintptr_t)ptr);
    if (SP_UNLIKELY(*is_foreign))
        return poolErrorInvalidValue;
    return is_plain ? free_in_order(ptr, owner, stream, sp_promises_that_hold(promises))
                    : poolFreeAsync(ptr, stream);
}

// --------------------------------------------- the same, where stream 0 is the thread's own stream

poolError_t poolMallocAsync_ptsz(void **ptr, size_t size, CUstream stream) {
    return poolMallocAsync(ptr, size, sp_api_per_thread(stream));
}

poolError_t poolMallocFromPoolAsync_ptsz(void **ptr, size_t size, poolMemPool_t pool,
                                         CUstream stream) {
    return poolMallocFromPoolAsync(ptr, size, pool, sp_api_per_thread(stream));
}

poolError_t poolMallocAsyncWithFlags_ptsz(void **ptr, size_t size, poolMemPool_t pool,
                                          CUstream stream, unsigned int flags) {
    return poolMallocAsyncWithFlags(ptr, size, pool, sp_api_per_thread(stream), flags);
}

poolError_t poolFreeAsync_ptsz(void *ptr, CUstream stream) {
    return poolFreeAsync(ptr, sp_api_per_thread(stream));
}
