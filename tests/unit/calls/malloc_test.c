#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include "calls/miss.h"
#include "order/mark.h"
#include "region/collect.h"
#include "region/settle.h"
#include "supply/growth.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"
#include "unit/random.h"

static void blocks_are_aligned_and_do_not_overlap_whatever_their_sizes(void **state) {
    (void)state;
    enum { MANY = 300 };
    static struct {
        uintptr_t begin;
        size_t size;
    } blocks[MANY];
    uint64_t seed = 9;
    uint64_t used = 0;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    for (int i = 0; i < MANY; i++) {
        blocks[i].size = 1 + random_below(&seed, i % 3 ? 1 << 18 : 1 << 12);
        blocks[i].begin = (uintptr_t)fixture_malloc(pool, blocks[i].size, a);
        used += blocks[i].size;
        for (int j = 0; j < i; j++)
            assert_true(blocks[i].begin + blocks[i].size <= blocks[j].begin ||
                        blocks[j].begin + blocks[j].size <= blocks[i].begin);
    }
    assert_int_equal(fixture_used(pool), used);
    fixture_check(pool);
}

static void the_sizes_around_the_end_of_small_are_served(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    const size_t sizes[] = {SP_SMALL_MAX - 1, SP_SMALL_MAX,   SP_SMALL_MAX + 1,
                            SP_PAGE_SIZE - 1, SP_PAGE_SIZE,   SP_PAGE_SIZE + 1,
                            MIB(2) - 1,       SP_GROWTH_UNIT, SP_GROWTH_UNIT + 1};
    uint64_t used = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fixture_malloc(pool, sizes[i], a);
        used += sizes[i];
        assert_int_equal(fixture_used(pool), used);
        fixture_check(pool);
    }
}

static void the_common_pair_calls_the_driver_for_capture_and_identity_only(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    const size_t sizes[] = {100, MIB(1)};
    for (int i = 0; i < 2; i++) {
        fixture_free(fixture_malloc(pool, sizes[i], a), a);
        uint64_t calls = simcudaCallCount(NULL);
        fixture_free(fixture_malloc(pool, sizes[i], a), a);
        assert_int_equal(
            simcudaCallCount("cuStreamIsCapturing") + simcudaCallCount("cuStreamGetId") > 0, true);
        assert_int_equal(simcudaCallCount(NULL) - calls, 4);
    }
}

static void a_size_that_no_device_could_have_is_refused_with_no_driver_call(void **state) {
    (void)state;
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 511, (size_t)1 << 50, GIB(16) + 1};
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_stream(a);
    for (int i = 0; i < 4; i++) {
        void *pointer = &pool;
        uint64_t creates =
            simcudaCallCount("cuMemCreate") + simcudaCallCount("cuMemAddressReserve");
        assert_int_equal(poolMallocFromPoolAsync(&pointer, sizes[i], pool, a),
                         poolErrorMemoryAllocation);
        assert_ptr_equal(pointer, &pool);
        assert_int_equal(simcudaCallCount("cuMemCreate") + simcudaCallCount("cuMemAddressReserve"),
                         creates);
        assert_int_equal(fixture_reserved(pool), 0);
    }
}

static void a_sticky_error_of_the_driver_is_told_and_not_called_a_lack_of_memory(void **state) {
    (void)state;
    void *pointer = NULL;
    int native = 0;
    const char *entry_point = "";
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    simulated_work(a);
    // More than may stay unfenced: there is a record.
    fixture_free(fixture_malloc(pool, MIB(16), a), a);
    simcudaFailCall("cuEventQuery", 1, simcudaFaultOnce, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(64), pool, a), poolErrorIllegalAddress);
    poolGetLastNativeError(&native, &entry_point);
    assert_int_equal(native, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_string_equal(entry_point, "cuEventQuery");
    assert_null(pointer);
}

