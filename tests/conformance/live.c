// Rows of the promise that free memory can be had: once nothing is pending, an allocation that
// fits succeeds, whatever calls the program synchronised by. Here it synchronises by the driver's
// own calls alone, of which the library hears nothing.
//
// Pools are small by maxSize where a pool alone is looked at; where the device must be full, all
// but a little of it is taken away.
#include <pthread.h>
#include <stdint.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

// What may stay out of reach of other streams: what no event stands behind, and a little for the
// pieces that it lies in.
#define OUT_OF_REACH MIB(64)

static void finish_all(void) {
    DRIVER(test_driver()->cuCtxSynchronize());
}

static bool can_have(poolMemPool_t pool, size_t size, CUstream stream) {
    void *pointer = NULL;
    poolError_t error = poolMallocFromPoolAsync(&pointer, size, pool, stream);
    if (error != poolSuccess)
        REQUIRE(error == poolErrorMemoryAllocation);
    return error == poolSuccess;
}

// How many blocks of a size a stream gets before it is refused one.
static unsigned count_blocks(poolMemPool_t pool, size_t size, CUstream stream) {
    unsigned count = 0;
    while (can_have(pool, size, stream))
        count++;
    return count;
}

// ------------------------------------------------------------------ what is unfenced hides nothing

// Two blocks freed behind events, and a neighbour of theirs with none.
static void free_beside_a_small_one(poolMemPool_t pool, CUstream a) {
    void *large[] = {test_malloc(pool, MIB(400), a), test_malloc(pool, MIB(400), a)};
    void *small = test_malloc(pool, KIB(64), a);
    test_free(large[0], a);
    test_free(large[1], a);
    test_free(small, a);
    // The stream looks for a size that it hasn't got, which joins what lies side by side.
    test_free(test_malloc(pool, KIB(128), a), a);
}

void row_live_a_small_free_hides_no_large_one(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(832));
    CUstream a = test_stream(), b = test_stream();
    free_beside_a_small_one(pool, a);
    REQUIRE(can_have(pool, MIB(300), b));
    finish_all();
    REQUIRE(can_have(pool, MIB(300), b));
}

void row_live_pending_memory_beside_a_small_free_is_had_by_waiting(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(832));
    CUstream a = test_stream(), b = test_stream();
    struct test_hold hold;
    test_free(test_malloc(pool, MIB(800), a), a);
    finish_all();
    test_hold(&hold, a);
    free_beside_a_small_one(pool, a);
    REQUIRE(can_have(pool, MIB(300), b));
    EXPECT(poolStreamQuery(b), poolErrorNotReady);
    test_let_go(&hold);
    finish_all();
}

static void free_by_size(poolMemPool_t pool, CUstream stream, unsigned count, size_t first,
                         size_t step) {
    void *blocks[64];
    REQUIRE(count <= 64);
    for (unsigned i = 0; i < count; i++)
        blocks[i] = test_malloc(pool, first + i * step, stream);
    for (unsigned i = 0; i < count; i++)
        test_free(blocks[i], stream);
}

void row_live_what_one_stream_freed_is_anothers_once_it_is_idle(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool_of_at_most(GIB(1));
    CUstream a = test_stream(), b = test_stream();
    for (unsigned i = 0; i < 4; i++)
        free_by_size(pool, a, 30, MIB(30), MIB(1) / 8);
    finish_all();
    REQUIRE(count_blocks(pool, MIB(10), b) >= (GIB(1) - OUT_OF_REACH) / MIB(10));
}

void row_live_blocks_of_many_sizes_are_anothers_too(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool_of_at_most(GIB(1));
    CUstream a = test_stream(), b = test_stream();
    free_by_size(pool, a, 64, MIB(12), KIB(64));
    finish_all();
    REQUIRE(count_blocks(pool, MIB(12), b) >= (GIB(1) - OUT_OF_REACH) / MIB(12));
}

