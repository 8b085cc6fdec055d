// The calls that free memory.
#include "calls/free.h"
#include "api/admit.h"
#include "observe/observe.h"
#include "process/promises.h"

#include <stdlib.h>

// Returns the promises of the pool that the pointer belongs to, or none.
static inline int promises_of_owner(uintptr_t owner) {
    const struct sp_lane *lane =
        sp_load_relaxed(&sp_promises_pools) != 0 ? sp_owner_lane(owner) : NULL;
    const struct sp_pool *pool = lane ? lane->pool : NULL;
    return pool ? sp_pool_promises(pool) : poolPromiseNothing;
}

static SP_HOT poolError_t free_in_order(void *pointer, CUstream handle) {
    uint64_t sequence;
    poolError_t error = poolSuccess;
    uintptr_t owner = sp_owner_of_freed((uint64_t)(uintptr_t)pointer);
    struct sp_stream *stream =
        sp_admit_stream(handle, NULL, promises_of_owner(owner), sp_admit_refuse_free, &error);
    if (SP_UNLIKELY(!stream))
        return error;
    struct sp_lane *lane = sp_at_hand_lane(owner, stream, &sequence);
    struct sp_put done = {.left = SP_LEFT_ALL};
    if (SP_UNLIKELY(!lane))
        return sp_free_other(pointer, owner, stream);
    sp_biased_lock_acquire(&lane->lock);
    if (SP_LIKELY(lane->stream == stream))
        done = sp_at_hand_put_locked(lane, owner, (uint64_t)(uintptr_t)pointer, sequence);
    sp_biased_lock_release(&lane->lock);
    if (SP_LIKELY(!done.left))
        return poolSuccess;
    return done.left == SP_LEFT_ALL ? sp_free_other(pointer, owner, stream)
                                    : sp_free_finish(lane, owner, stream, sequence, done);
}

static poolError_t free_once(void *ptr) {
    return sp_free_other(ptr, sp_owner_of((uint64_t)(uintptr_t)ptr), NULL);
}

// Memory that belongs to no pool goes to the driver, which needs a current context.
static poolError_t free_in_no_order(void *ptr) {
    poolError_t unread = sp_fail_unread();
    poolError_t error = free_once(ptr);
    if (error != poolErrorDeviceUninitialized)
        return error;
    struct sp_outcome supplied = sp_api_supply_context(sp_outcome_of(SP_NO_CONTEXT), NULL, NULL);
    if (!sp_is_done(supplied))
        return sp_fail_outcome(supplied, "looking for a current context");
    sp_fail_set_unread(unread); // the first attempt is made good
    return free_once(ptr);
}

// Frees and notes it, in the order of a stream, or of none where `handle` is null.
static poolError_t free_and_note(void *ptr, const CUstream *handle) {
    const struct sp_stream *stream = handle ? sp_admit_to_note(*handle) : NULL;
    struct sp_live_block *block = sp_observe_freeing(ptr);
    poolError_t error = handle ? free_in_order(ptr, *handle) : free_in_no_order(ptr);
    if (error == poolSuccess)
        sp_observe_freed(block, stream);
    else
        sp_observe_not_freed(block);
    return error;
}

// Frees where the runtime isn't started, or somebody observes.
SP_COLD static poolError_t free_aside(void *ptr, const CUstream *handle) {
    poolError_t error = sp_runtime_start();
    if (error != poolSuccess || !ptr)
        return error;
    if (!sp_observe_is_on())
        return handle ? free_in_order(ptr, *handle) : free_in_no_order(ptr);
    bool turn = sp_observe_take_turn();
    error = free_and_note(ptr, handle);
    sp_observe_give_turn(turn);
    return error;
}

poolError_t poolFreeAsync(void *ptr, CUstream handle) {
    if (SP_UNLIKELY(!sp_runtime_is_plain()))
        return free_aside(ptr, &(CUstream){handle});
    return SP_LIKELY(ptr) ? free_in_order(ptr, handle) : poolSuccess;
}

poolError_t poolFree(void *ptr) {
    if (!sp_runtime_is_plain())
        return free_aside(ptr, NULL);
    return ptr ? free_in_no_order(ptr) : poolSuccess;
}

// ------------------------------------------------------------------------- behind several streams

// The streams of one call, each once, in the order of the list.
struct list {
    const CUstream *handles;
    size_t count;
    bool per_thread; // stream 0 is the per-thread default stream
    struct sp_release_point *points;
    uint32_t distinct;
};

static CUstream handle_at(const struct list *list, size_t index) {
    CUstream handle = list->handles[index];
    return list->per_thread ? sp_api_per_thread(handle) : handle;
}

static void add_once(struct list *list, struct sp_stream *stream) {
    for (uint32_t i = 0; i < list->distinct; i++) {
        if (list->points[i].stream == stream)
            return;
    }
    list->points[list->distinct++] = (struct sp_release_point){.stream = stream};
}

static poolError_t admit_all(struct list *list, int promises) {
    poolError_t error = poolSuccess;
    for (size_t i = 0; i < list->count; i++) {
        struct sp_stream *stream =
            sp_admit_stream(handle_at(list, i), NULL, promises, sp_admit_refuse_free, &error);
        if (!stream)
            return error;
        add_once(list, stream);
    }
    return poolSuccess;
}

// Behind one stream it is that stream's own free.
static poolError_t free_behind(void *ptr, struct list *list) {
    uintptr_t owner = sp_owner_of((uint64_t)(uintptr_t)ptr);
    poolError_t error = admit_all(list, promises_of_owner(owner));
    if (error != poolSuccess)
        return error;
    return list->distinct == 1 ? sp_free_other(ptr, owner, list->points[0].stream)
                               : sp_free_behind(ptr, owner, list->points, list->distinct);
}

static poolError_t free_behind_and_note(void *ptr, struct list *list) {
    struct sp_live_block *block = sp_observe_freeing(ptr);
    poolError_t error = free_behind(ptr, list);
    if (error != poolSuccess) {
        sp_observe_not_freed(block);
        return error;
    }
    for (uint32_t i = 1; i < list->distinct; i++)
        sp_observe_joined(ptr, list->points[i].stream, list->points[0].stream);
    sp_observe_freed(block, list->points[0].stream);
    return poolSuccess;
}

static poolError_t free_list(void *ptr, struct list *list) {
    if (!sp_observe_is_on())
        return free_behind(ptr, list);
    bool turn = sp_observe_take_turn();
    poolError_t error = free_behind_and_note(ptr, list);
    sp_observe_give_turn(turn);
    return error;
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
    error = free_list(ptr, &list);
    if (list.points != few)
        free(list.points);
    return error;
}

poolError_t poolFreeAsyncAfter(void *ptr, const CUstream streams[], size_t count) {
    return free_after(ptr, (struct list){.handles = streams, .count = count});
}

// ------------------------------------------------------------------------------- _ptsz variants

poolError_t poolFreeAsync_ptsz(void *ptr, CUstream stream) {
    return poolFreeAsync(ptr, sp_api_per_thread(stream));
}

poolError_t poolFreeAsyncAfter_ptsz(void *ptr, const CUstream streams[], size_t count) {
    return free_after(ptr, (struct list){.handles = streams, .count = count, .per_thread = true});
}
