// Frees, the events behind them and their count, and what another thread does in the middle of one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "calls/free.h"
#include "fault/host_memory.h"
#include "order/mark.h"
#include "process/given_up.h"
#include "region/collect.h"
#include "region/lane.h"
#include "region/owner.h"
#include "region/quick.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

static poolMemPool_t pool;
static CUstream stream;
static void *sibling;

static int setup(void **state) {
    (void)state;
    if (fixture_begin(NULL) != 0)
        return -1;
    pool = fixture_pool();
    stream = simulated_stream();
    return 0;
}

static void assert_not_live(void *pointer) {
    uint64_t used = fixture_used(pool);
    assert_int_equal(poolFreeAsync(pointer, stream), poolErrorInvalidValue);
    assert_int_equal(poolFree(pointer), poolErrorInvalidValue);
    assert_int_equal(fixture_used(pool), used);
    fixture_check(pool);
}

static void used_falls_at_the_call_though_the_work_is_pending(void **state) {
    (void)state;
    void *large = fixture_malloc(pool, MIB(3) + 1, stream);
    void *small = fixture_malloc(pool, 1, stream);
    simulated_work(stream);
    assert_int_equal(fixture_used(pool), MIB(3) + 2);
    fixture_free(large, stream);
    assert_int_equal(fixture_used(pool), 1);
    fixture_free(small, stream);
    assert_int_equal(fixture_used(pool), 0);
}

static void a_double_free_is_found_at_every_stage_of_the_memory(void **state) {
    (void)state;
    const size_t sizes[] = {1, 512, SP_SMALL_MAX, SP_SMALL_MAX + 1, MIB(3), MIB(64)};
    for (int i = 0; i < 6; i++) {
        void *pointer = fixture_malloc(pool, sizes[i], stream);
        fixture_free(pointer, stream);
        assert_not_live(pointer); // in a list
        sp_collect_all(fixture_inside(pool));
        assert_not_live(pointer); // in a tier
        fixture_synchronize(stream);
        fixture_trim(pool, 0);
        assert_not_live(pointer); // unmapped
    }
}

static void says(void *pointer, const char *words) {
    assert_int_equal(poolFreeAsync(pointer, stream), poolErrorInvalidValue);
    assert_non_null(strstr(poolGetLastErrorDetail(), words));
    assert_int_equal(poolFree(pointer), poolErrorInvalidValue);
    assert_non_null(strstr(poolGetLastErrorDetail(), words));
}

static void the_detail_of_a_free_that_is_none_says_what_lies_there(void **state) {
    (void)state;
    char *large = fixture_malloc(pool, MIB(1), stream), *small = fixture_malloc(pool, 1000, stream);
    says(large + 4096, "lies 4096 bytes into a live allocation of 1048576 bytes");
    says(large + MIB(1) - 1, "lies 1048575 bytes into a live allocation of 1048576 bytes");
    says(small + 8, "lies 8 bytes into a live allocation of 1000 bytes");
    says(small + 1024, "was freed already, or is no allocation"); // the slab's next block
    says(large + MIB(64), "was freed already, or is no allocation");
    says((char *)&pool, "is no memory of any pool");
    fixture_free(large, stream);
    fixture_free(small, stream);
    says(large, "was freed already, or is no allocation");
    says(small, "was freed already, or is no allocation");
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    says(large, "was freed already, or is no allocation");
}

// Its bytes are noted before its account is.
static void a_block_that_is_being_handed_out_is_not_live(void **state) {
    (void)state;
    void *large = fixture_malloc(pool, MIB(3), stream);
    struct sp_block *block = sp_owner_block(sp_owner_of((uint64_t)(uintptr_t)large));
    struct sp_lane *lane = sp_owner_block_lane(block);
    sp_block_set_live(block);
    says((char *)large + 512, "was freed already, or is no allocation");
    sp_store_relaxed(&block->account, lane);
    says((char *)large + 512, "lies 512 bytes into a live allocation");
    fixture_free(large, stream);
}

