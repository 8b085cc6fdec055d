// Rows of reuse between streams by order: events, the legacy stream, inserted waits.
#include <pthread.h>
#include <stdint.h>

#include "conformance/rows.h"
#include "conformance/scene.h"
#include "support/check.h"

static void record(CUevent event, CUstream stream) {
    EXPECT(poolEventRecord(event, stream), poolSuccess);
}

static void wait(CUstream stream, CUevent event) {
    EXPECT(poolStreamWaitEvent(stream, event, 0), poolSuccess);
}

static void follow_dependencies(struct scene *scene) {
    test_set_flag(scene->pool, poolMemPoolReuseFollowEventDependencies, 1);
}

// ------------------------------------------------------------------------------ event dependencies

static void order_by_an_event(size_t size) {
    struct scene scene;
    CUevent event = test_event();
    scene_open_pending(&scene, size);
    record(event, scene.a);
    wait(scene.b, event);
    REQUIRE(!scene_gives(&scene, scene.b));
    follow_dependencies(&scene);
    REQUIRE(scene_gives(&scene, scene.b));
    EXPECT(poolStreamQuery(scene.a), poolErrorNotReady);
    scene_require_order(&scene, scene.b);
}

void row_memory_freed_before_an_event_goes_to_a_stream_that_waits_for_it(void) {
    scene_for_each_size(order_by_an_event);
}

static void free_after_the_record(size_t size) {
    struct scene scene;
    CUevent event = test_event();
    scene_open(&scene, size);
    follow_dependencies(&scene);
    record(event, scene.a);
    scene_free_held(&scene, scene.a);
    wait(scene.b, event);
    REQUIRE(!scene_gives(&scene, scene.b));
    scene_let_go(&scene);
}

void row_trap_1_an_event_recorded_before_the_free_gives_no_order(void) {
    scene_for_each_size(free_after_the_record);
}

// The stream has freed something before that record, so there is a point to be mistaken about.
void row_an_event_between_two_frees_orders_the_first_alone(void) {
    struct scene scene;
    CUevent event = test_event();
    scene_open(&scene, SCENE_SMALL);
    follow_dependencies(&scene);
    poolMemPool_t other = test_keeping_pool();
    void *early = test_malloc(other, MIB(40), scene.a);
    test_free(early, scene.a);
    record(event, scene.a);
    scene_free_held(&scene, scene.a);
    wait(scene.b, event);
    REQUIRE(!scene_gives(&scene, scene.b));
    REQUIRE(test_malloc(other, MIB(40), scene.b) == early);
    scene_let_go(&scene);
}

#define CHAIN 100

// The streams are made before the work is held: a driver may wait for the device when it makes
// many.
void row_order_passes_along_a_chain_of_100_streams(void) {
    struct scene scene;
    CUstream streams[CHAIN], last;
    CUevent events[CHAIN];
    for (unsigned i = 0; i < CHAIN; i++) {
        streams[i] = test_stream();
        events[i] = test_event();
    }
    scene_open_pending(&scene, SCENE_SMALL);
    follow_dependencies(&scene);
    last = scene.a;
    for (unsigned i = 0; i < CHAIN; i++) {
        record(events[i], last);
        wait(streams[i], events[i]);
        last = streams[i];
    }
    REQUIRE(!scene_gives(&scene, scene.b));
    REQUIRE(scene_gives(&scene, last));
    EXPECT(poolStreamQuery(scene.a), poolErrorNotReady);
    scene_require_order(&scene, last);
}

// b waits for a record of the middle stream that was made before that one came to run after a.
void row_order_that_a_stream_gets_after_its_record_is_not_passed_on(void) {
    struct scene scene;
    CUevent of_a = test_event(), of_middle = test_event();
    CUstream middle = test_stream();
    scene_open_pending(&scene, SCENE_SMALL);
    follow_dependencies(&scene);
    test_free(test_malloc(test_keeping_pool(), MIB(1), middle), middle);
    record(of_a, scene.a);
    record(of_middle, middle);
    wait(middle, of_a);
    wait(scene.b, of_middle);
    REQUIRE(!scene_gives(&scene, scene.b));
    REQUIRE(scene_gives(&scene, middle));
    scene_require_order(&scene, middle);
}

