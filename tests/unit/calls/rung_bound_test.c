// Waits instead of growth, by GrowthBeyondUse.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calls/rung.h"
#include "supply/growth.h"
#include "supply/remap.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

// More than may lie free without an event behind it, and more than a bound leaves room for.
#define BLOCK MIB(64)
#define SMALL KIB(4)

static poolMemPool_t pool;
static CUstream a, b;

static int begin_bounded(const char *settings) {
    if (fixture_begin(settings) != 0)
        return -1;
    pool = fixture_pool();
    a = simulated_stream();
    b = simulated_stream();
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, 0);
    return 0;
}

static int setup(void **state) {
    (void)state;
    return begin_bounded("");
}

static int setup_plain(void **state) {
    (void)state;
    return begin_bounded("vmm=missing");
}

// What a stream has freed behind pending work, with an event behind it.
static void *freed_on(CUstream stream, size_t size) {
    void *freed = fixture_malloc(pool, size, stream);
    simulated_work(stream);
    fixture_free(freed, stream);
    return freed;
}

static uint64_t waits(void) {
    return fixture_attribute(pool, poolMemPoolStatWaitsForGrowth);
}

static void *malloc_with(size_t size, CUstream stream, unsigned flags) {
    void *pointer = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, size, pool, stream, flags), poolSuccess);
    return pointer;
}

static void require_growth(size_t size, CUstream stream, unsigned flags) {
    uint64_t reserved = fixture_reserved(pool), before = waits();
    uint64_t inserted = fixture_attribute(pool, poolMemPoolStatWaitsInserted);
    malloc_with(size, stream, flags);
    assert_true(fixture_reserved(pool) > reserved);
    assert_int_equal(waits(), before);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), inserted);
}

// ------------------------------------------------------------------------------------ wait or grow

static void without_the_attribute_a_pool_grows(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, UINT64_MAX);
    freed_on(a, BLOCK);
    require_growth(BLOCK, b, poolMallocDefault);
}

static void beyond_the_bound_a_stream_waits_for_pending_memory(void **state) {
    (void)state;
    void *freed = freed_on(a, BLOCK);
    uint64_t reserved = fixture_reserved(pool);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_int_equal(fixture_reserved(pool), reserved);
    assert_int_equal(waits(), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseMadeOrdered), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatGrowths), 1);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    simulated_finish(a);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_SUCCESS);
}

static void within_the_bound_the_pool_grows(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, 100);
    freed_on(a, BLOCK);
    require_growth(BLOCK, b, poolMallocDefault);
    require_growth(BLOCK, b, poolMallocDefault); // so much is in use now
    assert_int_equal(fixture_reserved(pool), 3 * BLOCK);
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, 33);
    void *more = fixture_malloc(pool, BLOCK, b); // three are in use
    assert_int_equal(fixture_reserved(pool), 3 * BLOCK);
    fixture_free(more, b);
}

// Granules are no part of what the program uses.
static void a_small_pool_grows_by_a_few_granules_beyond_the_bound(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    freed_on(a, MIB(4));
    require_growth(MIB(4), b, poolMallocDefault);
}

// Has another thread count what it uses just now.
static void *malloc_beside_another(size_t size, CUstream stream) {
    struct sp_pool *inside = fixture_inside(pool);
    sp_lock_acquire(&inside->figures.allowances);
    void *pointer = fixture_malloc(pool, size, stream);
    sp_lock_release(&inside->figures.allowances);
    return pointer;
}

static void what_threads_count_without_a_look_at_each_other_is_no_use_at_once(void **state) {
    (void)state;
    freed_on(a, BLOCK);
    void *pointer = malloc_beside_another(BLOCK, b);
    simulated_work(b);
    fixture_free(pointer, b);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), 2 * BLOCK);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, a), pointer);
    assert_int_equal(fixture_reserved(pool), BLOCK);
}

// The pool is unbounded where it grows for this.
static void what_a_look_finds_in_use_at_once_counts(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, UINT64_MAX);
    void *first = malloc_beside_another(BLOCK, a);
    void *second = fixture_malloc(pool, BLOCK, b);
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, 0);
    fixture_free(first, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    simulated_work(b);
    fixture_free(second, b);
    require_growth(BLOCK, a, poolMallocDefault);
}

static void what_threads_use_at_once_counts_where_the_pool_has_grown_for_it(void **state) {
    (void)state;
    void *first = malloc_beside_another(BLOCK, a);
    void *second = malloc_beside_another(BLOCK, b);
    fixture_free(first, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), BLOCK);
    simulated_work(b);
    fixture_free(second, b);
    require_growth(BLOCK, a, poolMallocDefault); // so much was in use
}

