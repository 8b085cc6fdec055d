#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "order/resolve.h"
#include "region/lane.h"
#include "unit/fixture/pool.h"
#include "unit/stepping.h"

// Lanes of streams that the program promises never to capture and to destroy through the library:
// their frees record nothing, and whoever needs the memory finds out.

enum { OPEN = poolPromiseStreamDestroy | poolPromiseNeverCapture };

static const size_t BIG = MIB(64); // more than any lane may hold back

static poolMemPool_t pool;
static CUstream a, b;

static int setup(void **state) {
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool_of_at_most(BIG);
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, OPEN);
    a = simulated_stream();
    b = simulated_stream();
    return 0;
}

static uint64_t recorded(void) {
    return simcudaCallCount("cuEventRecord");
}

static uint64_t counted(enum poolMemPoolAttr statistic) {
    return fixture_attribute(pool, statistic);
}

static void pair(size_t size, CUstream stream) {
    fixture_free(fixture_malloc(pool, size, stream), stream);
}

// Nearly all of the device's memory, of which so many bytes were freed last.
static poolMemPool_t hoard(size_t last) {
    poolMemPool_t hoard = fixture_pool();
    fixture_set_flag(hoard, poolMemPoolAttrStreamPromises, OPEN);
    fixture_free(fixture_malloc(hoard, GIB(12), a), a);
    fixture_synchronize(a);
    fixture_free(fixture_malloc(hoard, last, a), a);
    assert_true(fixture_reserved(hoard) >= GIB(12));
    return hoard;
}

static void other_pools_get_what_was_freed_there(void **state) {
    (void)state;
    static const size_t last[] = {KIB(100), MIB(5), GIB(12)};
    for (size_t i = 0; i < 3; i++) {
        poolMemPool_t keeps = hoard(last[i]), other = fixture_pool();
        fixture_free(fixture_malloc(other, GIB(8), b), b);
        assert_true(fixture_reserved(keeps) <= GIB(8));
        assert_int_equal(poolMemPoolDestroy(keeps), poolSuccess);
        assert_int_equal(poolMemPoolDestroy(other), poolSuccess);
        assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    }
}

static void so_do_pools_that_are_primed(void **state) {
    (void)state;
    hoard(GIB(12));
    assert_int_equal(poolMemPoolPrime(fixture_pool(), GIB(8)), poolSuccess);
}

// A block of A, freed with work in front of it.
static void *free_pending(void) {
    void *pointer = fixture_malloc(pool, BIG, a);
    simulated_work(a);
    fixture_free(pointer, a);
    return pointer;
}

static void a_pair_calls_no_driver_however_large(void **state) {
    (void)state;
    pair(BIG, a);
    pair(BIG, a);
    uint64_t before = simcudaCallCount(NULL);
    pair(BIG, a);
    assert_int_equal(simcudaCallCount(NULL), before);
}

static void without_one_of_the_promises_it_records(void **state) {
    (void)state;
    static const int fewer[] = {poolPromiseNothing, poolPromiseStreamDestroy,
                                poolPromiseNeverCapture,
                                poolPromiseStreamDestroy | poolPromiseNoCapture};
    for (int i = 0; i < 4; i++) {
        fixture_set_flag(pool, poolMemPoolAttrStreamPromises, fewer[i]);
        pair(BIG, a);
        uint64_t before = recorded();
        pair(BIG, a);
        assert_int_equal(recorded(), before + 1);
    }
}

static void never_to_capture_is_not_to_capture_now(void **state) {
    (void)state;
    pair(1000, a);
    uint64_t before = simcudaCallCount("cuStreamIsCapturing");
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, poolPromiseNeverCapture);
    pair(1000, a);
    assert_int_equal(simcudaCallCount("cuStreamIsCapturing"), before);
}

static void of_the_default_streams_the_per_thread_one_records(void **state) {
    (void)state;
    static CUstream const defaults[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, OPEN | poolPromiseNoLegacyOrder);
    for (int i = 0; i < 3; i++) {
        pair(BIG, defaults[i]);
        uint64_t before = recorded();
        pair(BIG, defaults[i]);
        assert_int_equal(recorded(), before + (i == 2));
        fixture_synchronize(defaults[i]);
    }
}

