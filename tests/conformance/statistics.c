// Rows of what a pool counts, and of when it gives memory back.
#include <stdint.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

// A pool with nothing live and `count` freed blocks of `size` bytes on the stream, all reserved.
static poolMemPool_t pool_with_cache(size_t size, unsigned count, CUstream stream) {
    poolMemPool_t pool = test_pool();
    void *pointers[16];
    REQUIRE(count <= 16);
    for (unsigned i = 0; i < count; i++)
        pointers[i] = test_malloc(pool, size, stream);
    for (unsigned i = 0; i < count; i++)
        test_free(pointers[i], stream);
    REQUIRE(test_reserved(pool) >= count * size);
    return pool;
}

// ------------------------------------------------------------------------------------- the figures

void row_used_counts_the_requested_bytes_exactly(void) {
    static const size_t sizes[] = {1, 0, 511, 513, KIB(300) + 7, MIB(2) + 1, MIB(40) - 3};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *pointers[COUNT];
    uint64_t sum = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        EXPECT(poolMallocFromPoolAsync(&pointers[i], sizes[i], pool, stream), poolSuccess);
        sum += sizes[i];
        REQUIRE_EQUAL(test_used(pool), sum);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        test_free(pointers[i], stream);
        sum -= sizes[i];
        REQUIRE_EQUAL(test_used(pool), sum);
    }
}

void row_reserved_counts_the_physical_bytes(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    test_free(test_malloc(pool, 512, stream), stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    size_t before = test_device_used_bytes();
    uint64_t reserved_before = test_reserved(pool);
    test_free(test_malloc(pool, MIB(512), stream), stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    uint64_t growth = test_reserved(pool) - reserved_before;
    size_t taken = test_device_used_bytes() - before;
    REQUIRE(growth >= MIB(512));
    REQUIRE(taken >= growth && taken < growth + MIB(32)); // a driver's page tables may come on top
}

void row_high_figures_keep_the_peak(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *large = test_malloc(pool, MIB(40), stream), *small = test_malloc(pool, 9, stream);
    uint64_t peak = test_reserved(pool);
    test_free(large, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    test_malloc(pool, 1, stream);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrUsedMemHigh), MIB(40) + 9);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrReservedMemHigh), peak);
    REQUIRE(test_reserved(pool) < peak);
    test_free(small, stream);
    REQUIRE_EQUAL(test_used(pool), 1);
}

void row_used_falls_at_the_free_while_work_is_pending(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *pointer = test_malloc(pool, MIB(3), stream);
    struct test_hold hold;
    test_hold(&hold, stream);
    test_free(pointer, stream);
    EXPECT(poolStreamQuery(stream), poolErrorNotReady);
    REQUIRE_EQUAL(test_used(pool), 0);
    test_let_go(&hold);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
}

// -------------------------------------------------------------------------------------------- trim

