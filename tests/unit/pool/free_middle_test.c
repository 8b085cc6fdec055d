// What another thread does in the middle of a free.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/mark.h"
#include "process/given_up.h"
#include "region/collect.h"
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
        free_test(nobody_gets_what_is_freed_while_its_work_is_pending),
        free_test(a_pool_given_up_in_the_middle_goes),
        free_test(the_count_of_records_is_never_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