void row_live_blocks_of_slabs_are_anothers_too(void) {
    enum { COUNT = 4096 };
    poolMemPool_t pool = test_pool_of_at_most(MIB(256));
    CUstream a = test_stream(), b = test_stream();
    static void *blocks[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        blocks[i] = test_malloc(pool, 57344, a);
    for (unsigned i = 0; i < COUNT; i++)
        test_free(blocks[i], a);
    finish_all();
    REQUIRE(count_blocks(pool, MIB(8), b) >= (MIB(256) - OUT_OF_REACH) / MIB(8));
}

void row_live_a_trim_releases_what_an_idle_stream_freed(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream a = test_stream();
    for (unsigned i = 0; i < 4; i++)
        free_by_size(pool, a, 30, MIB(30), MIB(1) / 8);
    finish_all();
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE(test_reserved(pool) <= 2 * OUT_OF_REACH);
}

// ------------------------------------------------------------------------------ the device is full

#define LEFT GIB(1)

void row_live_another_pool_has_it_on_the_same_stream(void) {
    poolMemPool_t first = test_keeping_pool(), second = test_keeping_pool();
    CUstream stream = test_stream();
    test_fill_device(LEFT);
    free_by_size(first, stream, 20, MIB(40), KIB(64));
    finish_all();
    REQUIRE(can_have(second, LEFT - 2 * OUT_OF_REACH, stream));
}

void row_live_pools_that_were_given_up_make_room(void) {
    CUstream stream = test_stream();
    test_fill_device(LEFT);
    for (unsigned i = 0; i < 600; i++) {
        poolMemPool_t pool = test_pool();
        test_free(test_malloc(pool, 1000, stream), stream);
        test_finish(stream);
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    }
}

// Destroyed with its events complete, and nobody has asked them.
static size_t give_up_a_large_pool(CUstream stream) {
    struct test_hold hold;
    poolMemPool_t pool = test_pool();
    test_fill_device(LEFT);
    size_t size = (test_device_free_bytes() - MIB(64)) / MIB(4) * MIB(4);
    void *pointer = test_malloc(pool, size, stream);
    test_hold(&hold, stream);
    test_free(pointer, stream);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    test_let_go(&hold);
    finish_all();
    return size;
}

void row_live_a_given_up_pool_makes_room_for_its_own_stream(void) {
    CUstream stream = test_stream();
    size_t size = give_up_a_large_pool(stream);
    REQUIRE(can_have(test_pool(), size, stream));
}

void row_live_a_given_up_pool_makes_room_for_another_stream(void) {
    CUstream stream = test_stream(), other = test_stream();
    size_t size = give_up_a_large_pool(stream);
    REQUIRE(can_have(test_pool(), size, other));
}

void row_live_a_given_up_pool_makes_room_for_fixed_memory(void) {
    CUstream stream = test_stream();
    size_t size = give_up_a_large_pool(stream);
    void *pointer = NULL;
    EXPECT(poolMallocAsyncWithFlags(&pointer, size, test_pool(), stream, poolMallocFixed),
           poolSuccess);
}

void row_live_a_given_up_pool_makes_room_for_priming(void) {
    size_t size = give_up_a_large_pool(test_stream());
    EXPECT(poolMemPoolPrime(test_pool(), size), poolSuccess);
}

// What is free on the device and what another pool keeps make the room together, whatever of a
// granule is left over.
void row_live_a_cache_and_the_rest_of_the_device_make_room_together(void) {
    poolMemPool_t first = test_keeping_pool(), second = test_keeping_pool();
    CUstream stream = test_stream();
    CUdeviceptr odd;
    test_fill_device(LEFT);
    DRIVER(test_driver()->cuMemAlloc(&odd, KIB(64)));
    size_t all = test_device_free_bytes();
    free_by_size(first, stream, 20, MIB(20), KIB(64));
    test_finish(stream);
    REQUIRE(can_have(second, (all - MIB(32)) / MIB(2) * MIB(2), stream));
}

void row_live_a_pool_that_is_destroyed_when_idle_gives_its_memory_back_at_once(void) {
    CUstream streams[] = {test_stream(), test_blocking_stream(), CU_STREAM_LEGACY};
    for (unsigned i = 0; i < 3; i++) {
        poolMemPool_t pool = test_keeping_pool();
        test_free(test_malloc(pool, MIB(256), streams[i]), streams[i]);
        if (streams[i] == CU_STREAM_LEGACY)
            test_free(test_malloc(pool, KIB(64), streams[i]), streams[i]);
        finish_all();
        size_t used = test_device_used_bytes();
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
        REQUIRE(test_device_used_bytes() + MIB(256) <= used);
    }
}

// The release threshold is 0, so a synchronise that the library hears would release all of it.
void row_live_a_refusal_leaves_every_cache_as_it_was(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *pointer = NULL;
    test_fill_device(LEFT);
    free_by_size(pool, stream, 10, MIB(30), MIB(1));
    finish_all();
    struct test_figures figures = test_figures(pool);
    EXPECT(poolMallocFromPoolAsync(&pointer, 2 * LEFT, pool, stream), poolErrorMemoryAllocation);
    REQUIRE_FIGURES(pool, figures);
    EXPECT(poolMallocFromPoolAsync(&pointer, 2 * LEFT, test_pool(), stream),
           poolErrorMemoryAllocation);
    REQUIRE_FIGURES(pool, figures);
}

// Memory of one extent that lies beside a fixed block.
void row_live_what_is_left_of_a_fixed_extent_serves_any_request(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(64));
    CUstream stream = test_stream();
    void *fixed = NULL;
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    EXPECT(poolMallocAsyncWithFlags(&fixed, MIB(64), pool, stream, poolMallocFixed), poolSuccess);
    test_free(fixed, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolMallocAsyncWithFlags(&fixed, MIB(8), pool, stream, poolMallocFixed), poolSuccess);
    void *large = test_malloc(pool, MIB(48), stream), *small = test_malloc(pool, 1000, stream);
    test_fill(large, 1, MIB(48), stream);
    test_fill(small, 2, 1000, stream);
    test_fill(fixed, 3, MIB(8), stream);
    finish_all();
    REQUIRE(test_is_filled(large, 1, MIB(48)) && test_is_filled(small, 2, 1000));
    test_free(large, stream);
    test_free(small, stream);
    test_free(fixed, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

// --------------------------------------------------------------------------- while work is pending

static void *let_go(void *hold) {
    test_let_go(hold);
    return NULL;
}

// No stream can be made to wait for memory that has to be unmapped first.
void row_live_pending_memory_of_another_pool_is_had_by_a_wait_on_the_host(void) {
    poolMemPool_t first = test_keeping_pool(), second = test_keeping_pool();
    CUstream a = test_stream(), b = test_stream();
    struct test_hold hold;
    pthread_t thread;
    test_fill_device(LEFT);
    size_t size = (test_device_free_bytes() - MIB(64)) / MIB(4) * MIB(4);
    void *pointer = test_malloc(first, size, a);
    test_hold(&hold, a);
    test_free(pointer, a);
    REQUIRE(!can_have(second, size, b));
    test_set_attribute(second, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    REQUIRE(pthread_create(&thread, NULL, let_go, &hold) == 0);
    REQUIRE(can_have(second, size, b));
    REQUIRE(pthread_join(thread, NULL) == 0);
    finish_all();
}

void row_live_pending_pieces_and_new_memory_together_are_had_by_waiting(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool_of_at_most(MIB(512));
    CUstream a = test_stream(), b = test_stream();
    void *blocks[7];
    struct test_hold hold;
    for (unsigned i = 0; i < 7; i++)
        blocks[i] = test_malloc(pool, MIB(32), a);
    test_hold(&hold, a);
    for (unsigned i = 0; i < 7; i += 2)
        test_free(blocks[i], a);
    REQUIRE(can_have(pool, MIB(400), b));
    EXPECT(poolStreamQuery(b), poolErrorNotReady);
    REQUIRE(!can_have(pool, MIB(440), test_stream()));
    test_let_go(&hold);
    finish_all();
}

// The work that is waited for fails.
void row_live_a_failure_of_the_device_is_no_lack_of_memory(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(64));
    CUstream a = test_stream(), b = test_stream();
    CUfunction trap = test_load_trap();
    struct test_hold hold;
    pthread_t thread;
    void *pointer = test_malloc(pool, MIB(64), a);
    test_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    test_set_attribute(pool, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    test_hold(&hold, a);
    test_trap(trap, a);
    test_free(pointer, a);
    REQUIRE(pthread_create(&thread, NULL, let_go, &hold) == 0);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(64), pool, b), poolErrorLaunchFailure);
    REQUIRE(pthread_join(thread, NULL) == 0);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(64), pool, b), poolErrorLaunchFailure);
}

