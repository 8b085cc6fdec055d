#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calls/ladder.h"
#include "calls/wait.h"
#include "region/collect.h"
#include "region/figures.h"
#include "region/request.h"
#include "region/settle.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

static poolMemPool_t pool;
static struct sp_pool *inside;
static CUstream a, b;
static struct sp_request request;

static int setup(void **state) {
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool();
    inside = fixture_inside(pool);
    a = simulated_stream();
    b = simulated_stream();
    return 0;
}

// Memory that a freed behind pending work, with a live block on each side, and in the tiers.
static void *freed_on_a(void) {
    fixture_malloc(pool, MIB(1), a);
    void *freed = fixture_malloc(pool, MIB(4), a);
    fixture_malloc(pool, MIB(27), a);
    simulated_work(a);
    fixture_free(freed, a);
    sp_collect_quick(fixture_lane(pool, a), sp_settle_insert);
    return freed;
}

static void open_request(unsigned int flags) {
    sp_request_open(&request, inside, fixture_lane(pool, b), SP_REGION_LARGE, MIB(4), flags);
}

static struct sp_outcome take(struct sp_outcome (*rung)(struct sp_request *, struct sp_block **),
                              unsigned int flags, struct sp_block **block) {
    open_request(flags);
    struct sp_outcome outcome =
        sp_wait_is_allowed(&request) ? rung(&request, block) : sp_outcome_done();
    assert_int_equal(request.reach,
                     request.flags & poolMallocSameStreamOnly ? SP_RULE_COMPLETE : SP_RULE_ORDERED);
    sp_request_close(&request);
    return outcome;
}

// The host waits, and nothing else is tried. It is no failure that nothing is found.
static struct sp_outcome wait_for(struct sp_block **block) {
    struct sp_outcome outcome = sp_ladder_climb(&request, SP_LADDER_HOST, block);
    sp_request_close(&request);
    return sp_outcome_lacks_memory(outcome) ? sp_outcome_done() : outcome;
}

static struct sp_outcome wait_on_host(unsigned int flags, struct sp_block **block) {
    open_request(flags);
    return wait_for(block);
}

// A block that a rung gave goes back as if it had never been taken.
static void put_back(struct sp_block *block) {
    sp_lock_acquire(&inside->lock);
    sp_settle_insert(inside, block);
    sp_lock_release(&inside->lock);
}

static void memory_behind_a_record_is_taken_by_a_wait_for_it(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    void *freed = freed_on_a();
    assert_done(sp_mark_record(fixture_stream(a)));
    assert_done(take(sp_wait_made_ordered, 0, &block));
    assert_non_null(block);
    assert_int_equal(block->address, (uintptr_t)freed);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 1);
    put_back(block);
    fixture_check(pool);
}

static void one_wait_serves_the_next_request_too(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    freed_on_a();
    assert_done(sp_mark_record(fixture_stream(a)));
    assert_done(take(sp_wait_made_ordered, 0, &block));
    assert_non_null(block);
    put_back(block);
    uint64_t waits = simcudaCallCount("cuStreamWaitEvent");
    assert_done(take(sp_wait_made_ordered, 0, &block));
    assert_non_null(block);
    assert_int_equal(simcudaCallCount("cuStreamWaitEvent"), waits);
    put_back(block);
}

static void memory_with_fences_of_two_streams_is_taken_by_two_waits(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    CUstream c = simulated_stream();
    void *freed = freed_on_a();
    assert_ptr_equal(fixture_malloc(pool, MIB(4), a), freed); // keeps a's fence
    assert_done(sp_mark_record(fixture_stream(a)));
    simulated_work(c);
    fixture_free(freed, c);
    assert_done(sp_mark_record(fixture_stream(c)));
    assert_done(take(sp_wait_made_ordered, 0, &block));
    assert_non_null(block);
    assert_int_equal(block->address, (uintptr_t)freed);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 2);
    simulated_finish(a);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    put_back(block);
}

static void memory_with_no_record_behind_it_is_not_waited_for(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    freed_on_a();
    if (!fixture_stream(a)->identified)
        return;
    uint64_t waits = simcudaCallCount("cuStreamWaitEvent");
    assert_done(take(sp_wait_made_ordered, 0, &block));
    assert_null(block);
    assert_int_equal(simcudaCallCount("cuStreamWaitEvent"), waits);
    fixture_check(pool);
}

