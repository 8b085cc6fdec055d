// The events that are recorded behind frees, and what is counted towards the next one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calls/free.h"
#include "order/mark.h"
#include "region/lane.h"
#include "region/owner.h"
#include "region/quick.h"
#include "unit/outcomes.h"
#include "unit/pool/fixture.h"

static poolMemPool_t pool;
static CUstream stream;

static int setup(void **state) {
    (void)state;
    if (fixture_begin(NULL) != 0)
        return -1;
    pool = fixture_pool();
    stream = simulated_stream();
    return 0;
}

// --------------------------------------------------------------------------- calls and counts

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

#define free_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        free_test(a_free_does_the_same_whoever_looks_up_its_lane),
        free_test(each_free_above_the_cap_is_counted_and_the_count_can_begin_anew),
        free_test(a_free_whose_record_fails_is_done_and_no_event_is_counted),
        free_test(frees_that_record_and_leave_more_to_do_do_that),
        free_test(streams_that_leave_a_live_block_behind_hold_back_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