// What the host has learned of the last stream it has learned of all that this one ran after.
void row_a_synchronise_completes_what_the_stream_ran_after(void) {
    struct scene scene;
    CUevent event = test_event();
    scene_open_pending(&scene, SCENE_SMALL);
    CUstream after = test_stream(), other = test_stream();
    record(event, scene.a);
    wait(after, event);
    record(event, after);
    test_let_go(&scene.hold);
    EXPECT(poolEventSynchronize(event), poolSuccess);
    REQUIRE(scene_gives(&scene, other));
}

// The block was a's, then b's in a's order, and is freed on b: a third stream must be behind both.
void row_memory_taken_while_older_work_is_pending_keeps_that_works_claim(void) {
    struct scene scene;
    CUevent event = test_event();
    CUstream third = test_stream();
    scene_open_pending(&scene, SCENE_SMALL);
    REQUIRE(scene_gives(&scene, scene.a));
    test_free(scene.block, scene.b); // its user vouches for b, and a's work is as it was
    follow_dependencies(&scene);
    record(event, scene.b);
    wait(third, event);
    REQUIRE(!scene_gives(&scene, third));
    record(event, scene.a);
    wait(third, event);
    REQUIRE(scene_gives(&scene, third));
    scene_require_order(&scene, third);
}

void row_a_free_in_no_streams_order_keeps_the_last_owners_claim(void) {
    struct scene scene;
    scene_open_pending(&scene, SCENE_SMALL);
    REQUIRE(scene_gives(&scene, scene.a));
    EXPECT(poolFree(scene.block), poolSuccess);
    REQUIRE(!scene_gives(&scene, scene.b));
    REQUIRE(scene_gives(&scene, scene.a));
    scene_require_order(&scene, scene.a);
}

void row_policies_can_be_changed_at_any_time(void) {
    struct scene scene;
    CUevent event = test_event();
    scene_open_pending(&scene, SCENE_SMALL);
    record(event, scene.a);
    wait(scene.b, event);
    for (unsigned i = 0; i < 4; i++) {
        test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, i % 2);
        REQUIRE(scene_gives(&scene, scene.b) == (i % 2));
        if (i % 2)
            EXPECT(poolFree(scene.block), poolSuccess);
    }
    scene_let_go(&scene);
}

// ----------------------------------------------------------------------------------- users' events

void row_an_event_recorded_anew_counts_from_its_last_record(void) {
    struct scene scene;
    CUevent event = test_event();
    scene_open(&scene, SCENE_SMALL);
    follow_dependencies(&scene);
    record(event, scene.a);
    scene_free_held(&scene, scene.a);
    record(event, scene.a);
    wait(scene.b, event);
    REQUIRE(scene_gives(&scene, scene.b));
    scene_require_order(&scene, scene.b);
}

void row_an_event_recorded_anew_elsewhere_gives_no_order(void) {
    struct scene scene;
    CUevent event = test_event();
    scene_open_pending(&scene, SCENE_SMALL);
    follow_dependencies(&scene);
    record(event, scene.a);
    record(event, test_stream());
    wait(scene.b, event);
    REQUIRE(!scene_gives(&scene, scene.b));
    scene_let_go(&scene);
}

// The library has not seen it. If it hands the block out all the same, the stream must wait for a.
void row_an_event_recorded_anew_by_cudas_own_call_gives_no_false_order(void) {
    struct scene scene;
    CUevent event = test_event();
    scene_open_pending(&scene, SCENE_SMALL);
    follow_dependencies(&scene);
    record(event, scene.a);
    DRIVER(test_driver()->cuEventRecord(event, test_stream()));
    wait(scene.b, event);
    if (scene_gives(&scene, scene.b)) {
        EXPECT(poolStreamQuery(scene.b), poolErrorNotReady);
        scene_require_order(&scene, scene.b);
    } else {
        scene_let_go(&scene);
    }
}