static void no_wait_is_inserted_where_policy_or_flag_forbids(void **state) {
    (void)state;
    static const unsigned int flags[] = {poolMallocNoInsertedWaits, poolMallocSameStreamOnly, 0};
    struct sp_block *block = NULL;
    freed_on_a();
    fixture_set_flag(pool, poolMemPoolAttrContextFence, 1);
    assert_done(sp_mark_record(fixture_stream(a)));
    for (int i = 0; i < 3; i++) {
        if (flags[i] == 0)
            fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
        assert_done(take(sp_wait_made_ordered, flags[i], &block));
        assert_null(block);
        assert_done(take(sp_wait_behind_context, flags[i], &block));
        assert_null(block);
    }
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_SUCCESS);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatContextFences), 0);
}

static void a_wait_that_fails_leaves_the_memory_where_it_was(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    void *freed = freed_on_a();
    assert_done(sp_mark_record(fixture_stream(a)));
    simcudaFailCall("cuStreamWaitEvent", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_of_driver(take(sp_wait_made_ordered, 0, &block), CUDA_ERROR_LAUNCH_FAILED);
    assert_null(block);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 0);
    fixture_check(pool);
    assert_ptr_equal(fixture_malloc(pool, MIB(4), a), freed);
}

static void memory_with_no_record_behind_it_is_taken_behind_the_whole_context(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    void *freed = freed_on_a();
    fixture_set_flag(pool, poolMemPoolAttrContextFence, 1);
    assert_done(take(sp_wait_behind_context, 0, &block));
    assert_non_null(block);
    assert_int_equal(block->address, (uintptr_t)freed);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatContextFences), 1);
    put_back(block);
}

static void a_context_is_recorded_only_where_the_attribute_says_so(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    freed_on_a();
    assert_done(take(sp_wait_behind_context, 0, &block));
    assert_null(block);
    assert_int_equal(simcudaCallCount("cuCtxRecordEvent"), 0);
}

static void a_context_that_can_not_be_recorded_is_no_error(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    freed_on_a();
    fixture_set_flag(pool, poolMemPoolAttrContextFence, 1);
    simcudaFailCall("cuCtxRecordEvent", 1, simcudaFaultOnce, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_done(take(sp_wait_behind_context, 0, &block));
    assert_null(block);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatContextFences), 0);
}

static void the_host_waits_only_where_the_attribute_says_so(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    freed_on_a();
    assert_done(sp_mark_record(fixture_stream(a)));
    simulated_finish(a);
    assert_done(wait_on_host(poolMallocNoGrowth, &block));
    assert_null(block);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatHostWaits), 0);
}

// One nanosecond is over after the first look, and the end of time is more than the second look
// takes.
static void require_host_wait_for(const void *freed) {
    struct sp_block *block = NULL;
    fixture_set(pool, poolMemPoolAttrHostWaitMax, 1);
    assert_done(wait_on_host(poolMallocNoGrowth, &block));
    assert_null(block);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatHostWaits), 1);
    simulated_finish(a);
    fixture_set(pool, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    assert_done(wait_on_host(poolMallocNoGrowth, &block));
    assert_non_null(block);
    assert_int_equal(block->address, (uintptr_t)freed);
    put_back(block);
}

static void the_host_waits_until_the_memory_is_complete_or_its_time_is_over(void **state) {
    (void)state;
    void *freed = freed_on_a();
    assert_done(sp_mark_record(fixture_stream(a)));
    require_host_wait_for(freed);
}

static void require_no_wait(void) {
    struct sp_block *block = NULL;
    fixture_set(pool, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    assert_done(wait_on_host(poolMallocNoGrowth, &block));
    assert_null(block);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatHostWaits), 0);
}

static void the_host_does_not_wait_for_memory_with_no_record_behind_it(void **state) {
    (void)state;
    freed_on_a();
    require_no_wait();
}

static void the_host_does_not_wait_for_streams_that_have_nothing_in_the_pool(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    poolMemPool_t other = fixture_pool();
    void *freed = fixture_malloc(other, MIB(4), c);
    freed_on_a();
    simulated_work(c);
    fixture_free(freed, c);
    assert_done(sp_mark_record(fixture_stream(c)));
    require_no_wait();
}

static void a_deterministic_pool_does_not_wait_on_the_host(void **state) {
    (void)state;
    freed_on_a();
    assert_done(sp_mark_record(fixture_stream(a)));
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    require_no_wait();
}

