// Blocks that go from stream to stream: out of another lane's quick list, which offers what it
// recorded an event behind, and out of its tiers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/collect.h"
#include "region/find.h"
#include "region/lane.h"
#include "region/quick.h"
#include "region/settle.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

enum { SIZE = 16 << 20 }; // above what a lane holds back: each free records

// A pool that both streams have used, with lanes that have looked after each other just now.
static poolMemPool_t shared_pool(CUstream *a, CUstream *b) {
    poolMemPool_t pool = fixture_pool();
    *a = simulated_stream();
    *b = simulated_stream();
    fixture_lane(pool, *a)->misses = 1;
    fixture_lane(pool, *b)->misses = 1;
    return pool;
}

static uint64_t count(poolMemPool_t pool, enum poolMemPoolAttr statistic) {
    return fixture_attribute(pool, statistic);
}

// The stream has no more than this block, which it allocates and frees.
static void *freed_on(poolMemPool_t pool, CUstream stream, size_t size) {
    void *block = fixture_malloc(pool, size, stream);
    fixture_free(block, stream);
    return block;
}

static void order(CUstream before, CUstream after) {
    CUevent event;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    assert_int_equal(poolEventRecord(event, before), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(after, event, 0), poolSuccess);
    assert_int_equal(poolEventDestroy(event), poolSuccess);
}

static void follow_events_only(poolMemPool_t pool) {
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
}

// ---------------------------------------------------------------------------------------- offered

static void a_block_with_an_event_behind_its_free_is_offered(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    assert_null(fixture_inside(pool)->lanes.offers);
    freed_on(pool, a, MIB(1));
    assert_null(fixture_inside(pool)->lanes.offers);
    freed_on(pool, a, SIZE);
    assert_ptr_equal(fixture_inside(pool)->lanes.offers, fixture_lane(pool, a));
}

static void a_lane_alone_offers_nothing(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    freed_on(pool, simulated_stream(), SIZE);
    assert_null(fixture_inside(pool)->lanes.offers);
}