static void an_interior_pointer_is_not_live(void **state) {
    (void)state;
    const size_t sizes[] = {2000, SP_SMALL_MAX, SP_SMALL_MAX + 1, MIB(3)};
    for (int i = 0; i < 4; i++) {
        char *pointer = fixture_malloc(pool, sizes[i], stream);
        const size_t offsets[] = {1, 256, 512, sizes[i] / 2, sizes[i] - 1, SP_PAGE_SIZE};
        for (int j = 0; j < 6; j++) {
            if (offsets[j] < sizes[i])
                assert_not_live(pointer + offsets[j]);
        }
        fixture_free(pointer, stream);
    }
}

static void memory_of_others_is_not_live(void **state) {
    (void)state;
    int on_stack = 0;
    assert_not_live(&on_stack);
    assert_not_live((void *)(uintptr_t)1);
    assert_not_live((void *)UINTPTR_MAX);
}

static void a_null_pointer_is_freed_with_success(void **state) {
    (void)state;
    assert_int_equal(poolFreeAsync(NULL, stream), poolSuccess);
    assert_int_equal(poolFree(NULL), poolSuccess);
}

static void small_memory_freed_on_another_stream_comes_back_when_that_is_complete(void **state) {
    (void)state;
    enum { BLOCKS = 8 };
    void *blocks[BLOCKS];
    CUstream other = simulated_stream();
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = fixture_malloc(pool, SP_SMALL_MAX, stream);
    simulated_work(other);
    fixture_free(blocks[3], other);
    fixture_check(pool);
    assert_ptr_not_equal(fixture_malloc(pool, SP_SMALL_MAX, stream), blocks[3]);
    for (int i = 0; i < BLOCKS - 1; i++) // fill the second slab
        fixture_malloc(pool, SP_SMALL_MAX, stream);
    fixture_synchronize(other);
    assert_ptr_equal(fixture_malloc(pool, SP_SMALL_MAX, stream), blocks[3]);
}

// Leaves the lane of the stream no slab with a free block.
static void fill_slabs(void) {
    while (sp_list_first(&fixture_lane(pool, stream)->slabs[sp_slab_class_of(SP_SMALL_MAX)]))
        fixture_malloc(pool, SP_SMALL_MAX, stream);
}

// What a question found counts neither at the allocation nor before it, when another stream returns
// one more and what is over is dropped.
static void a_deterministic_pool_takes_returned_small_memory_by_synchronises_alone(void **state) {
    (void)state;
    CUstream first = simulated_stream(), second = simulated_stream();
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    void *one = fixture_malloc(pool, SP_SMALL_MAX, stream);
    void *two = fixture_malloc(pool, SP_SMALL_MAX, stream);
    fill_slabs();
    simulated_work(first);
    fixture_free(one, first);
    simulated_finish(first);
    assert_int_equal(poolStreamQuery(first), poolSuccess);
    fixture_free(two, second);
    fixture_synchronize(second);
    void *other = fixture_malloc(pool, SP_SMALL_MAX, stream);
    assert_true(other != one && other != two);
    fill_slabs();
    fixture_synchronize(first);
    other = fixture_malloc(pool, SP_SMALL_MAX, stream);
    assert_true(other == one || other == two);
}

static void an_empty_slab_is_given_up_when_its_class_has_another(void **state) {
    (void)state;
    enum { BLOCKS = 16 };
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = fixture_malloc(pool, SP_SMALL_MAX, stream);
    const struct sp_lane *lane = fixture_lane(pool, stream);
    for (int i = 0; i < BLOCKS; i++) {
        fixture_free(blocks[i], stream);
        fixture_check(pool);
    }
    assert_ptr_equal(lane->owned_slabs.next, lane->owned_slabs.prev);
    assert_false(sp_list_empty(&lane->owned_slabs));
}

// What another thread does between this one's look at the stream's number and its lock.
static void record_work_and_free_the_sibling(void) {
    assert_done(sp_mark_record(fixture_stream(stream)));
    simulated_work(stream);
    fixture_free(sibling, stream);
}