// The event has been passed and what there is doesn't do: nothing more can come.
static void the_hosts_wait_ends_when_nothing_is_pending_any_more(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    freed_on_a();
    assert_done(sp_mark_record(fixture_stream(a)));
    simulated_finish(a);
    fixture_set(pool, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    open_request(poolMallocNoGrowth);
    request.size = GIB(1);
    assert_done(wait_for(&block));
    assert_null(block);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatHostWaits), 1);
}

static void a_driver_that_fails_ends_the_hosts_wait(void **state) {
    (void)state;
    struct sp_block *block = NULL;
    freed_on_a();
    assert_done(sp_mark_record(fixture_stream(a)));
    fixture_set(pool, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    simcudaFailCall("cuEventQuery", 2, simcudaFaultOnce, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_of_driver(wait_on_host(poolMallocNoGrowth, &block), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_null(block);
}

// The legacy stream would tell when it is complete; it is busy until the second request.
static void the_host_waits_for_what_the_legacy_stream_can_tell_of(void **state) {
    (void)state;
    a = simulated_blocking_stream();
    void *freed = freed_on_a();
    require_host_wait_for(freed);
}

// Two streams have freed into the same memory, one of them with no event behind it; its neighbour
// has events of both.
static void what_several_streams_have_freed_joins_nothing_that_lacks_an_event(void **state) {
    (void)state;
    void *left = fixture_malloc(pool, MIB(4), a), *right = fixture_malloc(pool, MIB(4), a);
    CUstream c = simulated_stream();
    assert_ptr_equal((char *)left + MIB(4), right);
    simulated_work(a);
    fixture_free(left, a);
    fixture_free(right, a);
    assert_done(sp_mark_record(fixture_stream(a)));
    assert_ptr_equal(fixture_malloc(pool, MIB(4), a), right); // both keep a's fence
    assert_ptr_equal(fixture_malloc(pool, MIB(4), a), left);
    simulated_work(b);
    simulated_work(c);
    fixture_free(left, b);
    assert_done(sp_mark_record(fixture_stream(b)));
    fixture_free(right, c);
    sp_collect_all(inside);
    const struct sp_region *region = &inside->regions[SP_REGION_LARGE];
    assert_int_equal(region->waiting.bytes, MIB(4));
    assert_int_equal(region->unfenced.bytes, MIB(4));
    assert_done(sp_mark_record(fixture_stream(c)));
    void *more = fixture_malloc(pool, KIB(512), c);
    assert_int_equal(region->unfenced.bytes, MIB(4)); // until somebody looks
    fixture_free(more, c);
    simulated_finish(b);
    assert_done(sp_poll_stream(fixture_stream(b)));
    sp_lock_acquire(&inside->lock);
    sp_settle_all(inside);
    sp_lock_release(&inside->lock);
    assert_int_equal(region->unfenced.bytes, 0);
    fixture_check(pool);
}

// All of a pool that can't grow, which a has freed behind pending work in blocks of one size.
static poolMemPool_t full_pool(size_t size, int count) {
    poolMemPool_t full = fixture_pool_of_at_most(MIB(32));
    void *blocks[600];
    for (int i = 0; i < count; i++)
        blocks[i] = fixture_malloc(full, size, a);
    assert_int_equal(fixture_reserved(full), MIB(32));
    simulated_work(a);
    for (int i = 0; i < count; i++)
        fixture_free(blocks[i], a);
    return full;
}

static void a_request_waits_for_memory_of_another_region(void **state) {
    (void)state;
    poolMemPool_t full = full_pool(MIB(16), 2);
    fixture_free(fixture_malloc(full, 512, b), b);
    fixture_free(fixture_malloc(full, SP_SMALL_MAX, b), b);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    fixture_check(full);
    full = full_pool(SP_SMALL_MAX, 584);
    fixture_free(fixture_malloc(full, MIB(20), b), b);
    fixture_check(full);
}

enum { SMALL_BLOCKS = 288, NO_BLOCK = -1 };
static void *small_blocks[SMALL_BLOCKS];

// Half of a pool of at most 32 MiB was used for small blocks, which a has freed behind pending
// work, all but one.
static poolMemPool_t half_of_pages(int kept) {
    poolMemPool_t half = fixture_pool_of_at_most(MIB(32));
    for (int i = 0; i < SMALL_BLOCKS; i++)
        small_blocks[i] = fixture_malloc(half, SP_SMALL_MAX, a);
    assert_int_equal(fixture_reserved(half), MIB(16));
    simulated_work(a);
    for (int i = 0; i < SMALL_BLOCKS; i++) {
        if (i != kept)
            fixture_free(small_blocks[i], a);
    }
    return half;
}

// With new memory beside them; the last page isn't used to its end.
static void a_large_request_has_the_pages_of_small_blocks_by_a_remap(void **state) {
    (void)state;
    poolMemPool_t half = half_of_pages(NO_BLOCK);
    void *large = fixture_malloc(half, MIB(24) + 512, a);
    assert_int_equal(fixture_attribute(half, poolMemPoolStatRemaps), 1);
    assert_true(fixture_reserved(half) <= MIB(32));
    fixture_check(half);
    fixture_free(large, a);
    fixture_check(half);
    void *small[64];
    for (int i = 0; i < 64; i++)
        small[i] = fixture_malloc(half, SP_SMALL_MAX, a);
    large = fixture_malloc(half, MIB(26) - 512, a);
    fixture_check(half);
    for (int i = 0; i < 64; i++)
        fixture_free(small[i], a);
    fixture_free(large, a);
    fixture_check(half);
}

static void pages_that_lie_in_one_piece_are_mapped_nowhere_else(void **state) {
    (void)state;
    poolMemPool_t half = half_of_pages(NO_BLOCK);
    fixture_malloc(half, MIB(14), a);
    fixture_malloc(half, MIB(10), a);
    assert_int_equal(fixture_attribute(half, poolMemPoolStatRemaps), 0);
    assert_int_equal(fixture_attribute(half, poolMemPoolStatOtherRegion), 1);
    fixture_check(half);
}

// Slabs are cut from whole pages, so what is left of the last one is lent too.
static void small_blocks_have_the_pages_beside_it(void **state) {
    (void)state;
    poolMemPool_t half = half_of_pages(SMALL_BLOCKS / 2);
    void *beside = fixture_malloc(half, MIB(14), a);
    void *large = fixture_malloc(half, MIB(10) + 512, a); // more than lies on either side
    assert_int_equal(fixture_attribute(half, poolMemPoolStatRemaps), 1);
    void *more[64];
    for (int i = 0; i < 64; i++)
        more[i] = fixture_malloc(half, SP_SMALL_MAX, a);
    fixture_check(half);
    fixture_free(large, a);
    for (int i = 0; i < 64; i++)
        fixture_free(more[i], a);
    fixture_free(small_blocks[SMALL_BLOCKS / 2], a);
    fixture_free(beside, a);
    fixture_check(half);
}

static void so_has_another_stream_by_waiting(void **state) {
    (void)state;
    poolMemPool_t half = half_of_pages(NO_BLOCK);
    fixture_free(fixture_malloc(half, MIB(24), b), b);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
    fixture_check(half);
}

// The wait would be in vain: what new memory the block lacks can't be had.
static void a_request_that_is_refused_has_made_no_stream_wait(void **state) {
    (void)state;
    void *block = NULL;
    void *freed = fixture_malloc(pool, MIB(64), a);
    simulated_work(a);
    fixture_free(freed, a);
    assert_done(sp_mark_record(fixture_stream(a)));
    uint64_t reserved = fixture_reserved(pool);
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(poolMallocFromPoolAsync(&block, MIB(128), pool, b), poolErrorMemoryAllocation);
    simcudaFailClear();
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 0);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_SUCCESS);
    assert_int_equal(fixture_reserved(pool), reserved);
    fixture_check(pool);
    block = fixture_malloc(pool, MIB(128), b); // now it is served, by a wait or by new memory
    fixture_free(block, b);
    fixture_check(pool);
}

// What was mapped for a wait counts against the limit as long as the wait is being made, and no
// longer.
static void the_limit_knows_of_what_is_mapped_before_a_wait(void **state) {
    (void)state;
    void *block = NULL;
    poolMemPool_t full = fixture_pool_of_at_most(MIB(64));
    struct sp_pool *full_inside = fixture_inside(full);
    void *freed = fixture_malloc(full, MIB(32), a);
    simulated_work(a);
    fixture_free(freed, a);
    assert_done(sp_mark_record(fixture_stream(a)));
    simcudaFailCall("cuStreamWaitEvent", 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN);
    assert_int_not_equal(poolMallocFromPoolAsync(&block, MIB(64), full, b), poolSuccess);
    simcudaFailClear();
    assert_int_equal(sp_figures_below_limit(full_inside), MIB(64) - fixture_reserved(full));
    fixture_check(full);
    atomic_store(&full_inside->unpublished, MIB(32));
    assert_int_equal(sp_figures_below_limit(full_inside), MIB(32) - fixture_reserved(full));
    assert_int_equal(poolMallocAsyncWithFlags(&block, MIB(48), full, b, poolMallocSameStreamOnly),
                     poolErrorMemoryAllocation);
    atomic_store(&full_inside->unpublished, 0);
    fixture_malloc(full, MIB(64), b); // by a wait, and new memory
    fixture_check(full);
}

static void as_long_as_the_device_gives_more_pages_are_left_to_small_blocks(void **state) {
    (void)state;
    poolMemPool_t wide = fixture_pool();
    void *blocks[64];
    for (int i = 0; i < 64; i++)
        blocks[i] = fixture_malloc(wide, SP_SMALL_MAX, a);
    for (int i = 0; i < 64; i++)
        fixture_free(blocks[i], a);
    fixture_malloc(wide, MIB(24), a);
    assert_int_equal(fixture_attribute(wide, poolMemPoolStatRemaps), 0);
}

// Blocks of one size fill a pool that can't grow; a frees the first so many of them behind pending
// work, with no event behind them.
static poolMemPool_t freed_on_silent_stream(size_t size, int count, int freed) {
    poolMemPool_t full = fixture_pool_of_at_most(MIB(32));
    void *blocks[600];
    for (int i = 0; i < count; i++)
        blocks[i] = fixture_malloc(full, size, a);
    assert_int_equal(fixture_reserved(full), MIB(32));
    simulated_work(a);
    for (int i = 0; i < freed; i++)
        fixture_free(blocks[i], a);
    assert_int_equal(fixture_attribute(full, poolMemPoolStatEventsRecorded), 0);
    return full;
}

static void a_request_waits_behind_the_legacy_stream_for_memory_of_another_region(void **state) {
    (void)state;
    a = simulated_blocking_stream();
    poolMemPool_t full = freed_on_silent_stream(MIB(4), 8, 1);
    fixture_malloc(full, 512, b);
    assert_int_equal(fixture_attribute(full, poolMemPoolStatLegacyFences), 1);
    fixture_check(full);
    full = freed_on_silent_stream(SP_SMALL_MAX, 584, 64);
    fixture_malloc(full, MIB(1), b);
    assert_int_equal(fixture_attribute(full, poolMemPoolStatLegacyFences), 1);
    fixture_check(full);
}

// Small blocks fill the pool. Those of some slabs are freed on two streams, and nothing else is.
static void a_request_waits_behind_the_legacy_stream_for_what_two_streams_hold_back(void **state) {
    (void)state;
    enum { COUNT = MIB(32) / KIB(32) };
    static void *blocks[COUNT];
    CUstream first = simulated_blocking_stream(), second = simulated_blocking_stream();
    poolMemPool_t full = fixture_pool_of_at_most(MIB(32));
    for (int i = 0; i < COUNT; i++)
        blocks[i] = fixture_malloc(full, KIB(32), first);
    simulated_work(first);
    simulated_work(second);
    for (int i = 0; i < 16; i++)
        fixture_free(blocks[i], i % 2 == 0 ? first : second);
    assert_int_equal(fixture_attribute(full, poolMemPoolStatEventsRecorded), 0);
    fixture_malloc(full, KIB(64), b);
    assert_int_equal(fixture_attribute(full, poolMemPoolStatLegacyFences), 1);
    fixture_check(full);
}

// The stream runs after the free, and no policy lets it wait.
static void a_small_request_has_large_memory_that_it_runs_after(void **state) {
    (void)state;
    poolMemPool_t full = full_pool(MIB(16), 2);
    fixture_set_flag(full, poolMemPoolReuseAllowInternalDependencies, 0);
    void *refused;
    assert_int_equal(poolMallocFromPoolAsync(&refused, 512, full, b), poolErrorMemoryAllocation);
    fixture_order(b, a);
    fixture_free(fixture_malloc(full, 512, b), b);
    fixture_check(full);
}

// Blocks of a fill a new pool in the order of their addresses, which begin with a page.
static poolMemPool_t filled_with(const size_t *sizes, int count, void **blocks) {
    poolMemPool_t full = fixture_pool_of_at_most(MIB(32));
    size_t left = MIB(32);
    fixture_free(fixture_malloc(full, left, a), a);
    fixture_synchronize(a);
    for (int i = 0; i < count; i++) {
        blocks[i] = fixture_malloc(full, sizes[i], a);
        assert_ptr_equal(blocks[i], (char *)blocks[0] + (MIB(32) - left));
        left -= sizes[i];
    }
    fixture_malloc(full, left, a);
    assert_int_equal((uintptr_t)blocks[0] % SP_PAGE_SIZE, 0);
    return full;
}

// The smaller piece begins behind a page's begin, and has no whole one.
static void a_small_request_finds_a_page_that_a_better_fit_does_not_have(void **state) {
    (void)state;
    enum { COUNT = 4 };
    static const size_t sizes[COUNT] = {66048, 66048, 130048, 102400};
    void *blocks[COUNT];
    poolMemPool_t full = filled_with(sizes, COUNT, blocks);
    fixture_free(blocks[1], a);
    fixture_free(blocks[3], a);
    fixture_synchronize(a);
    fixture_malloc(full, 512, a);
    fixture_check(full);
}

// Two rows of what two streams freed: the smaller one has no three whole pages.
static void so_it_does_in_rows_that_it_runs_after(void **state) {
    (void)state;
    enum { COUNT = 6 };
    static const size_t sizes[COUNT] = {66048, 98816, 98816, 129536, 100352, 100352};
    void *blocks[COUNT];
    poolMemPool_t full = filled_with(sizes, COUNT, blocks);
    CUstream streams[2] = {simulated_stream(), simulated_stream()};
    for (int i = 0; i < 2; i++) {
        fixture_order(streams[i], a);
        simulated_work(streams[i]);
        fixture_free(blocks[1 + i], streams[i]);
        fixture_free(blocks[4 + i], streams[i]);
        fixture_order(a, streams[i]);
    }
    void *block = fixture_malloc(full, 49000, a);
    assert_ptr_equal(block, blocks[4]);
    fixture_check(full);
}

#define wait_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        wait_test(memory_behind_a_record_is_taken_by_a_wait_for_it),
        wait_test(one_wait_serves_the_next_request_too),
        wait_test(memory_with_fences_of_two_streams_is_taken_by_two_waits),
        wait_test(memory_with_no_record_behind_it_is_not_waited_for),
        wait_test(no_wait_is_inserted_where_policy_or_flag_forbids),
        wait_test(a_wait_that_fails_leaves_the_memory_where_it_was),
        wait_test(memory_with_no_record_behind_it_is_taken_behind_the_whole_context),
        wait_test(a_context_is_recorded_only_where_the_attribute_says_so),
        wait_test(a_context_that_can_not_be_recorded_is_no_error),
        wait_test(the_host_waits_only_where_the_attribute_says_so),
        wait_test(the_host_waits_until_the_memory_is_complete_or_its_time_is_over),
        wait_test(the_host_does_not_wait_for_memory_with_no_record_behind_it),
        wait_test(the_host_does_not_wait_for_streams_that_have_nothing_in_the_pool),
        wait_test(a_deterministic_pool_does_not_wait_on_the_host),
        wait_test(the_hosts_wait_ends_when_nothing_is_pending_any_more),
        wait_test(a_driver_that_fails_ends_the_hosts_wait),
        wait_test(the_host_waits_for_what_the_legacy_stream_can_tell_of),
        wait_test(what_several_streams_have_freed_joins_nothing_that_lacks_an_event),
        wait_test(a_request_waits_for_memory_of_another_region),
        wait_test(a_large_request_has_the_pages_of_small_blocks_by_a_remap),
        wait_test(pages_that_lie_in_one_piece_are_mapped_nowhere_else),
        wait_test(small_blocks_have_the_pages_beside_it),
        wait_test(so_has_another_stream_by_waiting),
        wait_test(a_request_that_is_refused_has_made_no_stream_wait),
        wait_test(the_limit_knows_of_what_is_mapped_before_a_wait),
        wait_test(as_long_as_the_device_gives_more_pages_are_left_to_small_blocks),
        wait_test(a_request_waits_behind_the_legacy_stream_for_memory_of_another_region),
        wait_test(a_request_waits_behind_the_legacy_stream_for_what_two_streams_hold_back),
        wait_test(a_small_request_has_large_memory_that_it_runs_after),
        wait_test(a_small_request_finds_a_page_that_a_better_fit_does_not_have),
        wait_test(so_it_does_in_rows_that_it_runs_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