// Whatever number the driver gives, it is the driver's error and nothing else.
static void a_driver_error_keeps_its_number_whatever_it_is(void **state) {
    (void)state;
    const CUresult numbers[] = {CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE,
                                CUDA_ERROR_UNKNOWN, CUDA_ERROR_NOT_SUPPORTED};
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_malloc(fixture_pool(), 512, a); // a device that never mapped becomes a plain one
    for (int i = 0; i < 4; i++) {
        void *pointer = NULL;
        int native = 0;
        simcudaFailCall("cuMemCreate", 1, simcudaFaultOnce, (int)numbers[i]);
        assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(1), pool, a), (int)numbers[i]);
        poolGetLastNativeError(&native, NULL);
        assert_int_equal(native, numbers[i]);
        assert_int_equal(poolDeviceSetMemPool(0, pool), poolSuccess);
        simcudaFailCall("cuMemCreate", 1, simcudaFaultOnce, (int)numbers[i]);
        assert_int_equal(poolMallocAsync(&pointer, MIB(1), a), (int)numbers[i]);
        assert_int_equal(fixture_reserved(pool), 0);
    }
}

// The pages of a slab may have come from another stream, whose work is pending.
static void a_small_block_of_the_same_stream_alone_is_not_cut_from_pages_that_another_stream_used(
    void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    CUevent event = NULL;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    enum { ALL = MIB(2) / 512 };
    static void *pages[ALL]; // of which the first growth is
    for (int i = 0; i < ALL; i++)
        pages[i] = fixture_malloc(pool, 512, a);
    assert_int_equal(fixture_reserved(pool), MIB(2));
    simulated_work(a);
    for (int i = 0; i < ALL; i++)
        fixture_free(pages[i], a);
    sp_collect_all(fixture_inside(pool));
    assert_int_equal(poolEventRecord(event, a), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(b, event, 0), poolSuccess);
    fixture_malloc(pool, 512, b);
    assert_int_equal(fixture_reserved(pool), MIB(2));
    void *alone = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&alone, 512, pool, b,
                                              poolMallocSameStreamOnly | poolMallocNoGrowth),
                     poolErrorMemoryAllocation);
    fixture_synchronize(a);
    assert_int_equal(poolMallocAsyncWithFlags(&alone, 512, pool, b,
                                              poolMallocSameStreamOnly | poolMallocNoGrowth),
                     poolSuccess);
    fixture_check(pool);
    sp_driver->cuEventDestroy(event);
}

static void without_the_opportunistic_policy_no_event_is_asked(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    fixture_free(fixture_malloc(pool, MIB(16), a), a);
    uint64_t queries = simcudaCallCount("cuEventQuery");
    void *of_b = fixture_malloc(pool, MIB(30), b);
    assert_int_equal(simcudaCallCount("cuEventQuery"), queries);
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 1);
    fixture_malloc(pool, MIB(30), b);
    assert_true(simcudaCallCount("cuEventQuery") > queries);
    fixture_free(of_b, b);
}

// Small blocks of a's that b has freed are a's again by the cheapest thing that shows it, and count
// so.
static void returned_small_blocks_are_counted_by_what_brought_them_back(void **state) {
    (void)state;
    enum { COUNT = 4 };
    void *blocks[COUNT];
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    for (int i = 0; i < COUNT; i++)
        blocks[i] = fixture_malloc(pool, SP_SMALL_MAX, a);
    while (sp_list_first(&fixture_lane(pool, a)->slabs[sp_slab_class_of(SP_SMALL_MAX)]))
        fixture_malloc(pool, SP_SMALL_MAX, a);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    for (int i = 0; i < COUNT; i++)
        fixture_free(blocks[i], b);
    fixture_set(pool, poolMemPoolStatReuseSameStream, 0);
    uint64_t growths = fixture_attribute(pool, poolMemPoolStatGrowths);
    fixture_malloc(pool, SP_SMALL_MAX, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseFoundComplete), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), 0);
    fixture_malloc(pool, SP_SMALL_MAX, a); // known by now
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseFoundComplete), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatGrowths), growths);
}

