// Rows of streams as they are: default streams of several threads, threads that share a stream or
// end, streams that are destroyed, programs that call no hook.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "conformance/rows.h"
#include "conformance/scene.h"
#include "support/check.h"

static void in_thread(void *(*function)(void *), void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, function, argument) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

// ---------------------------------------------------------------------- per-thread default streams

static void *expect_nothing_per_thread(void *argument) {
    struct scene *scene = argument;
    void *pointer = NULL;
    test_use_device(0);
    REQUIRE(!scene_gives(scene, CU_STREAM_PER_THREAD));
    EXPECT(poolMallocFromPoolAsync_ptsz(&pointer, scene->size, scene->pool, NULL),
           poolErrorMemoryAllocation);
    EXPECT(poolStreamQuery(CU_STREAM_PER_THREAD), poolSuccess);
    return NULL;
}

void row_per_thread_default_streams_of_two_threads_are_two_streams(void) {
    struct scene scene;
    scene_open_on(&scene, SCENE_SMALL, CU_STREAM_PER_THREAD, CU_STREAM_PER_THREAD);
    scene_free_held(&scene, CU_STREAM_PER_THREAD);
    in_thread(expect_nothing_per_thread, &scene);
    EXPECT(poolStreamQuery(CU_STREAM_PER_THREAD), poolErrorNotReady);
    REQUIRE(scene_gives(&scene, CU_STREAM_PER_THREAD));
    scene_require_order(&scene, CU_STREAM_PER_THREAD);
}

// The second time by its handle alone.
static void *expect_nothing_twice(void *scene) {
    test_use_device(0);
    REQUIRE(!scene_gives(scene, CU_STREAM_PER_THREAD));
    REQUIRE(!scene_gives(scene, CU_STREAM_PER_THREAD));
    return NULL;
}

static void open_promised(struct scene *scene, CUstream stream) {
    scene_open_on(scene, SCENE_SMALL, stream, stream);
    test_set_flag(scene->pool, poolMemPoolAttrStreamPromises,
                  poolPromiseStreamDestroy | poolPromiseNeverCapture | poolPromiseOneContext);
    scene_free_held(scene, stream);
    REQUIRE(scene_gives(scene, stream));
    test_free(scene->block, stream);
}

void row_promised_default_streams_are_told_apart_by_their_handles(void) {
    struct scene scene;
    open_promised(&scene, CU_STREAM_PER_THREAD);
    in_thread(expect_nothing_twice, &scene);
    REQUIRE(!scene_gives(&scene, NULL));
    REQUIRE(scene_gives(&scene, CU_STREAM_PER_THREAD));
    scene_require_order(&scene, CU_STREAM_PER_THREAD);
    open_promised(&scene, NULL);
    REQUIRE(!scene_gives(&scene, CU_STREAM_PER_THREAD));
    REQUIRE(scene_gives(&scene, CU_STREAM_LEGACY));
    scene_require_order(&scene, NULL);
}

// The variants that a program compiled for per-thread default streams calls.
void row_stream_0_is_the_threads_own_in_the_ptsz_variants(void) {
    struct scene scene;
    void *pointer = NULL;
    CUevent event = test_event();
    CUstream blocking = test_blocking_stream();
    scene_open_on(&scene, SCENE_SMALL, CU_STREAM_PER_THREAD, CU_STREAM_PER_THREAD);
    test_hold(&scene.hold, CU_STREAM_PER_THREAD);
    EXPECT(poolFreeAsync_ptsz(scene.block, NULL), poolSuccess);
    EXPECT(poolStreamQuery_ptsz(NULL), poolErrorNotReady);
    EXPECT(poolMallocAsyncWithFlags_ptsz(&pointer, scene.size, scene.pool, NULL, poolMallocDefault),
           poolSuccess);
    REQUIRE(pointer == scene.block);
    EXPECT(poolFreeAsync_ptsz(pointer, NULL), poolSuccess);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    REQUIRE(!scene_gives(&scene, blocking));
    EXPECT(poolEventRecord_ptsz(event, NULL), poolSuccess);
    EXPECT(poolStreamWaitEvent(blocking, event, 0), poolSuccess);
    REQUIRE(scene_gives(&scene, blocking));
    test_let_go(&scene.hold);
    EXPECT(poolStreamSynchronize_ptsz(NULL), poolSuccess);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
}

