// Rows of contexts: several on one device, and the end of one with frees pending in it. What was
// freed in a context that has ended is complete.
#include <stdint.h>

#include "conformance/rows.h"
#include "conformance/scene.h"
#include "support/check.h"
#include "support/simulated.h"

static CUcontext current(void) {
    CUcontext context = NULL;
    DRIVER(test_driver()->cuCtxGetCurrent(&context));
    return context;
}

// It is current afterwards.
static CUcontext new_context(void) {
    CUcontext context = NULL;
    DRIVER(test_driver()->cuCtxCreate(&context, 0, 0));
    return context;
}

static void use(CUcontext context) {
    DRIVER(test_driver()->cuCtxSetCurrent(context));
}

// ------------------------------------------------------------------------ two contexts, one device

struct two {
    struct scene scene; // a in the second context, b in the first
    CUcontext first, second;
};

static void open_two(struct two *two, size_t size) {
    two->first = current();
    CUstream b = test_stream();
    two->second = new_context();
    scene_open_on(&two->scene, size, test_stream(), b);
    test_finish(two->scene.a);
}

static void share_pool(size_t size) {
    struct two two;
    open_two(&two, size);
    scene_free_held(&two.scene, two.scene.a);
    use(two.first);
    test_set_all_policies(two.scene.pool, 1);
    test_set_flag(two.scene.pool, poolMemPoolReuseAllowInternalDependencies, 0);
    REQUIRE(!scene_gives(&two.scene, two.scene.b));
    // Of the first context, which has nothing to do with it.
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(!scene_gives(&two.scene, two.scene.b));
    test_let_go(&two.scene.hold);
    EXPECT(poolStreamSynchronize(two.scene.a), poolSuccess);
    REQUIRE(scene_gives(&two.scene, two.scene.b));
    test_fill(two.scene.block, 3, size, two.scene.b);
    test_finish(two.scene.b);
    REQUIRE(test_is_filled(two.scene.block, 3, size));
}

void row_two_contexts_of_a_device_share_a_pool(void) {
    test_require_virtual_memory();
    scene_for_each_size(share_pool);
}

void row_an_event_orders_streams_of_two_contexts(void) {
    test_require_virtual_memory();
    struct two two;
    open_two(&two, SCENE_SMALL);
    CUevent event = test_event();
    test_set_flag(two.scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    scene_free_held(&two.scene, two.scene.a);
    EXPECT(poolEventRecord(event, two.scene.a), poolSuccess);
    EXPECT(poolStreamWaitEvent(two.scene.b, event, 0), poolSuccess);
    use(two.first);
    REQUIRE(scene_gives(&two.scene, two.scene.b));
    EXPECT(poolStreamQuery(two.scene.b), poolErrorNotReady);
    test_fill(two.scene.block, 3, SCENE_SMALL, two.scene.b);
    test_let_go(&two.scene.hold);
    EXPECT(poolStreamSynchronize(two.scene.b), poolSuccess);
    REQUIRE(test_is_filled(two.scene.block, 3, SCENE_SMALL));
}

void row_default_streams_of_two_contexts_are_two_streams(void) {
    test_require_virtual_memory();
    static const CUstream streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    CUcontext first = current();
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        struct scene scene;
        CUcontext second = new_context();
        scene_open_on(&scene, SCENE_SMALL, streams[i], streams[i]);
        test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
        scene_free_held(&scene, streams[i]);
        use(first);
        REQUIRE(!scene_gives(&scene, streams[i]));
        use(second);
        REQUIRE(scene_gives(&scene, streams[i]));
        scene_require_order(&scene, streams[i]);
        use(first);
    }
}

// It is alive, whoever's stream is passed: so it is asked what has completed there.
void row_what_is_complete_in_the_current_context_serves_a_stream_of_another(void) {
    test_require_virtual_memory();
    struct two two;
    open_two(&two, SCENE_LARGE);
    test_fill(two.scene.block, 2, SCENE_LARGE, two.scene.a);
    test_free(two.scene.block, two.scene.a);
    DRIVER(test_driver()->cuCtxSynchronize());
    test_set_all_policies(two.scene.pool, 1);
    REQUIRE(scene_gives(&two.scene, two.scene.b));
}

// ---------------------------------------------------------------------------- the end of a context

// Every rung of the ladder is climbed with fences of a context that is gone: none of its events may
// be touched.
static void require_usable(struct scene *scene, CUstream stream) {
    test_set_all_policies(scene->pool, 1);
    test_set_attribute(scene->pool, poolMemPoolAttrHostWaitMax, 1);
    if (scene_gives(scene, stream)) {
        test_fill(scene->block, 3, scene->size, stream);
        test_finish(stream);
        REQUIRE(test_is_filled(scene->block, 3, scene->size));
        test_free(scene->block, stream);
    }
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    EXPECT(poolMemPoolTrimTo(scene->pool, 0), poolSuccess);
}