// An event of the context tells, or before CUDA 12.5 its synchronise.
void row_live_a_silent_stream_is_told_of_where_the_program_says_that_nothing_captures(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(32));
    CUstream a = test_stream(), b = test_stream();
    test_free(test_malloc(pool, MIB(4), a), a);
    finish_all();
    test_set_flag(pool, poolMemPoolAttrContextFence, 1);
    REQUIRE(can_have(pool, MIB(32), b));
}

// ------------------------------------------------------------ threads and streams that come and go

enum { COMERS = 1300, OF_EACH = 900 };

static void use_and_finish(poolMemPool_t pool, CUstream stream) {
    test_free(test_malloc(pool, KIB(OF_EACH), stream), stream);
    test_finish(stream);
}

void row_live_streams_that_come_and_go_leave_room(void) {
    poolMemPool_t pool = test_pool_of_at_most(GIB(1));
    for (unsigned i = 0; i < COMERS; i++) {
        CUstream stream = test_stream();
        use_and_finish(pool, stream);
        DRIVER(test_driver()->cuStreamDestroy(stream));
    }
    CUstream last = test_stream();
    REQUIRE(count_blocks(pool, MIB(8), last) >= GIB(1) / 2 / MIB(8));
}

// Each leaves a slab behind in which nothing is live, and of which no more than a part may be held
// back.
void row_live_small_blocks_of_streams_that_come_and_go_leave_room(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(128));
    for (unsigned i = 0; i < 2 * COMERS; i++) {
        CUstream stream = test_stream();
        test_free(test_malloc(pool, 1000, stream), stream);
        test_finish(stream);
        DRIVER(test_driver()->cuStreamDestroy(stream));
    }
    REQUIRE(count_blocks(pool, MIB(8), test_stream()) >= (MIB(128) - OUT_OF_REACH) / MIB(8));
}

