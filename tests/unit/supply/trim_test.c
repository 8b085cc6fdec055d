#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "order/poll.h"
#include "process/reclaim.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/settle.h"
#include "supply/growth.h"
#include "supply/trim.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

static void freed(poolMemPool_t pool, const size_t *sizes, int count, CUstream stream) {
    void *pointers[16];
    for (int i = 0; i < count; i++)
        pointers[i] = fixture_malloc(pool, sizes[i], stream);
    for (int i = 0; i < count; i++)
        fixture_free(pointers[i], stream);
}

static void a_trim_to_0_gives_everything_back_that_is_complete(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    freed(pool, (size_t[]){100, MIB(1), MIB(70), SP_SMALL_MAX}, 4, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void a_trim_leaves_pending_memory_alone_until_it_is_complete(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    simulated_work(a);
    freed(pool, (size_t[]){MIB(32)}, 1, a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), MIB(32));
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

// With an event behind it, and without.
static void a_pending_free_hides_nothing_complete_beside_it(void **state) {
    (void)state;
    enum { BLOCKS = 8 };
    for (int fenced = 0; fenced < 2; fenced++) {
        poolMemPool_t pool = fixture_pool();
        CUstream a = simulated_stream();
        size_t size = fenced ? MIB(16) : MIB(4);
        void *blocks[BLOCKS];
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = fixture_malloc(pool, size, a);
        for (int i = 0; i < BLOCKS - 1; i++)
            fixture_free(blocks[i], a);
        fixture_synchronize(a);
        simulated_work(a);
        fixture_free(blocks[BLOCKS - 1], a);
        fixture_trim(pool, 0);
        assert_int_equal(fixture_reserved(pool), size);
        fixture_check(pool);
    }
}

static void bytes_that_calls_give_back_are_counted_with_their_time(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    freed(pool, (size_t[]){MIB(32), MIB(64)}, 2, a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatBytesTrimmed), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatTrimTime), 0);
    uint64_t reserved = fixture_reserved(pool);
    fixture_trim(pool, MIB(32));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatBytesTrimmed), reserved - MIB(32));
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatBytesTrimmed), reserved);
    assert_true(fixture_attribute(pool, poolMemPoolStatTrimTime) > 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatBytesReleasedByReaper), 0);
}

static void memory_that_another_stream_overlooked_is_trimmed_too(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    freed(pool, (size_t[]){MIB(32)}, 1, a);
    fixture_synchronize(a);
    fixture_free(fixture_malloc(pool, MIB(64), b), b); // looks through the tiers, and then collects
    fixture_synchronize(b);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void a_trim_keeps_what_it_is_told_to_rounded_up_to_the_granule(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    freed(pool, (size_t[]){MIB(224)}, 1, a);
    fixture_synchronize(a);
    fixture_trim(pool, MIB(300));
    assert_int_equal(fixture_reserved(pool), MIB(224));
    fixture_trim(pool, SIZE_MAX);
    assert_int_equal(fixture_reserved(pool), MIB(224));
    fixture_trim(pool, MIB(63) + 1);
    assert_int_equal(fixture_reserved(pool), MIB(64));
    fixture_trim(pool, 1);
    assert_int_equal(fixture_reserved(pool), MIB(2));
}

static void live_memory_is_never_trimmed(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    unsigned char byte = 42;
    void *kept = fixture_malloc(pool, MIB(1), a);
    freed(pool, (size_t[]){MIB(64)}, 1, a);
    fixture_synchronize(a);
    assert_int_equal(simcudaPoke((uintptr_t)kept, &byte, 1), CUDA_SUCCESS);
    fixture_trim(pool, 0);
    byte = 0;
    assert_int_equal(simcudaPeek(&byte, (uintptr_t)kept, 1), CUDA_SUCCESS);
    assert_int_equal(byte, 42);
    assert_int_equal(fixture_reserved(pool), SP_EXTENT_MIN); // its extent
}

static void what_was_trimmed_can_be_grown_again(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *first = fixture_malloc(pool, MIB(64), a);
    fixture_free(first, a);
    fixture_synchronize(a);
    fixture_trim(pool, MIB(10));
    assert_int_equal(fixture_reserved(pool), MIB(10));
    assert_ptr_equal(fixture_malloc(pool, MIB(64), a), first);
    assert_int_equal(fixture_reserved(pool), MIB(64));
}

static void the_bytes_that_can_be_released_are_those_that_a_trim_releases(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    void *kept = fixture_malloc(pool, MIB(1), a);
    freed(pool, (size_t[]){MIB(40), MIB(50), 100}, 3, a);
    assert_int_equal(sp_trim_releasable(fixture_inside(pool)), 0);
    fixture_synchronize(a);
    size_t releasable = sp_trim_releasable(fixture_inside(pool));
    assert_true(releasable > 0);
    uint64_t reserved = fixture_reserved(pool);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), reserved - releasable);
    fixture_free(kept, a);
}