static void destroy_context(size_t size) {
    struct two two;
    CUevent event;
    open_two(&two, size);
    event = test_event();
    test_fill(two.scene.block, 2, size, two.scene.a);
    test_free(two.scene.block, two.scene.a);
    EXPECT(poolEventRecord(event, two.scene.a), poolSuccess);
    DRIVER(test_driver()->cuCtxDestroy(two.second));
    use(two.first);
    require_usable(&two.scene, two.scene.b);
    require_usable(&two.scene, test_stream());
}

void row_a_context_may_be_destroyed_with_frees_pending(void) {
    test_require_virtual_memory();
    scene_for_each_size(destroy_context);
}

// A pool with memory that was freed, behind work, in a context that is gone; another one is
// current.
static void open_gone(struct two *two) {
    open_two(two, SCENE_LARGE);
    test_fill(two->scene.block, 2, SCENE_LARGE, two->scene.a);
    test_free(two->scene.block, two->scene.a);
    DRIVER(test_driver()->cuCtxDestroy(two->second));
    use(two->first);
}

void row_memory_of_a_context_that_was_destroyed_is_given_again(void) {
    test_require_virtual_memory();
    struct two two;
    open_gone(&two);
    REQUIRE(scene_gives(&two.scene, two.scene.b));
    test_fill(two.scene.block, 3, SCENE_LARGE, two.scene.b);
    test_finish(two.scene.b);
    REQUIRE(test_is_filled(two.scene.block, 3, SCENE_LARGE));
}

void row_memory_of_a_context_that_was_destroyed_is_trimmed(void) {
    test_require_virtual_memory();
    struct two two;
    open_gone(&two);
    EXPECT(poolMemPoolTrimTo(two.scene.pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(two.scene.pool), 0);
}

// Lets the driver no longer tell whether a context is gone. Of a known stream's context it still
// does where that is what a call asks first.
static void hide_the_ends_of_contexts(void) {
    const bool has_ids = test_driver()->cuCtxGetId != NULL;
    REQUIRE(test_require_simulated()->simcudaFailCall(
                has_ids ? "cuCtxGetId" : "cuPointerGetAttribute", has_ids ? 1 : 2,
                simcudaFaultOnwards, CUDA_ERROR_UNKNOWN) == 0);
}

void row_a_context_that_the_driver_can_not_tell_of_is_taken_for_alive_and_left_alone(void) {
    struct two two;
    open_gone(&two);
    EXPECT(poolStreamQuery(two.scene.b), poolSuccess);
    test_set_all_policies(two.scene.pool, 1);
    hide_the_ends_of_contexts();
    REQUIRE(!scene_gives(&two.scene, two.scene.b));
    test_require_simulated()->simcudaFailClear();
    REQUIRE(scene_gives(&two.scene, two.scene.b));
}

// What is freed where a context is alive is pending as ever.
void row_memory_of_another_context_that_is_alive_is_left(void) {
    test_require_virtual_memory();
    struct two two;
    open_two(&two, SCENE_LARGE);
    scene_free_held(&two.scene, two.scene.a);
    use(two.first);
    REQUIRE(!scene_gives(&two.scene, two.scene.b));
    EXPECT(poolMemPoolTrimTo(two.scene.pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(two.scene.pool), SCENE_LARGE);
    test_let_go(&two.scene.hold);
    test_finish(two.scene.a);
}

static void reset_context(size_t size) {
    struct scene scene;
    CUcontext context;
    scene_open(&scene, size);
    CUevent event = test_event();
    test_fill(scene.block, 2, size, scene.a);
    test_free(scene.block, scene.a);
    EXPECT(poolEventRecord(event, scene.a), poolSuccess);
    DRIVER(test_driver()->cuDevicePrimaryCtxReset(0));
    DRIVER(test_driver()->cuDevicePrimaryCtxRetain(&context, 0));
    use(context);
    CUstream stream = test_stream();
    require_usable(&scene, stream);
    test_free(test_malloc(test_keeping_pool(), size, stream), stream);
}

void row_a_context_may_be_reset_with_frees_pending(void) {
    test_require_virtual_memory();
    scene_for_each_size(reset_context);
}

// The context at the handle is another one, so what was freed in the earlier one is complete.
void row_memory_of_a_context_that_was_reset_is_given_again(void) {
    test_require_virtual_memory();
    struct scene scene;
    CUcontext context;
    scene_open(&scene, SCENE_LARGE);
    test_fill(scene.block, 2, SCENE_LARGE, scene.a);
    test_free(scene.block, scene.a);
    DRIVER(test_driver()->cuDevicePrimaryCtxReset(0));
    DRIVER(test_driver()->cuDevicePrimaryCtxRetain(&context, 0));
    use(context);
    CUstream stream = test_stream();
    REQUIRE(scene_gives(&scene, stream));
    test_fill(scene.block, 3, SCENE_LARGE, stream);
    test_finish(stream);
    REQUIRE(test_is_filled(scene.block, 3, SCENE_LARGE));
}