static void any_percentage_can_be_set(void **state) {
    (void)state;
    freed_on(a, BLOCK);
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, UINT64_MAX - 1);
    require_growth(BLOCK, b, poolMallocDefault);
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, UINT64_MAX / BLOCK);
    require_growth(BLOCK, b, poolMallocDefault);
}

static void a_growth_by_slack_keeps_to_the_bound(void **state) {
    (void)state;
    fixture_malloc(pool, GIB(1), a);
    fixture_malloc(pool, MIB(1), a);
    assert_true(fixture_reserved(pool) <= GIB(1) + MIB(2) + SP_SLACK_MIN);
}

// What very many streams have free is in lists that a request doesn't look into otherwise.
static void very_many_streams_share_what_the_first_one_needed(void **state) {
    (void)state;
    for (int i = 0; i < 2 * SP_LANES_AT_ONCE; i++) {
        CUstream stream = simulated_stream();
        fixture_free(fixture_malloc(pool, BLOCK, stream), stream);
        fixture_synchronize(stream);
    }
    assert_int_equal(fixture_reserved(pool), BLOCK);
    fixture_check(pool);
}

static void what_is_not_pending_is_not_waited_for(void **state) {
    (void)state;
    fixture_malloc(pool, BLOCK, a);
    require_growth(BLOCK, b, poolMallocDefault);
}

static void what_no_event_stands_behind_is_not_waited_for(void **state) {
    (void)state;
    if (!fixture_stream(a)->identified)
        return;
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, UINT64_MAX);
    freed_on(a, BLOCK);
    require_growth(BLOCK, b, poolMallocDefault);
}

static void what_is_too_small_is_not_waited_for(void **state) {
    (void)state;
    freed_on(a, BLOCK - MIB(20));
    require_growth(BLOCK, b, poolMallocDefault);
}

static void a_wait_that_policy_or_flags_forbid_is_a_growth(void **state) {
    (void)state;
    freed_on(a, BLOCK);
    require_growth(BLOCK, b, poolMallocNoInsertedWaits);
    require_growth(BLOCK, b, poolMallocSameStreamOnly);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    require_growth(BLOCK, b, poolMallocDefault);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_SUCCESS);
}

// It waits as it would without the attribute: the pool doesn't grow anyhow.
static void an_allocation_that_may_not_grow_is_held_back_by_nothing(void **state) {
    (void)state;
    void *freed = freed_on(a, BLOCK);
    assert_ptr_equal(malloc_with(BLOCK, b, poolMallocNoGrowth), freed);
    assert_int_equal(waits(), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 1);
}

static void a_wait_that_fails_is_a_growth(void **state) {
    (void)state;
    freed_on(a, BLOCK);
    simcudaFailCall("cuStreamWaitEvent", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    require_growth(BLOCK, b, poolMallocDefault);
    assert_int_equal(simcudaFailCount(), 1);
    simcudaFailClear();
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPendingBytes), BLOCK);
}