// One question, to the event behind the free, and no other.
static void what_a_question_shows_complete_is_taken_as_it_is(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    simulated_work(a);
    void *block = freed_on(pool, a, SIZE);
    simulated_finish(a);
    uint64_t found = count(pool, poolMemPoolStatReuseFoundComplete);
    uint64_t queries = simcudaCallCount("cuEventQuery");
    assert_ptr_equal(fixture_malloc(pool, SIZE, b), block);
    assert_int_equal(simcudaCallCount("cuEventQuery"), queries + 1);
    assert_int_equal(count(pool, poolMemPoolStatReuseFoundComplete), found + 1);
    assert_int_equal(fixture_used(pool), SIZE);
    assert_int_equal(fixture_reserved(pool), SIZE);
    assert_ptr_equal(fixture_lane(pool, b)->latest->account, fixture_lane(pool, b));
    fixture_check(pool);
    fixture_free(block, b);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

static void what_is_known_to_be_complete_is_taken_with_no_question(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    void *block = freed_on(pool, a, SIZE);
    fixture_synchronize(a);
    uint64_t complete = count(pool, poolMemPoolStatReuseComplete);
    uint64_t queries = simcudaCallCount("cuEventQuery");
    assert_ptr_equal(fixture_malloc(pool, SIZE, b), block);
    assert_int_equal(simcudaCallCount("cuEventQuery"), queries);
    assert_int_equal(count(pool, poolMemPoolStatReuseComplete), complete + 1);
}

static void what_is_pending_stays_where_it_is(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    simulated_work(a);
    void *block = freed_on(pool, a, SIZE);
    assert_ptr_not_equal(fixture_malloc(pool, SIZE, b), block);
    fixture_check(pool);
}

static void a_stream_that_waits_for_an_event_behind_the_free_has_the_block(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    follow_events_only(pool);
    simulated_work(a);
    void *block = freed_on(pool, a, SIZE);
    order(a, b);
    uint64_t ordered = count(pool, poolMemPoolStatReuseOrdered);
    assert_ptr_equal(fixture_malloc(pool, SIZE, b), block);
    assert_int_equal(count(pool, poolMemPoolStatReuseOrdered), ordered + 1);
    // Noted for the stream: its slot is not spent as long as that is pending.
    assert_int_equal(fixture_stream(b)->acquired.clock.count, 1);
    fixture_check(pool);
}

static void an_event_before_the_free_is_no_reason(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    follow_events_only(pool);
    simulated_work(a);
    void *block = fixture_malloc(pool, SIZE, a);
    freed_on(pool, a, KIB(1)); // something for the event to say
    order(a, b);
    fixture_free(block, a);
    assert_ptr_not_equal(fixture_malloc(pool, SIZE, b), block);
    fixture_check(pool);
}

static void *malloc_of_own_stream(poolMemPool_t pool, size_t size, CUstream stream) {
    void *pointer = NULL;
    assert_int_equal(
        poolMallocAsyncWithFlags(&pointer, size, pool, stream, poolMallocSameStreamOnly),
        poolSuccess);
    return pointer;
}

// Each of these by itself keeps the stream from following the event.
static void policies_and_flags_hold(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    follow_events_only(pool);
    simulated_work(a);
    void *block = freed_on(pool, a, SIZE);
    order(a, b);
    assert_ptr_not_equal(malloc_of_own_stream(pool, SIZE, b), block);
    fixture_set_flag(pool, poolMemPoolReuseFollowEventDependencies, 0);
    assert_ptr_not_equal(fixture_malloc(pool, SIZE, b), block);
    fixture_set_flag(pool, poolMemPoolReuseFollowEventDependencies, 1);
    assert_ptr_equal(fixture_malloc(pool, SIZE, b), block);
    fixture_check(pool);
}

static void a_block_of_another_size_is_left(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    freed_on(pool, a, SIZE);
    struct sp_pool *inside = fixture_inside(pool);
    uint64_t rival = SIZE + SP_ALIGNMENT;
    while (sp_quick_index(rival) != sp_quick_index(SIZE))
        rival += SP_ALIGNMENT;
    assert_false(sp_collect_offered(inside, fixture_lane(pool, b), rival));
    assert_false(sp_collect_offered(inside, fixture_lane(pool, b), SIZE / 2));
    assert_true(sp_collect_offered(inside, fixture_lane(pool, b), SIZE));
    assert_int_equal(fixture_lane_bytes(fixture_lane(pool, a)), SIZE);
}

// Own and ready memory first, wherever it is.
static void a_lane_that_has_enough_itself_takes_no_offer(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    void *own = fixture_malloc(pool, 2 * SIZE, b);
    void *offered = fixture_malloc(pool, SIZE, a);
    fixture_free(own, b);
    fixture_free(offered, a);
    fixture_synchronize(a);
    assert_ptr_equal(fixture_malloc(pool, SIZE, b), own);
    fixture_check(pool);
}

// The lane that the hint names is another pool's by now.
static void a_hint_of_another_time_does_no_harm(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    poolMemPool_t other = fixture_pool();
    CUstream c = simulated_stream();
    fixture_lane(other, c);
    fixture_lane(other, simulated_stream());
    freed_on(other, c, SIZE);
    fixture_inside(pool)->lanes.offers = fixture_inside(other)->lanes.offers;
    fixture_synchronize(c);
    assert_false(sp_collect_offered(fixture_inside(pool), fixture_lane(pool, b), SIZE));
    fixture_malloc(pool, SIZE, b);
    fixture_check(pool);
    fixture_check(other);
}

// --------------------------------------------------------------------------------- from the tiers

// Nothing of a megabyte or more is ready any more, nor does the lane keep what is freed next.
static void use_up(poolMemPool_t pool, CUstream stream) {
    do
        fixture_malloc(pool, MIB(1), stream);
    while (fixture_inside(pool)->regions[SP_REGION_LARGE].ready.bytes >= MIB(1));
}

// Leaves a block in the stream's tiers.
static void *filed_on(poolMemPool_t pool, CUstream stream, size_t size) {
    void *block = fixture_malloc(pool, size, stream);
    use_up(pool, stream);
    fixture_free(block, stream);
    assert_int_equal(fixture_lane_bytes(fixture_lane(pool, stream)), size);
    return block;
}

// Leaves one there that was freed before the event that the other stream waits for, and one behind.
static void *filed_before_and_behind(poolMemPool_t pool, CUstream stream, size_t before,
                                     size_t behind, CUstream other) {
    void *early = fixture_malloc(pool, before, stream);
    fixture_malloc(pool, MIB(1), stream);
    void *late = fixture_malloc(pool, behind, stream);
    use_up(pool, stream);
    fixture_free(early, stream);
    order(stream, other);
    fixture_free(late, stream);
    return early;
}

static void what_a_stream_runs_after_is_near_at_hand(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    simulated_work(a);
    char *block = filed_on(pool, a, MIB(4));
    order(a, b);
    uint64_t ordered = count(pool, poolMemPoolStatReuseOrdered);
    uint64_t queries = simcudaCallCount("cuEventQuery");
    assert_ptr_equal(fixture_malloc(pool, MIB(3), b), block); // and the rest stays a's
    assert_ptr_equal(fixture_malloc(pool, MIB(1), b), block + MIB(3));
    assert_int_equal(count(pool, poolMemPoolStatReuseOrdered), ordered + 2);
    assert_int_equal(simcudaCallCount("cuEventQuery"), queries);
    assert_int_equal(fixture_stream(b)->acquired.clock.count, 1);
    fixture_check(pool);
}

// What a first look finds for the stream, or null; and puts it back.
static void *found_first(poolMemPool_t pool, CUstream stream, size_t size, unsigned int flags) {
    struct sp_lane *lane = fixture_lane(pool, stream);
    sp_biased_lock_acquire(&lane->lock);
    struct sp_block *block = sp_find_first_locked(lane, size, flags).block;
    sp_biased_lock_release(&lane->lock);
    void *found = block ? (void *)(uintptr_t)block->address : NULL;
    sp_collect_flush(fixture_inside(pool), block, sp_settle_insert);
    return found;
}

static void what_it_does_not_run_after_is_not(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    simulated_work(a);
    void *early = filed_before_and_behind(pool, a, MIB(1), MIB(4), b);
    assert_null(found_first(pool, b, MIB(4), poolMallocDefault));
    assert_ptr_equal(found_first(pool, b, MIB(1), poolMallocDefault), early);
}

static void the_policy_and_the_flag_hold_there_too(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    simulated_work(a);
    void *block = filed_on(pool, a, MIB(4));
    order(a, b);
    assert_null(found_first(pool, b, MIB(4), poolMallocSameStreamOnly));
    fixture_set_flag(pool, poolMemPoolReuseFollowEventDependencies, 0);
    assert_null(found_first(pool, b, MIB(4), poolMallocDefault));
    fixture_set_flag(pool, poolMemPoolReuseFollowEventDependencies, 1);
    assert_ptr_equal(found_first(pool, b, MIB(4), poolMallocDefault), block);
}

// The best fit is out of reach.
static void a_larger_block_of_before_the_event_is_found(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    simulated_work(a);
    void *early = filed_before_and_behind(pool, a, MIB(3), MIB(2), b);
    assert_ptr_equal(found_first(pool, b, MIB(2), poolMallocDefault), early);
    fixture_check(pool);
}

// Of two streams that it runs after the better fit, whichever comes first.
static void the_best_fit_of_all_lanes_before_is_taken(void **state) {
    (void)state;
    CUstream a, b;
    poolMemPool_t pool = shared_pool(&a, &b);
    CUstream c = simulated_stream();
    simulated_work(a);
    simulated_work(c);
    filed_on(pool, a, MIB(6));
    void *better = filed_on(pool, c, MIB(4));
    order(a, b);
    order(c, b);
    fixture_lane(pool, b)->misses = 1;
    assert_ptr_equal(fixture_malloc(pool, MIB(4), b), better);
    fixture_check(pool);
}

#define offered_test(function)                                                                     \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        offered_test(a_block_with_an_event_behind_its_free_is_offered),
        offered_test(a_lane_alone_offers_nothing),
        offered_test(what_a_question_shows_complete_is_taken_as_it_is),
        offered_test(what_is_known_to_be_complete_is_taken_with_no_question),
        offered_test(what_is_pending_stays_where_it_is),
        offered_test(a_stream_that_waits_for_an_event_behind_the_free_has_the_block),
        offered_test(an_event_before_the_free_is_no_reason),
        offered_test(policies_and_flags_hold),
        offered_test(a_block_of_another_size_is_left),
        offered_test(a_lane_that_has_enough_itself_takes_no_offer),
        offered_test(a_hint_of_another_time_does_no_harm),
        offered_test(what_a_stream_runs_after_is_near_at_hand),
        offered_test(what_it_does_not_run_after_is_not),
        offered_test(the_policy_and_the_flag_hold_there_too),
        offered_test(a_larger_block_of_before_the_event_is_found),
        offered_test(the_best_fit_of_all_lanes_before_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
