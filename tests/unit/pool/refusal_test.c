#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "fault/host_memory.h"
#include "order/context.h"
#include "unit/pool/scattered.h"

static void says(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void says(const char *format, ...) {
    char expected[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    if (!strstr(poolGetLastErrorDetail(), expected))
        print_error("not said: %s\n in: %s\n", expected, poolGetLastErrorDetail());
    assert_non_null(strstr(poolGetLastErrorDetail(), expected));
}

static void does_not_say(const char *words) {
    if (strstr(poolGetLastErrorDetail(), words))
        print_error("said: %s\n in: %s\n", words, poolGetLastErrorDetail());
    assert_null(strstr(poolGetLastErrorDetail(), words));
}

// What stands behind the last semicolon.
static void advises(const char *advice) {
    const char *last = strrchr(poolGetLastErrorDetail(), ';');
    assert_non_null(last);
    assert_string_equal(last + 2, advice);
}

static void names_driver(CUresult expected, const char *expected_name) {
    int native = -1;
    const char *name = NULL;
    poolGetLastNativeError(&native, &name);
    assert_int_equal(native, expected);
    assert_string_equal(name, expected_name);
}

static void at_the_limit_the_detail_names_it_and_what_is_missing(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(40), a);
    refuse(MIB(40), a, 0);
    says(
        "no room for 41943040 bytes (40.0 MiB): to grow by 40.0 MiB would take the pool beyond "
        "its "
        "limit of 64.0 MiB; in use 40.0 MiB of 40.0 MiB reserved, free here 0 bytes (largest "
        "piece 0 "
        "bytes), pending 0 bytes, unfenced 0 bytes, pinned in pieces 0 bytes, free on the "
        "device 16");
    advises("a pool with a maxSize that is larger by 16.0 MiB has room for it");
    names_driver(CUDA_SUCCESS, "");
}

// What is free beside a hole saves some growth.
static void free_memory_in_front_of_the_growth_is_counted(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(40), a);
    void *freed = fixture_malloc(pool, MIB(16), a);
    fixture_free(freed, a);
    fixture_synchronize(a);
    refuse(MIB(20), a, poolMallocNoGrowth);
    says("poolMallocNoGrowth forbids to grow by 4.0 MiB;");
    says("in use 40.0 MiB of 56.0 MiB reserved, free here 16.0 MiB (largest piece 16.0 MiB)");
}

static void of_a_full_device_the_detail_says_who_has_it(void **state) {
    (void)state;
    poolMemPool_t first = fixture_pool();
    poolMemPool_t second = fixture_pool();
    CUdeviceptr others = 0;
    void *pointer = NULL;
    fixture_malloc(first, GIB(8), a);
    assert_int_equal(sp_driver->cuMemAlloc(&others, GIB(4)), CUDA_SUCCESS);
    fixture_malloc(second, GIB(3), a);
    size_t free_bytes = sp_context_free_memory(simulated_context());
    poolError_t error = poolMallocFromPoolAsync(&pointer, GIB(2), second, a);
    assert_int_equal(error, poolErrorMemoryAllocation);
    says(
        "cuMemCreate returned CUDA_ERROR_OUT_OF_MEMORY when the pool was to grow by 2048.0 MiB; "
        "in use "
        "3072.0 MiB of 3072.0 MiB reserved");
    says(
        "free on the device %.1f MiB; nothing but freeing helps: other pools of the device hold "
        "8192.0 "
        "MiB, and what isn't of any pool %.1f MiB",
        (double)free_bytes / MIB(1), (double)(GIB(16) - free_bytes - GIB(11)) / MIB(1));
    names_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate");
    sp_driver->cuMemFree(others);
}

static void where_the_device_has_enough_again_the_detail_says_so(void **state) {
    (void)state;
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    refuse(MIB(8), a, 0);
    advises("the device has enough free for that by now: another try may do");
    names_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate");
}

// The ladder asks on, and the answers are errors too: they don't hide why the growth failed.
static void a_later_answer_of_the_driver_does_not_hide_the_full_device(void **state) {
    (void)state;
    fixture_free(fixture_malloc(pool, MIB(16), a), a);
    simulated_work(b);
    fixture_free(fixture_malloc(pool, MIB(16), b), b);
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    simulated_work(a);
    refuse(MIB(40), a, 0);
    says("cuMemCreate returned");
    names_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate");
}

