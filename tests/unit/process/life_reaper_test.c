#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "inside/worker.h"
#include "region/collect.h"
#include "region/lane.h"
#include "region/stitch.h"
#include "supply/defer.h"
#include "unit/fixture/pool.h"
#include "unit/stepping.h"

// All that the device gives a pool, in pieces of a quarter.
#define POOL  MIB(64)
#define PIECE (POOL / 4)

static poolMemPool_t pool;
static struct sp_pool *inside;
static CUstream a;

static int setup_with(const char *settings) {
    if (fixture_begin(settings) != 0)
        return -1;
    pool = fixture_pool_of_at_most(POOL);
    inside = fixture_inside(pool);
    a = simulated_stream();
    return 0;
}

static int setup(void **state) {
    (void)state;
    return setup_with(NULL);
}

static int setup_scheduled(void **state) {
    (void)state;
    return setup_with("mode=scheduled");
}

static int teardown(void **state) {
    inside_worker_stop(); // it may be at a pool that a test gave up
    return fixture_teardown(state);
}

static void sleep_for(long milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

// ----------------------------------------------------------------------------------------- zombies

static void drop_kept_views(void) {
    sp_collect_all(inside);
    sp_lock_acquire(&inside->lock);
    sp_stitch_limit_kept(inside, 0, 0);
    sp_lock_release(&inside->lock);
}

// A view of memory in pieces that isn't kept any longer, and work through it that is pending.
static void make_zombie(void) {
    void *pieces[4];
    for (int i = 0; i < 4; i++)
        pieces[i] = fixture_malloc(pool, PIECE, a);
    fixture_free(pieces[0], a);
    fixture_free(pieces[2], a);
    void *joined = fixture_malloc(pool, 2 * PIECE, a);
    simulated_work(a);
    fixture_free(joined, a);
    drop_kept_views();
    assert_int_equal(inside->kept.zombie_count, 1);
    fixture_free(pieces[1], a);
    fixture_free(pieces[3], a);
    sp_defer_bury(inside);
}

static void assert_buried_by_reaper(void) {
    inside_worker_rest();
    assert_int_equal(inside->kept.zombie_count, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatZombiesBuried), 1);
    assert_true(fixture_attribute(pool, poolMemPoolStatReaperTime) > 0);
}

static void assert_buried_here(void) {
    assert_int_equal(inside->kept.zombie_count, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatZombiesBuried), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReaperTime), 0);
}

static void a_zombie_is_buried_once_a_synchronise_has_shown_its_work_complete(void **state) {
    (void)state;
    make_zombie();
    inside_worker_rest();
    assert_int_equal(inside->kept.zombie_count, 1);
    fixture_synchronize(a);
    assert_buried_by_reaper();
}

// Its extents go, and nothing that is mapped is left of it, but the address space.
static void a_view_that_a_trim_takes_the_memory_from_is_buried(void **state) {
    (void)state;
    void *pieces[4];
    for (int i = 0; i < 4; i++)
        pieces[i] = fixture_malloc(pool, PIECE, a);
    fixture_free(pieces[0], a);
    fixture_free(pieces[2], a);
    fixture_free(fixture_malloc(pool, 2 * PIECE, a), a);
    fixture_synchronize(a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViews), 1);
    uint64_t space = fixture_attribute(pool, poolMemPoolStatAddressSpace);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), 2 * PIECE);
    inside_worker_rest();
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViews), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatZombies), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatAddressSpace), space - 2 * PIECE);
    fixture_free(pieces[1], a);
    fixture_free(pieces[3], a);
}

static void whoever_learns_of_it_wakes_the_reaper(void **state) {
    (void)state;
    make_zombie();
    inside_worker_rest();
    simulated_finish(a);
    sleep_for(5);
    assert_int_equal(inside->kept.zombie_count, 1); // nobody has asked
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    assert_buried_by_reaper();
}

