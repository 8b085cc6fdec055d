// The synchronise of a whole context, as the last step before an allocation fails: where the driver
// can't record the context.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/indirect.h"
#include "region/request.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

static poolMemPool_t pool;
static CUstream a, b;

static int setup(void **state) {
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool_of_at_most(MIB(32));
    a = simulated_stream();
    b = simulated_stream();
    return 0;
}

// All that the pool has, behind pending work; little enough for no event to be recorded.
static void free_on_a(void) {
    fixture_malloc(pool, MIB(28), a);
    void *freed = fixture_malloc(pool, MIB(4), a);
    simulated_work(a);
    fixture_free(freed, a);
}

static poolError_t allocate_on_b(void) {
    void *pointer = NULL;
    return poolMallocFromPoolAsync(&pointer, MIB(4), pool, b);
}

static void require_no_context_wait(void) {
    assert_int_equal(allocate_on_b(), poolErrorMemoryAllocation);
    assert_int_equal(simcudaCallCount("cuCtxSynchronize"), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatContextWaits), 0);
}

static void what_nothing_else_tells_of_is_had(void **state) {
    (void)state;
    free_on_a();
    fixture_set_flag(pool, poolMemPoolAttrContextFence, 1);
    fixture_set(pool, poolMemPoolAttrContextWaitMax, UINT64_MAX);
    assert_int_equal(allocate_on_b(), poolSuccess);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatContextWaits), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseFoundComplete), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseComplete), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseOrdered), 0);
}

static void a_context_is_synchronized_only_where_the_attributes_say_so(void **state) {
    (void)state;
    free_on_a();
    require_no_context_wait();
    fixture_set_flag(pool, poolMemPoolAttrContextFence, 1);
    fixture_set(pool, poolMemPoolAttrContextWaitMax, 0);
    require_no_context_wait();
    fixture_set(pool, poolMemPoolAttrContextWaitMax, UINT64_MAX);
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    require_no_context_wait();
}

static void it_is_not_for_what_an_event_stands_behind(void **state) {
    (void)state;
    free_on_a();
    assert_done(sp_mark_record(fixture_stream(a)));
    fixture_set_flag(pool, poolMemPoolAttrContextFence, 1);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    require_no_context_wait();
}

static void a_context_that_fails_is_no_lack_of_memory(void **state) {
    (void)state;
    free_on_a();
    fixture_set_flag(pool, poolMemPoolAttrContextFence, 1);
    fixture_set(pool, poolMemPoolAttrContextWaitMax, UINT64_MAX);
    simcudaFailCall("cuCtxSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(allocate_on_b(), poolErrorIllegalAddress);
    simcudaFailClear();
}

#define context_wait_test(function)                                                                \
    cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        context_wait_test(what_nothing_else_tells_of_is_had),
        context_wait_test(a_context_is_synchronized_only_where_the_attributes_say_so),
        context_wait_test(it_is_not_for_what_an_event_stands_behind),
        context_wait_test(a_context_that_fails_is_no_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