static void a_pool_that_goes_by_the_program_alone_records(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    pair(BIG, a);
    uint64_t before = recorded();
    pair(BIG, a);
    assert_int_equal(recorded(), before + 1);
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 0);
    before = recorded();
    pair(BIG, a);
    assert_int_equal(recorded(), before);
}

static void an_idle_stream_is_asked(void **state) {
    (void)state;
    void *freed = free_pending();
    simulated_finish(a);
    uint64_t before = recorded();
    void *taken = fixture_malloc(pool, BIG, b);
    assert_ptr_equal(taken, freed);
    assert_int_equal(
        counted(poolMemPoolStatReuseComplete) + counted(poolMemPoolStatReuseFoundComplete), 1);
    assert_int_equal(counted(poolMemPoolStatWaitsInserted), 0);
    assert_int_equal(recorded(), before);
    fixture_free(taken, b);
}

static void a_busy_stream_gets_an_event_that_is_waited_for(void **state) {
    (void)state;
    void *freed = free_pending();
    void *taken = fixture_malloc(pool, BIG, b);
    assert_ptr_equal(taken, freed);
    assert_int_equal(counted(poolMemPoolStatReuseMadeOrdered), 1);
    assert_int_equal(counted(poolMemPoolStatEventsRecorded), 1);
    assert_int_equal(poolStreamQuery(b), poolErrorNotReady);
    fixture_free(taken, b);
    simulated_finish(a);
}