static void what_else_the_driver_lacks_is_not_called_a_full_device(void **state) {
    (void)state;
    simcudaFailCall("cuMemSetAccess", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    refuse(MIB(8), a, 0);
    says("cuMemSetAccess returned CUDA_ERROR_OUT_OF_MEMORY");
    advises("the driver lacks memory for its own ends: poolMemPoolTrimTo gives some back");
    names_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemSetAccess");
}

static void a_request_that_may_not_grow_says_by_how_much_it_would(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(8), a);
    refuse(MIB(9) + 100, a, poolMallocNoGrowth);
    says(
        "no room for 9437284 bytes (9.0 MiB): poolMallocNoGrowth forbids to grow by 10.0 MiB; "
        "in use 8.0 "
        "MiB of 8.0 MiB reserved");
    advises("poolMemPoolPrime takes memory from the device ahead of need");
    does_not_say("host memory");
    names_driver(CUDA_SUCCESS, "");
}

static void a_small_request_names_its_bytes(void **state) {
    (void)state;
    refuse(100, a, poolMallocNoGrowth);
    says(
        "no room for 100 bytes: poolMallocNoGrowth forbids to grow by 2.0 MiB; in use 0 bytes "
        "of 0 bytes");
}

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
        "(48.0 MiB behind stream %p), unfenced 0 bytes,",
        (void *)a);
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
    says("pending 64.0 MiB (40.0 MiB behind stream %p)", (void *)c);
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
    says("pending 0 bytes, unfenced 48.0 MiB (48.0 MiB of stream %p), pinned", (void *)a);
    snprintf(advice, sizeof advice,
             "poolStreamSynchronize of stream %p makes it available, or ContextFence has the "
             "stream wait "
             "for it",
             (void *)a);
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
    says("(48.0 MiB behind a stream that was destroyed)");
}

// A block of each size that fills the pool together with what is live.
static void *left, *right;
static void fill_with_two(size_t size) {
    left = fixture_malloc(pool, size, b);
    right = fixture_malloc(pool, size, b);
    fixture_malloc(pool, POOL - 2 * size, b);
}

static void free_behind_work(void *pointer, CUstream stream, size_t unfenced_max) {
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, unfenced_max);
    simulated_work(stream);
    fixture_free(pointer, stream);
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
             "poolStreamSynchronize of stream %p makes it available, if ReleaseThreshold has the "
             "pool keep it",
             (void *)a);
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
    says("pending 24.0 MiB (24.0 MiB behind stream %p)", (void *)a);
    says("unfenced 24.0 MiB (24.0 MiB of stream %p)", (void *)c);
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
             "poolStreamSynchronize of stream %p of another context makes it "
             "available",
             (void *)there);
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
             "poolStreamSynchronize of stream %p makes it available, or ContextFence has the host "
             "wait for it, no longer than ContextWaitMax (1000.000 ms)",
             (void *)a);
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

static void refuse_8_gib(poolMemPool_t from) {
    void *pointer = NULL;
    poolError_t error = poolMallocFromPoolAsync(&pointer, GIB(8), from, b);
    assert_int_equal(error, poolErrorMemoryAllocation);
}

// All but 4 GiB of the device, free in another pool, behind work of a stream.
static poolMemPool_t leave_most_to_another_pool(size_t unfenced_max) {
    poolMemPool_t first = fixture_pool();
    void *freed = fixture_malloc(first, GIB(12), a);
    fixture_set(first, poolMemPoolAttrUnfencedBytesMax, unfenced_max);
    simulated_work(a);
    fixture_free(freed, a);
    return fixture_pool();
}

static void another_pools_unfenced_memory_is_told(void **state) {
    (void)state;
    poolMemPool_t second = leave_most_to_another_pool(GIB(16));
    refuse_8_gib(second);
    advises(
        "other pools of the device hold 12288.0 MiB that are free and may still be in use: "
        "poolDeviceSynchronize makes it available");
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_malloc(second, GIB(8), b); // as it was said
}

static void another_pools_pending_memory_is_told_and_that_the_host_could_wait(void **state) {
    (void)state;
    poolMemPool_t second = leave_most_to_another_pool(0);
    refuse_8_gib(second);
    advises(
        "other pools of the device hold 12288.0 MiB that are free and may still be in use: "
        "poolDeviceSynchronize makes it available, or HostWaitMax lets an allocation wait for it");
    fixture_set_flag(second, poolMemPoolAttrDeterministic, 1); // which never waits
    refuse_8_gib(second);
    does_not_say("HostWaitMax");
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_malloc(second, GIB(8), b); // as it was said
}

