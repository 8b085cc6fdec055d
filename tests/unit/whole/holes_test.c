// Very much free memory in pieces that are of no use to a request. What it costs is shown where it
// can be counted, and else that nothing is overlooked in what a call leaves to a later one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "heap/search.h"
#include "order/mark.h"
#include "order/poll.h"
#include "region/collect.h"
#include "region/find.h"
#include "region/lane.h"
#include "region/quick.h"
#include "region/request.h"
#include "region/settle.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

enum { HOLES = 3000 };
#define HOLE KIB(64)

static void *holes[HOLES];

// Live blocks with as many between them that are still to be freed.
static void malloc_holes(poolMemPool_t pool, CUstream stream) {
    for (int i = 0; i < HOLES; i++) {
        holes[i] = fixture_malloc(pool, HOLE, stream);
        fixture_malloc(pool, HOLE, stream);
    }
}

static void free_holes(CUstream stream, int from, int to) {
    for (int i = from; i < to; i++)
        fixture_free(holes[i], stream);
}

static size_t count_in(const struct sp_tier *tier) {
    size_t count = 0;
    for (const struct sp_block *b = sp_tier_first(tier); b; b = sp_tier_next(b))
        count++;
    return count;
}

static size_t count_in_quick(const struct sp_lane *lane) {
    size_t count = 0;
    for (int i = 0; i < SP_QUICK_BINS; i++) {
        for (const struct sp_block *b = lane->quick[i].head; b; b = b->quick_next)
            count++;
    }
    return count;
}

static void collect_from(poolMemPool_t pool, CUstream stream) {
    assert_done(sp_mark_record(fixture_stream(stream)));
    sp_collect_all(fixture_inside(pool));
}

// Nothing is taken out of the ready tier here, so its blocks are those that were settled.
static bool settle_part(struct sp_pool *pool) {
    sp_lock_acquire(&pool->lock);
    bool whole = sp_settle_part(pool);
    sp_lock_release(&pool->lock);
    return whole;
}

static void what_has_completed_is_settled_in_parts(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    struct sp_pool *inside = fixture_inside(pool);
    const struct sp_tier *ready = &inside->regions[SP_REGION_LARGE].ready;
    CUstream a = simulated_stream();
    malloc_holes(pool, a);
    simulated_work(a);
    free_holes(a, 0, HOLES);
    collect_from(pool, a);
    size_t before = count_in(ready);
    assert_done(sp_synchronize_stream(fixture_stream(a), a));
    size_t parts = 1;
    for (; !settle_part(inside); parts++) {
        assert_true(count_in(ready) <= before + parts * SP_SETTLED_AT_ONCE);
        assert_false(sp_settle_is_done(inside));
    }
    assert_true(parts >= HOLES / SP_SETTLED_AT_ONCE);
    assert_true(sp_settle_is_done(inside));
    assert_int_equal(count_in(ready), before + HOLES);
    assert_int_equal(fixture_lane_bytes(fixture_lane(pool, a)), 0);
    fixture_check(pool);
}

// The first half is complete, and what is left of the work behind the second one is not looked at
// for it.
static void what_is_pending_is_not_looked_at_when_something_else_completes(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    struct sp_pool *inside = fixture_inside(pool);
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    malloc_holes(pool, a);
    void *other = fixture_malloc(pool, HOLE, b);
    simulated_work(a);
    free_holes(a, 0, HOLES);
    fixture_free(other, b);
    collect_from(pool, a);
    simulated_work(b);
    fixture_synchronize(b);
    assert_true(settle_part(inside)); // fewer than there are pending: that was all
    assert_true(fixture_lane_bytes(fixture_lane(pool, a)) >= HOLES * HOLE);
    fixture_check(pool);
}

static void a_quick_list_becomes_no_longer_than_others_can_wait_for(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    const struct sp_lane *lane = fixture_lane(pool, a);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(1));
    malloc_holes(pool, a);
    simulated_work(a);
    free_holes(a, 0, HOLES);
    assert_true(count_in_quick(lane) < HOLES);
    assert_true(count_in_quick(lane) >= SP_QUICK_BLOCKS);
    fixture_check(pool);
    fixture_free(fixture_malloc(pool, HOLE, a), a);
    sp_collect_all(fixture_inside(pool));
    assert_int_equal(count_in_quick(lane), 0);
    fixture_check(pool);
}

// Of a stream that frees what another one has allocated: that free has more to do.
static void nor_does_that_of_a_stream_which_frees_the_memory_of_another(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    struct sp_lane *lane = fixture_lane(pool, b);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(1));
    malloc_holes(pool, a);
    atomic_store(&lane->by_address, false); // as on a plain device
    simulated_work(b);
    free_holes(b, 0, HOLES);
    assert_true(count_in_quick(lane) < HOLES);
    assert_true(count_in_quick(lane) >= SP_QUICK_BLOCKS);
    fixture_check(pool);
}

// A size whose place among the quick lists is the last that is emptied.
static size_t size_behind(size_t size) {
    size_t last = MIB(1);
    while (sp_quick_index(last) >= sp_quick_index(size))
        last += SP_ALIGNMENT;
    return last;
}

