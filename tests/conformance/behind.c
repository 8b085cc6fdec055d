// Rows of frees behind several streams (poolFreeAsyncAfter): who is given the memory when, and what
// misuse is answered with.
#include <stdint.h>

#include "conformance/rows.h"
#include "conformance/scene.h"
#include "support/check.h"

static void free_behind(void *pointer, const CUstream *streams, size_t count) {
    EXPECT(poolFreeAsyncAfter(pointer, streams, count), poolSuccess);
}

static void order(CUstream first, CUstream second) {
    CUevent event = test_event();
    EXPECT(poolEventRecord(event, first), poolSuccess);
    EXPECT(poolStreamWaitEvent(second, event, 0), poolSuccess);
}

// With the block freed behind a, which is idle, and behind b, which writes to it when it is let go.
static void open_behind_two(struct scene *scene, size_t size) {
    scene_open(scene, size);
    order(scene->a, scene->b);
    scene_hold_and_write(scene, scene->b);
    free_behind(scene->block, (CUstream[]){scene->a, scene->b}, 2);
    REQUIRE_EQUAL(test_used(scene->pool), size < MIB(32) ? MIB(32) - size : 0);
}

static void wait_for_both(size_t size) {
    struct scene scene;
    open_behind_two(&scene, size);
    CUstream third = test_stream();
    EXPECT(poolStreamSynchronize(scene.a), poolSuccess);
    REQUIRE(!scene_gives(&scene, scene.a));
    REQUIRE(!scene_gives(&scene, third));
    EXPECT(poolStreamQuery(scene.b), poolErrorNotReady);
    scene_let_go(&scene);
    REQUIRE(scene_gives(&scene, third));
}

void row_memory_freed_behind_two_streams_waits_for_both(void) {
    scene_for_each_size(wait_for_both);
}

static void give_to_one_of_them(size_t size) {
    struct scene scene;
    open_behind_two(&scene, size);
    REQUIRE(!scene_gives(&scene, scene.b));
    EXPECT(poolStreamSynchronize(scene.a), poolSuccess);
    REQUIRE(scene_gives(&scene, scene.b));
    EXPECT(poolStreamQuery(scene.b), poolErrorNotReady);
    scene_require_order(&scene, scene.b);
}

void row_memory_freed_behind_two_streams_goes_to_one_of_them_once_the_other_is_complete(void) {
    scene_for_each_size(give_to_one_of_them);
}

static void follow_both(size_t size) {
    struct scene scene;
    CUstream third = test_stream();
    open_behind_two(&scene, size);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    order(scene.a, third);
    REQUIRE(!scene_gives(&scene, third));
    order(scene.b, third);
    REQUIRE(scene_gives(&scene, third));
    EXPECT(poolStreamQuery(scene.b), poolErrorNotReady);
    scene_require_order(&scene, third);
}

void row_memory_freed_behind_two_streams_goes_to_a_stream_that_runs_after_both(void) {
    scene_for_each_size(follow_both);
}

// Above what may lie free with no event behind it, so that there is something to wait for.
void row_a_wait_is_inserted_for_each_stream_that_memory_was_freed_behind(void) {
    struct scene scene;
    CUstream third = test_stream();
    open_behind_two(&scene, SCENE_LARGE);
    test_set_flag(scene.pool, poolMemPoolReuseAllowInternalDependencies, 1);
    REQUIRE(scene_gives(&scene, third));
    scene_require_order(&scene, third);
    REQUIRE(test_attribute(scene.pool, poolMemPoolStatWaitsInserted) > 0);
    REQUIRE_EQUAL(test_attribute(scene.pool, poolMemPoolStatReuseMadeOrdered), 1);
}

static void name_one_stream(size_t size) {
    struct scene scene;
    scene_open(&scene, size);
    scene_hold_and_write(&scene, scene.a);
    free_behind(scene.block, (CUstream[]){scene.a, scene.a, scene.a}, size == SCENE_SMALL ? 1 : 3);
    REQUIRE(!scene_gives(&scene, scene.b));
    REQUIRE(scene_gives(&scene, scene.a));
    scene_require_order(&scene, scene.a);
}

void row_a_free_behind_one_stream_is_that_streams_own(void) {
    scene_for_each_size(name_one_stream);
}

// The blocking stream's point is ordered before the legacy stream's next work, the other one's
// isn't.
void row_the_legacy_stream_follows_the_blocking_ones_of_the_streams_alone(void) {
    struct scene scene;
    scene_open_on(&scene, SCENE_SMALL, test_blocking_stream(), test_stream());
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    order(scene.a, scene.b);
    scene_hold_and_write(&scene, scene.b);
    free_behind(scene.block, (CUstream[]){scene.a, scene.b}, 2);
    REQUIRE(!scene_gives(&scene, CU_STREAM_LEGACY));
    order(scene.b, CU_STREAM_LEGACY);
    REQUIRE(scene_gives(&scene, CU_STREAM_LEGACY));
    scene_require_order(&scene, CU_STREAM_LEGACY);
}