// The legacy stream is that of the current context, which is another one here when it is asked.
static void the_legacy_stream_is_asked_in_its_context(void **state) {
    (void)state;
    CUcontext other, popped;
    void *freed = fixture_malloc(pool, BIG, NULL);
    simulated_work(NULL);
    fixture_free(freed, NULL);
    assert_int_equal(sp_driver->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
    void *taken = fixture_malloc(pool, BIG, b);
    assert_ptr_equal(taken, freed);
    assert_int_equal(counted(poolMemPoolStatReuseMadeOrdered), 1);
    assert_int_equal(sp_driver->cuCtxGetCurrent(&popped), CUDA_SUCCESS);
    assert_ptr_equal(popped, other);
    assert_int_equal(sp_driver->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    fixture_free(taken, b);
    simulated_finish(NULL);
    fixture_trim(pool, 0);
    assert_int_equal(sp_driver->cuCtxDestroy(other), CUDA_SUCCESS);
}

// Nobody knows whether it lives.
static void the_legacy_stream_of_another_context_is_left_alone(void **state) {
    (void)state;
    CUcontext other, popped;
    void *pointer = fixture_malloc(pool, BIG, NULL);
    simulated_work(NULL);
    fixture_free(pointer, NULL);
    assert_int_equal(sp_driver->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
    CUstream elsewhere = simulated_stream();
    uint64_t before = recorded();
    assert_int_equal(poolMallocFromPoolAsync(&pointer, BIG, pool, elsewhere),
                     poolErrorMemoryAllocation);
    assert_int_equal(recorded(), before);
    assert_int_equal(sp_driver->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxDestroy(other), CUDA_SUCCESS);
    simulated_finish(NULL);
}

static void where_nothing_may_be_asked_it_gets_one_too(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    void *freed = free_pending();
    uint64_t before = simcudaCallCount("cuStreamQuery");
    assert_ptr_equal(fixture_malloc(pool, BIG, b), freed);
    assert_int_equal(simcudaCallCount("cuStreamQuery"), before);
    assert_int_equal(counted(poolMemPoolStatReuseMadeOrdered), 1);
    fixture_free(freed, b);
    simulated_finish(a);
}

static void where_no_wait_may_be_inserted_it_gets_none(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    free_pending();
    void *pointer = NULL;
    uint64_t before = recorded();
    assert_int_equal(poolMallocFromPoolAsync(&pointer, BIG, pool, b), poolErrorMemoryAllocation);
    assert_int_equal(recorded(), before);
    simulated_finish(a);
}

static void an_error_of_the_asked_stream_is_the_callers(void **state) {
    (void)state;
    void *pointer = NULL;
    free_pending();
    simulated_finish(a);
    simcudaFailCall("cuStreamQuery", 1, simcudaFaultOnwards, CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, BIG, pool, b), poolErrorIllegalAddress);
    simcudaFailClear();
    pair(BIG, b);
}

static void a_trim_asks_too(void **state) {
    (void)state;
    free_pending();
    simulated_finish(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void when_the_promise_ends_what_was_left_is_fenced(void **state) {
    (void)state;
    void *freed = free_pending();
    uint64_t before = recorded();
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, poolPromiseNothing);
    assert_int_equal(recorded(), before + 1);
    assert_ptr_equal(fixture_malloc(pool, BIG, b), freed);
    assert_int_equal(counted(poolMemPoolStatReuseMadeOrdered), 1);
    fixture_free(freed, b);
    simulated_finish(a);
}

static void a_destroyed_stream_has_left_its_event(void **state) {
    (void)state;
    void *freed = free_pending();
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_ptr_equal(fixture_malloc(pool, BIG, b), freed);
    assert_int_equal(counted(poolMemPoolStatReuseMadeOrdered), 1);
    fixture_free(freed, b);
}

static void a_pool_that_is_given_up_leaves_one(void **state) {
    (void)state;
    free_pending();
    uint64_t before = recorded();
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(recorded(), before + 1);
    simulated_finish(a);
}

// Its handle is forgotten then, so what it has freed until then must be known of before.
static void another_pools_promise_loses_nothing(void **state) {
    (void)state;
    void *freed = free_pending();
    fixture_set_flag(fixture_pool(), poolMemPoolAttrStreamPromises, OPEN);
    assert_ptr_equal(fixture_malloc(pool, BIG, b), freed);
    fixture_free(freed, b);
    simulated_finish(a);
}

static void the_end_of_another_pools_promise_loses_nothing(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, OPEN);
    void *freed = free_pending();
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, poolPromiseNothing);
    assert_ptr_equal(fixture_malloc(pool, BIG, b), freed);
    fixture_free(freed, b);
    simulated_finish(a);
}

// Nobody can borrow it, and the lane is that of the slot.
static void a_default_stream_gets_no_open_lane_from_one_that_is_gone(void **state) {
    (void)state;
    pair(BIG, a);
    fixture_synchronize(a);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    pair(BIG, CU_STREAM_PER_THREAD);
    uint64_t before = recorded();
    pair(BIG, CU_STREAM_PER_THREAD);
    assert_int_equal(recorded(), before + 1);
    fixture_synchronize(CU_STREAM_PER_THREAD);
}

// At each moment at which another thread could run: it gets an event, or the change finds it.
static struct {
    void *pointer;
    struct sp_lane *lane;
    int points;
} late;

static bool is_locked(const struct sp_lock *lock) {
    return atomic_load(&lock->state) != SP_LOCK_FREE;
}

// The other thread, which is this one, couldn't have what is held now.
static bool would_wait(void) {
    return is_locked(&late.lane->lock.shared) || atomic_load(&sp_this_thread->inside) ||
           is_locked(&late.lane->pool->lock) || is_locked(&late.lane->stream->lock);
}

static void free_late(int contended) {
    if (contended || would_wait() || --late.points >= 0)
        return;
    sp_lock_set_hook(NULL);
    fixture_free(late.pointer, a);
}

enum { POINTS = 16 };

static void require_fenced_across(void (*change)(void)) {
    for (int point = 0; point < POINTS; point++) {
        // One that isn't short of memory yet, or it records each free.
        pool = fixture_pool_of_at_most(BIG);
        fixture_set_flag(pool, poolMemPoolAttrStreamPromises, OPEN);
        pair(BIG, a);
        late.pointer = fixture_malloc(pool, BIG, a);
        late.lane = fixture_lane(pool, a);
        late.points = point;
        simulated_work(a);
        sp_lock_set_hook(free_late);
        change();
        bool has_run = late.points < 0;
        sp_lock_set_hook(NULL);
        if (!has_run)
            fixture_free(late.pointer, a);
        void *taken = fixture_malloc(pool, BIG, b);
        assert_ptr_equal(taken, late.pointer);
        fixture_free(taken, b);
        simulated_finish(a);
        fixture_synchronize(b);
        assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    }
}

static void end_the_promise(void) {
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, poolPromiseNothing);
}