static void a_zombie_of_a_context_that_is_gone_needs_nobody_to_learn_of_it(void **state) {
    (void)state;
    CUcontext other = NULL;
    assert_int_equal(sp_driver->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
    a = simulated_stream();
    make_zombie();
    assert_int_equal(sp_driver->cuCtxDestroy(other), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    sp_defer_call(inside);
    assert_buried_by_reaper();
}

static void switched_off_a_synchronise_buries(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrReaper, 0);
    make_zombie();
    assert_int_equal(inside->kept.zombie_count, 1);
    fixture_synchronize(a);
    assert_buried_here();
}

static void a_deterministic_pool_buries_at_a_synchronise(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    make_zombie();
    fixture_synchronize(a);
    assert_buried_here();
}

static void where_the_driver_schedules_the_threads_a_synchronise_buries(void **state) {
    (void)state;
    make_zombie();
    fixture_synchronize(a);
    assert_buried_here();
}

static void switched_off_a_trim_buries(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrReaper, 0);
    make_zombie();
    fixture_trim(pool, POOL);
    assert_int_equal(inside->kept.zombie_count, 1);
    simulated_finish(a);
    fixture_trim(pool, POOL);
    assert_buried_here();
}

static void switched_off_an_allocation_buries_before_it_fails(void **state) {
    (void)state;
    void *pointer;
    fixture_set_flag(pool, poolMemPoolAttrReaper, 0);
    make_zombie();
    simulated_finish(a);
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    void *held = fixture_malloc(pool, PIECE, a);
    assert_int_equal(inside->kept.zombie_count, 1);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, POOL, pool, a, poolMallocFixed),
                     poolErrorMemoryAllocation);
    fixture_free(held, a);
    assert_buried_here();
}

static void what_is_left_when_it_is_switched_on_is_the_reapers(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrReaper, 0);
    make_zombie();
    fixture_set_flag(pool, poolMemPoolAttrReaper, 1);
    fixture_synchronize(a);
    assert_buried_by_reaper();
}

static void the_pools_end_buries_the_rest(void **state) {
    (void)state;
    make_zombie();
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    fixture_synchronize(a);
    simcudaLive live;
    simcudaGetLive(&live);
    assert_int_equal(live.mappings, 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void an_ended_reaper_is_started_again(void **state) {
    (void)state;
    make_zombie();
    inside_worker_stop();
    fixture_synchronize(a);
    assert_int_equal(inside->kept.zombie_count, 1);
    assert_true(sp_defer_call(inside));
    assert_buried_by_reaper();
}

// ------------------------------------------------------------------------------------------- trims

static void leave_trims_to_reaper(uint64_t threshold) {
    fixture_set_flag(pool, poolMemPoolAttrTrimByReaper, 1);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, threshold);
}

// The whole pool free and complete, in extents of several sizes.
static void free_all(void) {
    void *pieces[4];
    for (int i = 0; i < 4; i++)
        pieces[i] = fixture_malloc(pool, PIECE, a);
    for (int i = 0; i < 4; i++)
        fixture_free(pieces[i], a);
}

static void a_trim_that_is_left_to_the_reaper_ends_at_the_threshold(void **state) {
    (void)state;
    static const size_t thresholds[] = {MIB(10), MIB(36), MIB(62), 0};
    for (int i = 0; i < 4; i++) {
        leave_trims_to_reaper(thresholds[i]);
        free_all();
        fixture_set(pool, poolMemPoolStatBytesReleasedByReaper, 0);
        fixture_synchronize(a);
        for (int looks = 0; looks < 10000000 && fixture_reserved(pool) > thresholds[i]; looks++)
            assert_in_range(fixture_reserved(pool), thresholds[i], POOL);
        inside_worker_rest();
        assert_int_equal(fixture_reserved(pool), thresholds[i]);
        assert_int_equal(fixture_attribute(pool, poolMemPoolStatBytesReleasedByReaper),
                         POOL - thresholds[i]);
        fixture_check(pool);
    }
}

static pthread_t here;
static _Atomic bool kept_off;

static void wait_elsewhere(int contended) {
    (void)contended;
    while (!pthread_equal(pthread_self(), here) && kept_off)
        sched_yield();
}

// The reaper gets no further than to its next lock.
static void keep_reaper_off(void) {
    here = pthread_self();
    kept_off = true;
    sp_lock_set_hook(wait_elsewhere);
}

static void let_reaper_in(void) {
    sp_lock_set_hook(NULL);
    kept_off = false;
    inside_worker_rest();
}

static void memory_that_waits_for_the_reaper_is_reserved_and_can_be_had_again(void **state) {
    (void)state;
    leave_trims_to_reaper(0);
    free_all();
    keep_reaper_off();
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), POOL);
    uint64_t calls = simcudaCallCount("cuMemCreate");
    void *most = fixture_malloc(pool, 3 * PIECE, a);
    assert_int_equal(simcudaCallCount("cuMemCreate"), calls);
    let_reaper_in();
    assert_int_equal(fixture_reserved(pool), 3 * PIECE);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatBytesReleasedByReaper), PIECE);
    fixture_check(pool);
    fixture_free(most, a);
}