static void a_late_free_with_an_older_number_does_not_hide_a_newer_one(void **state) {
    (void)state;
    const size_t sizes[] = {100, SP_SMALL_MAX, MIB(1)};
    for (int i = 0; i < 3; i++) {
        void *pointer = fixture_malloc(pool, sizes[i], stream);
        sibling = fixture_malloc(pool, sizes[i], stream);
        fixture_at_next_lock(record_work_and_free_the_sibling);
        fixture_free(pointer, stream);
        sp_lock_set_hook(NULL);
        // The record, not the work.
        assert_done(sp_poll_stream(fixture_stream(stream)));
        uint64_t reserved = fixture_reserved(pool);
        fixture_trim(pool, 0);
        assert_int_equal(fixture_reserved(pool), reserved);
        fixture_synchronize(stream);
        fixture_trim(pool, 0);
        assert_int_equal(fixture_reserved(pool), 0);
    }
}

static void a_free_that_its_driver_refuses_leaves_the_memory_live(void **state) {
    (void)state;
    void *pointer = fixture_malloc(pool, MIB(1), stream);
    simcudaFailCall("cuStreamGetId", 1, simcudaFaultOnce, CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(poolFreeAsync(pointer, stream), poolErrorInvalidResourceHandle);
    assert_int_equal(fixture_used(pool), MIB(1));
    fixture_free(pointer, stream);
}

// For every nth allocation of host memory: freed or still live, and never half.
static void a_free_survives_every_lack_of_host_memory(void **state) {
    (void)state;
    enum { STREAMS = 5 };
    const size_t sizes[] = {100, MIB(1)};
    for (int i = 0; i < 2; i++) {
        uint64_t failed = 1;
        for (uint64_t nth = 1; failed > 0; nth++) {
            CUstream streams[STREAMS];
            void *pointers[STREAMS];
            failed = 0;
            for (int j = 0; j < STREAMS; j++) {
                streams[j] = simulated_stream();
                pointers[j] = fixture_malloc(pool, sizes[i], stream);
                simulated_work(streams[j]);
                fixture_stream(streams[j]);
            }
            uint64_t used = fixture_used(pool);
            host_memory_enter(nth, false);
            poolError_t errors[STREAMS];
            for (int j = 0; j < STREAMS; j++)
                errors[j] = poolFreeAsync(pointers[j], streams[j]);
            host_memory_leave(&failed);
            for (int j = 0; j < STREAMS; j++)
                used -= errors[j] == poolSuccess ? sizes[i] : 0;
            assert_int_equal(fixture_used(pool), used);
            fixture_check(pool);
            for (int j = 0; j < STREAMS; j++) {
                if (errors[j] != poolSuccess)
                    fixture_free(pointers[j], streams[j]);
            }
            assert_int_equal(poolDeviceSynchronize(), poolSuccess);
        }
    }
}

static const struct sp_lane *lane_of(const void *pointer) {
    return sp_owner_lane(sp_owner_of((uintptr_t)pointer));
}

static void the_lane_of_an_address_is_known_while_it_is_live(void **state) {
    (void)state;
    void *large = fixture_malloc(pool, MIB(1), stream);
    void *small = fixture_malloc(pool, 1, stream);
    assert_ptr_equal(lane_of(large)->pool, fixture_inside(pool));
    assert_ptr_equal(lane_of(small)->pool, fixture_inside(pool));
    assert_null(lane_of(&large));
    fixture_free(large, stream);
    assert_null(lane_of(large));
}

// Nothing else is ever called there, so nobody else can ask.
static void a_free_in_another_context_asks_what_is_complete_there(void **state) {
    (void)state;
    CUcontext other = NULL;
    poolMemPool_t small = fixture_pool_of_at_most(MIB(64));
    assert_int_equal(sp_driver->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
    CUstream there = simulated_stream();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
        void *block = fixture_malloc(small, MIB(20), stream);
        assert_int_equal(sp_driver->cuCtxSetCurrent(other), CUDA_SUCCESS);
        simulated_work(there);
        fixture_free(block, there);
        simulated_finish(there);
    }
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

// ---------------------------------------------------------- events behind frees, and their count

static poolError_t free_slowly(void *pointer, CUstream on) {
    return sp_free_other(pointer, sp_owner_of((uint64_t)(uintptr_t)pointer), fixture_stream(on));
}

// What a free changes but for its block, from where the stream began.
struct trace {
    uint64_t used, records, recorded_calls, window, counted_under, freed, sequence, recorded;
};

static struct trace trace_of(poolMemPool_t of, CUstream on) {
    const struct sp_lane *lane = fixture_lane(of, on);
    const struct sp_stream *known = fixture_stream(on);
    return (struct trace){
        .used = fixture_used(of),
        .records = fixture_attribute(of, poolMemPoolStatEventsRecorded),
        .recorded_calls = simcudaCallCount("cuEventRecord"),
        .window = lane->window_size,
        .counted_under = atomic_load(&lane->unfenced_sequence) - known->first,
        .freed = atomic_load(&known->freed) - known->first,
        .sequence = atomic_load(&known->sequence) - known->first,
        .recorded = atomic_load(&known->recorded) - known->first,
    };
}

enum { FREES = 6 };

// A stream of its own and a pool of its own; the numbers are closed by records and, once, by a
// query.
static void trace_frees(poolError_t (*free_one)(void *pointer, CUstream on), size_t size,
                        uint64_t most, struct trace traces[FREES]) {
    void *blocks[FREES];
    poolMemPool_t of = fixture_pool();
    CUstream on = simulated_stream();
    uint64_t before = simcudaCallCount("cuEventRecord");
    for (int i = 0; i < FREES; i++)
        blocks[i] = fixture_malloc(of, size, on);
    for (int i = 0; i < FREES; i++) // each has been freed on its stream once
        fixture_free(blocks[i], on);
    for (int i = 0; i < FREES; i++)
        blocks[i] = fixture_malloc(of, size, on);
    fixture_set(of, poolMemPoolAttrUnfencedBytesMax, most);
    simulated_work(on);
    for (int i = 0; i < FREES; i++) {
        if (i == FREES / 2)
            assert_int_equal(poolStreamQuery(on), poolErrorNotReady);
        assert_int_equal(free_one(blocks[i], on), poolSuccess);
        traces[i] = trace_of(of, on);
        traces[i].recorded_calls -= before;
        fixture_check(of);
    }
    simulated_finish(on);
    fixture_synchronize(on); // what it holds is no other pool's
    assert_int_equal(poolMemPoolDestroy(of), poolSuccess);
}

static void a_free_does_the_same_whoever_looks_up_its_lane(void **state) {
    (void)state;
    const size_t sizes[] = {100, SP_SMALL_MAX, MIB(1)};
    for (int i = 0; i < 3; i++) {
        const uint64_t most[] = {0, sizes[i] * 5 / 2, GIB(1)};
        for (int j = 0; j < 3; j++) {
            struct trace near[FREES], slow[FREES];
            trace_frees(poolFreeAsync, sizes[i], most[j], near);
            trace_frees(free_slowly, sizes[i], most[j], slow);
            assert_memory_equal(near, slow, sizeof near);
            assert_int_equal(near[FREES - 1].records, near[FREES - 1].recorded_calls);
        }
    }
}

static void each_free_above_the_cap_is_counted_and_the_count_can_begin_anew(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    for (uint64_t i = 1; i <= 3; i++) {
        fixture_free(fixture_malloc(pool, MIB(1), stream), stream);
        assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), i);
    }
    fixture_set(pool, poolMemPoolStatEventsRecorded, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), 0);
    fixture_free(fixture_malloc(pool, 100, stream), stream);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), 1);
}