static void a_free_while_the_promise_ends_is_fenced(void **state) {
    (void)state;
    require_fenced_across(end_the_promise);
}

static void change_the_measure(void) {
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
}

static void a_free_while_the_measure_changes_is_fenced(void **state) {
    (void)state;
    require_fenced_across(change_the_measure);
}

// The other way round: the promise ends in the midst of a free, and its end does all that it can
// until it waits for the lane.
static struct {
    pthread_t freeing;
    int steps; // in the lane, before the free is counted, until it is its turn
    bool had_turn;
    bool has_waited;
    sem_t turn;
    sem_t stands; // it waits, or is over
} sudden;

static void note_waiting(int contended) {
    if (!contended)
        return;
    if (!pthread_equal(pthread_self(), sudden.freeing) && !sudden.has_waited) {
        sudden.has_waited = true;
        sem_post(&sudden.stands);
    }
    sched_yield();
}

static void *end_the_promise_suddenly(void *unused) {
    sp_driver->cuCtxSetCurrent(simulated_context());
    sem_wait(&sudden.turn);
    end_the_promise();
    sem_post(&sudden.stands);
    return unused;
}

static bool is_uncounted_in_lane(void) {
    return (is_locked(&late.lane->lock.shared) ||
            atomic_load(&sp_this_thread->inside) == &late.lane->lock) &&
           atomic_load(&late.lane->used) != 0;
}

static bool give_turn(void) {
    if (!is_uncounted_in_lane() || sudden.steps-- > 0)
        return true;
    sudden.had_turn = true;
    sem_post(&sudden.turn);
    sem_wait(&sudden.stands);
    return false;
}

static void free_it(void) {
    poolFreeAsync(late.pointer, a);
}

// Whether the free wasn't counted yet after so many steps.
static bool free_with_end_after(int steps) {
    pthread_t thread;
    sudden.freeing = pthread_self();
    sudden.steps = steps;
    sudden.had_turn = sudden.has_waited = false;
    assert_int_equal(sem_init(&sudden.turn, 0, 0), 0);
    assert_int_equal(sem_init(&sudden.stands, 0, 0), 0);
    sp_lock_set_hook(note_waiting);
    assert_int_equal(pthread_create(&thread, NULL, end_the_promise_suddenly, NULL), 0);
    step_through(free_it, give_turn);
    if (!sudden.had_turn)
        sem_post(&sudden.turn);
    assert_int_equal(pthread_join(thread, NULL), 0);
    sp_lock_set_hook(NULL);
    return sudden.had_turn;
}

static void a_promise_that_ends_in_the_midst_of_a_free_leaves_it_fenced(void **state) {
    (void)state;
    // Fewer than there are between the look at what the lane may hold and the count.
    enum { STRIDE = 3 };
    bool uncounted = true;
    require_stepping();
    for (int steps = 0; uncounted; steps += STRIDE) {
        pool = fixture_pool_of_at_most(BIG);
        fixture_set_flag(pool, poolMemPoolAttrStreamPromises, OPEN);
        pair(BIG, a);
        late.pointer = fixture_malloc(pool, BIG, a);
        late.lane = fixture_lane(pool, a);
        assert_true(sp_is_done(sp_mark_record(late.lane->stream))); // the next number is new
        simulated_work(a);
        uncounted = free_with_end_after(steps);
        void *taken = fixture_malloc(pool, BIG, b);
        assert_ptr_equal(taken, late.pointer);
        fixture_free(taken, b);
        simulated_finish(a);
        fixture_synchronize(b);
        assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    }
}

static _Atomic bool destroyed;

static void *destroy(void *unused) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    atomic_store(&destroyed, true);
    return unused;
}

static void require_destroy_to_wait(void *(*run)(void *)) {
    pthread_t thread;
    atomic_store(&destroyed, false);
    pair(BIG, a);
    struct sp_stream *stream = fixture_stream(a);
    assert_true(sp_borrow_stream(stream, NULL, true));
    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
    while (atomic_load(&stream->known_as) != 0)
        sp_lock_pause(1000);
    assert_false(sp_borrow_stream(stream, NULL, true));
    for (int i = 0; i < 1000; i++)
        sp_lock_pause(1000);
    assert_false(atomic_load(&destroyed));
    sp_borrow_end(stream);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(atomic_load(&destroyed));
}

