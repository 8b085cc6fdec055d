#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include <streampool/lists.h>

#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

#include "order/mark.h"
#include "region/collect.h"
#include "region/settle.h"

// Every test allocates in a pool of this size: it holds one block, or what the test puts there, and
// grows no further.
#define BLOCK MIB(64)

static poolMemPool_t pool;
static CUstream a, b;

static int setup(void **state) {
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool_of_at_most(BLOCK);
    a = simulated_stream();
    b = simulated_stream();
    return 0;
}

#define NUMBER_OF_STATISTIC(name, number, text) poolMemPoolStat##name,
static const enum poolMemPoolAttr all[] = {STREAMPOOL_POOL_STATISTICS(NUMBER_OF_STATISTIC)};
enum { STATISTICS = sizeof all / sizeof all[0] };

static void count_anew(void) {
    for (int i = 0; i < STATISTICS; i++)
        fixture_set(pool, all[i], 0);
}

static void assert_count(enum poolMemPoolAttr statistic, uint64_t expected) {
    uint64_t count = fixture_attribute(pool, statistic);
    if (count != expected)
        print_error("%s is %llu\n", poolMemPoolGetStatisticName(statistic),
                    (unsigned long long)count);
    assert_int_equal(count, expected);
}

// One allocation has been counted since, under this name and no other. A growth after a trim is a
// growth.
static void assert_came_by(enum poolMemPoolAttr rung) {
    static const enum poolMemPoolAttr rungs[] = {
        poolMemPoolStatReuseSameStream,  poolMemPoolStatReuseComplete,
        poolMemPoolStatReuseOrdered,     poolMemPoolStatReuseFoundComplete,
        poolMemPoolStatReuseMadeOrdered, poolMemPoolStatGrowthsAfterTrim,
        poolMemPoolStatRemaps,           poolMemPoolStatOtherRegion,
        poolMemPoolStatFailures};
    for (size_t i = 0; i < sizeof rungs / sizeof rungs[0]; i++)
        assert_count(rungs[i], rungs[i] == rung);
    assert_count(poolMemPoolStatGrowths,
                 rung == poolMemPoolStatGrowths || rung == poolMemPoolStatGrowthsAfterTrim);
}

// A block that a freed behind pending work. Its size is more than may stay without an event.
static void *freed_on_a(void) {
    void *freed = fixture_malloc(pool, BLOCK, a);
    simulated_work(a);
    fixture_free(freed, a);
    count_anew();
    return freed;
}

// The last of very many lanes has all that the pool has, in its quick list. Nothing may be asked,
// and nothing more becomes known.
static void what_one_of_very_many_lanes_has_is_found_before_a_refusal(void **state) {
    (void)state;
    enum { MANY = 3 * SP_LANES_AT_ONCE };
    CUstream last = b;
    void *block = NULL;
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    fixture_lane(pool, a);
    for (int i = 0; i < MANY; i++)
        fixture_lane(pool, last = simulated_stream());
    void *freed = fixture_malloc(pool, BLOCK, last);
    fixture_free(freed, last);
    fixture_synchronize(last);
    assert_int_not_equal(fixture_lane(pool, last)->quick_used, 0);
    count_anew();
    assert_int_equal(poolMallocAsyncWithFlags(&block, MIB(1), pool, a, poolMallocNoGrowth),
                     poolSuccess);
    assert_ptr_equal(block, freed);
    assert_came_by(poolMemPoolStatReuseComplete);
}

static void *malloc_beside(void *block) {
    sp_driver->cuCtxSetCurrent(simulated_context());
    poolMallocFromPoolAsync(block, BLOCK, pool, a);
    return NULL;
}

// The memory comes back while the other thread waits to map some.
static void what_is_freed_before_a_thread_may_map_is_counted_by_its_rule(void **state) {
    (void)state;
    struct sp_pool *inside = fixture_inside(pool);
    pthread_t thread;
    void *block = NULL;
    void *freed = fixture_malloc(pool, BLOCK, a);
    count_anew();
    sp_pool_begin_mapping(inside);
    assert_int_equal(pthread_create(&thread, NULL, malloc_beside, &block), 0);
    while (sp_load_relaxed(&inside->mappers) < 2)
        sp_lock_sleep(50000);
    fixture_free(freed, a);
    sp_collect_quick(fixture_lane(pool, a), sp_settle_insert);
    sp_pool_end_mapping(inside);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ptr_equal(block, freed);
    assert_came_by(poolMemPoolStatReuseSameStream);
}