// Destroyed by the library's call, with the work before the free pending on one.
void row_streams_that_memory_was_freed_behind_may_be_destroyed(void) {
    struct scene scene;
    CUstream third = test_stream();
    open_behind_two(&scene, SCENE_SMALL);
    EXPECT(poolStreamDestroy(scene.a), poolSuccess);
    EXPECT(poolStreamDestroy(scene.b), poolSuccess);
    REQUIRE(!scene_gives(&scene, third));
    scene_let_go(&scene);
    REQUIRE(scene_gives(&scene, third));
}

// A block of a slab goes back to its stream when it has waited for the others.
void row_small_memory_freed_behind_two_streams_is_not_written_too_early(void) {
    enum { BLOCKS = 64, SIZE = KIB(2) };
    poolMemPool_t pool = test_keeping_pool();
    CUstream a = test_stream(), b = test_stream();
    void *blocks[BLOCKS];
    struct test_hold hold;
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = test_malloc(pool, SIZE, a);
        test_fill(blocks[i], 1, SIZE, a);
    }
    order(a, b);
    test_hold(&hold, b);
    for (int i = 0; i < BLOCKS; i++) {
        test_fill(blocks[i], 2, SIZE, b);
        free_behind(blocks[i], (CUstream[]){b, a}, 2);
    }
    REQUIRE_EQUAL(test_used(pool), 0);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = test_malloc(pool, SIZE, a);
        test_fill(blocks[i], 3, SIZE, a);
    }
    test_let_go(&hold);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    for (int i = 0; i < BLOCKS; i++)
        REQUIRE(test_is_filled(blocks[i], 3, SIZE));
}

// ------------------------------------------------------------------------------------------ misuse

static void refuse_behind(poolMemPool_t pool, void *pointer, const CUstream *streams, size_t count,
                          poolError_t error) {
    struct test_figures before = test_figures(pool);
    EXPECT(poolFreeAsyncAfter(pointer, streams, count), error);
    REQUIRE_FIGURES(pool, before);
}

void row_a_free_behind_no_stream_is_invalid(void) {
    CUstream streams[] = {test_stream(), test_stream()};
    poolMemPool_t pool = test_pool();
    void *pointer = test_malloc(pool, KIB(300), streams[0]);
    refuse_behind(pool, pointer, streams, 0, poolErrorInvalidValue);
    refuse_behind(pool, pointer, NULL, 2, poolErrorInvalidValue);
    refuse_behind(pool, NULL, streams, 0, poolErrorInvalidValue);
    free_behind(NULL, streams, 2);
    free_behind(pointer, streams, 2);
}

void row_a_free_behind_streams_of_what_is_not_live_is_invalid(void) {
    static const size_t sizes[] = {600, KIB(300), MIB(40)};
    CUstream streams[] = {test_stream(), test_stream()};
    poolMemPool_t pool = test_keeping_pool();
    int local = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *pointer = test_malloc(pool, sizes[i], streams[0]);
        refuse_behind(pool, pointer + 512, streams, 2, poolErrorInvalidValue);
        free_behind(pointer, streams, 2);
        refuse_behind(pool, pointer, streams, 2, poolErrorInvalidValue);
        refuse_behind(pool, pointer, streams, 1, poolErrorInvalidValue);
    }
    refuse_behind(pool, &local, streams, 2, poolErrorInvalidValue);
}

void row_a_free_behind_streams_of_other_memory_of_the_device_is_invalid(void) {
    CUstream streams[] = {test_stream(), test_stream()};
    CUdeviceptr other = 0;
    poolMemPool_t pool = test_pool();
    DRIVER(test_driver()->cuMemAlloc(&other, MIB(2)));
    refuse_behind(pool, (void *)(uintptr_t)other, streams, 2, poolErrorInvalidValue);
    DRIVER(test_driver()->cuMemFree(other));
}

void row_a_capturing_stream_among_several_is_refused_a_free_and_all_stay_valid(void) {
    static const size_t sizes[] = {512, KIB(300), MIB(40)};
    CUstream streams[] = {test_stream(), test_blocking_stream()};
    CUstream with_legacy[] = {streams[0], CU_STREAM_LEGACY};
    CUstreamCaptureStatus status;
    CUgraph graph = NULL;
    poolMemPool_t pool = test_pool();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = test_malloc(pool, sizes[i], streams[0]);
        test_fill(pointer, 9, sizes[i], streams[0]);
        test_finish(streams[0]);
        DRIVER(test_driver()->cuStreamBeginCapture(streams[1], CU_STREAM_CAPTURE_MODE_GLOBAL));
        refuse_behind(pool, pointer, streams, 2, poolErrorInvalidValue);
        refuse_behind(pool, pointer, with_legacy, 2, poolErrorStreamCaptureImplicit);
        DRIVER(test_driver()->cuStreamIsCapturing(streams[1], &status));
        REQUIRE(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
        DRIVER(test_driver()->cuStreamEndCapture(streams[1], &graph));
        DRIVER(test_driver()->cuGraphDestroy(graph));
        REQUIRE(test_is_filled(pointer, 9, sizes[i]));
        free_behind(pointer, streams, 2);
    }
    REQUIRE_EQUAL(test_used(pool), 0);
}