// Random sizes on several streams, freed on any of them, at random times synchronised: the pool is
// in order after each operation, and no two live blocks overlap.
struct live {
    void *pointer;
    size_t size;
};

static uint64_t shared_count(poolMemPool_t pool, enum sp_statistic statistic) {
    return atomic_load(&fixture_inside(pool)->statistics[statistic]);
}

// Of one freed block another size is cut, with nothing of the pool counted but in the lane, and no
// pin taken.
static void a_large_block_of_another_size_is_cut_from_the_lanes_own_memory(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    simulated_work(a);
    fixture_malloc(pool, MIB(1), a);
    void *freed = fixture_malloc(pool, MIB(8), a);
    fixture_malloc(pool, MIB(1), a);
    fixture_free(freed, a);
    uint64_t counted = shared_count(pool, SP_STATISTIC_ReuseSameStream);
    uint64_t same = fixture_attribute(pool, poolMemPoolStatReuseSameStream);
    uint64_t used = fixture_used(pool);
    uint64_t reserved = fixture_reserved(pool);
    assert_ptr_equal(fixture_malloc(pool, MIB(3), a), freed);
    assert_ptr_equal(fixture_malloc(pool, MIB(4), a), (char *)freed + MIB(3));
    assert_int_equal(shared_count(pool, SP_STATISTIC_ReuseSameStream), counted);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), same + 2);
    assert_int_equal(fixture_used(pool), used + MIB(7));
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), MIB(10));
    assert_int_equal(fixture_reserved(pool), reserved);
    fixture_check(pool);
    fixture_free(freed, a);
}

// What it uses is counted as any allocation, so a new highest sum is.
static void a_block_near_at_hand_raises_the_highest_sum(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *freed = fixture_malloc(pool, MIB(4) - 100, a);
    fixture_free(freed, a);
    fixture_malloc(pool, MIB(2), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), MIB(4) - 100);
    fixture_malloc(pool, MIB(2), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), MIB(4));
    assert_int_equal(fixture_used(pool), MIB(4));
    fixture_check(pool);
}

static void ready_memory_near_at_hand_is_counted_as_complete(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *freed = fixture_malloc(pool, MIB(8), a);
    fixture_malloc(pool, MIB(1), a);
    assert_int_equal(poolFree(freed), poolSuccess);
    assert_ptr_equal(fixture_malloc(pool, MIB(6), a), freed);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseComplete), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), 0);
}

// A block of 12 MiB with an event behind it, and behind it two of 2 MiB with none.
static void free_over_the_cap(poolMemPool_t pool, CUstream stream, void **blocks) {
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(8));
    for (int i = 0; i < 3; i++)
        blocks[i] = fixture_malloc(pool, MIB(i == 0 ? 12 : 2), stream);
    simulated_work(stream);
    for (int i = 0; i < 3; i++)
        fixture_free(blocks[i], stream);
}

static void what_no_event_stands_behind_does_not_join_what_has(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *blocks[3];
    free_over_the_cap(pool, a, blocks);
    uint64_t recorded = fixture_attribute(pool, poolMemPoolStatEventsRecorded);
    assert_ptr_equal(fixture_malloc(pool, MIB(3), a), blocks[1]);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), recorded);
    assert_int_equal(fixture_lane(pool, a)->tiers[SP_REGION_LARGE]->fenced.bytes, MIB(12));
    assert_int_equal(fixture_lane(pool, a)->tiers[SP_REGION_LARGE]->unfenced.bytes, MIB(1));
    fixture_check(pool);
}

static void an_event_joins_them_where_nothing_else_fits(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *blocks[3];
    free_over_the_cap(pool, a, blocks);
    uint64_t recorded = fixture_attribute(pool, poolMemPoolStatEventsRecorded);
    assert_ptr_equal(fixture_malloc(pool, MIB(15), a), blocks[0]);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), recorded + 1);
    fixture_check(pool);
}