static void room_is_made_only_if_it_is_enough(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    freed(pool, (size_t[]){MIB(64)}, 1, a);
    fixture_synchronize(a);
    assert_false(sp_trim_make_room(fixture_inside(pool), MIB(66)));
    assert_int_equal(fixture_reserved(pool), MIB(64));
    assert_true(sp_trim_make_room(fixture_inside(pool), MIB(20)));
    assert_int_equal(fixture_reserved(pool), MIB(44));
}

static void the_threshold_acts_at_a_synchronise_and_not_at_a_query(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    CUstream stranger = simulated_stream();
    freed(pool, (size_t[]){MIB(224)}, 1, a);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, MIB(64));
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    assert_int_equal(fixture_reserved(pool), MIB(224));
    fixture_synchronize(stranger);
    assert_int_equal(fixture_reserved(pool), MIB(224));
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), MIB(64));
}

// Makes the pool grow while all that it has free is too small. True when that was released before.
static bool grows_after_release(poolMemPool_t pool, CUstream stream) {
    simcudaCompleteAll();
    uint64_t before = simcudaCallCount("cuMemRelease");
    freed(pool, (size_t[]){fixture_reserved(pool) + MIB(4)}, 1, stream);
    return simcudaCallCount("cuMemRelease") > before;
}

static poolMemPool_t pool_that_hears_no_synchronise(CUstream stream) {
    poolMemPool_t pool = fixture_pool();
    sp_store_relaxed(&sp_reclaim_saw_synchronize, false);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    freed(pool, (size_t[]){MIB(4)}, 1, stream);
    return pool;
}

static void without_a_synchronise_the_threshold_acts_before_a_growth(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    poolMemPool_t pool = pool_that_hears_no_synchronise(a);
    for (int i = 0; i < 3; i++)
        assert_true(grows_after_release(pool, a));
}

static void
an_extent_that_the_driver_does_not_take_stays_usable_and_goes_the_next_time(void **state) {
    (void)state;
    static const char *const calls[] = {"cuMemRelease", "cuMemUnmap"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        poolMemPool_t pool = fixture_pool();
        CUstream a = simulated_stream();
        freed(pool, (size_t[]){MIB(64)}, 1, a);
        fixture_synchronize(a);
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_int_equal(poolMemPoolTrimTo(pool, 0), poolErrorUnknown);
        assert_int_equal(fixture_reserved(pool), MIB(64));
        fixture_check(pool);
        void *again = fixture_malloc(pool, MIB(64), a);
        fixture_free(again, a);
        fixture_synchronize(a);
        fixture_trim(pool, 0);
        assert_int_equal(fixture_reserved(pool), 0);
        assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    }
}

static void what_can_not_be_mapped_anew_is_less_kept_and_nothing_worse(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    freed(pool, (size_t[]){MIB(64)}, 1, a);
    fixture_synchronize(a);
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    fixture_trim(pool, MIB(10));
    assert_int_equal(simcudaFailCount(), 1);
    assert_int_equal(fixture_reserved(pool), 0);
    fixture_check(pool);
}

static void a_trim_survives_every_lack_of_host_memory(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    uint64_t failed = 1;
    for (uint64_t nth = 1; failed > 0; nth++) {
        poolMemPool_t pool = fixture_pool();
        void *pieces[8];
        for (int i = 0; i < 8; i++)
            pieces[i] = fixture_malloc(pool, MIB(24 + 4 * i), a);
        for (int i = 0; i < 8; i += 2)
            fixture_free(pieces[i], a);
        fixture_synchronize(a);
        host_memory_enter(nth, false);
        poolMemPoolTrimTo(pool, MIB(100));
        host_memory_leave(&failed);
        fixture_check(pool);
        for (int i = 1; i < 8; i += 2)
            fixture_free(pieces[i], a);
        fixture_synchronize(a);
        fixture_trim(pool, 0);
        assert_int_equal(fixture_reserved(pool), 0);
        assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    }
}