static void a_capture_elsewhere_stays_valid(void **state) {
    (void)state;
    CUstream capturing = simulated_stream();
    CUgraph graph = NULL;
    void *freed = freed_on(a, BLOCK);
    assert_int_equal(sp_driver->cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_int_equal(waits(), 1);
    assert_int_equal(sp_driver->cuStreamEndCapture(capturing, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
}

// ----------------------------------------------------------------------------------- which of them

// The smaller one fits better, and its event is the newer one.
static void the_oldest_event_is_waited_for(void **state) {
    (void)state;
    void *first = fixture_malloc(pool, BLOCK + MIB(16), a);
    fixture_malloc(pool, MIB(1), a);
    void *second = fixture_malloc(pool, BLOCK, a);
    uint64_t pieces = simcudaPending(a);
    simulated_work(a);
    fixture_free(first, a);
    pieces = simcudaPending(a) - pieces;
    simulated_work(a);
    fixture_free(second, a);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), first);
    assert_int_equal(simcudaComplete(a, pieces), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamQuery(a), CUDA_ERROR_NOT_READY);
}

// Many events later the first one is still there to be waited for.
static void an_old_event_is_waited_for_as_long_as_it_is_pending(void **state) {
    (void)state;
    void *first = fixture_malloc(pool, BLOCK + MIB(16), a);
    fixture_malloc(pool, MIB(1), a); // what lies side by side would have the newer event
    void *other = fixture_malloc(pool, BLOCK / 2, a);
    uint64_t pieces = simcudaPending(a);
    simulated_work(a);
    fixture_free(first, a);
    pieces = simcudaPending(a) - pieces;
    fixture_free(other, a);
    for (int i = 0; i < 3 * SP_STREAM_MARKS; i++)
        freed_on(a, BLOCK / 2);
    assert_ptr_equal(fixture_malloc(pool, BLOCK + MIB(16), b), first);
    assert_int_equal(simcudaComplete(a, pieces), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_SUCCESS);
}

// What it runs after already is had without a wait, so such events don't count.
static void an_event_counts_from_where_the_stream_runs_after_the_other(void **state) {
    (void)state;
    CUevent event = NULL;
    CUstream c = simulated_stream();
    void *of_a = fixture_malloc(pool, BLOCK, a), *of_c = fixture_malloc(pool, BLOCK, c);
    for (int i = 0; i < 4; i++)
        freed_on(a, BLOCK / 2);
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    assert_int_equal(poolEventRecord(event, a), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(b, event, 0), poolSuccess);
    simulated_work(c);
    for (int i = 0; i < 2; i++)
        freed_on(c, BLOCK / 2 - MIB(1));
    fixture_free(of_c, c);
    simulated_work(a);
    fixture_free(of_a, a);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), of_a);
    assert_int_equal(poolEventDestroy(event), poolSuccess);
}

static void one_stream_is_waited_for_rather_than_two(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    void *of_two = fixture_malloc(pool, BLOCK, a), *of_one = fixture_malloc(pool, BLOCK, a);
    CUstream both[] = {a, c};
    simulated_work(c);
    simulated_work(a);
    assert_int_equal(poolFreeAsyncAfter(of_two, both, 2), poolSuccess);
    simulated_work(a);
    fixture_free(of_one, a);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), of_one);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 1);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), of_two);
}

// ------------------------------------------------------------------------------------------ pieces

enum { PIECES = 8 };

// Every second one of blocks that fill the pool is pending.
static void leave_pieces(void) {
    void *blocks[PIECES];
    for (int i = 0; i < PIECES; i++)
        blocks[i] = fixture_malloc(pool, MIB(32), a);
    simulated_work(a);
    for (int i = 0; i < PIECES; i += 2)
        fixture_free(blocks[i], a);
    assert_done(sp_mark_record(fixture_stream(a)));
}

static void pending_pieces_are_put_together_behind_one_wait(void **state) {
    (void)state;
    leave_pieces();
    uint64_t reserved = fixture_reserved(pool);
    fixture_malloc(pool, MIB(96), b);
    assert_int_equal(fixture_reserved(pool), reserved);
    assert_int_equal(waits(), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 1);
    assert_true(fixture_attribute(pool, poolMemPoolStatRemappedExtents) >= 3);
}

static void pieces_are_put_together_only_where_a_growth_could_come_second(void **state) {
    (void)state;
    static const int policies[] = {poolDefragmentNever, poolDefragmentUnderPressure};
    for (int i = 0; i < 2; i++) {
        fixture_set_flag(pool, poolMemPoolAttrDefragmentation, policies[i]);
        leave_pieces();
        require_growth(MIB(96), b, poolMallocDefault);
    }
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentBeforeGrowth);
    fixture_set(pool, poolMemPoolAttrRemapTimeMax, SP_REMAP_TIME_EACH);
    leave_pieces();
    require_growth(MIB(96), b, poolMallocDefault);
}

static void pending_pieces_save_a_part_of_a_growth(void **state) {
    (void)state;
    leave_pieces();
    uint64_t reserved = fixture_reserved(pool);
    fixture_malloc(pool, MIB(32) * PIECES / 2 + MIB(16), b);
    assert_int_equal(fixture_reserved(pool), reserved + MIB(16));
    assert_int_equal(waits(), 1);
}

// Its own pieces and new memory: beyond the bound only where no wait would do.
static void a_remap_with_new_memory_beyond_the_bound_comes_behind_the_waits(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, UINT64_MAX);
    void *of_b = freed_on(b, 3 * BLOCK);
    leave_pieces();
    uint64_t reserved = fixture_reserved(pool);
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, 0);
    assert_ptr_equal(fixture_malloc(pool, 3 * BLOCK, a), of_b);
    assert_int_equal(fixture_reserved(pool), reserved);
    assert_int_equal(waits(), 1);
    fixture_malloc(pool, 3 * BLOCK, a);
    assert_int_equal(fixture_reserved(pool), reserved + BLOCK);
    assert_int_equal(waits(), 1);
}

