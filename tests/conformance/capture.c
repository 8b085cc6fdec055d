// Rows of captures under the global mode: what the library does meanwhile, for other streams and in
// other threads, leaves them valid.
#include <pthread.h>
#include <stdint.h>

#include "conformance/rows.h"
#include "conformance/scene.h"
#include "support/check.h"

static void begin(CUstream stream) {
    DRIVER(test_driver()->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void end_valid(CUstream stream) {
    CUstreamCaptureStatus status;
    CUgraph graph = NULL;
    DRIVER(test_driver()->cuStreamIsCapturing(stream, &status));
    REQUIRE(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    DRIVER(test_driver()->cuStreamEndCapture(stream, &graph));
    DRIVER(test_driver()->cuGraphDestroy(graph));
}

// What is done beside a capture. The scene was opened before it, since its own set-up may call what
// a capture forbids.
struct beside {
    struct scene scene;
    poolMemPool_t pool;
    CUevent event;
    void *block;
    CUstream capturing;
};

static void open_beside(struct beside *beside) {
    scene_open(&beside->scene, SCENE_LARGE);
    beside->pool = test_keeping_pool();
    beside->event = test_event();
    beside->block = test_malloc(beside->pool, MIB(40), beside->scene.a);
    beside->capturing = test_stream();
    test_finish(beside->scene.a);
    test_malloc(beside->pool, 512, beside->scene.b);
}

static void run(void (*act)(struct beside *), struct beside *beside) {
    begin(beside->capturing);
    act(beside);
    end_valid(beside->capturing);
}

struct apart {
    void (*act)(struct beside *);
    struct beside *beside;
};

static void *act_apart(void *argument) {
    const struct apart *apart = argument;
    test_use_device(0);
    apart->act(apart->beside);
    return NULL;
}

static void run_apart(void (*act)(struct beside *), struct beside *beside) {
    struct apart apart = {act, beside};
    pthread_t thread;
    begin(beside->capturing);
    REQUIRE(pthread_create(&thread, NULL, act_apart, &apart) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    end_valid(beside->capturing);
}

// In the thread that captures, and in another. What is held is let go, and not waited for: no
// capture allows that.
static void leave_capture_valid(void (*act)(struct beside *)) {
    static struct beside first, second;
    open_beside(&first);
    run(act, &first);
    open_beside(&second);
    run_apart(act, &second);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
}

static void grow(struct beside *beside) {
    static const size_t sizes[] = {512, KIB(300), MIB(3), MIB(100)};
    poolMemPool_t fresh = test_pool();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        test_free(test_malloc(beside->pool, sizes[i], beside->scene.a), beside->scene.a);
        test_free(test_malloc(fresh, sizes[i], beside->scene.b), beside->scene.b);
    }
    EXPECT(poolMemPoolDestroy(fresh), poolSuccess);
}

void row_growth_leaves_a_capture_valid(void) {
    leave_capture_valid(grow);
}

static void trim(struct beside *beside) {
    EXPECT(poolFree(beside->block), poolSuccess);
    EXPECT(poolMemPoolTrimTo(beside->pool, 0), poolSuccess);
    REQUIRE(test_reserved(beside->pool) < MIB(40));
}

void row_a_trim_leaves_a_capture_valid(void) {
    leave_capture_valid(trim);
}

static void prime(struct beside *beside) {
    uint64_t reserved = test_reserved(beside->pool);
    EXPECT(poolMemPoolPrime(beside->pool, MIB(100)), poolSuccess);
    REQUIRE_EQUAL(test_reserved(beside->pool), reserved + MIB(100));
}

void row_priming_leaves_a_capture_valid(void) {
    leave_capture_valid(prime);
}

static void remap(struct beside *beside) {
    CUstream stream = beside->scene.a;
    poolMemPool_t pool = test_pool_of_at_most(MIB(64));
    void *blocks[8];
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = test_malloc(pool, MIB(8), stream);
    for (unsigned i = 0; i < 8; i += 2)
        test_free(blocks[i], stream);
    void *joined = test_malloc(pool, MIB(32), stream);
    REQUIRE_EQUAL(test_reserved(pool), MIB(64));
    EXPECT(poolFree(joined), poolSuccess);
    for (unsigned i = 1; i < 8; i += 2)
        EXPECT(poolFree(blocks[i]), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
}

void row_remapping_leaves_a_capture_valid(void) {
    leave_capture_valid(remap);
}

static void record(struct beside *beside) {
    test_set_attribute(beside->pool, poolMemPoolAttrUnfencedBytesMax, 0);
    test_free(beside->block, beside->scene.a);
    EXPECT(poolEventRecord(beside->event, beside->scene.a), poolSuccess);
    EXPECT(poolStreamWaitEvent(beside->scene.b, beside->event, 0), poolSuccess);
    REQUIRE(test_malloc(beside->pool, MIB(40), beside->scene.b) == beside->block);
}

void row_records_and_waits_leave_a_capture_valid(void) {
    leave_capture_valid(record);
}

static void poll(struct beside *beside) {
    test_set_flag(beside->scene.pool, poolMemPoolReuseAllowOpportunistic, 1);
    test_free(beside->scene.block, beside->scene.a);
    while (!scene_gives(&beside->scene, beside->scene.b))
        ;
}

void row_questions_leave_a_capture_valid(void) {
    leave_capture_valid(poll);
}

static void insert_wait(struct beside *beside) {
    test_set_flag(beside->scene.pool, poolMemPoolReuseAllowInternalDependencies, 1);
    scene_free_held(&beside->scene, beside->scene.a);
    REQUIRE(scene_gives(&beside->scene, beside->scene.b));
    test_let_go(&beside->scene.hold);
}

void row_inserted_waits_leave_a_capture_valid(void) {
    leave_capture_valid(insert_wait);
}

// With nothing free; and with pending memory that nothing but an inserted wait could bring.
static void fail(struct beside *beside) {
    struct scene *scene = &beside->scene;
    void *pointer = NULL;
    test_set_all_policies(scene->pool, 1);
    EXPECT(poolMallocFromPoolAsync(&pointer, scene->size, scene->pool, scene->b),
           poolErrorMemoryAllocation);
    test_set_flag(scene->pool, poolMemPoolReuseAllowInternalDependencies, 0);
    test_set_attribute(scene->pool, poolMemPoolAttrHostWaitMax, 1);
    scene_free_held(scene, scene->a);
    REQUIRE(!scene_gives(scene, scene->b));
    test_let_go(&scene->hold);
}

void row_an_allocation_that_finds_no_memory_leaves_a_capture_valid(void) {
    leave_capture_valid(fail);
}

static void *wait_for_host(void *argument) {
    test_let_go(argument);
    return NULL;
}

static void host_wait(struct beside *beside) {
    pthread_t thread;
    struct scene *scene = &beside->scene;
    test_set_attribute(scene->pool, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    scene_free_held(scene, scene->a);
    REQUIRE(pthread_create(&thread, NULL, wait_for_host, &scene->hold) == 0);
    REQUIRE(scene_gives(scene, scene->b));
    REQUIRE(pthread_join(thread, NULL) == 0);
}

void row_a_wait_on_the_host_leaves_a_capture_valid(void) {
    leave_capture_valid(host_wait);
}

static void destroy(struct beside *beside) {
    test_free(beside->block, beside->scene.a);
    EXPECT(poolStreamDestroy(beside->scene.a), poolSuccess);
    EXPECT(poolEventDestroy(beside->event), poolSuccess);
    EXPECT(poolMemPoolDestroy(beside->pool), poolSuccess);
}

void row_destroying_streams_events_and_pools_leaves_a_capture_valid(void) {
    leave_capture_valid(destroy);
}

// Streams that the library has never seen before, at handles that it has.
static void meet(struct beside *beside) {
    for (unsigned i = 0; i < 8; i++) {
        CUstream stream = test_stream();
        test_free(test_malloc(beside->pool, KIB(5), stream), stream);
        EXPECT(poolStreamDestroy(stream), poolSuccess);
    }
    test_free(test_malloc(beside->pool, KIB(5), CU_STREAM_PER_THREAD), CU_STREAM_PER_THREAD);
}

void row_new_streams_leave_a_capture_valid(void) {
    leave_capture_valid(meet);
}

// The legacy stream may be allocated on while a non-blocking stream captures.
static void use_legacy(struct beside *beside) {
    test_free(test_malloc(beside->pool, MIB(3), NULL), NULL);
    test_free(beside->block, CU_STREAM_LEGACY);
}

void row_the_legacy_stream_allocates_beside_a_capture_of_a_non_blocking_stream(void) {
    leave_capture_valid(use_legacy);
}

// Through our calls a capture forks to another stream and joins again, and nothing is learned of
// it.
void row_a_capture_forks_and_joins_through_the_pools_calls(void) {
    struct scene scene;
    CUevent fork = test_event(), join = test_event();
    CUstream capturing = test_stream();
    void *pointer = NULL;
    scene_open_pending(&scene, SCENE_LARGE);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    begin(capturing);
    EXPECT(poolEventRecord(fork, capturing), poolSuccess);
    EXPECT(poolStreamWaitEvent(scene.b, fork, 0), poolSuccess);
    EXPECT(poolMallocFromPoolAsync(&pointer, 512, scene.pool, scene.b),
           poolErrorStreamCaptureUnsupported);
    EXPECT(poolFreeAsync(scene.block, scene.b), poolErrorInvalidValue);
    EXPECT(poolEventRecord(join, scene.b), poolSuccess);
    EXPECT(poolStreamWaitEvent(capturing, join, 0), poolSuccess);
    end_valid(capturing);
    REQUIRE(!scene_gives(&scene, scene.b));
    REQUIRE(!scene_gives(&scene, capturing));
    scene_let_go(&scene);
    REQUIRE(scene_gives(&scene, scene.b));
}

// The event was recorded by the pool before, and in the capture by CUDA's own call: the pool must
// not make the stream wait for what is outside of the capture.
void row_a_capture_forks_through_an_event_that_the_pool_knows_otherwise(void) {
    struct scene scene;
    CUevent event = test_event(), join = test_event();
    CUstream capturing = test_stream();
    scene_open_pending(&scene, SCENE_LARGE);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    EXPECT(poolEventRecord(event, scene.a), poolSuccess);
    begin(capturing);
    DRIVER(test_driver()->cuEventRecord(event, capturing));
    EXPECT(poolStreamWaitEvent(scene.b, event, 0), poolSuccess);
    EXPECT(poolEventRecord(join, scene.b), poolSuccess);
    EXPECT(poolStreamWaitEvent(capturing, join, 0), poolSuccess);
    end_valid(capturing);
    REQUIRE(!scene_gives(&scene, scene.b));
    scene_let_go(&scene);
}

// What a capture was told not to free is freed afterwards, in the order of its stream.
void row_memory_that_a_capture_may_not_free_is_freed_after_it(void) {
    struct scene scene;
    CUstream capturing = test_stream();
    scene_open(&scene, SCENE_LARGE);
    test_finish(scene.a);
    begin(capturing);
    EXPECT(poolFreeAsync(scene.block, capturing), poolErrorInvalidValue);
    REQUIRE(!scene_gives(&scene, scene.a));
    end_valid(capturing);
    scene_free_held(&scene, capturing);
    REQUIRE(!scene_gives(&scene, scene.a));
    REQUIRE(scene_gives(&scene, capturing));
    scene_require_order(&scene, capturing);
}

void row_memory_is_freed_in_no_streams_order_beside_a_capture(void) {
    struct scene scene;
    CUstream capturing = test_stream();
    scene_open(&scene, SCENE_LARGE);
    test_finish(scene.a);
    begin(capturing);
    EXPECT(poolFree(scene.block), poolSuccess);
    REQUIRE(scene_gives(&scene, scene.b));
    end_valid(capturing);
}