void row_an_event_that_was_never_recorded_gives_no_order(void) {
    struct scene scene;
    CUevent event = test_event();
    scene_open_pending(&scene, SCENE_SMALL);
    follow_dependencies(&scene);
    wait(scene.b, event);
    record(event, scene.a);
    REQUIRE(!scene_gives(&scene, scene.b));
    EXPECT(poolStreamQuery(scene.b), poolSuccess);
    scene_let_go(&scene);
}

// An event with the handle of a destroyed one, or the last of many where none has it.
static CUevent event_at(CUevent destroyed) {
    CUevent event = NULL;
    for (unsigned i = 0; i < 64 && event != destroyed; i++)
        event = test_event();
    return event;
}

static void destroy_by_the_pool(CUevent event) {
    EXPECT(poolEventDestroy(event), poolSuccess);
}

static void destroy_by_the_driver(CUevent event) {
    DRIVER(test_driver()->cuEventDestroy(event));
}

void row_a_new_event_at_a_destroyed_ones_handle_gives_no_false_order(void) {
    static void (*const destroy[])(CUevent) = {destroy_by_the_pool, destroy_by_the_driver};
    for (unsigned i = 0; i < 2; i++) {
        struct scene scene;
        CUevent event = test_event();
        scene_open_pending(&scene, SCENE_SMALL);
        follow_dependencies(&scene);
        record(event, scene.a);
        destroy[i](event);
        wait(scene.b, event_at(event));
        if (scene_gives(&scene, scene.b)) {
            REQUIRE(destroy[i] == destroy_by_the_driver);
            EXPECT(poolStreamQuery(scene.b), poolErrorNotReady);
            scene_require_order(&scene, scene.b);
        } else {
            scene_let_go(&scene);
        }
    }
}

void row_a_destroyed_event_takes_no_order_back(void) {
    struct scene scene;
    CUevent event = test_event();
    scene_open_pending(&scene, SCENE_SMALL);
    follow_dependencies(&scene);
    record(event, scene.a);
    wait(scene.b, event);
    EXPECT(poolEventDestroy(event), poolSuccess);
    REQUIRE(scene_gives(&scene, scene.b));
    scene_require_order(&scene, scene.b);
}

void row_an_event_synchronise_tells_of_the_frees_before_it_alone(void) {
    struct scene scene;
    struct test_hold later;
    CUevent event = test_event();
    poolMemPool_t other = test_pool_of_at_most(MIB(32));
    test_set_all_policies(other, 0);
    scene_open_pending(&scene, SCENE_SMALL);
    void *after = test_malloc(other, MIB(32), scene.a);
    record(event, scene.a);
    test_hold(&later, scene.a);
    test_free(after, scene.a);
    test_let_go(&scene.hold);
    EXPECT(poolEventSynchronize(event), poolSuccess);
    REQUIRE(scene_gives(&scene, scene.b));
    void *pointer = NULL;
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(32), other, scene.b), poolErrorMemoryAllocation);
    test_let_go(&later);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
}