void row_trim_leaves_memory_whose_free_is_pending(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    void *pointer = test_malloc(pool, MIB(40), stream);
    struct test_hold hold;
    test_hold(&hold, stream);
    test_free(pointer, stream);
    uint64_t reserved = test_reserved(pool);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    EXPECT(poolStreamQuery(stream), poolErrorNotReady);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
    test_let_go(&hold);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_trim_releases_down_to_what_is_to_be_kept(void) {
    CUstream stream = test_stream();
    poolMemPool_t pool = pool_with_cache(MIB(32), 4, stream);
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), MIB(128));
    EXPECT(poolMemPoolTrimTo(pool, SIZE_MAX), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, MIB(128)), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), MIB(128));
    EXPECT(poolMemPoolTrimTo(pool, MIB(64)), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), MIB(64));
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_trim_leaves_live_memory(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    void *live = test_malloc(pool, KIB(900), stream);
    test_fill(live, 3, KIB(900), stream);
    test_free(test_malloc(pool, MIB(40), stream), stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE(test_reserved(pool) >= KIB(900) && test_reserved(pool) < MIB(40));
    REQUIRE(test_is_filled(live, 3, KIB(900)));
    test_free(live, stream);
}

// --------------------------------------------------------------------------------------- threshold

void row_a_stream_synchronise_trims_to_the_threshold(void) {
    CUstream stream = test_stream();
    poolMemPool_t pool = pool_with_cache(MIB(40), 1, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_an_event_synchronise_trims_to_the_threshold(void) {
    CUstream stream = test_stream();
    CUevent event = test_event();
    poolMemPool_t pool = pool_with_cache(MIB(40), 1, stream);
    EXPECT(poolEventRecord(event, stream), poolSuccess);
    EXPECT(poolEventSynchronize(event), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_an_event_before_the_free_does_not_trim(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    CUevent event = test_event();
    struct test_hold hold;
    void *pointer = test_malloc(pool, MIB(40), stream);
    EXPECT(poolEventRecord(event, stream), poolSuccess);
    test_hold(&hold, stream);
    test_free(pointer, stream);
    uint64_t reserved = test_reserved(pool);
    EXPECT(poolEventSynchronize(event), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
    test_let_go(&hold);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_a_device_synchronise_trims_to_the_threshold(void) {
    CUstream stream = test_stream();
    poolMemPool_t pool = pool_with_cache(MIB(40), 1, stream);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_a_synchronise_of_an_unrelated_stream_does_not_trim(void) {
    CUstream stream = test_stream(), other = test_stream();
    poolMemPool_t pool = pool_with_cache(MIB(40), 1, stream);
    uint64_t reserved = test_reserved(pool);
    EXPECT(poolStreamSynchronize(other), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
}

void row_an_event_of_an_unrelated_stream_does_not_trim(void) {
    CUstream stream = test_stream(), other = test_stream();
    CUevent event = test_event();
    poolMemPool_t pool = pool_with_cache(MIB(40), 1, stream);
    uint64_t reserved = test_reserved(pool);
    EXPECT(poolEventRecord(event, other), poolSuccess);
    EXPECT(poolEventSynchronize(event), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
}

void row_a_query_does_not_trim(void) {
    CUstream stream = test_stream();
    CUevent event = test_event();
    poolMemPool_t pool = pool_with_cache(MIB(40), 1, stream);
    EXPECT(poolEventRecord(event, stream), poolSuccess);
    uint64_t reserved = test_reserved(pool);
    test_finish(stream);
    EXPECT(poolStreamQuery(stream), poolSuccess);
    EXPECT(poolEventQuery(event), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
}

void row_queries_tell_pending_work_from_complete_work(void) {
    CUstream stream = test_stream();
    CUevent event = test_event();
    struct test_hold hold;
    EXPECT(poolStreamQuery(stream), poolSuccess);
    EXPECT(poolEventQuery(event), poolSuccess);
    test_hold(&hold, stream);
    EXPECT(poolEventRecord(event, stream), poolSuccess);
    EXPECT(poolStreamQuery(stream), poolErrorNotReady);
    EXPECT(poolEventQuery(event), poolErrorNotReady);
    test_let_go(&hold);
    EXPECT(poolEventSynchronize(event), poolSuccess);
    EXPECT(poolEventQuery(event), poolSuccess);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolStreamQuery(stream), poolSuccess);
}

void row_a_synchronise_leaves_the_threshold_of_what_is_cached(void) {
    CUstream stream = test_stream();
    poolMemPool_t pool = pool_with_cache(MIB(32), 7, stream);
    REQUIRE_EQUAL(test_reserved(pool), MIB(224));
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, MIB(64));
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), MIB(64));
}

void row_halves_of_a_freed_block_serve_smaller_requests(void) {
    CUstream stream = test_stream();
    poolMemPool_t pool = test_keeping_pool();
    char *block = test_malloc(pool, MIB(64), stream);
    test_free(block, stream);
    uint64_t reserved = test_reserved(pool);
    char *first = test_malloc(pool, MIB(16), stream), *second = test_malloc(pool, MIB(16), stream);
    REQUIRE(first == block);
    REQUIRE(second == block + MIB(16));
    REQUIRE_EQUAL(test_reserved(pool), reserved);
}

// ----------------------------------------------------------------------------------------- priming

void row_a_primed_pool_serves_small_and_large_requests_with_no_growth(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream(), other = test_stream();
    EXPECT(poolMemPoolPrime(pool, MIB(256)), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), MIB(256));
    REQUIRE_EQUAL(test_used(pool), 0);
    for (unsigned i = 0; i < 2048; i++)
        test_malloc(pool, 512, stream);
    for (unsigned i = 0; i < 32; i++)
        test_malloc(pool, KIB(32), other);
    test_malloc(pool, MIB(54), other);
    for (unsigned i = 0; i < 20; i++)
        test_malloc(pool, MIB(10), stream);
    REQUIRE_EQUAL(test_used(pool), MIB(256));
    REQUIRE_EQUAL(test_reserved(pool), MIB(256));
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatGrowths), 0);
}

void row_a_primed_pool_serves_one_request_of_all_of_it_with_no_growth(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    EXPECT(poolMemPoolPrime(pool, MIB(256)), poolSuccess);
    void *block = test_malloc(pool, MIB(256), stream);
    test_fill(block, 7, MIB(256), stream);
    test_finish(stream);
    REQUIRE(test_is_filled(block, 7, MIB(256)));
    REQUIRE_EQUAL(test_reserved(pool), MIB(256));
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatGrowths), 0);
}

void row_priming_adds_to_what_is_in_use_and_to_nothing_that_is_free(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    EXPECT(poolMemPoolPrime(pool, MIB(64)), poolSuccess);
    EXPECT(poolMemPoolPrime(pool, MIB(64)), poolSuccess);
    EXPECT(poolMemPoolPrime(pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), MIB(64));
    test_malloc(pool, MIB(64), stream);
    EXPECT(poolMemPoolPrime(pool, MIB(64)), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), MIB(128));
}

void row_a_synchronise_leaves_what_was_primed_until_a_trim_takes_it(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    EXPECT(poolMemPoolPrime(pool, MIB(64)), poolSuccess);
    for (unsigned i = 0; i < 2; i++) {
        test_free(test_malloc(pool, MIB(128), stream), stream);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
        REQUIRE_EQUAL(test_reserved(pool), MIB(64));
    }
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), MIB(64));
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
    test_free(test_malloc(pool, MIB(64), stream), stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_priming_beyond_what_there_is_fails_and_changes_nothing(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(64)), none = test_pool();
    struct test_figures before = test_figures(pool);
    EXPECT(poolMemPoolPrime(pool, MIB(64) + 1), poolErrorMemoryAllocation);
    EXPECT(poolMemPoolPrime(pool, (size_t)1 << 50), poolErrorMemoryAllocation);
    EXPECT(poolMemPoolPrime(pool, SIZE_MAX), poolErrorMemoryAllocation);
    REQUIRE_FIGURES(pool, before);
    EXPECT(poolMemPoolPrime(pool, MIB(64)), poolSuccess);
    EXPECT(poolMemPoolDestroy(none), poolSuccess);
    EXPECT(poolMemPoolPrime(none, 0), poolErrorInvalidValue);
    EXPECT(poolMemPoolPrime(NULL, 0), poolErrorInvalidValue);
}