// Its own pieces are behind no wait, so what they save counts as none.
static void own_pieces_beside_new_memory_are_no_wait(void **state) {
    (void)state;
    leave_pieces();
    uint64_t reserved = fixture_reserved(pool);
    fixture_malloc(pool, MIB(32) * PIECES / 2 + MIB(16), a);
    assert_int_equal(fixture_reserved(pool), reserved + MIB(16));
    assert_int_equal(waits(), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 0);
}

static void a_mapping_that_fails_behind_a_wait_is_a_growth(void **state) {
    (void)state;
    leave_pieces();
    uint64_t reserved = fixture_reserved(pool);
    simcudaFailCall("cuMemMap", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    fixture_malloc(pool, MIB(96), b);
    simcudaFailClear();
    assert_true(fixture_reserved(pool) > reserved);
    assert_int_equal(waits(), 0);
}

// ---------------------------------------------------------------------------------- other memory

static void pages_are_waited_for_too(void **state) {
    (void)state;
    enum { BLOCKS = 4096 }; // of 56 KiB
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = fixture_malloc(pool, KIB(56), a);
    simulated_work(a);
    for (int i = 0; i < BLOCKS; i++)
        fixture_free(blocks[i], a);
    uint64_t reserved = fixture_reserved(pool);
    for (int i = 0; i < BLOCKS / 2; i++)
        fixture_malloc(pool, KIB(56), b);
    assert_true(fixture_reserved(pool) <= reserved + SP_SLACK_MIN);
    assert_in_range(waits(), 1, BLOCKS);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
}

static void a_fixed_block_is_waited_for_too(void **state) {
    (void)state;
    void *fixed = malloc_with(BLOCK, a, poolMallocFixed);
    simulated_work(a);
    fixture_free(fixed, a);
    assert_ptr_equal(malloc_with(BLOCK, b, poolMallocFixed), fixed);
    assert_int_equal(waits(), 1);
}

// ------------------------------------------------------------------------------------ other pools

static void a_deterministic_pool_waits_and_asks_nothing(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    void *freed = freed_on(a, BLOCK);
    simulated_finish(a);
    uint64_t asked = simcudaCallCount("cuEventQuery");
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_int_equal(simcudaCallCount("cuEventQuery"), asked);
    assert_int_equal(waits(), 1);
}

static void memory_of_an_open_lane_gets_an_event_and_is_waited_for(void **state) {
    (void)state;
    for (int opportunistic = 1; opportunistic >= 0; opportunistic--) {
        pool = fixture_pool();
        fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, 0);
        fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, opportunistic);
        fixture_set_flag(pool, poolMemPoolAttrStreamPromises,
                         poolPromiseStreamDestroy | poolPromiseNeverCapture);
        void *freed = freed_on(a, BLOCK);
        assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
        assert_int_equal(waits(), 1);
    }
}

static void a_pool_with_a_limit_waits_before_it_comes_to_it(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(3 * BLOCK);
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, 0);
    void *freed = freed_on(a, BLOCK);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_int_equal(fixture_reserved(pool), BLOCK);
    assert_int_equal(waits(), 1);
}

static void the_legacy_stream_waits_too(void **state) {
    (void)state;
    void *freed = freed_on(a, BLOCK);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, NULL), freed);
    assert_int_equal(waits(), 1);
    assert_int_equal(sp_driver->cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    simulated_finish(a);
}

static void a_plain_device_waits_too(void **state) {
    (void)state;
    void *freed = freed_on(a, BLOCK);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_int_equal(waits(), 1);
}

