#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/identity.h"
#include "order/mark.h"
#include "region/request.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

static poolMemPool_t pool;
static struct sp_request request;

static int setup(void **state) {
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool();
    return 0;
}

static void set_policies(int follow, int opportunistic, int internal) {
    fixture_set_flag(pool, poolMemPoolReuseFollowEventDependencies, follow);
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, opportunistic);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, internal);
}

static void open_request(CUstream stream, unsigned int flags) {
    sp_request_open(&request, fixture_inside(pool), fixture_lane(pool, stream), SP_REGION_LARGE,
                    MIB(1), flags);
}

static struct sp_fence fence_on(CUstream handle) {
    struct sp_stream *stream = fixture_stream(handle);
    uint64_t sequence = 0;
    simulated_work(handle);
    assert_done(sp_identity_at_free(stream, &sequence));
    return (struct sp_fence){stream->slot, sequence};
}

static enum sp_rule rule_of(CUstream taker, unsigned int flags, struct sp_fence fence) {
    struct sp_fence_set set = {.count = 1, .some = {fence}};
    open_request(taker, flags);
    enum sp_rule rule = sp_request_rule(&request, &set);
    sp_request_close(&request);
    return rule;
}

// Makes b run after all that a has freed.
static void order(CUstream b, CUstream a) {
    struct sp_mark *mark = NULL;
    assert_done(sp_mark_stream(fixture_stream(a), &mark));
    assert_done(sp_mark_wait(fixture_stream(b), mark));
    sp_mark_release(mark);
}

// A promise or a policy may change between the choice of a block and its count.
static void memory_that_no_rule_allows_any_more_counts_as_ordered(void **state) {
    (void)state;
    assert_int_equal(sp_request_statistic(SP_RULE_SAME_STREAM), SP_STATISTIC_ReuseSameStream);
    assert_int_equal(sp_request_statistic(SP_RULE_COMPLETE), SP_STATISTIC_ReuseComplete);
    assert_int_equal(sp_request_statistic(SP_RULE_FOUND_COMPLETE), SP_STATISTIC_ReuseFoundComplete);
    assert_int_equal(sp_request_statistic(SP_RULE_ORDERED), SP_STATISTIC_ReuseOrdered);
    assert_int_equal(sp_request_statistic(SP_RULE_MADE_ORDERED), SP_STATISTIC_ReuseOrdered);
    assert_int_equal(sp_request_statistic(SP_RULE_NONE), SP_STATISTIC_ReuseOrdered);
}

static void flags_narrow_the_policies_and_never_widen_them(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    for (unsigned int flags = 0; flags < 16; flags++) {
        for (int bits = 0; bits < 8; bits++) {
            set_policies(bits & 1, bits & 2, bits & 4);
            open_request(a, flags);
            bool follows = bits & 1 && !(flags & poolMallocSameStreamOnly);
            bool inserts =
                bits & 4 && !(flags & (poolMallocSameStreamOnly | poolMallocNoInsertedWaits));
            assert_int_equal(request.policies,
                             (follows ? SP_POLICY_FOLLOW : 0U) | (inserts ? SP_POLICY_INSERT : 0U));
            assert_int_equal(request.reach, follows ? SP_RULE_ORDERED : SP_RULE_COMPLETE);
            sp_request_close(&request);
        }
    }
}

static void memory_of_the_stream_itself_is_in_reach_under_every_policy_and_flag(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    struct sp_fence fence = fence_on(a);
    set_policies(0, 0, 0);
    for (unsigned int flags = 0; flags < 16; flags++)
        assert_int_equal(rule_of(a, flags, fence), SP_RULE_SAME_STREAM);
}

static void memory_of_another_stream_comes_in_reach_as_more_is_known(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    struct sp_fence fence = fence_on(a);
    if (fixture_stream(a)->identified)
        assert_int_equal(rule_of(b, 0, fence), SP_RULE_NONE);
    assert_done(sp_mark_record(fixture_stream(a)));
    assert_int_equal(rule_of(b, 0, fence), SP_RULE_MADE_ORDERED);
    order(b, a);
    assert_int_equal(rule_of(b, 0, fence), SP_RULE_ORDERED);
    fixture_synchronize(a);
    assert_int_equal(rule_of(b, 0, fence), SP_RULE_COMPLETE);
}

static void each_policy_and_flag_takes_its_rule_away(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    struct sp_fence fence = fence_on(a);
    order(b, a);
    set_policies(0, 1, 1);
    assert_int_equal(rule_of(b, 0, fence), SP_RULE_MADE_ORDERED);
    set_policies(0, 1, 0);
    assert_int_equal(rule_of(b, 0, fence), SP_RULE_NONE);
    set_policies(1, 0, 0);
    assert_int_equal(rule_of(b, 0, fence), SP_RULE_ORDERED);
    assert_int_equal(rule_of(b, poolMallocNoInsertedWaits, fence), SP_RULE_ORDERED);
    assert_int_equal(rule_of(b, poolMallocNoGrowth, fence), SP_RULE_ORDERED);
    assert_int_equal(rule_of(b, poolMallocSameStreamOnly, fence), SP_RULE_NONE);
    set_policies(0, 1, 1);
    assert_int_equal(rule_of(b, poolMallocNoInsertedWaits, fence), SP_RULE_NONE);
}

