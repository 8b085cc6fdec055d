// What a refusal says of memory that streams may still use, and what it advises.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/fixture/refusal.h"

// All of the pool, freed on a stream behind work, with an event.
static void leave_pending_on(CUstream stream) {
    fixture_malloc(pool, MIB(16), b);
    void *freed = fixture_malloc(pool, MIB(48), b);
    simulated_work(stream);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    fixture_free(freed, stream);
}

static void what_is_pending_is_told_with_the_stream_that_holds_it_back(void **state) {
    (void)state;
    leave_pending_on(a);
    refuse(MIB(32), b, poolMallocNoInsertedWaits);
    says(
        "in use 16.0 MiB of 64.0 MiB reserved, free here 0 bytes (largest piece 0 bytes), "
        "pending 48.0 MiB "
        "(48.0 MiB behind %s), unfenced 0 bytes,",
        name(a));
    advises("HostWaitMax lets an allocation wait for what is pending");
}

static void a_policy_that_lets_the_stream_wait_is_advised_first(void **state) {
    (void)state;
    leave_pending_on(a);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    refuse(MIB(32), b, 0);
    advises("ReuseAllowInternalDependencies lets the stream wait for what is pending");
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 1);
    assert_non_null(fixture_malloc(pool, MIB(32), b)); // as it was said
}

// A tenth of what is asked for is pending, and new memory makes up the rest.
static void a_wait_for_the_little_that_new_memory_lacks_is_told(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(24), a);
    void *freed = fixture_malloc(pool, MIB(4), a);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    simulated_work(a);
    fixture_free(freed, a);
    refuse(MIB(40), b, 0);
    advises("ReuseAllowInternalDependencies lets the stream wait for what is pending");
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 1);
    fixture_malloc(pool, MIB(40), b); // as it was said
}

static void a_wait_that_was_too_short_is_told(void **state) {
    (void)state;
    leave_pending_on(a);
    fixture_set(pool, poolMemPoolAttrHostWaitMax, 250000);
    refuse(MIB(32), b, poolMallocNoInsertedWaits);
    advises("what is pending took longer than HostWaitMax (0.250 ms)");
}

static void a_pool_that_may_not_ask_is_advised_to_wait_in_the_stream(void **state) {
    (void)state;
    leave_pending_on(a);
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    refuse(MIB(32), b, poolMallocNoInsertedWaits);
    advises("without poolMallocNoInsertedWaits the stream could wait for what is pending");
    refuse(MIB(32), b, poolMallocSameStreamOnly);
    advises("without poolMallocSameStreamOnly the stream could wait for what is pending");
    refuse(MIB(32), b, poolMallocSameStreamOnly | poolMallocNoInsertedWaits);
    advises(
        "without poolMallocSameStreamOnly and poolMallocNoInsertedWaits the stream could wait for "
        "what is pending");
}

static void the_legacy_stream_is_told_by_its_name(void **state) {
    (void)state;
    leave_pending_on(CU_STREAM_LEGACY);
    refuse(MIB(32), b, poolMallocNoInsertedWaits);
    says("pending 48.0 MiB (48.0 MiB behind the legacy stream)");
}

// Of several streams the one that holds back most is named.
static void the_stream_that_holds_back_most_is_named(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    void *less = fixture_malloc(pool, MIB(24), b);
    void *more = fixture_malloc(pool, MIB(40), b);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    simulated_work(a);
    simulated_work(c);
    fixture_free(less, a);
    fixture_free(more, c);
    refuse(MIB(32), b, poolMallocNoInsertedWaits);
    says("pending 64.0 MiB (40.0 MiB behind %s)", name(c));
}

// The sums are made for some hundred streams at a time.
static void it_is_named_among_very_many_streams(void **state) {
    (void)state;
    for (int i = 0; i < 300; i++)
        fixture_stream(simulated_stream());
    the_stream_that_holds_back_most_is_named(state);
}

static void *leave_unfenced_on_a(void) {
    fixture_malloc(pool, MIB(16), b);
    void *freed = fixture_malloc(pool, MIB(48), b);
    simulated_work(a);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(256));
    fixture_free(freed, a);
    return freed;
}

static void what_no_event_stands_behind_is_told_with_its_stream(void **state) {
    (void)state;
    char advice[128];
    void *freed = leave_unfenced_on_a();
    refuse(MIB(32), b, 0);
    says("pending 0 bytes, unfenced 48.0 MiB (48.0 MiB of %s), pinned", name(a));
    snprintf(advice, sizeof advice,
             "poolStreamSynchronize of %s makes it available, or ContextFence has the "
             "stream wait "
             "for it",
             name(a));
    advises(advice);
    fixture_synchronize(a);
    assert_ptr_equal(fixture_malloc(pool, MIB(32), b), freed); // as it was said
}

// Its own stream has it at once.
static void what_is_unfenced_is_free_to_its_own_stream(void **state) {
    (void)state;
    leave_unfenced_on_a();
    refuse(MIB(56), a, 0);
    says("free here 48.0 MiB (largest piece 48.0 MiB), pending 0 bytes, unfenced 0 bytes,");
    advises(
        "a pool with a maxSize that is larger by 8.0 MiB has room for it"); // behind what is free
}