// The block that it waited for is live when the pool goes, and pending after that.
static void a_pool_that_is_given_up_ends_with_what_was_waited_for(void **state) {
    (void)state;
    freed_on(a, BLOCK);
    void *taken = fixture_malloc(pool, BLOCK, b);
    assert_int_equal(waits(), 1);
    simulated_work(b);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    fixture_free(taken, b);
    assert_true(simcudaMemoryInUse(0) >= BLOCK);
    simulated_finish(a);
    fixture_synchronize(b);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

// --------------------------------------------------------------------------------------- in a row

// Each stream takes what the other one has just freed.
static void follow_each_other(int times) {
    for (int i = 0; i < times; i++)
        freed_on(i % 2 ? a : b, BLOCK);
}

static void after_so_many_waits_in_a_row_the_pool_grows(void **state) {
    (void)state;
    freed_on(a, BLOCK);
    follow_each_other(2 * SP_CONSECUTIVE_WAITS);
    assert_int_equal(fixture_reserved(pool), BLOCK);
    assert_int_equal(waits(), 2 * SP_CONSECUTIVE_WAITS);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatGrowthsAfterWaits), 0);
    follow_each_other(1);
    assert_int_equal(fixture_reserved(pool), 2 * BLOCK);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatGrowthsAfterWaits), 1);
    follow_each_other(10); // each has its own
    assert_int_equal(fixture_reserved(pool), 2 * BLOCK);
    assert_int_equal(waits(), 2 * SP_CONSECUTIVE_WAITS);
}

static void blocks_at_hand_do_not_end_a_row(void **state) {
    (void)state;
    freed_on(a, BLOCK);
    for (int i = 0; i <= 2 * SP_CONSECUTIVE_WAITS; i++) {
        CUstream stream = i % 2 ? a : b;
        fixture_free(fixture_malloc(pool, SMALL, stream), stream);
        freed_on(stream, BLOCK);
    }
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatGrowthsAfterWaits), 1);
}

// Out of a larger one that it has freed itself.
static void a_large_block_without_a_wait_ends_a_row(void **state) {
    (void)state;
    freed_on(a, BLOCK);
    for (int i = 0; i < 4 * SP_CONSECUTIVE_WAITS; i++) {
        CUstream stream = i % 2 ? a : b;
        freed_on(stream, BLOCK);
        freed_on(stream, BLOCK / 2);
    }
    assert_int_equal(waits(), 4 * SP_CONSECUTIVE_WAITS);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatGrowthsAfterWaits), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)
#define TEST_PLAIN(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, setup_plain, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(without_the_attribute_a_pool_grows),
        TEST(beyond_the_bound_a_stream_waits_for_pending_memory),
        TEST(within_the_bound_the_pool_grows),
        TEST(a_small_pool_grows_by_a_few_granules_beyond_the_bound),
        TEST(what_threads_count_without_a_look_at_each_other_is_no_use_at_once),
        TEST(what_a_look_finds_in_use_at_once_counts),
        TEST(what_threads_use_at_once_counts_where_the_pool_has_grown_for_it),
        TEST(any_percentage_can_be_set),
        TEST(a_growth_by_slack_keeps_to_the_bound),
        TEST(very_many_streams_share_what_the_first_one_needed),
        TEST(what_is_not_pending_is_not_waited_for),
        TEST(what_no_event_stands_behind_is_not_waited_for),
        TEST(what_is_too_small_is_not_waited_for),
        TEST(a_wait_that_policy_or_flags_forbid_is_a_growth),
        TEST(an_allocation_that_may_not_grow_is_held_back_by_nothing),
        TEST(a_wait_that_fails_is_a_growth),
        TEST(a_capture_elsewhere_stays_valid),
        TEST(the_oldest_event_is_waited_for),
        TEST(an_old_event_is_waited_for_as_long_as_it_is_pending),
        TEST(an_event_counts_from_where_the_stream_runs_after_the_other),
        TEST(one_stream_is_waited_for_rather_than_two),
        TEST(pending_pieces_are_put_together_behind_one_wait),
        TEST(pieces_are_put_together_only_where_a_growth_could_come_second),
        TEST(pending_pieces_save_a_part_of_a_growth),
        TEST(a_remap_with_new_memory_beyond_the_bound_comes_behind_the_waits),
        TEST(own_pieces_beside_new_memory_are_no_wait),
        TEST(a_mapping_that_fails_behind_a_wait_is_a_growth),
        TEST(pages_are_waited_for_too),
        TEST(a_fixed_block_is_waited_for_too),
        TEST(a_deterministic_pool_waits_and_asks_nothing),
        TEST(memory_of_an_open_lane_gets_an_event_and_is_waited_for),
        TEST(a_pool_with_a_limit_waits_before_it_comes_to_it),
        TEST(the_legacy_stream_waits_too),
        TEST_PLAIN(a_plain_device_waits_too),
        TEST(a_pool_that_is_given_up_ends_with_what_was_waited_for),
        TEST(after_so_many_waits_in_a_row_the_pool_grows),
        TEST(blocks_at_hand_do_not_end_a_row),
        TEST(a_large_block_without_a_wait_ends_a_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