static void the_dearest_fence_decides_and_no_fence_is_complete(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    CUstream c = simulated_stream();
    struct sp_fence_set set = {0};
    open_request(b, 0);
    assert_int_equal(sp_request_rule(&request, &set), SP_RULE_COMPLETE);
    sp_request_close(&request);
    struct sp_fence own = fence_on(b);
    struct sp_fence ordered = fence_on(a);
    order(b, a);
    struct sp_fence far = fence_on(c);
    assert_done(sp_mark_record(fixture_stream(c)));
    assert_true(sp_fence_set_add(&set, own) && sp_fence_set_add(&set, ordered));
    open_request(b, 0);
    assert_int_equal(sp_request_rule(&request, &set), SP_RULE_ORDERED);
    assert_true(sp_fence_set_add(&set, far));
    assert_int_equal(sp_request_rule(&request, &set), SP_RULE_MADE_ORDERED);
    sp_request_close(&request);
    sp_fence_set_clear(&set);
}

static void a_request_knows_the_order_from_when_it_was_opened_until_it_is_refreshed(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    struct sp_fence fence = fence_on(a);
    struct sp_fence_set set = {.count = 1, .some = {fence}};
    set_policies(1, 0, 0);
    open_request(b, 0);
    order(b, a);
    assert_int_equal(sp_request_rule(&request, &set), SP_RULE_NONE);
    sp_request_refresh(&request);
    assert_int_equal(sp_request_rule(&request, &set), SP_RULE_ORDERED);
    sp_request_close(&request);
}

static void the_legacy_stream_and_a_blocking_one_are_ordered_both_ways(void **state) {
    (void)state;
    CUstream blocking = simulated_blocking_stream();
    CUstream other = simulated_blocking_stream();
    CUstream alone = simulated_stream();
    set_policies(1, 0, 0);
    struct sp_fence of_blocking = fence_on(blocking);
    assert_int_equal(rule_of(NULL, 0, of_blocking), SP_RULE_ORDERED);
    assert_int_equal(rule_of(CU_STREAM_LEGACY, 0, of_blocking), SP_RULE_ORDERED);
    assert_int_equal(rule_of(other, 0, of_blocking), SP_RULE_NONE);
    assert_int_equal(rule_of(alone, 0, of_blocking), SP_RULE_NONE);
    struct sp_fence of_alone = fence_on(alone);
    assert_int_equal(rule_of(NULL, 0, of_alone), SP_RULE_NONE);
    struct sp_fence of_legacy = fence_on(NULL);
    if (fixture_stream(NULL)->identified)
        // No event stands behind it.
        assert_int_equal(rule_of(blocking, 0, of_legacy), SP_RULE_NONE);
    assert_done(sp_mark_record(fixture_stream(NULL)));
    assert_int_equal(rule_of(blocking, 0, of_legacy), SP_RULE_ORDERED);
    assert_int_equal(rule_of(alone, 0, of_legacy), SP_RULE_NONE);
    set_policies(0, 0, 0);
    assert_int_equal(rule_of(NULL, 0, of_blocking), SP_RULE_NONE);
}

static void a_promise_ends_the_legacy_streams_order(void **state) {
    (void)state;
    set_policies(1, 0, 0);
    struct sp_fence of_blocking = fence_on(simulated_blocking_stream());
    assert_int_equal(rule_of(NULL, 0, of_blocking), SP_RULE_ORDERED);
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, poolPromiseNoLegacyOrder);
    assert_int_equal(rule_of(NULL, 0, of_blocking), SP_RULE_NONE);
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, poolPromiseNothing);
    assert_int_equal(rule_of(NULL, 0, of_blocking), SP_RULE_ORDERED);
}

// It is looked at when memory passes from one to the other, and never handed on.
static void the_legacy_streams_order_enters_no_clock(void **state) {
    (void)state;
    CUstream blocking = simulated_blocking_stream();
    CUstream other = simulated_blocking_stream();
    CUstream alone = simulated_stream();
    set_policies(1, 0, 0);
    struct sp_fence of_blocking = fence_on(blocking);
    fence_on(NULL);
    order(alone, NULL);
    assert_int_equal(rule_of(alone, 0, of_blocking), SP_RULE_NONE);
    assert_int_equal(rule_of(other, 0, of_blocking), SP_RULE_NONE);
}

static void the_legacy_stream_of_another_context_gives_no_order(void **state) {
    (void)state;
    CUcontext context = NULL;
    set_policies(1, 0, 0);
    struct sp_fence here = fence_on(simulated_blocking_stream());
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    assert_int_equal(rule_of(NULL, 0, here), SP_RULE_NONE);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_int_equal(rule_of(NULL, 0, here), SP_RULE_ORDERED);
}

static void a_deterministic_pool_takes_for_complete_what_a_synchronise_has_shown(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    set_policies(0, 0, 0);
    struct sp_fence fence = fence_on(a);
    simulated_finish(a);
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    assert_int_equal(rule_of(b, 0, fence), SP_RULE_COMPLETE);
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    assert_int_equal(rule_of(b, 0, fence), SP_RULE_NONE);
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    assert_int_equal(rule_of(b, 0, fence), SP_RULE_COMPLETE);
}

#define request_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        request_test(memory_that_no_rule_allows_any_more_counts_as_ordered),
        request_test(flags_narrow_the_policies_and_never_widen_them),
        request_test(memory_of_the_stream_itself_is_in_reach_under_every_policy_and_flag),
        request_test(memory_of_another_stream_comes_in_reach_as_more_is_known),
        request_test(each_policy_and_flag_takes_its_rule_away),
        request_test(the_dearest_fence_decides_and_no_fence_is_complete),
        request_test(a_request_knows_the_order_from_when_it_was_opened_until_it_is_refreshed),
        request_test(the_legacy_stream_and_a_blocking_one_are_ordered_both_ways),
        request_test(a_promise_ends_the_legacy_streams_order),
        request_test(the_legacy_streams_order_enters_no_clock),
        request_test(the_legacy_stream_of_another_context_gives_no_order),
        request_test(a_deterministic_pool_takes_for_complete_what_a_synchronise_has_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