struct short_life {
    struct scene *scene;
    struct test_spin spin;
};

static void *free_and_end(void *argument) {
    struct short_life *life = argument;
    struct scene *scene = life->scene;
    test_use_device(0);
    test_spin(&life->spin, CU_STREAM_PER_THREAD);
    test_fill(scene->block, 2, scene->size, CU_STREAM_PER_THREAD);
    test_free(scene->block, CU_STREAM_PER_THREAD);
    return NULL;
}

void row_frees_of_a_thread_that_has_ended_stay_pending(void) {
    struct scene scene;
    struct short_life life = {.scene = &scene};
    scene_open(&scene, SCENE_SMALL);
    test_finish(scene.a);
    in_thread(free_and_end, &life);
    in_thread(expect_nothing_per_thread, &scene);
    REQUIRE(!scene_gives(&scene, scene.b));
    test_stop_spinning(&life.spin);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(scene_gives(&scene, scene.b));
}

// ------------------------------------------------------------------------ many threads, one stream

#define THREADS 6
#define ROUNDS  300
#define HELD    8

struct sharing {
    poolMemPool_t pool;
    CUstream stream;
    unsigned char value;
};

// Each block is written as soon as it is there, read when its turn has come, and freed unread in
// between.
static void *share_stream(void *argument) {
    const struct sharing *sharing = argument;
    static const size_t sizes[] = {512, KIB(20), KIB(300), MIB(2), MIB(5)};
    void *blocks[HELD] = {NULL};
    size_t held[HELD] = {0};
    test_use_device(0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned which = i % HELD;
        if (blocks[which]) {
            test_check_block(blocks[which], sharing->value, held[which], sharing->stream);
            test_free(blocks[which], sharing->stream);
        }
        held[which] = sizes[i % 5];
        blocks[which] = test_malloc(sharing->pool, held[which], sharing->stream);
        test_fill_block(blocks[which], sharing->value, held[which], sharing->stream);
    }
    for (unsigned i = 0; i < HELD; i++) {
        test_check_block(blocks[i], sharing->value, held[i], sharing->stream);
        test_free(blocks[i], sharing->stream);
    }
    return NULL;
}

static void run_threads(struct sharing sharing[THREADS]) {
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, share_stream, &sharing[i]) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
}

void row_many_threads_share_one_stream(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    struct sharing sharing[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        sharing[i] = (struct sharing){pool, stream, (unsigned char)(i + 1)};
    test_load_kernels();
    run_threads(sharing);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_wrong_words(), 0);
    REQUIRE_EQUAL(test_used(pool), 0);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_trap_6_memory_keeps_its_bytes_under_load_on_several_streams(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(192));
    struct sharing sharing[THREADS];
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    for (unsigned i = 0; i < THREADS; i++)
        sharing[i] = (struct sharing){pool, test_stream(), (unsigned char)(i + 1)};
    test_load_kernels();
    run_threads(sharing);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE_EQUAL(test_wrong_words(), 0);
    REQUIRE_EQUAL(test_used(pool), 0);
}

// --------------------------------------------------------- trap 5: a synchronise beside everything

struct synchronising {
    CUstream stream;
    _Atomic bool begun;
};

static void *synchronise(void *argument) {
    struct synchronising *synchronising = argument;
    test_use_device(0);
    synchronising->begun = true;
    EXPECT(poolStreamSynchronize(synchronising->stream), poolSuccess);
    return NULL;
}