// What the pool took for pending when it last looked, it takes for complete now.
static void a_pool_that_is_deterministic_no_longer_gives_back_what_a_question_found(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream();
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    fixture_free(fixture_malloc(pool, MIB(64), a), a);
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), MIB(64));
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 0);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

// One stream's memory completes when the pool has looked at it and is at another's.
static struct {
    struct sp_pool *inside;
    struct sp_stream *stream;
    uint32_t looked_at;
} late;

static bool complete_late(struct sp_fence fence) {
    if (fence.slot == late.looked_at) {
        atomic_store(&late.inside->is_complete, sp_progress_is_complete);
        assert_complete(sp_synchronize_query, late.stream, late.stream->handle);
    }
    return sp_progress_is_complete(fence);
}

static void settle(struct sp_pool *inside) {
    sp_lock_acquire(&inside->lock);
    sp_settle_all(inside);
    sp_lock_release(&inside->lock);
}

static void memory_that_completes_while_the_pool_looks_is_found_the_next_time(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    CUstream a = simulated_stream(), b = simulated_stream();
    void *of_a = fixture_malloc(pool, MIB(32), a), *of_b = fixture_malloc(pool, MIB(32), b);
    late.inside = fixture_inside(pool);
    late.stream = fixture_stream(a);
    late.looked_at = fixture_stream(b)->slot;
    simulated_work(a);
    simulated_work(b);
    fixture_free(of_a, a);
    fixture_free(of_b, b);
    sp_collect_all(late.inside);
    simulated_finish(a);
    simulated_finish(b);
    assert_int_equal(poolStreamQuery(b), poolSuccess);
    atomic_store(&late.inside->is_complete, complete_late);
    settle(late.inside);
    assert_ptr_equal(atomic_load(&late.inside->is_complete), sp_progress_is_complete);
    settle(late.inside);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        assert_null(sp_tier_first(&fixture_lane(pool, a)->tiers[kind]->fenced));
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static poolMemPool_t shared_pool;

static void grow_and_trim(void *stream) {
    sp_driver->cuCtxSetCurrent(simulated_context());
    for (int i = 0; i < 40; i++) {
        void *pointer = NULL;
        poolMallocFromPoolAsync(&pointer, MIB(40), shared_pool, stream);
        poolFreeAsync(pointer, stream);
        poolStreamSynchronize(stream);
        poolMemPoolTrimTo(shared_pool, 0);
    }
}

static void ask_what_can_be_released(void *stream) {
    (void)stream;
    struct sp_pool *pool = sp_handle_pool(shared_pool);
    for (int i = 0; i < 200; i++)
        sp_trim_releasable(pool);
}

static void run_role(void *argument) {
    if (argument)
        grow_and_trim(argument);
    else
        ask_what_can_be_released(argument);
}

static void asking_what_can_be_released_is_safe_while_another_thread_maps(void **state) {
    (void)state;
    shared_pool = fixture_pool();
    void *const roles[] = {simulated_stream(), NULL};
    assert_int_equal(simcudaRunThreads(run_role, roles, 2), CUDA_SUCCESS);
    fixture_check(shared_pool);
}

#define trim_test(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        trim_test(a_trim_to_0_gives_everything_back_that_is_complete),
        trim_test(a_trim_leaves_pending_memory_alone_until_it_is_complete),
        trim_test(a_pending_free_hides_nothing_complete_beside_it),
        trim_test(bytes_that_calls_give_back_are_counted_with_their_time),
        trim_test(memory_that_another_stream_overlooked_is_trimmed_too),
        trim_test(a_trim_keeps_what_it_is_told_to_rounded_up_to_the_granule),
        trim_test(live_memory_is_never_trimmed),
        trim_test(what_was_trimmed_can_be_grown_again),
        trim_test(the_bytes_that_can_be_released_are_those_that_a_trim_releases),
        trim_test(room_is_made_only_if_it_is_enough),
        trim_test(the_threshold_acts_at_a_synchronise_and_not_at_a_query),
        trim_test(without_a_synchronise_the_threshold_acts_before_a_growth),
        trim_test(an_extent_that_the_driver_does_not_take_stays_usable_and_goes_the_next_time),
        trim_test(what_can_not_be_mapped_anew_is_less_kept_and_nothing_worse),
        trim_test(a_trim_survives_every_lack_of_host_memory),
        trim_test(a_pool_that_is_deterministic_no_longer_gives_back_what_a_question_found),
        trim_test(memory_that_completes_while_the_pool_looks_is_found_the_next_time),
        trim_test(asking_what_can_be_released_is_safe_while_another_thread_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