// What a record has covered since is moved away before another block can join it.
static void what_an_event_stands_behind_since_is_not_joined_either(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *blocks[3];
    free_over_the_cap(pool, a, blocks);
    sp_collect_quick(fixture_lane(pool, a), sp_settle_insert);
    assert_done(sp_mark_record(fixture_stream(a)));
    void *later = fixture_malloc(pool, MIB(2), a);
    assert_ptr_equal(later, blocks[0]);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, GIB(1));
    fixture_free(later, a);
    sp_collect_quick(fixture_lane(pool, a), sp_settle_insert);
    assert_int_equal(fixture_lane(pool, a)->tiers[SP_REGION_LARGE]->fenced.bytes, MIB(14));
    assert_int_equal(fixture_lane(pool, a)->tiers[SP_REGION_LARGE]->unfenced.bytes, MIB(2));
    fixture_check(pool);
}

// What another stream has completed becomes ready once in so many misses, though the lane has
// enough of its own.
static void one_miss_in_so_many_asks_the_others(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    void *freed = fixture_malloc(pool, MIB(16), b);
    void *own = fixture_malloc(pool, MIB(64), a);
    fixture_malloc(pool, MIB(1), a); // keeps them apart
    fixture_free(freed, b);
    fixture_lane(pool, b);
    sp_collect_all(fixture_inside(pool));
    fixture_free(own, a);
    atomic_store(&fixture_lane(pool, a)->misses, 1);
    for (size_t i = 1; i < SP_MISSES_PER_POLL; i++) {
        fixture_malloc(pool, MIB(1) + i * KIB(1), a);
        assert_int_equal(fixture_lane_bytes(fixture_lane(pool, b)), MIB(16));
    }
    fixture_malloc(pool, MIB(1) + SP_MISSES_PER_POLL * KIB(1), a);
    assert_int_equal(fixture_lane_bytes(fixture_lane(pool, b)), 0);
    fixture_check(pool);
}

// While one thread asks, no other does.
static void a_lane_does_not_ask_while_another_thread_does(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    fixture_free(fixture_malloc(pool, MIB(64), a), a);
    fixture_free(fixture_malloc(pool, MIB(16), b), b);
    sp_collect_all(fixture_inside(pool));
    atomic_store(&fixture_inside(pool)->lanes.asks, true);
    for (size_t i = 0; i < SP_MISSES_PER_POLL; i++)
        fixture_malloc(pool, MIB(1) + i * KIB(1), a);
    assert_true(fixture_lane_bytes(fixture_lane(pool, b)) > 0);
    atomic_store(&fixture_inside(pool)->lanes.asks, false);
    for (size_t i = 0; i < SP_MISSES_PER_POLL; i++)
        fixture_malloc(pool, MIB(2) + i * KIB(1), a);
    assert_int_equal(fixture_lane_bytes(fixture_lane(pool, b)), 0);
    assert_false(fixture_inside(pool)->lanes.asks);
    fixture_check(pool);
}

// Where free memory lies in pieces all lanes ask at each miss, whatever that brings.
static void in_a_pool_that_grew_for_pieces_each_miss_asks(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    fixture_free(fixture_malloc(pool, MIB(256), a), a);
    atomic_store(&fixture_lane(pool, a)->misses, 1);
    atomic_store(&fixture_inside(pool)->lanes.ask_each_miss, true);
    size_t size = MIB(1);
    for (int i = 0; i < 8; i++) {
        fixture_free(fixture_malloc(pool, MIB(16), b), b);
        sp_collect_all(fixture_inside(pool));
        fixture_malloc(pool, size += KIB(1), a);
        assert_int_equal(fixture_lane_bytes(fixture_lane(pool, b)), 0);
        fixture_malloc(pool, size += KIB(1), a); // in vain
    }
    fixture_check(pool);
}