// No event stands behind it, but the legacy stream tells of blocking streams.
static void that_the_host_could_wait_for_another_pools_blocking_stream_is_told(void **state) {
    (void)state;
    poolMemPool_t first = fixture_pool();
    poolMemPool_t second = fixture_pool();
    CUstream c = simulated_blocking_stream();
    void *freed = fixture_malloc(first, GIB(12), c);
    fixture_set(first, poolMemPoolAttrUnfencedBytesMax, GIB(16));
    simulated_work(c);
    fixture_free(freed, c);
    refuse_8_gib(second);
    advises(
        "other pools of the device hold 12288.0 MiB that are free and may still be in use: "
        "poolDeviceSynchronize makes it available, or HostWaitMax lets an allocation wait for it");
    simulated_finish(c);
    fixture_malloc(second, GIB(8), b); // which is what it would wait for
}

// Half of its one extent is in use.
static void another_pools_pieces_are_no_help(void **state) {
    (void)state;
    poolMemPool_t first = fixture_pool();
    poolMemPool_t second = fixture_pool();
    fixture_free(fixture_malloc(first, GIB(12), a), a);
    fixture_synchronize(a);
    fixture_malloc(first, GIB(6), a);
    refuse_8_gib(second);
    says(
        "nothing but freeing helps: other pools of the device hold 12288.0 MiB (6144.0 MiB of it "
        "free)");
}

// It may not grow, but could once the other pool has given back what it has.
static void growth_is_advised_after_a_synchronise(void **state) {
    (void)state;
    void *pointer = NULL;
    poolMemPool_t second = leave_most_to_another_pool(0);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, GIB(8), second, b, poolMallocNoGrowth),
                     poolErrorMemoryAllocation);
    advises("without poolMallocNoGrowth the pool could grow after poolDeviceSynchronize");
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_malloc(second, GIB(8), b); // as it was said
}

static void pinned_pieces_are_told_and_that_nothing_but_freeing_helps(void **state) {
    (void)state;
    fill_with(HALF);
    for (size_t i = 0; i < HALVES; i += 2)
        drop(i, a);
    refuse(MIB(24), a, 0);
    says(
        "free here 32.0 MiB (largest piece 2.0 MiB), pending 0 bytes, unfenced 0 bytes, pinned "
        "in pieces "
        "32.0 MiB");
    advises("what is free is in pieces beside blocks in use, so nothing but freeing helps");
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinnedBytes), MIB(32));
}

static void pieces_that_could_be_mapped_side_by_side_are_told(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    refuse(MIB(24), a, poolMallocNoGrowth);
    says(
        "free here 32.0 MiB (largest piece 4.0 MiB), pending 0 bytes, unfenced 0 bytes, pinned "
        "in pieces 0 "
        "bytes");
    advises("Defragmentation lets the pool map its free pieces side by side");
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentBeforeGrowth);
    assert_int_equal(poolMallocAsyncWithFlags(&blocks[0], MIB(24), pool, a, poolMallocNoGrowth),
                     poolSuccess); // as it was said
}

static void a_fixed_block_that_only_pieces_are_left_for_is_told(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    refuse(MIB(8), a, poolMallocFixed | poolMallocNoGrowth);
    advises("without poolMallocFixed the pool could map its free pieces side by side");
    assert_int_equal(poolMallocAsyncWithFlags(&blocks[0], MIB(8), pool, a, poolMallocNoGrowth),
                     poolSuccess); // as it was said
}

static void a_fixed_block_has_no_use_for_pinned_pieces(void **state) {
    (void)state;
    fill_with(HALF);
    for (size_t i = 0; i < HALVES; i += 2)
        drop(i, a);
    refuse(MIB(8), a, poolMallocFixed);
    advises("what is free is in pieces beside blocks in use, so nothing but freeing helps");
}

// Where growth is forbidden, and there is no room for it either.
static void a_request_that_may_not_grow_beyond_the_limit_is_told_of_that(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(40), a);
    refuse(MIB(40), a, poolMallocNoGrowth);
    says("poolMallocNoGrowth forbids to grow by 40.0 MiB;");
    advises("a pool with a maxSize that is larger by 16.0 MiB has room for it");
}

// Two halves of each extent are free, though not to the same streams.
static void pieces_that_share_an_extent_that_nobody_uses_are_not_pinned(void **state) {
    (void)state;
    fill_with(HALF);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    simulated_work(a);
    for (size_t i = 0; i < HALVES; i++)
        drop(i, i % 2 == 0 ? a : b);
    refuse(MIB(32), b, poolMallocNoInsertedWaits);
    says(
        "in use 0 bytes of 64.0 MiB reserved, free here 32.0 MiB (largest piece 2.0 MiB), pending "
        "32.0 MiB");
    says("unfenced 0 bytes, pinned in pieces 0 bytes");
    advises("HostWaitMax lets an allocation wait for what is pending");
    fixture_synchronize(a);
    assert_non_null(fixture_malloc(pool, MIB(32), b)); // which is what it would wait for
}