static void it_is_not_destroyed_meanwhile(void **state) {
    (void)state;
    require_destroy_to_wait(destroy);
}

static void *promise_and_destroy(void *unused) {
    fixture_set_flag(fixture_pool(), poolMemPoolAttrStreamPromises, OPEN);
    return destroy(unused);
}

static void nor_when_its_handle_was_forgotten_meanwhile(void **state) {
    (void)state;
    require_destroy_to_wait(promise_and_destroy);
}

enum { CROWD = 320, AT_ONCE = 64 };

static void *crowd_blocks[CROWD];
static CUstream crowd[CROWD];

static void free_of_crowd_pending(size_t size) {
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = simulated_stream();
        crowd_blocks[i] = fixture_malloc(pool, size, crowd[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        simulated_work(crowd[i]);
        fixture_free(crowd_blocks[i], crowd[i]);
    }
}

static void a_request_asks_a_few_of_very_many(void **state) {
    (void)state;
    pool = fixture_pool();
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, OPEN);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    free_of_crowd_pending(MIB(1));
    uint64_t before = simcudaCallCount("cuStreamQuery");
    fixture_malloc(pool, MIB(64), b);
    assert_true(simcudaCallCount("cuStreamQuery") - before <= 2 * AT_ONCE);
    for (int i = 0; i < CROWD / AT_ONCE + 8; i++) // in turn all of them
        fixture_malloc(pool, MIB(64), b);
    assert_true(simcudaCallCount("cuStreamQuery") - before >= CROWD);
}

static void all_are_asked_before_a_request_is_refused(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(CROWD * MIB(2));
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, OPEN);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    free_of_crowd_pending(MIB(2));
    simulated_finish(crowd[CROWD - 1]);
    assert_ptr_equal(fixture_malloc(pool, MIB(2), b), crowd_blocks[CROWD - 1]);
}

#define open_lane_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        open_lane_test(a_pair_calls_no_driver_however_large),
        open_lane_test(without_one_of_the_promises_it_records),
        open_lane_test(never_to_capture_is_not_to_capture_now),
        open_lane_test(of_the_default_streams_the_per_thread_one_records),
        open_lane_test(a_pool_that_goes_by_the_program_alone_records),
        open_lane_test(an_idle_stream_is_asked),
        open_lane_test(a_busy_stream_gets_an_event_that_is_waited_for),
        open_lane_test(the_legacy_stream_is_asked_in_its_context),
        open_lane_test(the_legacy_stream_of_another_context_is_left_alone),
        open_lane_test(where_nothing_may_be_asked_it_gets_one_too),
        open_lane_test(where_no_wait_may_be_inserted_it_gets_none),
        open_lane_test(an_error_of_the_asked_stream_is_the_callers),
        open_lane_test(a_trim_asks_too),
        open_lane_test(other_pools_get_what_was_freed_there),
        open_lane_test(so_do_pools_that_are_primed),
        open_lane_test(when_the_promise_ends_what_was_left_is_fenced),
        open_lane_test(a_destroyed_stream_has_left_its_event),
        open_lane_test(a_pool_that_is_given_up_leaves_one),
        open_lane_test(another_pools_promise_loses_nothing),
        open_lane_test(the_end_of_another_pools_promise_loses_nothing),
        open_lane_test(a_default_stream_gets_no_open_lane_from_one_that_is_gone),
        open_lane_test(a_free_while_the_promise_ends_is_fenced),
        open_lane_test(a_free_while_the_measure_changes_is_fenced),
        open_lane_test(a_promise_that_ends_in_the_midst_of_a_free_leaves_it_fenced),
        open_lane_test(it_is_not_destroyed_meanwhile),
        open_lane_test(nor_when_its_handle_was_forgotten_meanwhile),
        open_lane_test(a_request_asks_a_few_of_very_many),
        open_lane_test(all_are_asked_before_a_request_is_refused),
    };
    return cmocka_run_group_tests_name("region_ask", tests, NULL, NULL);
}