void row_an_event_synchronise_trims_what_a_query_has_found_complete(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    CUevent event = test_event();
    test_free(test_malloc(pool, MIB(40), stream), stream);
    test_finish(stream);
    EXPECT(poolStreamQuery(stream), poolSuccess);
    record(event, stream);
    REQUIRE(test_reserved(pool) > 0);
    EXPECT(poolEventSynchronize(event), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

// ------------------------------------------------------------------------------- the legacy stream

static void reuse_between(CUstream from, CUstream to, bool ordered) {
    struct scene scene;
    scene_open_on(&scene, SCENE_SMALL, from, to);
    follow_dependencies(&scene);
    scene_free_held(&scene, from);
    REQUIRE(scene_gives(&scene, to) == ordered);
    if (ordered)
        scene_require_order(&scene, to);
    else
        scene_let_go(&scene);
}

void row_memory_of_a_blocking_stream_goes_to_the_legacy_stream_at_once(void) {
    reuse_between(test_blocking_stream(), NULL, true);
    reuse_between(test_blocking_stream(), CU_STREAM_LEGACY, true);
    reuse_between(CU_STREAM_PER_THREAD, CU_STREAM_LEGACY, true);
}

// Where the driver has no stream ids, each free records an event.
static void reuse_behind_an_event(CUstream from, CUstream to) {
    struct scene scene;
    scene_open_on(&scene, SCENE_SMALL, from, to);
    test_set_attribute(scene.pool, poolMemPoolAttrUnfencedBytesMax, MIB(64));
    follow_dependencies(&scene);
    scene_free_held(&scene, from);
    if (test_driver()->cuStreamGetId)
        REQUIRE(!scene_gives(&scene, to));
    record(test_event(), from);
    REQUIRE(scene_gives(&scene, to));
    scene_require_order(&scene, to);
}

void row_memory_of_the_legacy_stream_goes_to_a_blocking_stream_once_an_event_stands_behind_the_free(
    void) {
    reuse_behind_an_event(NULL, test_blocking_stream());
    reuse_behind_an_event(CU_STREAM_LEGACY, CU_STREAM_PER_THREAD);
}

void row_a_non_blocking_stream_has_no_order_with_the_legacy_stream(void) {
    reuse_between(test_stream(), NULL, false);
    reuse_between(NULL, test_stream(), false);
}

void row_two_blocking_streams_have_no_order(void) {
    reuse_between(test_blocking_stream(), test_blocking_stream(), false);
}

// The legacy stream comes after the blocking one only once it is given something to do: a record of
// it that was made before tells the waiting stream nothing of the blocking one.
void row_the_legacy_streams_order_is_not_passed_on(void) {
    struct scene scene;
    CUevent event = test_event();
    CUstream blocking = test_blocking_stream();
    scene_open_on(&scene, SCENE_SMALL, blocking, test_stream());
    follow_dependencies(&scene);
    test_free(test_malloc(test_keeping_pool(), MIB(1), NULL), NULL);
    record(event, NULL);
    scene_free_held(&scene, blocking);
    wait(scene.b, event);
    REQUIRE(!scene_gives(&scene, scene.b));
    scene_let_go(&scene);
}

// ------------------------------------------------------------------------- opportunistic, internal

void row_complete_memory_is_found_by_asking_where_the_policy_allows_it(void) {
    struct scene scene;
    scene_open(&scene, SCENE_LARGE); // more than stays without an event
    test_free(scene.block, scene.a);
    test_finish(scene.a);
    REQUIRE(!scene_gives(&scene, scene.b));
    test_set_flag(scene.pool, poolMemPoolReuseAllowOpportunistic, 1);
    REQUIRE(scene_gives(&scene, scene.b));
}

void row_pending_memory_is_not_found_by_asking(void) {
    struct scene scene;
    scene_open_pending(&scene, SCENE_LARGE);
    test_set_flag(scene.pool, poolMemPoolReuseAllowOpportunistic, 1);
    REQUIRE(!scene_gives(&scene, scene.b));
    test_let_go(&scene.hold);
    test_finish(scene.a);
    REQUIRE(scene_gives(&scene, scene.b));
}

void row_a_wait_is_inserted_when_the_pool_can_not_grow(void) {
    struct scene scene;
    scene_open_pending(&scene, SCENE_LARGE);
    REQUIRE(!scene_gives(&scene, scene.b));
    EXPECT(poolStreamQuery(scene.b), poolSuccess);
    test_set_flag(scene.pool, poolMemPoolReuseAllowInternalDependencies, 1);
    REQUIRE(scene_gives(&scene, scene.b));
    EXPECT(poolStreamQuery(scene.b), poolErrorNotReady);
    scene_require_order(&scene, scene.b);
}

void row_no_wait_is_inserted_while_the_pool_can_grow(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream a = test_stream(), b = test_stream();
    struct test_hold hold;
    void *block = test_malloc(pool, MIB(64), a);
    test_hold(&hold, a);
    test_free(block, a);
    REQUIRE(test_malloc(pool, MIB(64), b) != block);
    EXPECT(poolStreamQuery(b), poolSuccess);
    test_let_go(&hold);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
}

void row_with_the_device_full_internal_dependencies_decide(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream a = test_stream(), b = test_stream();
    struct test_hold hold;
    void *block = test_malloc(pool, GIB(1), a), *pointer = NULL;
    test_fill_device(MIB(256));
    test_hold(&hold, a);
    test_fill(block, 1, GIB(1), a);
    test_free(block, a);
    test_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    struct test_figures before = test_figures(pool);
    EXPECT(poolMallocFromPoolAsync(&pointer, GIB(1), pool, b), poolErrorMemoryAllocation);
    REQUIRE_FIGURES(pool, before);
    EXPECT(poolStreamQuery(b), poolSuccess);
    test_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 1);
    REQUIRE(test_malloc(pool, GIB(1), b) == block);
    EXPECT(poolStreamQuery(b), poolErrorNotReady);
    test_fill(block, 2, GIB(1), b);
    test_let_go(&hold);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(test_is_filled((char *)block + GIB(1) - MIB(1), 2, MIB(1)));
}

static void *freed_behind_hold(poolMemPool_t pool, CUstream stream, struct test_hold *hold) {
    void *block = test_malloc(pool, SCENE_LARGE, stream);
    test_hold(hold, stream);
    test_fill(block, 1, SCENE_LARGE, stream);
    test_free(block, stream);
    return block;
}

void row_a_wait_is_inserted_where_the_pool_would_grow_beyond_the_bound(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream a = test_stream(), b = test_stream();
    struct test_hold hold;
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrGrowthBeyondUse), UINT64_MAX);
    void *block = freed_behind_hold(pool, a, &hold);
    test_set_attribute(pool, poolMemPoolAttrGrowthBeyondUse, 20);
    uint64_t reserved = test_reserved(pool);
    REQUIRE(test_malloc(pool, SCENE_LARGE, b) == block);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatWaitsForGrowth), 1);
    EXPECT(poolStreamQuery(b), poolErrorNotReady);
    test_fill(block, 2, SCENE_LARGE, b);
    test_let_go(&hold);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(test_is_filled((char *)block + SCENE_LARGE - MIB(1), 2, MIB(1)));
}