static void random_operations_keep_the_pool_in_order(void **state) {
    (void)state;
    enum { STREAMS = 3, LIVE = 40, STEPS = 3000 };
    struct live live[LIVE];
    int count = 0;
    uint64_t used = 0;
    uint64_t seed = 31;
    CUstream streams[STREAMS];
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(256));
    for (int i = 0; i < STREAMS; i++)
        streams[i] = simulated_stream();
    for (int step = 0; step < STEPS; step++) {
        CUstream stream = streams[random_below(&seed, STREAMS)];
        uint64_t choice = random_below(&seed, 100);
        if (choice < 50 && count < LIVE) {
            size_t size = 1 + random_below(&seed, (uint64_t)1 << (8 + random_below(&seed, 17)));
            void *pointer = NULL;
            if (poolMallocFromPoolAsync(&pointer, size, pool, stream) != poolSuccess)
                continue;
            live[count++] = (struct live){pointer, size};
            used += size;
        } else if (choice < 94 && count > 0) {
            int which = (int)random_below(&seed, (uint64_t)count);
            if (choice < 60)
                assert_int_equal(poolFree(live[which].pointer), poolSuccess);
            else
                fixture_free(live[which].pointer, stream);
            used -= live[which].size;
            live[which] = live[--count];
        } else if (choice < 96) {
            simulated_work(stream);
        } else if (choice < 98) {
            fixture_synchronize(stream);
        } else {
            fixture_trim(pool, random_below(&seed, MIB(200)));
        }
        assert_int_equal(fixture_used(pool), used);
        fixture_check(pool);
    }
}

// The memory isn't handed out, and the next one who asks has it.
static void an_allocation_whose_action_fails_takes_nothing(void **state) {
    (void)state;
    static const size_t sizes[] = {1000, MIB(1)};
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_blocking_stream();
    for (int i = 0; i < 2; i++) {
        void *pointer = NULL, *freed = fixture_malloc(pool, sizes[i], a);
        fixture_free(freed, a);
        simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_int_equal(poolMallocFromPoolAsync(&pointer, sizes[i], pool, a), poolErrorUnknown);
        assert_null(pointer);
        assert_int_equal(fixture_used(pool), 0);
        assert_ptr_equal(fixture_malloc(pool, sizes[i], a), freed);
        fixture_free(freed, a);
    }
}

#define malloc_test(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        malloc_test(blocks_are_aligned_and_do_not_overlap_whatever_their_sizes),
        malloc_test(the_sizes_around_the_end_of_small_are_served),
        malloc_test(the_common_pair_calls_the_driver_for_capture_and_identity_only),
        malloc_test(a_size_that_no_device_could_have_is_refused_with_no_driver_call),
        malloc_test(a_sticky_error_of_the_driver_is_told_and_not_called_a_lack_of_memory),
        malloc_test(a_driver_error_keeps_its_number_whatever_it_is),
        malloc_test(
            a_small_block_of_the_same_stream_alone_is_not_cut_from_pages_that_another_stream_used),
        malloc_test(without_the_opportunistic_policy_no_event_is_asked),
        malloc_test(returned_small_blocks_are_counted_by_what_brought_them_back),
        malloc_test(random_operations_keep_the_pool_in_order),
        malloc_test(a_large_block_of_another_size_is_cut_from_the_lanes_own_memory),
        malloc_test(a_block_near_at_hand_raises_the_highest_sum),
        malloc_test(ready_memory_near_at_hand_is_counted_as_complete),
        malloc_test(what_no_event_stands_behind_does_not_join_what_has),
        malloc_test(an_event_joins_them_where_nothing_else_fits),
        malloc_test(what_an_event_stands_behind_since_is_not_joined_either),
        malloc_test(one_miss_in_so_many_asks_the_others),
        malloc_test(a_lane_does_not_ask_while_another_thread_does),
        malloc_test(in_a_pool_that_grew_for_pieces_each_miss_asks),
        malloc_test(an_allocation_whose_action_fails_takes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
