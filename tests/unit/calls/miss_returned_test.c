// Small blocks that other streams returned, where a request would be refused without them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supply/growth.h"
#include "unit/fixture/pool.h"

enum { SIZE = 32 << 10 };

// A pool that is full of one stream's small blocks, all but one of them live: another stream has
// freed that one behind its work.
struct scene {
    poolMemPool_t pool;
    CUstream owner, other;
    void *returned;
};

static void order(CUstream before, CUstream after) {
    CUevent event;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    assert_int_equal(poolEventRecord(event, before), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(after, event, 0), poolSuccess);
    assert_int_equal(poolEventDestroy(event), poolSuccess);
}

static void fill(struct scene *scene) {
    scene->pool = fixture_pool_of_at_most(SP_GROWTH_UNIT);
    scene->owner = simulated_stream();
    scene->other = simulated_stream();
    void *block;
    while (poolMallocFromPoolAsync(&block, SIZE, scene->pool, scene->owner) == poolSuccess)
        scene->returned = block;
}

static void return_one(const struct scene *scene) {
    order(scene->owner, scene->other);
    simulated_work(scene->other);
    fixture_free(scene->returned, scene->other);
    assert_int_equal(poolStreamDestroy(scene->other), poolSuccess); // behind an event
}

static uint64_t count(const struct scene *scene, enum poolMemPoolAttr statistic) {
    return fixture_attribute(scene->pool, statistic);
}

static poolError_t ask_for_one(const struct scene *scene, unsigned int flags, void **block) {
    return poolMallocAsyncWithFlags(block, SIZE, scene->pool, scene->owner, flags);
}

// Streams with events that come up before the one that counts.
static void what_only_a_look_at_all_streams_shows_complete_is_taken(void **state) {
    (void)state;
    enum { CROWD = 4 * SP_POLL_SOME };
    struct scene scene;
    void *block = NULL;
    fill(&scene);
    for (int i = 0; i < CROWD; i++) {
        CUstream stream = simulated_stream();
        simulated_work(stream);
        fixture_free(fixture_malloc(fixture_pool(), MIB(16), stream), stream);
    }
    CUstream other = scene.other;
    order(scene.owner, other);
    fixture_free(scene.returned, other);
    order(other, simulated_stream());
    uint64_t failures = count(&scene, poolMemPoolStatFailures);
    uint64_t found = count(&scene, poolMemPoolStatReuseFoundComplete);
    assert_int_equal(ask_for_one(&scene, poolMallocDefault, &block), poolSuccess);
    assert_ptr_equal(block, scene.returned);
    assert_int_equal(count(&scene, poolMemPoolStatReuseFoundComplete), found + 1);
    assert_int_equal(count(&scene, poolMemPoolStatFailures), failures);
    fixture_check(scene.pool);
}

static void the_stream_waits_for_what_is_pending(void **state) {
    (void)state;
    struct scene scene;
    void *block = NULL;
    fill(&scene);
    return_one(&scene);
    uint64_t failures = count(&scene, poolMemPoolStatFailures);
    uint64_t made = count(&scene, poolMemPoolStatReuseMadeOrdered);
    assert_int_equal(sp_driver->cuStreamQuery(scene.owner), CUDA_SUCCESS);
    assert_int_equal(ask_for_one(&scene, poolMallocDefault, &block), poolSuccess);
    assert_ptr_equal(block, scene.returned);
    assert_int_equal(sp_driver->cuStreamQuery(scene.owner), CUDA_ERROR_NOT_READY);
    assert_int_equal(count(&scene, poolMemPoolStatReuseMadeOrdered), made + 1);
    assert_int_equal(count(&scene, poolMemPoolStatFailures), failures);
    assert_int_equal(ask_for_one(&scene, poolMallocDefault, &block), poolErrorMemoryAllocation);
    assert_int_equal(count(&scene, poolMemPoolStatFailures), failures + 1);
    fixture_check(scene.pool);
}

// It is the wait that orders the stream, and no event of the program's.
static void the_wait_needs_its_own_policy_alone(void **state) {
    (void)state;
    struct scene scene;
    void *block = NULL;
    fill(&scene);
    return_one(&scene);
    fixture_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 0);
    fixture_set_flag(scene.pool, poolMemPoolReuseAllowInternalDependencies, 0);
    assert_int_equal(ask_for_one(&scene, poolMallocDefault, &block), poolErrorMemoryAllocation);
    fixture_set_flag(scene.pool, poolMemPoolReuseAllowInternalDependencies, 1);
    assert_int_equal(ask_for_one(&scene, poolMallocNoInsertedWaits, &block),
                     poolErrorMemoryAllocation);
    assert_int_equal(ask_for_one(&scene, poolMallocSameStreamOnly, &block),
                     poolErrorMemoryAllocation);
    assert_int_equal(sp_driver->cuStreamQuery(scene.owner), CUDA_SUCCESS);
    assert_int_equal(ask_for_one(&scene, poolMallocDefault, &block), poolSuccess);
    assert_ptr_equal(block, scene.returned);
    fixture_check(scene.pool);
}

static void a_driver_that_refuses_the_wait_is_heard(void **state) {
    (void)state;
    struct scene scene;
    void *block = NULL;
    fill(&scene);
    return_one(&scene);
    simcudaFailCall("cuStreamWaitEvent", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(ask_for_one(&scene, poolMallocDefault, &block), poolErrorLaunchFailure);
    simcudaFailClear();
    assert_int_equal(ask_for_one(&scene, poolMallocDefault, &block), poolSuccess);
    fixture_check(scene.pool);
}

// The ladder ends before it refuses.
static void a_question_that_fails_for_memory_counts_no_failure_where_the_wait_serves(void **state) {
    (void)state;
    struct scene scene;
    void *block = NULL;
    fill(&scene);
    return_one(&scene);
    uint64_t failures = count(&scene, poolMemPoolStatFailures);
    simcudaFailCall("cuEventQuery", 2, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(ask_for_one(&scene, poolMallocDefault, &block), poolSuccess);
    assert_int_equal(simcudaFailCount(), 1);
    assert_ptr_equal(block, scene.returned);
    assert_int_equal(count(&scene, poolMemPoolStatFailures), failures);
}

#define returned_test(function)                                                                    \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        returned_test(what_only_a_look_at_all_streams_shows_complete_is_taken),
        returned_test(the_stream_waits_for_what_is_pending),
        returned_test(the_wait_needs_its_own_policy_alone),
        returned_test(a_driver_that_refuses_the_wait_is_heard),
        returned_test(a_question_that_fails_for_memory_counts_no_failure_where_the_wait_serves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