// Likewise with what no event stands behind. Only a block that is in use pins the rest.
static void the_gauge_counts_what_is_pinned_by_extents(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    fill_with(HALF);
    simulated_work(a);
    simulated_work(c);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    drop(0, a);
    drop(2, a);
    drop(4, a);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(512));
    drop(1, c);
    drop(3, b);
    fixture_synchronize(b);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinnedBytes), HALF);
    drop(5, c);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinnedBytes), 0);
}

static void of_what_is_not_fixed_whole_extents_alone_are_free_to_a_fixed_block(void **state) {
    (void)state;
    fill_with(HALF);
    for (size_t i = 0; i < HALVES; i += 2)
        drop(i, a);
    drop(1, a);
    refuse(MIB(8), a, poolMallocFixed);
    says(
        "free here 4.0 MiB (largest piece 0 bytes), pending 0 bytes, unfenced 0 bytes, pinned in "
        "pieces 30.0 MiB");
}

static void *fixed_block(size_t size) {
    void *pointer = NULL;
    poolError_t error = poolMallocAsyncWithFlags(&pointer, size, pool, a, poolMallocFixed);
    assert_int_equal(error, poolSuccess);
    return pointer;
}

// All of the pool is one extent that nobody uses.
static void leave_one_fixed_extent(void) {
    fixture_free(fixed_block(POOL), a);
    fixture_synchronize(a);
}

// What is left of a fixed extent serves other requests, too.
static void what_is_left_of_a_fixed_extent_is_free_to_any_block(void **state) {
    (void)state;
    leave_one_fixed_extent();
    fixed_block(MIB(8));
    refuse(MIB(60), b, 0);
    says(
        "to grow by 60.0 MiB would take the pool beyond its limit of 64.0 MiB; in use 8.0 MiB of "
        "64.0 MiB reserved, free here 56.0 MiB (largest piece 56.0 MiB), pending 0 bytes, unfenced "
        "0 bytes, pinned in pieces 56.0 MiB");
    advises("a pool with a maxSize that is larger by 60.0 MiB has room for it");
    assert_non_null(fixture_malloc(pool, MIB(56), b)); // the largest piece
    refuse(100, b, 0);
    says("free here 0 bytes (largest piece 0 bytes)");
}

// Two pieces of it are no help, for what is fixed isn't put together.
static void pieces_of_a_fixed_extent_are_in_pieces(void **state) {
    (void)state;
    leave_one_fixed_extent();
    void *first = fixed_block(MIB(16));
    void *second = fixed_block(MIB(16));
    fixture_free(first, a);
    fixture_synchronize(a);
    refuse(MIB(40), b, 0);
    says("free here 48.0 MiB (largest piece 32.0 MiB)");
    advises("what is free is in pieces beside blocks in use, so nothing but freeing helps");
    fixture_free(second, a);
    fixture_synchronize(a);
    assert_non_null(fixture_malloc(pool, MIB(40), b)); // as it was said
}

static void what_is_pending_of_a_fixed_extent_is_had_by_waiting_for_it(void **state) {
    (void)state;
    leave_one_fixed_extent();
    fixed_block(POOL / 2);
    free_behind_work(fixed_block(POOL / 2), a, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    refuse(MIB(24), b, 0);
    says("free here 0 bytes (largest piece 0 bytes), pending 32.0 MiB (32.0 MiB behind stream");
    advises("ReuseAllowInternalDependencies lets the stream wait for what is pending");
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 1);
    assert_non_null(fixture_malloc(pool, MIB(24), b));
}

// The call forbids to grow, and nothing else does.
static void pieces_of_a_pool_that_could_grow_are_not_the_last_word(void **state) {
    (void)state;
    const size_t sizes[] = {MIB(4), MIB(6), MIB(2), MIB(6), MIB(2), MIB(6), MIB(6)};
    poolMemPool_t second = fixture_pool();
    void *pointer = NULL;
    fixture_free(fixture_malloc(second, MIB(32), a), a);
    fixture_synchronize(a);
    for (size_t i = 0; i < 7; i++) // in the one extent
        blocks[i] = fixture_malloc(second, sizes[i], a);
    for (size_t i = 1; i < 6; i += 2)
        drop(i, a);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(16), second, a, poolMallocNoGrowth),
                     poolErrorMemoryAllocation);
    advises("poolMemPoolPrime takes memory from the device ahead of need");
    assert_int_equal(poolMemPoolPrime(second, MIB(16)), poolSuccess);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(16), second, a, poolMallocNoGrowth),
                     poolSuccess); // as it was said
}