struct comer {
    poolMemPool_t pool;
    struct test_spin spin;
};

static void *use_and_leave_pending(void *argument) {
    struct comer *comer = argument;
    test_use_device(0);
    void *pointer = test_malloc(comer->pool, MIB(4), CU_STREAM_PER_THREAD);
    test_spin(&comer->spin, CU_STREAM_PER_THREAD);
    test_free(pointer, CU_STREAM_PER_THREAD);
    return NULL;
}

// Nobody can name the stream any more; the allocation waits for the legacy stream, which waits for
// it.
void row_live_pending_memory_of_a_thread_that_ended_is_had_by_waiting(void) {
    struct comer comer = {.pool = test_pool_of_at_most(MIB(32))};
    CUstream stream = test_stream();
    pthread_t thread;
    void *pointer = NULL;
    REQUIRE(pthread_create(&thread, NULL, use_and_leave_pending, &comer) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(can_have(comer.pool, MIB(28), stream));
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(4), comer.pool, stream), poolSuccess);
    EXPECT(poolStreamQuery(stream), poolErrorNotReady);
    test_stop_spinning(&comer.spin);
    finish_all();
}

static void *use_as_a_thread(void *pool) {
    test_use_device(0);
    use_and_finish(pool, CU_STREAM_PER_THREAD);
    return NULL;
}

void row_live_threads_that_come_and_go_leave_room(void) {
    poolMemPool_t pool = test_pool_of_at_most(GIB(1));
    for (unsigned i = 0; i < COMERS; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, use_as_a_thread, pool) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
    REQUIRE(count_blocks(pool, MIB(8), test_stream()) >= GIB(1) / 2 / MIB(8));
}

// -------------------------------------------------------------------------------- beside a capture

static void require_capture_beside_a_refusal(CUstream capturing) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(64));
    CUstream silent = test_blocking_stream(), stream = test_stream();
    CUgraph graph;
    test_free(test_malloc(pool, MIB(4), silent), silent);
    finish_all();
    DRIVER(test_driver()->cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
    bool had = can_have(pool, MIB(64), stream); // an older driver has an event behind each free
    DRIVER(test_driver()->cuStreamEndCapture(capturing, &graph));
    REQUIRE(had || can_have(pool, MIB(64), stream)); // once the capture has ended, all is asked
}

void row_live_a_refusal_leaves_the_capture_of_a_blocking_stream_valid(void) {
    require_capture_beside_a_refusal(test_blocking_stream());
    require_capture_beside_a_refusal(CU_STREAM_PER_THREAD);
}

void row_live_a_refusal_leaves_the_capture_of_a_non_blocking_stream_valid(void) {
    require_capture_beside_a_refusal(test_stream());
}