// It is in the lists of another stream, behind more than a request takes out of them before it
// would rather grow.
static void before_a_request_is_refused_all_lists_are_emptied(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    void *pointer = NULL;
    size_t size = HOLE;
    while (sp_quick_index(size) == 0)
        size += SP_ALIGNMENT;
    size_t large = size_behind(size);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, GIB(1)); // no list is shortened
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    void *last = fixture_malloc(pool, large, a);
    for (int i = 0; i < HOLES; i++) {
        holes[i] = fixture_malloc(pool, size, a);
        fixture_malloc(pool, HOLE, a);
    }
    while (poolMallocAsyncWithFlags(&pointer, large, pool, a, poolMallocNoGrowth) == poolSuccess)
        ; // what is left of the last growth
    free_holes(a, 0, HOLES);
    fixture_free(last, a);
    assert_true(count_in_quick(fixture_lane(pool, a)) > 8 * SP_DETACHED_AT_ONCE);
    assert_done(sp_synchronize_stream(fixture_stream(a), a));
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, large, pool, b,
                                              poolMallocNoGrowth | poolMallocNoInsertedWaits),
                     poolSuccess);
    assert_ptr_equal(pointer, last);
    fixture_check(pool);
}

static void a_long_list_that_stands_in_the_way_of_another_size_goes_in_parts(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    struct sp_lane *lane = fixture_lane(pool, a);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, GIB(1));
    size_t rival = HOLE + SP_ALIGNMENT;
    while (sp_quick_index(rival) != sp_quick_index(HOLE))
        rival += SP_ALIGNMENT;
    void *other = fixture_malloc(pool, rival, b);
    malloc_holes(pool, a);
    atomic_store(&lane->by_address, false); // as on a plain device
    free_holes(a, 0, HOLES);
    assert_int_equal(count_in_quick(lane), HOLES);
    fixture_free(other, a);
    assert_int_equal(count_in_quick(lane), 1);
    fixture_check(pool);
}

// What has no event behind it must not join what has, in whatever part of that it is.
static void what_is_late_is_not_joined_by_a_later_free(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    struct sp_pool *inside = fixture_inside(pool);
    CUstream a = simulated_stream();
    struct sp_lane *lane = fixture_lane(pool, a);
    void *neighbours[HOLES];
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, GIB(2));
    fixture_free(fixture_malloc(pool, GIB(1), a), a); // all of them lie in one extent
    fixture_synchronize(a);
    for (int i = 0; i < HOLES; i++) {
        holes[i] = fixture_malloc(pool, HOLE, a);
        neighbours[i] = fixture_malloc(pool, HOLE, a);
        fixture_malloc(pool, HOLE, a);
    }
    simulated_work(a);
    free_holes(a, 0, HOLES);
    sp_collect_quick(lane, sp_settle_insert);
    assert_int_equal(count_in(&lane->tiers[SP_REGION_LARGE]->unfenced), HOLES);
    simulated_work(a);
    assert_done(sp_mark_record(fixture_stream(a)));
    uint64_t fenced = sp_pool_covered_of(fixture_inside(pool), fixture_stream(a));
    for (int i = 0; i < HOLES; i++) {
        fixture_free(neighbours[i], a);
        sp_collect_quick(lane, sp_settle_insert);
    }
    for (struct sp_block *b = sp_tier_first(&lane->tiers[SP_REGION_LARGE]->unfenced); b;
         b = sp_tier_next(b))
        assert_true(b->size == HOLE && sp_calendar_number(b) > fenced);
    assert_int_equal(count_in(&lane->tiers[SP_REGION_LARGE]->unfenced), HOLES);
    assert_int_equal(count_in(&lane->tiers[SP_REGION_LARGE]->fenced), HOLES);
    assert_int_equal(inside->regions[SP_REGION_LARGE].waiting.bytes, 0);
    fixture_check(pool);
}

// -------------------------------------------------------------------------- rows of others' memory

enum { ROW = 3000 };

// Neighbours that two streams have freed in turn, with work pending, and of which a third one has
// nothing.
static void free_row_of_others(poolMemPool_t pool) {
    CUstream others[2] = {simulated_stream(), simulated_stream()};
    for (int i = 0; i < ROW; i++)
        holes[i] = fixture_malloc(pool, HOLE, others[i % 2]);
    for (int i = 0; i < 2; i++)
        simulated_work(others[i]);
    for (int i = 0; i < ROW; i++)
        fixture_free(holes[i], others[i % 2]);
    for (int i = 0; i < 2; i++)
        assert_done(sp_mark_record(fixture_stream(others[i])));
    sp_collect_all(fixture_inside(pool));
}

// Behind all of that: two neighbours of which the stream has one and the other one is anybody's.
static char *free_pair_behind(poolMemPool_t pool, CUstream stream) {
    CUstream another = simulated_stream();
    char *first = fixture_malloc(pool, MIB(4), stream);
    char *second = fixture_malloc(pool, MIB(4), another);
    assert_ptr_equal(first + MIB(4), second);
    fixture_malloc(pool, HOLE, stream);
    fixture_free(second, another);
    fixture_synchronize(another);
    simulated_work(stream);
    fixture_free(first, stream);
    sp_collect_all(fixture_inside(pool));
    return first;
}