static void without_host_memory_the_device_is_not_called_full(void **state) {
    (void)state;
    const size_t sizes[] = {100, MIB(1)};
    fixture_lane(pool, a);
    for (int i = 0; i < 2; i++) {
        uint64_t failed = 0;
        void *pointer = NULL;
        host_memory_enter(1, true);
        poolError_t error = poolMallocFromPoolAsync(&pointer, sizes[i], pool, a);
        host_memory_leave(&failed);
        assert_true(failed > 0);
        assert_int_equal(error, poolErrorMemoryAllocation);
        says("out of host memory; in use 0 bytes of 0 bytes reserved");
        does_not_say("CUDA_ERROR");
        advises("it is the host that has no memory left, and not the device");
        names_driver(CUDA_SUCCESS, "");
    }
    fixture_check(pool);
}

// A driver's error of earlier in the call isn't taken for the reason.
static void a_growth_that_lacked_host_memory_at_last_is_told_so(void **state) {
    (void)state;
    uint64_t failed = 0;
    void *pointer = NULL;
    fixture_malloc(pool, MIB(4), a);
    fixture_free(fixture_malloc(pool, MIB(16), a), a);
    fixture_synchronize(a);
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    host_memory_enter(1, true);
    poolError_t error = poolMallocFromPoolAsync(&pointer, MIB(44), pool, a);
    host_memory_leave(&failed);
    simcudaFailClear();
    assert_int_equal(error, poolErrorMemoryAllocation);
    says("out of host memory");
    names_driver(CUDA_SUCCESS, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(at_the_limit_the_detail_names_it_and_what_is_missing),
        TEST(free_memory_in_front_of_the_growth_is_counted),
        TEST(of_a_full_device_the_detail_says_who_has_it),
        TEST(where_the_device_has_enough_again_the_detail_says_so),
        TEST(a_later_answer_of_the_driver_does_not_hide_the_full_device),
        TEST(what_else_the_driver_lacks_is_not_called_a_full_device),
        TEST(a_request_that_may_not_grow_says_by_how_much_it_would),
        TEST(a_small_request_names_its_bytes),
        TEST(what_is_pending_is_told_with_the_stream_that_holds_it_back),
        TEST(a_policy_that_lets_the_stream_wait_is_advised_first),
        TEST(a_wait_that_was_too_short_is_told),
        TEST(a_pool_that_may_not_ask_is_advised_to_wait_in_the_stream),
        TEST(the_legacy_stream_is_told_by_its_name),
        TEST(the_stream_that_holds_back_most_is_named),
        TEST(what_no_event_stands_behind_is_told_with_its_stream),
        TEST(what_is_unfenced_is_free_to_its_own_stream),
        TEST(a_stream_that_was_destroyed_is_not_advised_to_be_synchronised),
        TEST(no_stream_is_named_where_several_hold_memory_back),
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
        TEST(another_pools_unfenced_memory_is_told),
        TEST(another_pools_pending_memory_is_told_and_that_the_host_could_wait),
        TEST(that_the_host_could_wait_for_another_pools_blocking_stream_is_told),
        TEST(another_pools_pieces_are_no_help),
        TEST(growth_is_advised_after_a_synchronise),
        TEST(pinned_pieces_are_told_and_that_nothing_but_freeing_helps),
        TEST(pieces_that_could_be_mapped_side_by_side_are_told),
        TEST(a_fixed_block_that_only_pieces_are_left_for_is_told),
        TEST(a_fixed_block_has_no_use_for_pinned_pieces),
        TEST(a_request_that_may_not_grow_beyond_the_limit_is_told_of_that),
        TEST(pieces_that_share_an_extent_that_nobody_uses_are_not_pinned),
        TEST(the_gauge_counts_what_is_pinned_by_extents),
        TEST(of_what_is_not_fixed_whole_extents_alone_are_free_to_a_fixed_block),
        TEST(what_is_left_of_a_fixed_extent_is_free_to_any_block),
        TEST(pieces_of_a_fixed_extent_are_in_pieces),
        TEST(what_is_pending_of_a_fixed_extent_is_had_by_waiting_for_it),
        TEST(pieces_of_a_pool_that_could_grow_are_not_the_last_word),
        TEST(without_host_memory_the_device_is_not_called_full),
        TEST(a_growth_that_lacked_host_memory_at_last_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