static void a_free_whose_record_fails_is_done_and_no_event_is_counted(void **state) {
    (void)state;
    const size_t sizes[] = {100, MIB(1)};
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    for (int i = 0; i < 2; i++) {
        void *pointer = fixture_malloc(pool, sizes[i], stream);
        fixture_free(pointer, stream);
        assert_ptr_equal(fixture_malloc(pool, sizes[i], stream), pointer);
        uint64_t before = fixture_attribute(pool, poolMemPoolStatEventsRecorded);
        simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
        fixture_free(pointer, stream);
        assert_int_equal(simcudaFailCount(), 1 + i);
        assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), before);
        assert_int_equal(poolFreeAsync(pointer, stream), poolErrorInvalidValue);
        assert_int_equal(fixture_used(pool), 0);
        assert_ptr_equal(fixture_malloc(pool, sizes[i], stream), pointer);
        fixture_free(pointer, stream);
        assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), before + 1);
    }
}

static size_t another_size_of_the_bin(size_t size) {
    size_t other = size + SP_ALIGNMENT;
    while (sp_quick_index(other) != sp_quick_index(size))
        other += SP_ALIGNMENT;
    return other;
}

static void frees_that_record_and_leave_more_to_do_do_that(void **state) {
    (void)state;
    const size_t size = MIB(1), other = another_size_of_the_bin(MIB(1));
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    void *blocks[2] = {fixture_malloc(pool, size, stream), fixture_malloc(pool, other, stream)};
    fixture_free(blocks[0], stream);
    fixture_free(blocks[1], stream); // the first one has to go
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), 2);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
    void *small[16];
    for (int i = 0; i < 16; i++)
        small[i] = fixture_malloc(pool, SP_SMALL_MAX, stream);
    for (int i = 0; i < 16; i++)
        fixture_free(small[i], stream);
    const struct sp_lane *lane = fixture_lane(pool, stream);
    assert_ptr_equal(lane->owned_slabs.next, lane->owned_slabs.prev); // one slab is left of two
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), 18);
    fixture_check(pool);
}