static void a_stream_that_was_destroyed_is_not_advised_to_be_synchronised(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    fixture_malloc(pool, MIB(16), b);
    void *freed = fixture_malloc(pool, MIB(48), b);
    simulated_work(c);
    fixture_free(freed, c);
    assert_int_equal(poolStreamDestroy(c), poolSuccess);
    refuse(MIB(32), b, poolMallocNoInsertedWaits);
    says("(48.0 MiB behind a stream that is gone)");
}

// A block of each size that fills the pool together with what is live.
static void *left, *right;
static void fill_with_two(size_t size) {
    left = fixture_malloc(pool, size, b);
    right = fixture_malloc(pool, size, b);
    fixture_malloc(pool, POOL - 2 * size, b);
}

static void is_served_after_a_synchronise_of_the_device(size_t size, CUstream stream) {
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    assert_non_null(fixture_malloc(pool, size, stream));
}

static void no_stream_is_named_where_several_hold_memory_back(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    fill_with_two(MIB(24));
    free_behind_work(left, a, MIB(512));
    free_behind_work(right, c, MIB(512));
    refuse(MIB(40), b, 0);
    says("unfenced 48.0 MiB (24.0 MiB of stream");
    advises("poolDeviceSynchronize makes it available, or ContextFence has the stream wait for it");
    is_served_after_a_synchronise_of_the_device(MIB(40), b);
}

// A fixed block needs memory that goes back first. What is complete on the other stream waits for
// this one still, which may have it by its order, and no other use of it.
static void no_stream_is_named_where_the_own_one_holds_it_back_too(void **state) {
    (void)state;
    const CUstream both[] = {a, b};
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    fill_with(EXTENT);
    simulated_work(a);
    simulated_work(b);
    assert_int_equal(poolFreeAsyncAfter(blocks[0], both, 2), poolSuccess);
    refuse(EXTENT, a, poolMallocFixed);
    advises("poolDeviceSynchronize makes it available");
    fixture_synchronize(b);
    refuse(EXTENT, a, poolMallocFixed);
    fixture_synchronize(a);
    assert_int_equal(poolMallocAsyncWithFlags(&blocks[0], EXTENT, pool, a, poolMallocFixed),
                     poolSuccess);
}

static void no_stream_is_named_of_several_with_events_either(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    fill_with_two(MIB(24));
    free_behind_work(left, a, 0);
    free_behind_work(right, c, 0);
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    refuse(MIB(40), b, poolMallocNoInsertedWaits);
    says("pending 48.0 MiB (24.0 MiB behind stream");
    advises("poolDeviceSynchronize makes it available");
    is_served_after_a_synchronise_of_the_device(MIB(40), b);
}

// The policy alone would not do, for the call forbids it.
static void a_policy_that_the_call_forbids_is_not_advised(void **state) {
    (void)state;
    leave_pending_on(a);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    refuse(MIB(32), b, poolMallocNoInsertedWaits);
    advises("HostWaitMax lets an allocation wait for what is pending");
}

// A synchronise would give it back.
static void memory_that_a_request_wants_kept_is_told_of_the_threshold(void **state) {
    (void)state;
    char advice[160];
    leave_unfenced_on_a();
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    refuse(MIB(32), b, poolMallocNoGrowth | poolMallocNoInsertedWaits);
    snprintf(advice, sizeof advice,
             "poolStreamSynchronize of %s makes it available, if ReleaseThreshold has the "
             "pool keep it",
             name(a));
    advises(advice);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, POOL);
    fixture_synchronize(a);
    assert_int_equal(poolMallocAsyncWithFlags(&blocks[0], MIB(32), pool, b, poolMallocNoGrowth),
                     poolSuccess); // as it was said
}

static void pending_and_unfenced_memory_that_do_together_are_told(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    fill_with_two(MIB(24));
    free_behind_work(left, a, 0);
    free_behind_work(right, c, MIB(512));
    refuse(MIB(40), b, 0);
    says("pending 24.0 MiB (24.0 MiB behind %s)", name(a));
    says("unfenced 24.0 MiB (24.0 MiB of %s)", name(c));
    advises("poolDeviceSynchronize makes it available");
    is_served_after_a_synchronise_of_the_device(MIB(40), b);
}

// What the stream may have by its order can't be released for a fixed block before it is complete.
static void what_must_be_complete_to_be_released_is_told(void **state) {
    (void)state;
    fill_with(EXTENT);
    simulated_work(a);
    drop_every_other(a);
    refuse(MIB(8), a, poolMallocFixed);
    says("free here 32.0 MiB (largest piece 0 bytes), pending 0 bytes");
    advises("poolDeviceSynchronize makes it available");
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    assert_int_equal(poolMallocAsyncWithFlags(&blocks[0], MIB(8), pool, a, poolMallocFixed),
                     poolSuccess); // as it was said
}

static CUcontext other;