static void the_first_allocation_is_a_growth(void **state) {
    (void)state;
    fixture_malloc(pool, BLOCK, a);
    assert_came_by(poolMemPoolStatGrowths);
}

static void the_streams_own_memory_comes_first(void **state) {
    (void)state;
    void *freed = freed_on_a();
    assert_ptr_equal(fixture_malloc(pool, BLOCK, a), freed);
    assert_came_by(poolMemPoolStatReuseSameStream);
}

static void memory_known_to_be_complete_is_reused(void **state) {
    (void)state;
    void *freed = freed_on_a();
    fixture_synchronize(a);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_came_by(poolMemPoolStatReuseComplete);
}

static void memory_that_the_stream_runs_after_is_reused(void **state) {
    (void)state;
    CUevent event = NULL;
    void *freed = freed_on_a();
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    assert_int_equal(poolEventRecord(event, a), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(b, event, 0), poolSuccess);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_came_by(poolMemPoolStatReuseOrdered);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 0);
    assert_int_equal(poolEventDestroy(event), poolSuccess);
}

static void memory_that_a_question_finds_complete_is_reused_before_the_pool_grows(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(3 * BLOCK);
    fixture_lane(pool, a);
    fixture_malloc(pool, MIB(2), b); // the first miss of a lane asks on behalf of others
    void *freed = freed_on_a();
    simulated_finish(a);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_came_by(poolMemPoolStatReuseFoundComplete);
}

static void a_pool_that_can_grow_inserts_no_wait(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(2 * BLOCK);
    void *freed = freed_on_a();
    assert_ptr_not_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_came_by(poolMemPoolStatGrowths);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_SUCCESS);
}

static void a_pool_that_can_not_grow_inserts_a_wait(void **state) {
    (void)state;
    void *freed = freed_on_a();
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_came_by(poolMemPoolStatReuseMadeOrdered);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatWaitsInserted), 1);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
}

static void memory_without_an_event_is_taken_behind_the_whole_context_where_the_program_allows_it(
    void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, UINT64_MAX);
    void *freed = freed_on_a();
    void *pointer = NULL;
    assert_int_equal(poolMallocFromPoolAsync(&pointer, BLOCK, pool, b), poolErrorMemoryAllocation);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatContextFences), 0);
    count_anew();
    fixture_set_flag(pool, poolMemPoolAttrContextFence, 1);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_came_by(poolMemPoolStatReuseMadeOrdered);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatContextFences), 1);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_ERROR_NOT_READY);
}

static void no_policy_and_no_memory_is_a_failure_that_changes_nothing(void **state) {
    (void)state;
    for (int policy = 1; policy <= 3; policy++)
        fixture_set_flag(pool, (enum poolMemPoolAttr)policy, 0);
    void *freed = freed_on_a();
    void *pointer = NULL;
    uint64_t reserved = fixture_reserved(pool);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, BLOCK, pool, b), poolErrorMemoryAllocation);
    assert_came_by(poolMemPoolStatFailures);
    assert_null(pointer);
    assert_int_equal(fixture_reserved(pool), reserved);
    assert_int_equal(sp_driver->cuStreamQuery(b), CUDA_SUCCESS);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, a), freed);
}

static void the_hosts_wait_comes_last(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    fixture_set(pool, poolMemPoolAttrHostWaitMax, 1);
    void *freed = freed_on_a();
    simulated_finish(a);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_came_by(poolMemPoolStatReuseFoundComplete);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatHostWaits), 1);
}

// It is joined with new memory, which is what counts.
static void what_the_hosts_wait_lets_the_pool_grow_by_counts_once(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    fixture_set(pool, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    void *freed = fixture_malloc(pool, BLOCK / 8 * 5, a);
    simulated_work(a);
    fixture_free(freed, a);
    simulated_finish(a);
    count_anew();
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_came_by(poolMemPoolStatGrowths);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatHostWaits), 1);
}

// What is free is complete but lies in pieces: it goes back and the pool grows into what that has
// left.
static void caches_are_given_back_before_the_pool_grows_again(void **state) {
    (void)state;
    enum { PIECES = 2 };
    void *pieces[PIECES];
    for (int i = 0; i < PIECES; i++)
        pieces[i] = fixture_malloc(pool, BLOCK / PIECES, a);
    fixture_free(pieces[0], a);
    fixture_synchronize(a);
    void *fixed = NULL;
    count_anew();
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, BLOCK / PIECES, pool, a, poolMallocFixed),
                     poolSuccess);
    assert_came_by(poolMemPoolStatGrowthsAfterTrim);
    fixture_free(fixed, a);
    fixture_free(pieces[1], a);
}