// A server makes a stream for each request, keeps a result for a hundred requests, and frees it on
// another stream. Nobody tells the library that a stream is gone.
static void streams_that_leave_a_live_block_behind_hold_back_little(void **state) {
    (void)state;
    enum { KEPT = 100, REQUESTS = 6000 };
    void *kept[KEPT] = {NULL};
    for (int i = 0; i < REQUESTS; i++) {
        CUstream one = simulated_stream();
        void *scratch = fixture_malloc(pool, 512, one);
        void *result = fixture_malloc(pool, 512, one);
        fixture_free(scratch, one);
        assert_int_equal(sp_driver->cuCtxSynchronize(), CUDA_SUCCESS);
        fixture_free(kept[i % KEPT], one);
        kept[i % KEPT] = result;
        assert_int_equal(sp_driver->cuStreamDestroy(one), CUDA_SUCCESS);
    }
    assert_true(fixture_reserved(pool) <= MIB(32));
    fixture_check(pool);
}

// -------------------------------------------------------- what another thread does in the middle

static struct {
    int locks; // until it happens
    bool happened;
    void (*what)(void);
    CUstream other;
    void *freed, *taken;
} middle;

// Within a lane's section nothing can be called. Who is inside one is noted in debug builds alone.
#ifdef NDEBUG
static bool is_inside_lane(void) {
    return true;
}

static void need_debug_build(void) {
    skip();
}
#else
static bool is_inside_lane(void) {
    return sp_biased_held != NULL;
}

static void need_debug_build(void) {
}
#endif

static void in_the_middle(int contended) {
    if (contended || is_inside_lane() || middle.locks-- > 0)
        return;
    sp_lock_set_hook(NULL);
    middle.happened = true;
    middle.what();
}

// False when there are not so many locks to be taken.
static bool free_with(void *pointer, int locks, void (*what)(void)) {
    middle.locks = locks;
    middle.happened = false;
    middle.what = what;
    sp_lock_set_hook(in_the_middle);
    fixture_free(pointer, stream);
    sp_lock_set_hook(NULL);
    return middle.happened;
}

static void begin_count_anew(void) {
    simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    fixture_set(pool, poolMemPoolStatEventsRecorded, 0);
}

static void the_count_of_records_is_never_negative(void **state) {
    (void)state;
    need_debug_build();
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    fixture_free(fixture_malloc(pool, MIB(1), stream), stream);
    for (int locks = 0;; locks++) {
        void *pointer = fixture_malloc(pool, MIB(1), stream);
        bool happened = free_with(pointer, locks, begin_count_anew);
        uint64_t count = fixture_attribute(pool, poolMemPoolStatEventsRecorded);
        assert_in_range(count, 0, 100);
        if (!happened)
            break;
    }
}

static void take_elsewhere(void) {
    sp_collect_all(fixture_inside(pool));
    middle.taken = fixture_malloc(pool, MIB(1), middle.other);
}

static void query(void) {
    assert_int_equal(poolStreamQuery(stream), poolErrorNotReady);
    take_elsewhere();
}

static void record_and_take(void) {
    assert_done(sp_mark_record(fixture_stream(stream)));
    take_elsewhere();
}