static struct sp_request request_of(poolMemPool_t pool, size_t size, CUstream stream) {
    struct sp_request request;
    sp_request_open(&request, fixture_inside(pool), fixture_lane(pool, stream), SP_REGION_LARGE,
                    size, poolMallocDefault);
    return request;
}

static void rows_are_not_looked_at_where_all_within_reach_is_too_little(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    free_row_of_others(pool);
    fixture_trim(pool, 0);
    struct sp_request request = request_of(pool, MIB(4), a);
    assert_null(sp_find(&request));
    assert_int_equal(request.looks, SP_REQUEST_LOOKS);
    assert_int_equal(request.left_out, 0);
    sp_request_close(&request);
}

// As often as the stream asks it looks at some more, and at last at those.
static void a_search_through_rows_goes_on_where_an_earlier_one_was_cut_short(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    free_row_of_others(pool);
    char *first = free_pair_behind(pool, a);
    struct sp_block *block = NULL;
    size_t searches = 0;
    for (; !block && searches < ROW; searches++) {
        struct sp_request request = request_of(pool, MIB(8), a);
        block = sp_find(&request);
        assert_true(block || (request.left_out == SP_LEFT_OUT_ROWS && request.looks == 0));
        sp_request_close(&request);
    }
    assert_non_null(block);
    assert_int_equal(block->address, (uintptr_t)first);
    assert_true(searches > 1);
    sp_collect_flush(fixture_inside(pool), block, sp_settle_insert);
}

static void all_rows_are_looked_at_before_a_request_is_refused(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool_of_at_most(GIB(1));
    CUstream a = simulated_stream();
    free_row_of_others(pool);
    char *first = free_pair_behind(pool, a);
    for (enum poolMemPoolAttr policy = 1; policy <= 3; policy++)
        fixture_set_flag(pool, policy, 0);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    while (fixture_reserved(pool) < GIB(1))
        // With no room for the smaller one.
        fixture_malloc(pool, MIB(9), a);
    fixture_inside(pool)->regions[SP_REGION_LARGE].rows_from = 0; // whatever those have looked at
    assert_ptr_equal(fixture_malloc(pool, MIB(8), a), first);
}

// All of a long row is within reach, and only all of it is enough.
static void a_row_that_is_longer_than_a_part_is_had_whole(void **state) {
    (void)state;
    enum { LONG = 4 * SP_ROWS_LONG };
    poolMemPool_t pool = fixture_pool_of_at_most(LONG * HOLE);
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    for (enum poolMemPoolAttr policy = 1; policy <= 3; policy++)
        fixture_set_flag(pool, policy, 0);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    for (int i = 0; i < LONG; i++)
        holes[i] = fixture_malloc(pool, HOLE, i % 2 ? a : b);
    simulated_work(a);
    for (int i = 0; i < LONG; i++)
        fixture_free(holes[i], i % 2 ? a : b);
    fixture_synchronize(b);
    sp_collect_all(fixture_inside(pool));
    struct sp_request request = request_of(pool, LONG * HOLE, a);
    assert_null(sp_find(&request));
    assert_int_equal(request.left_out, SP_LEFT_OUT_ROWS);
    request.looks = SP_REQUEST_LOOKS_ALL;
    struct sp_block *block = sp_find(&request);
    assert_int_equal(block->address, (uintptr_t)holes[0]);
    sp_request_close(&request);
    sp_collect_flush(fixture_inside(pool), block, sp_settle_insert);
    assert_ptr_equal(fixture_malloc(pool, LONG * HOLE, a), holes[0]);
}

// The driver has no part in what a longer look would have found.
static void a_growth_that_fails_behind_a_look_that_was_cut_short_is_made_up_for(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    free_row_of_others(pool);
    char *first = free_pair_behind(pool, a);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN);
    assert_ptr_equal(fixture_malloc(pool, MIB(8), a), first);
    simcudaFailClear();
}

#define holes_test(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        holes_test(what_has_completed_is_settled_in_parts),
        holes_test(what_is_pending_is_not_looked_at_when_something_else_completes),
        holes_test(a_quick_list_becomes_no_longer_than_others_can_wait_for),
        holes_test(nor_does_that_of_a_stream_which_frees_the_memory_of_another),
        holes_test(before_a_request_is_refused_all_lists_are_emptied),
        holes_test(a_long_list_that_stands_in_the_way_of_another_size_goes_in_parts),
        holes_test(what_is_late_is_not_joined_by_a_later_free),
        holes_test(rows_are_not_looked_at_where_all_within_reach_is_too_little),
        holes_test(a_search_through_rows_goes_on_where_an_earlier_one_was_cut_short),
        holes_test(all_rows_are_looked_at_before_a_request_is_refused),
        holes_test(a_row_that_is_longer_than_a_part_is_had_whole),
        holes_test(a_growth_that_fails_behind_a_look_that_was_cut_short_is_made_up_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