static void memory_of_the_other_region_is_a_last_resort(void **state) {
    (void)state;
    freed_on_a();
    fixture_malloc(pool, 100, a);
    assert_came_by(poolMemPoolStatOtherRegion);
}

static void small_blocks_are_counted_where_their_slabs_came_from_and_then_by_stream(void **state) {
    (void)state;
    fixture_free(fixture_malloc(pool, 100, a), a);
    assert_came_by(poolMemPoolStatGrowths);
    fixture_malloc(pool, 100, a);
    fixture_malloc(pool, 100, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), 2);
}

static void without_growth_memory_at_hand_is_found_and_no_other(void **state) {
    (void)state;
    void *pointer = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, BLOCK, pool, a, poolMallocNoGrowth),
                     poolErrorMemoryAllocation);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, 100, pool, a, poolMallocNoGrowth),
                     poolErrorMemoryAllocation);
    assert_int_equal(fixture_reserved(pool), 0);
    void *freed = freed_on_a();
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, BLOCK, pool, a, poolMallocNoGrowth),
                     poolSuccess);
    assert_ptr_equal(pointer, freed);
}

static void a_fixed_block_lies_in_one_extent(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(2 * BLOCK);
    void *halves[2];
    for (int i = 0; i < 2; i++)
        halves[i] = fixture_malloc(pool, BLOCK / 2, a);
    for (int i = 0; i < 2; i++)
        fixture_free(halves[i], a);
    void *pointer = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, BLOCK, pool, a, poolMallocFixed),
                     poolSuccess);
    struct sp_region *fixed = &fixture_inside(pool)->regions[SP_REGION_FIXED];
    struct sp_segment *segment =
        SP_CONTAINER_OF(sp_list_first(&fixed->segments), struct sp_segment, link);
    struct sp_extent *extent = sp_view_extent_from(&segment->view, 0);
    assert_int_equal(extent->address, (uintptr_t)pointer);
    assert_int_equal(extent->size, BLOCK);
    fixture_free(pointer, a);
    void *again = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&again, BLOCK, pool, a, poolMallocFixed),
                     poolSuccess);
    assert_ptr_equal(again, pointer);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, a), halves[0]);
    fixture_check(pool);
}

// A trim may keep the front of an extent, as an extent of its own, and give back the rest.
static void a_fixed_block_lies_in_one_extent_where_a_trim_left_a_part_of_one(void **state) {
    (void)state;
    void *fixed = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, BLOCK, pool, a, poolMallocFixed),
                     poolSuccess);
    fixture_free(fixed, a);
    fixture_synchronize(a);
    fixture_trim(pool, BLOCK / 4);
    assert_int_equal(fixture_reserved(pool), BLOCK / 4);
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, BLOCK / 2, pool, a, poolMallocFixed),
                     poolSuccess);
    fixture_free(fixed, a);
    fixture_synchronize(a);
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, BLOCK, pool, a, poolMallocFixed),
                     poolSuccess);
    const struct sp_region *region = &fixture_inside(pool)->regions[SP_REGION_FIXED];
    const struct sp_extent *extent = NULL;
    SP_LIST_FOR_EACH(link, &region->segments) {
        const struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
        uint64_t offset = (uintptr_t)fixed - segment->view.address;
        if (offset < segment->view.size)
            extent = sp_view_extent_at(&segment->view, (uintptr_t)fixed);
    }
    assert_non_null(extent);
    assert_true(extent->address + extent->size >= (uintptr_t)fixed + BLOCK);
    fixture_check(pool);
}

// The address space of a block goes with its memory, and a smaller one has no more of either than
// it needs.
static void a_fixed_block_takes_no_more_than_it_needs_where_a_larger_one_was(void **state) {
    (void)state;
    void *fixed = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, BLOCK, pool, a, poolMallocFixed),
                     poolSuccess);
    fixture_free(fixed, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatAddressSpace), 0);
    void *smaller = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&smaller, BLOCK / 4, pool, a, poolMallocFixed),
                     poolSuccess);
    assert_ptr_equal(smaller, fixed);
    assert_int_equal(fixture_reserved(pool), BLOCK / 4);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatAddressSpace), BLOCK / 4);
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, BLOCK / 2, pool, a, poolMallocFixed),
                     poolSuccess);
    assert_int_equal(fixture_reserved(pool), 3 * BLOCK / 4);
    fixture_check(pool);
}