static void enter_the_other_context(void) {
    assert_int_equal(sp_driver->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
}

static void come_back(void) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

static void leave_the_other_context(void) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(other), CUDA_SUCCESS);
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    come_back();
}

static void the_legacy_stream_of_another_context_is_not_advised_to_be_synchronised(void **state) {
    (void)state;
    enter_the_other_context();
    leave_pending_on(CU_STREAM_LEGACY);
    come_back();
    refuse(MIB(32), b, 0);
    says("pending 48.0 MiB (48.0 MiB behind the legacy stream of another context)");
    advises("poolDeviceSynchronize with that context current makes it available");
    assert_int_equal(poolStreamSynchronize(CU_STREAM_LEGACY), poolSuccess); // is another one
    refuse(MIB(32), b, 0);
    leave_the_other_context();
    assert_non_null(fixture_malloc(pool, MIB(32), b)); // as it was said
}

static void a_stream_of_another_context_is_advised_by_its_handle(void **state) {
    (void)state;
    char advice[128];
    enter_the_other_context();
    CUstream there = simulated_stream();
    leave_pending_on(there);
    come_back();
    refuse(MIB(32), b, 0);
    snprintf(advice, sizeof advice,
             "poolStreamSynchronize of %s of another context makes it "
             "available",
             name(there));
    advises(advice);
    fixture_synchronize(there);
    assert_non_null(fixture_malloc(pool, MIB(32), b)); // as it was said
}

static void streams_of_two_contexts_need_both(void **state) {
    (void)state;
    fill_with_two(MIB(24));
    free_behind_work(left, a, MIB(512));
    enter_the_other_context();
    CUstream there = simulated_stream();
    free_behind_work(right, there, MIB(512));
    come_back();
    refuse(MIB(40), b, 0);
    advises(
        "poolDeviceSynchronize with each context current that holds some of it back makes it "
        "available");
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    refuse(MIB(40), b, 0);
    leave_the_other_context();
    assert_non_null(fixture_malloc(pool, MIB(40), b)); // as it was said
}

// The driver's table without it.
static struct sp_driver older;
static const struct sp_driver *newer;

static int setup_older(void **state) {
    if (setup(state) != 0)
        return -1;
    newer = sp_driver;
    older = *newer;
    older.cuCtxRecordEvent = NULL;
    sp_driver = &older;
    return 0;
}

static int teardown_older(void **state) {
    sp_driver = newer;
    return fixture_teardown(state);
}

static void without_events_of_a_context_the_host_waits(void **state) {
    (void)state;
    char advice[192];
    leave_unfenced_on_a();
    refuse(MIB(32), b, 0);
    snprintf(advice, sizeof advice,
             "poolStreamSynchronize of %s makes it available, or ContextFence has the host "
             "wait for it, no longer than ContextWaitMax (1000.000 ms)",
             name(a));
    advises(advice);
    fixture_set_flag(pool, poolMemPoolAttrContextFence, 1);
    assert_non_null(fixture_malloc(pool, MIB(32), b)); // as it was said
}

static void no_context_fence_is_advised_that_may_not_wait(void **state) {
    (void)state;
    leave_unfenced_on_a();
    fixture_set(pool, poolMemPoolAttrContextWaitMax, 0);
    refuse(MIB(32), b, 0);
    does_not_say("ContextFence");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_pending_is_told_with_the_stream_that_holds_it_back),
        TEST(a_policy_that_lets_the_stream_wait_is_advised_first),
        TEST(a_wait_for_the_little_that_new_memory_lacks_is_told),
        TEST(a_wait_that_was_too_short_is_told),
        TEST(a_pool_that_may_not_ask_is_advised_to_wait_in_the_stream),
        TEST(the_legacy_stream_is_told_by_its_name),
        TEST(the_stream_that_holds_back_most_is_named),
        TEST(it_is_named_among_very_many_streams),
        TEST(what_no_event_stands_behind_is_told_with_its_stream),
        TEST(what_is_unfenced_is_free_to_its_own_stream),
        TEST(a_stream_that_was_destroyed_is_not_advised_to_be_synchronised),
        TEST(no_stream_is_named_where_several_hold_memory_back),
        TEST(no_stream_is_named_where_the_own_one_holds_it_back_too),
        TEST(no_stream_is_named_of_several_with_events_either),
        TEST(a_policy_that_the_call_forbids_is_not_advised),
        TEST(memory_that_a_request_wants_kept_is_told_of_the_threshold),
        TEST(pending_and_unfenced_memory_that_do_together_are_told),
        TEST(what_must_be_complete_to_be_released_is_told),
        TEST(the_legacy_stream_of_another_context_is_not_advised_to_be_synchronised),
        TEST(a_stream_of_another_context_is_advised_by_its_handle),
        TEST(streams_of_two_contexts_need_both),
        cmocka_unit_test_setup_teardown(without_events_of_a_context_the_host_waits, setup_older,
                                        teardown_older),
        cmocka_unit_test_setup_teardown(no_context_fence_is_advised_that_may_not_wait, setup_older,
                                        teardown_older),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