// At each instruction of a synchronise, for the reaper may come at any.
static bool due_too_early;

static bool look_at_trim(void) {
    due_too_early =
        atomic_load(&inside->deferred.trim_due) && !atomic_load(&inside->deferred.synchronized);
    return !due_too_early;
}

static void take_trim(void) {
    sp_defer_trim(inside);
}

static void a_trim_is_due_only_once_the_reaper_can_see_why(void **state) {
    (void)state;
    require_stepping();
    leave_trims_to_reaper(0);
    free_all();
    assert_true(sp_defer_call(inside)); // so that its thread is there
    inside_worker_rest();
    keep_reaper_off();
    due_too_early = false;
    step_through(take_trim, look_at_trim);
    bool due = atomic_load(&inside->deferred.trim_due);
    let_reaper_in();
    assert_true(due);
    assert_false(due_too_early);
}

// Nor does it wait for anybody who maps.
static void a_synchronise_that_leaves_its_trim_leaves_the_lanes_alone(void **state) {
    (void)state;
    leave_trims_to_reaper(0);
    free_all();
    keep_reaper_off();
    const struct sp_lane *lane = fixture_lane(pool, a);
    uint32_t at_hand = lane->quick_used;
    assert_int_not_equal(at_hand, 0);
    sp_pool_begin_mapping(inside);
    fixture_synchronize(a);
    fixture_synchronize(a);
    assert_int_equal(lane->quick_used, at_hand);
    sp_pool_end_mapping(inside);
    let_reaper_in();
    assert_int_equal(lane->quick_used, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void each_synchronise_has_its_trim_however_often_the_reaper_was_called(void **state) {
    (void)state;
    leave_trims_to_reaper(0);
    for (int i = 0; i < 20; i++) {
        free_all();
        fixture_synchronize(a);
        if (i % 2 == 0)
            fixture_synchronize(a);
        inside_worker_rest();
        assert_int_equal(fixture_reserved(pool), 0);
    }
}

static void memory_that_is_pending_is_not_released(void **state) {
    (void)state;
    CUstream b = simulated_stream();
    leave_trims_to_reaper(0);
    free_all();
    void *of_b = fixture_malloc(pool, PIECE, b);
    simulated_work(b);
    fixture_free(of_b, b);
    fixture_synchronize(a);
    inside_worker_rest();
    assert_int_equal(fixture_reserved(pool), PIECE);
    fixture_synchronize(b);
    inside_worker_rest();
    assert_int_equal(fixture_reserved(pool), 0);
}

static void assert_trimmed_here(void) {
    free_all();
    fixture_synchronize(a);
    assert_int_equal(fixture_reserved(pool), MIB(10));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatBytesReleasedByReaper), 0);
}

static void without_a_reaper_a_synchronise_trims_by_itself(void **state) {
    (void)state;
    leave_trims_to_reaper(MIB(10));
    fixture_set_flag(pool, poolMemPoolAttrReaper, 0);
    assert_trimmed_here();
    fixture_set_flag(pool, poolMemPoolAttrReaper, 1);
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    assert_trimmed_here();
}

static void where_the_driver_schedules_the_threads_a_synchronise_trims(void **state) {
    (void)state;
    leave_trims_to_reaper(MIB(10));
    assert_trimmed_here();
}

static void a_trim_that_is_asked_for_is_done_when_it_returns(void **state) {
    (void)state;
    leave_trims_to_reaper(MIB(30));
    free_all();
    keep_reaper_off();
    fixture_synchronize(a);
    fixture_trim(pool, MIB(2));
    assert_int_equal(fixture_reserved(pool), MIB(2));
    let_reaper_in();
    assert_int_equal(fixture_reserved(pool), MIB(2));
}