static void use_everything(poolMemPool_t pool, CUstream stream) {
    static const size_t sizes[] = {512, KIB(300), MIB(3), MIB(70)};
    CUevent event = test_event();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        test_free(test_malloc(pool, sizes[i], stream), stream);
    EXPECT(poolEventRecord(event, stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    EXPECT(poolEventDestroy(event), poolSuccess);
}

void row_trap_5_everything_goes_on_while_a_thread_waits_in_a_synchronise(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool();
    struct synchronising synchronising = {.stream = test_stream()};
    CUstream other = test_stream();
    struct test_hold hold;
    pthread_t thread;
    test_free(test_malloc(pool, MIB(40), synchronising.stream), synchronising.stream);
    test_hold(&hold, synchronising.stream);
    REQUIRE(pthread_create(&thread, NULL, synchronise, &synchronising) == 0);
    while (!synchronising.begun)
        sched_yield();
    for (unsigned i = 0; i < 50; i++) {
        use_everything(pool, other);
        use_everything(pool, synchronising.stream);
        EXPECT(poolStreamSynchronize(other), poolSuccess);
    }
    test_let_go(&hold);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

// -------------------------------------------------------------------------- destroyed and recycled

// A stream with the handle of a destroyed one, or the last of a few where none has it: a driver may
// wait for the device when it makes many.
enum { FEW = 6 };

static CUstream stream_at(CUstream destroyed) {
    CUstream stream = NULL;
    for (unsigned i = 0; i < FEW && stream != destroyed; i++)
        stream = test_stream();
    return stream;
}

static void destroy_with_a_free_pending(struct scene *scene, struct test_spin *spin, size_t size) {
    scene_open(scene, size);
    test_spin(spin, scene->a);
    test_fill(scene->block, 2, size, scene->a);
    test_free(scene->block, scene->a);
    EXPECT(poolStreamDestroy(scene->a), poolSuccess);
}

static void find_after_destruction(size_t size) {
    struct scene scene;
    struct test_spin spin;
    destroy_with_a_free_pending(&scene, &spin, size);
    test_set_flag(scene.pool, poolMemPoolReuseAllowOpportunistic, 1);
    REQUIRE(!scene_gives(&scene, scene.b));
    test_stop_spinning(&spin);
    DRIVER(test_driver()->cuCtxSynchronize());
    REQUIRE(scene_gives(&scene, scene.b));
    test_fill(scene.block, 3, size, scene.b);
    test_finish(scene.b);
    REQUIRE(test_is_filled(scene.block, 3, size));
}

void row_memory_pending_on_a_destroyed_stream_is_found_once_it_is_complete(void) {
    scene_for_each_size(find_after_destruction);
}

static void wait_after_destruction(size_t size) {
    struct scene scene;
    struct test_spin spin;
    destroy_with_a_free_pending(&scene, &spin, size);
    test_set_flag(scene.pool, poolMemPoolReuseAllowInternalDependencies, 1);
    REQUIRE(scene_gives(&scene, scene.b));
    EXPECT(poolStreamQuery(scene.b), poolErrorNotReady);
    test_fill(scene.block, 3, size, scene.b);
    test_stop_spinning(&spin);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(test_is_filled(scene.block, 3, size));
}

void row_memory_pending_on_a_destroyed_stream_can_be_waited_for(void) {
    scene_for_each_size(wait_after_destruction);
}

// Where the driver can't tell the two streams apart, the young one is made to wait.
static void require_not_before_the_old_work(struct scene *scene, CUstream young,
                                            const struct test_spin *spin) {
    bool given = scene_gives(scene, young);
    if (given) {
        REQUIRE(!test_driver()->cuStreamGetId);
        EXPECT(poolStreamQuery(young), poolErrorNotReady);
        test_fill(scene->block, 3, scene->size, young);
    }
    test_stop_spinning(spin);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(!given || test_is_filled(scene->block, 3, scene->size));
    REQUIRE(given || scene_gives(scene, young));
}

static void recycle_after_a_free(size_t size) {
    struct scene scene;
    struct test_spin spin;
    destroy_with_a_free_pending(&scene, &spin, size);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    test_set_flag(scene.pool, poolMemPoolReuseAllowOpportunistic, 1);
    require_not_before_the_old_work(&scene, stream_at(scene.a), &spin);
}

void row_trap_2_a_new_stream_at_a_handle_that_the_pool_destroyed_inherits_no_memory(void) {
    scene_for_each_size(recycle_after_a_free);
}

// The old stream ran after a's free; the new one at its handle doesn't.
void row_trap_2_a_new_stream_at_a_destroyed_ones_handle_inherits_no_order(void) {
    struct scene scene;
    struct test_spin spin;
    CUevent event = test_event();
    CUstream old = test_stream();
    scene_open(&scene, SCENE_SMALL);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    test_spin(&spin, scene.a);
    test_fill(scene.block, 2, scene.size, scene.a);
    test_free(scene.block, scene.a);
    EXPECT(poolEventRecord(event, scene.a), poolSuccess);
    EXPECT(poolStreamWaitEvent(old, event, 0), poolSuccess);
    EXPECT(poolStreamDestroy(old), poolSuccess);
    require_not_before_the_old_work(&scene, stream_at(old), &spin);
}

// The old stream ran after the work that is pending on the slab of its block; the new one, which
// takes its place in the pool, doesn't.
void row_trap_2_a_new_stream_inherits_no_slab_that_a_destroyed_one_was_given_by_order(void) {
    struct test_spin spin;
    poolMemPool_t pool = test_pool_of_at_most(MIB(2));
    CUstream a = test_stream(), old = test_stream();
    CUevent event = test_event();
    void *used[2] = {test_malloc(pool, 512, a), test_malloc(pool, 512, a)}, *pointer = NULL;
    while (poolMallocFromPoolAsync(&pointer, KIB(64), pool, a) == poolSuccess)
        continue;
    test_set_all_policies(pool, 0);
    test_set_flag(pool, poolMemPoolReuseFollowEventDependencies, 1);
    test_spin(&spin, a);
    for (unsigned i = 0; i < 2; i++) {
        test_fill(used[i], 2, 512, a);
        test_free(used[i], a);
    }
    EXPECT(poolEventRecord(event, a), poolSuccess);
    EXPECT(poolStreamWaitEvent(old, event, 0), poolSuccess);
    void *kept = test_malloc(pool, 512, old);
    EXPECT(poolStreamDestroy(old), poolSuccess);
    CUstream young = stream_at(old);
    bool given = poolMallocFromPoolAsync(&pointer, 512, pool, young) == poolSuccess;
    if (given) {
        REQUIRE(!test_driver()->cuStreamGetId);
        test_fill(pointer, 3, 512, young);
    }
    test_stop_spinning(&spin);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(!given || test_is_filled(pointer, 3, 512));
    test_free(kept, young);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    test_malloc(pool, 512, young);
}

void row_streams_that_come_and_go_leave_nothing_behind(void) {
    poolMemPool_t pool = test_pool();
    for (unsigned i = 0; i < 300; i++) {
        CUstream stream = test_stream();
        void *pointer = test_malloc(pool, i % 2 ? KIB(5) : MIB(3), stream);
        test_fill(pointer, 1, KIB(5), stream);
        test_free(pointer, stream);
        EXPECT(poolStreamDestroy(stream), poolSuccess);
    }
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE_EQUAL(test_used(pool), 0);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

// -------------------------------------------------------------- trap 7: memory that lies elsewhere

#define PIECES 30

// All that a pool holds is free, in pieces that three streams freed: the one request that needs all
// of it gets it.
void row_trap_7_free_memory_in_pieces_and_in_other_streams_lists_is_found(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool_of_at_most(MIB(96));
    CUstream streams[3] = {test_stream(), test_stream(), test_stream()};
    void *pieces[PIECES];
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    test_set_attribute(pool, poolMemPoolAttrUnfencedBytesMax, 0); // so that asking shows all of it
    for (unsigned i = 0; i < PIECES; i++)
        pieces[i] = test_malloc(pool, MIB(3), streams[i % 3]);
    for (unsigned i = 0; i < PIECES; i++)
        test_free(pieces[i], streams[(i + 1) % 3]);
    test_free(test_malloc(pool, KIB(3), streams[0]), streams[0]);
    for (unsigned i = 0; i < 3; i++)
        test_finish(streams[i]); // by CUDA's call: nobody tells the pool
    CUstream last = test_stream();
    void *all = test_malloc(pool, MIB(90), last);
    test_fill(all, 5, MIB(90), last);
    test_finish(last);
    REQUIRE(test_is_filled(all, 5, MIB(90)));
    REQUIRE(test_reserved(pool) <= MIB(96));
}

void row_trap_7_pending_memory_in_pieces_is_found_too(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool_of_at_most(MIB(96));
    CUstream streams[2] = {test_stream(), test_stream()};
    void *pieces[PIECES];
    struct test_hold hold;
    for (unsigned i = 0; i < PIECES; i++)
        pieces[i] = test_malloc(pool, MIB(3), streams[i % 2]);
    test_hold(&hold, streams[0]);
    for (unsigned i = 0; i < PIECES; i++) {
        test_fill(pieces[i], 1, MIB(3), streams[i % 2]);
        test_free(pieces[i], streams[i % 2]);
    }
    CUstream last = test_stream();
    for (unsigned i = 0; i < 2; i++) {
        CUevent event = test_event();
        EXPECT(poolEventRecord(event, streams[i]), poolSuccess);
        EXPECT(poolStreamWaitEvent(last, event, 0), poolSuccess);
    }
    void *all = test_malloc(pool, MIB(90), last);
    EXPECT(poolStreamQuery(last), poolErrorNotReady);
    test_fill(all, 5, MIB(90), last);
    test_let_go(&hold);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(test_is_filled(all, 5, MIB(90)));
}

// ------------------------------------------------------------------------ trap 8: growing for ever

void row_trap_8_a_threshold_that_holds_what_is_used_ends_the_growing(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, MIB(64));
    for (unsigned i = 0; i < 1000; i++) {
        test_free(test_malloc(pool, MIB(40), stream), stream);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
    }
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatGrowths), 1);
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, 0);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

// -------------------------------------------------------------------- a program that calls no hook

// It waits by CUDA's own calls alone, takes blocks on one stream and frees them on another, and
// never holds more than two.
void row_a_program_that_calls_no_hook_needs_no_more_memory_than_it_uses(void) {
    poolMemPool_t pool = test_pool();
    CUstream streams[2] = {test_stream(), test_stream()};
    CUevent event = test_event();
    for (unsigned i = 0; i < 200; i++) {
        CUstream from = streams[i % 2], to = streams[(i + 1) % 2];
        void *block = test_malloc(pool, MIB(48), from);
        test_fill(block, (unsigned char)i, KIB(64), from);
        DRIVER(test_driver()->cuEventRecord(event, from));
        DRIVER(test_driver()->cuStreamWaitEvent(to, event, 0));
        test_free(block, to);
        if (i % 4 == 3)
            test_finish(to);
    }
    REQUIRE(test_reserved(pool) <= 5 * MIB(64));
    REQUIRE_EQUAL(test_used(pool), 0);
}

void row_a_program_that_calls_no_hook_can_trim(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    void *block = test_malloc(pool, MIB(48), stream);
    test_fill(block, 1, MIB(48), stream);
    test_free(block, stream);
    test_finish(stream);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

// Large memory is of no use for small blocks, so the second allocation grows.
void row_a_program_that_calls_no_hook_gives_memory_back_when_it_grows(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *block = test_malloc(pool, MIB(48), stream);
    test_fill(block, 1, MIB(48), stream);
    test_free(block, stream);
    test_finish(stream);
    test_malloc(pool, 1000, stream);
    REQUIRE(test_reserved(pool) <= MIB(32));
}

// One block has completed, another is pending: the stream isn't idle, so nothing was synchronised,
// and both stay.
void row_pending_memory_of_a_program_that_calls_no_hook_is_kept(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    struct test_spin spin;
    void *complete = test_malloc(pool, MIB(48), stream);
    void *pending = test_malloc(pool, MIB(48), stream);
    test_free(complete, stream);
    test_finish(stream);
    test_spin(&spin, stream);
    test_free(pending, stream);
    test_malloc(pool, 1000, stream);
    REQUIRE(test_reserved(pool) >= 2 * MIB(48));
    test_stop_spinning(&spin);
}