// Nothing that a question could find changes what a deterministic pool hands out.
static void a_deterministic_pool_asks_no_event(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(2 * BLOCK);
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    void *freed = freed_on_a();
    simulated_finish(a);
    uint64_t queries = simcudaCallCount("cuEventQuery");
    assert_ptr_not_equal(fixture_malloc(pool, BLOCK, b), freed);
    assert_came_by(poolMemPoolStatGrowths);
    assert_int_equal(simcudaCallCount("cuEventQuery"), queries);
}

// Others ask for reasons of their own, and what they learn must not tell here.
static void order_is_followed_in_a_deterministic_pool_whatever_questions_found(void **state) {
    (void)state;
    CUevent event = NULL;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    for (int question = 0; question < 5; question++) {
        pool = fixture_pool();
        fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
        simulated_work(a);
        void *freed = fixture_malloc(pool, BLOCK, a);
        fixture_free(freed, a);
        if (question >= 1)
            simulated_finish(a);
        if (question == 1)
            assert_int_equal(poolStreamQuery(a), poolSuccess);
        assert_int_equal(poolEventRecord(event, a), poolSuccess);
        if (question == 2)
            assert_int_equal(poolEventQuery(event), poolSuccess);
        if (question == 3)
            assert_int_equal(poolStreamQuery(a), poolSuccess);
        if (question == 4)
            assert_done(sp_poll_current_context());
        assert_int_equal(poolStreamWaitEvent(b, event, 0), poolSuccess);
        assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
        fixture_check(pool);
    }
    sp_driver->cuEventDestroy(event);
}

// Brings more news than the pool has lanes, and has it look through all of them.
static void synchronize_often(CUstream stream) {
    void *blocks[4];
    for (int i = 0; i < 4; i++)
        blocks[i] = fixture_malloc(pool, BLOCK + KIB(64), stream);
    for (int i = 0; i < 4; i++) {
        fixture_free(blocks[i], stream);
        fixture_synchronize(stream);
    }
    struct sp_pool *inside = fixture_inside(pool);
    sp_lock_acquire(&inside->lock);
    bool settled = sp_settle_part(inside);
    sp_lock_release(&inside->lock);
    assert_true(settled);
}

// The question has raised the stream's number already, and the synchronise raises it no more.
static void
a_deterministic_pool_passes_on_what_a_synchronise_shows_after_a_question_has(void **state) {
    (void)state;
    CUevent event = NULL;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    pool = fixture_pool();
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    fixture_set_flag(pool, poolMemPoolReuseFollowEventDependencies, 0);
    void *freed = fixture_malloc(pool, BLOCK, a);
    fixture_free(freed, a);
    assert_int_equal(poolEventRecord(event, a), poolSuccess);
    assert_int_equal(poolEventQuery(event), poolSuccess);
    assert_ptr_not_equal(fixture_malloc(pool, BLOCK, b), freed); // the pool takes it for pending
    synchronize_often(b);
    assert_int_equal(poolEventSynchronize(event), poolSuccess);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), freed);
    sp_driver->cuEventDestroy(event);
}

// A new stream may come to the slot of one that was destroyed, and to its lane.
static void
what_a_destroyed_stream_freed_is_pending_in_a_deterministic_pool_whatever_questions_found(
    void **state) {
    (void)state;
    for (int question = 0; question < 2; question++) {
        CUstream old = simulated_stream();
        pool = fixture_pool();
        fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
        void *large = fixture_malloc(pool, BLOCK, old);
        void *small = fixture_malloc(pool, 100, old);
        simulated_work(old);
        fixture_free(large, old);
        fixture_free(small, old);
        if (question) {
            simulated_finish(old);
            assert_int_equal(poolStreamQuery(old), poolSuccess);
        }
        assert_int_equal(poolStreamDestroy(old), poolSuccess);
        CUstream young = simulated_stream();
        assert_ptr_not_equal(fixture_malloc(pool, BLOCK, young), large);
        assert_ptr_not_equal(fixture_malloc(pool, 100, young), small);
        fixture_check(pool);
    }
}

static void a_sticky_error_ends_the_climb_with_its_own_number(void **state) {
    (void)state;
    void *pointer = NULL;
    freed_on_a();
    simcudaFailCall("cuEventQuery", 1, simcudaFaultOnwards, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, BLOCK, pool, b), poolErrorIllegalAddress);
    simcudaFailClear();
    assert_null(pointer);
    fixture_check(pool);
}

// Each holds a block, and the one that came last, whose turn it isn't for long, is the only one to
// complete.
static void all_of_many_streams_are_asked_before_a_request_is_refused(void **state) {
    (void)state;
    enum { CROWD = 4 * SP_POLL_SOME };
    CUstream crowd[CROWD];
    void *blocks[CROWD];
    pool = fixture_pool_of_at_most(CROWD * BLOCK);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = simulated_stream();
        blocks[i] = fixture_malloc(pool, BLOCK, crowd[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        simulated_work(crowd[i]);
        fixture_free(blocks[i], crowd[i]);
    }
    simulated_finish(crowd[CROWD - 1]);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), blocks[CROWD - 1]);
}