static void nobody_gets_what_is_freed_while_its_work_is_pending(void **state) {
    (void)state;
    need_debug_build();
    void (*const actions[])(void) = {take_elsewhere, query, record_and_take};
    const uint64_t most[] = {0, GIB(1)};
    middle.other = simulated_stream();
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    for (int i = 0; i < 6; i++) {
        bool happened = true;
        fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, most[i / 3]);
        for (int locks = 0; happened; locks++) {
            void *pointer = fixture_malloc(pool, MIB(1), stream);
            sp_mark_record(fixture_stream(stream)); // the free begins a number
            simulated_work(stream);
            happened = free_with(pointer, locks, actions[i % 3]);
            if (happened) {
                assert_ptr_not_equal(middle.taken, pointer);
                fixture_free(middle.taken, middle.other);
            }
            void *later = fixture_malloc(pool, MIB(1), middle.other);
            assert_ptr_not_equal(later, pointer);
            fixture_free(later, middle.other);
            fixture_check(pool);
            assert_int_equal(fixture_used(pool), 0);
            simulated_finish(stream);
            assert_int_equal(poolDeviceSynchronize(), poolSuccess);
            assert_int_equal(sp_progress_completed(fixture_stream(stream)) >=
                                 atomic_load(&fixture_stream(stream)->freed),
                             1);
            fixture_trim(pool, 0);
            assert_int_equal(fixture_reserved(pool), 0);
        }
    }
}

static void give_pool_up(void) {
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
}

static void a_pool_given_up_in_the_middle_goes(void **state) {
    (void)state;
    need_debug_build();
    const size_t sizes[] = {100, MIB(1)};
    const uint64_t most[] = {0, GIB(1)};
    for (int i = 0; i < 4; i++) {
        bool happened = true;
        for (int locks = 0; happened; locks++) {
            fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, most[i / 2]);
            void *pointer = fixture_malloc(pool, sizes[i % 2], stream);
            fixture_free(pointer, stream);
            pointer = fixture_malloc(pool, sizes[i % 2], stream);
            sp_mark_record(fixture_stream(stream));
            assert_int_equal(poolStreamSynchronize(stream), poolSuccess);
            struct sp_device *device = fixture_inside(pool)->device;
            happened = free_with(pointer, locks, give_pool_up);
            if (happened) {
                assert_int_equal(poolStreamSynchronize(stream), poolSuccess);
                sp_given_up_reap(device);
                assert_int_equal(atomic_load(&device->given_up), 0);
                pool = fixture_pool();
            }
        }
    }
}

#define free_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        free_test(a_free_survives_every_lack_of_host_memory),
        free_test(used_falls_at_the_call_though_the_work_is_pending),
        free_test(a_double_free_is_found_at_every_stage_of_the_memory),
        free_test(the_detail_of_a_free_that_is_none_says_what_lies_there),
        free_test(a_block_that_is_being_handed_out_is_not_live),
        free_test(an_interior_pointer_is_not_live),
        free_test(memory_of_others_is_not_live),
        free_test(a_null_pointer_is_freed_with_success),
        free_test(small_memory_freed_on_another_stream_comes_back_when_that_is_complete),
        free_test(a_deterministic_pool_takes_returned_small_memory_by_synchronises_alone),
        free_test(an_empty_slab_is_given_up_when_its_class_has_another),
        free_test(a_late_free_with_an_older_number_does_not_hide_a_newer_one),
        free_test(a_free_that_its_driver_refuses_leaves_the_memory_live),
        free_test(the_lane_of_an_address_is_known_while_it_is_live),
        free_test(a_free_in_another_context_asks_what_is_complete_there),
        free_test(a_free_does_the_same_whoever_looks_up_its_lane),
        free_test(each_free_above_the_cap_is_counted_and_the_count_can_begin_anew),
        free_test(a_free_whose_record_fails_is_done_and_no_event_is_counted),
        free_test(frees_that_record_and_leave_more_to_do_do_that),
        free_test(streams_that_leave_a_live_block_behind_hold_back_little),
        free_test(nobody_gets_what_is_freed_while_its_work_is_pending),
        free_test(a_pool_given_up_in_the_middle_goes),
        free_test(the_count_of_records_is_never_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