static void a_trim_that_waits_ends_with_its_pool(void **state) {
    (void)state;
    leave_trims_to_reaper(0);
    free_all();
    keep_reaper_off();
    fixture_synchronize(a);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(simcudaMemoryInUse(0), 0);
    let_reaper_in();
}

// A thread that maps without end has to wait for a view or an extent now and then.
static pthread_t hasty;

static void dawdle_elsewhere(int contended) {
    if (!contended && !pthread_equal(pthread_self(), hasty))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

// Whoever gives a pool up may count on its memory, wherever the reaper stands just then.
static void a_pool_that_is_destroyed_under_the_reaper_is_gone_when_that_returns(void **state) {
    (void)state;
    hasty = pthread_self();
    sp_lock_set_hook(dawdle_elsewhere);
    for (int round = 0; round < 20; round++) {
        poolMemPool_t short_lived = fixture_pool();
        void *blocks[8];
        fixture_set_flag(short_lived, poolMemPoolAttrTrimByReaper, 1);
        fixture_set(short_lived, poolMemPoolAttrReleaseThreshold, 0);
        for (int i = 0; i < 8; i++)
            blocks[i] = fixture_malloc(short_lived, MIB(32), a);
        for (int i = 0; i < 8; i++)
            fixture_free(blocks[i], a);
        fixture_synchronize(a);
        nanosleep(&(struct timespec){.tv_nsec = round * 100000L}, NULL);
        assert_int_equal(poolMemPoolDestroy(short_lived), poolSuccess);
        assert_int_equal(simcudaMemoryInUse(0), 0);
    }
    sp_lock_set_hook(NULL);
}

static void others_that_map_do_not_keep_the_reaper_off_for_ever(void **state) {
    (void)state;
    leave_trims_to_reaper(0);
    free_all();
    atomic_fetch_add(&inside->mappers, 1);
    fixture_synchronize(a);
    inside_worker_rest();
    atomic_fetch_sub(&inside->mappers, 1);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void a_device_that_is_full_does_not_wait_for_the_reaper(void **state) {
    (void)state;
    leave_trims_to_reaper(0);
    free_all();
    keep_reaper_off();
    fixture_synchronize(a);
    poolMemPool_t wide = fixture_pool();
    fixture_malloc(wide, inside->device->vmm.total_memory, a);
    assert_int_equal(fixture_reserved(pool), 0);
    let_reaper_in();
}

// --------------------------------------------------------------------------- a driver that refuses

// The pauses are some milliseconds at first.
static void assert_tried_seldom(const char *call) {
    uint64_t calls = simcudaCallCount(call);
    sleep_for(40);
    assert_in_range(simcudaCallCount(call) - calls, 0, 45);
}

static void what_the_driver_does_not_release_stays_and_goes_later(void **state) {
    (void)state;
    leave_trims_to_reaper(0);
    free_all();
    simcudaFailCall("cuMemUnmap", 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN);
    fixture_synchronize(a);
    inside_worker_rest();
    assert_int_equal(fixture_reserved(pool), POOL);
    assert_tried_seldom("cuMemUnmap");
    fixture_check(pool);
    void *again = fixture_malloc(pool, POOL, a);
    fixture_free(again, a);
    simcudaFailClear();
    fixture_synchronize(a);
    for (int i = 0; i < 5000 && fixture_reserved(pool) > 0; i++)
        sleep_for(1);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void a_zombie_that_the_driver_does_not_unmap_is_tried_again(void **state) {
    (void)state;
    make_zombie();
    simcudaFailCall("cuMemUnmap", 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN);
    fixture_synchronize(a);
    inside_worker_rest();
    assert_int_equal(inside->kept.zombie_count, 1);
    assert_tried_seldom("cuMemUnmap");
    fixture_check(pool);
    simcudaFailClear();
    for (int i = 0; i < 5000 && atomic_load(&inside->kept.zombie_count) > 0; i++)
        sleep_for(1);
    assert_buried_by_reaper();
}

// The next synchronise has the whole pool released.
static void delay_to_the_end(void) {
    leave_trims_to_reaper(0);
    fixture_set(pool, poolMemPoolAttrReleaseDelay, 10);
    free_all();
    for (int i = 0; i < 10; i++)
        fixture_synchronize(a);
    inside_worker_rest();
    assert_int_equal(fixture_reserved(pool), POOL);
}

// The delay is of synchronises, and all of these may come before the reaper does.
static void each_synchronise_of_a_burst_counts_for_the_release_delay(void **state) {
    (void)state;
    delay_to_the_end();
    for (int i = 0; i < 30; i++)
        fixture_synchronize(a);
    inside_worker_rest();
    assert_int_equal(fixture_reserved(pool), 0);
}

static uint64_t unmaps;

static void wait_after_an_unmap(int contended) {
    (void)contended;
    while (!pthread_equal(pthread_self(), here) && kept_off &&
           simcudaCallCount("cuMemUnmap") > unmaps)
        sched_yield();
}

// A synchronise that counted it would hold as much for ten synchronises more.
static void memory_that_the_reaper_is_giving_back_is_not_in_use(void **state) {
    (void)state;
    delay_to_the_end();
    here = pthread_self();
    kept_off = true;
    unmaps = simcudaCallCount("cuMemUnmap");
    sp_lock_set_hook(wait_after_an_unmap);
    for (int i = 0; i < 5000 && simcudaCallCount("cuMemUnmap") == unmaps; i++) {
        fixture_synchronize(a);
        sleep_for(1);
    }
    assert_int_equal(fixture_reserved(pool), POOL);
    fixture_synchronize(a);
    fixture_synchronize(a);
    let_reaper_in();
    assert_int_equal(fixture_reserved(pool), 0);
}

#define reaper_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
#define scheduled_test(function)                                                                   \
    cmocka_unit_test_setup_teardown(function, setup_scheduled, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        reaper_test(each_synchronise_of_a_burst_counts_for_the_release_delay),
        reaper_test(memory_that_the_reaper_is_giving_back_is_not_in_use),
        reaper_test(a_zombie_is_buried_once_a_synchronise_has_shown_its_work_complete),
        reaper_test(a_view_that_a_trim_takes_the_memory_from_is_buried),
        reaper_test(whoever_learns_of_it_wakes_the_reaper),
        reaper_test(a_zombie_of_a_context_that_is_gone_needs_nobody_to_learn_of_it),
        reaper_test(switched_off_a_synchronise_buries),
        reaper_test(a_deterministic_pool_buries_at_a_synchronise),
        scheduled_test(where_the_driver_schedules_the_threads_a_synchronise_buries),
        reaper_test(switched_off_a_trim_buries),
        reaper_test(switched_off_an_allocation_buries_before_it_fails),
        reaper_test(what_is_left_when_it_is_switched_on_is_the_reapers),
        reaper_test(the_pools_end_buries_the_rest),
        reaper_test(an_ended_reaper_is_started_again),
        reaper_test(a_trim_that_is_left_to_the_reaper_ends_at_the_threshold),
        reaper_test(memory_that_waits_for_the_reaper_is_reserved_and_can_be_had_again),
        reaper_test(a_trim_is_due_only_once_the_reaper_can_see_why),
        reaper_test(a_synchronise_that_leaves_its_trim_leaves_the_lanes_alone),
        reaper_test(each_synchronise_has_its_trim_however_often_the_reaper_was_called),
        reaper_test(memory_that_is_pending_is_not_released),
        reaper_test(without_a_reaper_a_synchronise_trims_by_itself),
        scheduled_test(where_the_driver_schedules_the_threads_a_synchronise_trims),
        reaper_test(a_trim_that_is_asked_for_is_done_when_it_returns),
        reaper_test(a_trim_that_waits_ends_with_its_pool),
        reaper_test(a_pool_that_is_destroyed_under_the_reaper_is_gone_when_that_returns),
        reaper_test(others_that_map_do_not_keep_the_reaper_off_for_ever),
        reaper_test(a_device_that_is_full_does_not_wait_for_the_reaper),
        reaper_test(what_the_driver_does_not_release_stays_and_goes_later),
        reaper_test(a_zombie_that_the_driver_does_not_unmap_is_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
