// Freeing behind the work of several streams.
#include "api/api.h"
#include "calls/free.h"
#include "process/observe.h"

#include <stdlib.h>

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
        CUstream handle = list->handles[i];
        struct sp_stream *stream = sp_api_admit_free(
            list->per_thread ? sp_api_per_thread(handle) : handle, promises, &error);
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

// Behind one stream it is that stream's own free.
static poolError_t free_behind(void *ptr, struct list *list) {
    uintptr_t owner = sp_owner_of((uint64_t)(uintptr_t)ptr);
    poolError_t error = admit_all(list, sp_api_promises_of(owner));
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
    for (uint32_t i = 0; i < list->distinct; i++) {
        if (list->points[i].stream != list->first)
            sp_observe_joined(ptr, list->points[i].stream, list->first);
    }
    sp_observe_freed(block, list->first);
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
    bool turn = sp_observe_take_turn();
    error = sp_observe_is_on() ? free_behind_and_note(ptr, &list) : free_behind(ptr, &list);
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