void row_the_pool_grows_beyond_the_bound_where_no_wait_would_do(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream a = test_stream(), b = test_stream();
    struct test_hold hold;
    void *block = freed_behind_hold(pool, a, &hold), *other = NULL;
    test_set_attribute(pool, poolMemPoolAttrGrowthBeyondUse, 0);
    REQUIRE(test_malloc(pool, 2 * SCENE_LARGE, b));
    EXPECT(poolMallocAsyncWithFlags(&other, SCENE_LARGE, pool, b, poolMallocNoInsertedWaits),
           poolSuccess);
    REQUIRE(other != block);
    EXPECT(poolStreamQuery(b), poolSuccess);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatWaitsForGrowth), 0);
    test_let_go(&hold);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
}

// -------------------------------------------------------------------------------------- host waits

static void *let_go(void *argument) {
    test_let_go(argument);
    return NULL;
}

void row_the_host_waits_no_longer_than_the_attribute_says(void) {
    struct scene scene;
    scene_open_pending(&scene, SCENE_LARGE);
    REQUIRE_EQUAL(test_attribute(scene.pool, poolMemPoolAttrHostWaitMax), 0);
    REQUIRE(!scene_gives(&scene, scene.b));
    test_set_attribute(scene.pool, poolMemPoolAttrHostWaitMax, 1000);
    REQUIRE(!scene_gives(&scene, scene.b));
    REQUIRE_EQUAL(test_attribute(scene.pool, poolMemPoolStatHostWaits), 1);
    scene_let_go(&scene);
}

// Another thread ends the work, before or while this one waits; nobody else tells the library of
// it.
void row_the_host_waits_until_memory_is_complete_where_the_attribute_allows_it(void) {
    struct scene scene;
    pthread_t thread;
    scene_open_pending(&scene, SCENE_LARGE);
    test_set_attribute(scene.pool, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    REQUIRE(pthread_create(&thread, NULL, let_go, &scene.hold) == 0);
    REQUIRE(scene_gives(&scene, scene.b));
    REQUIRE_EQUAL(test_attribute(scene.pool, poolMemPoolStatHostWaits), 1);
    REQUIRE(pthread_join(thread, NULL) == 0);
    test_fill(scene.block, 3, scene.size, scene.b);
    test_finish(scene.b);
    REQUIRE(test_is_filled(scene.block, 3, scene.size));
}