// Another thread has the turn, and no answer yet.
static void a_stream_that_another_thread_asks_is_asked_before_a_request_is_refused(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(BLOCK);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    void *block = fixture_malloc(pool, BLOCK, a);
    simulated_work(a);
    fixture_free(block, a);
    assert_done(sp_mark_record(fixture_stream(a)));
    simulated_finish(a);
    struct sp_stream *asked = sp_progress_next_queued(fixture_stream(a)->context_id);
    assert_ptr_equal(asked, fixture_stream(a));
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), block);
    sp_progress_put_back(asked);
}

// The same with memory that is known to be complete, and that the lanes keep.
static void many_lanes_are_collected_from_before_a_request_is_refused(void **state) {
    (void)state;
    enum { CROWD = 3 * SP_LANES_AT_ONCE };
    void *blocks[CROWD];
    pool = fixture_pool_of_at_most(CROWD * BLOCK);
    for (int i = 0; i < CROWD; i++)
        blocks[i] = fixture_malloc(pool, BLOCK, i + 1 < CROWD ? simulated_stream() : a);
    fixture_free(blocks[CROWD - 1], a);
    fixture_synchronize(a);
    assert_ptr_equal(fixture_malloc(pool, BLOCK, b), blocks[CROWD - 1]);
}

// The question would have broken the capture of a thread that has begun one meanwhile.
static void a_capture_that_begins_beside_a_refusal_is_no_error_of_the_request(void **state) {
    (void)state;
    void *pointer = NULL;
    freed_on_a();
    fixture_synchronize(b); // so that the threshold asks nobody
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    simcudaFailCall("cuStreamQuery", 1, simcudaFaultOnce, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, BLOCK, pool, b), poolErrorMemoryAllocation);
    simcudaFailClear();
}

#define ladder_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        ladder_test(what_one_of_very_many_lanes_has_is_found_before_a_refusal),
        ladder_test(what_is_freed_before_a_thread_may_map_is_counted_by_its_rule),
        ladder_test(the_first_allocation_is_a_growth),
        ladder_test(the_streams_own_memory_comes_first),
        ladder_test(memory_known_to_be_complete_is_reused),
        ladder_test(memory_that_the_stream_runs_after_is_reused),
        ladder_test(memory_that_a_question_finds_complete_is_reused_before_the_pool_grows),
        ladder_test(a_pool_that_can_grow_inserts_no_wait),
        ladder_test(a_pool_that_can_not_grow_inserts_a_wait),
        ladder_test(
            memory_without_an_event_is_taken_behind_the_whole_context_where_the_program_allows_it),
        ladder_test(no_policy_and_no_memory_is_a_failure_that_changes_nothing),
        ladder_test(the_hosts_wait_comes_last),
        ladder_test(what_the_hosts_wait_lets_the_pool_grow_by_counts_once),
        ladder_test(caches_are_given_back_before_the_pool_grows_again),
        ladder_test(memory_of_the_other_region_is_a_last_resort),
        ladder_test(small_blocks_are_counted_where_their_slabs_came_from_and_then_by_stream),
        ladder_test(without_growth_memory_at_hand_is_found_and_no_other),
        ladder_test(a_fixed_block_lies_in_one_extent),
        ladder_test(a_fixed_block_lies_in_one_extent_where_a_trim_left_a_part_of_one),
        ladder_test(a_fixed_block_takes_no_more_than_it_needs_where_a_larger_one_was),
        ladder_test(a_deterministic_pool_asks_no_event),
        ladder_test(order_is_followed_in_a_deterministic_pool_whatever_questions_found),
        ladder_test(a_deterministic_pool_passes_on_what_a_synchronise_shows_after_a_question_has),
        ladder_test(
            what_a_destroyed_stream_freed_is_pending_in_a_deterministic_pool_whatever_questions_found),
        ladder_test(all_of_many_streams_are_asked_before_a_request_is_refused),
        ladder_test(a_stream_that_another_thread_asks_is_asked_before_a_request_is_refused),
        ladder_test(many_lanes_are_collected_from_before_a_request_is_refused),
        ladder_test(a_sticky_error_ends_the_climb_with_its_own_number),
        ladder_test(a_capture_that_begins_beside_a_refusal_is_no_error_of_the_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
