#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "order/resolve.h"
#include "process/promises.h"
#include "region/device.h"
#include "unit/fixture/pool.h"

// What the driver is asked in a pair, by what the program has promised; and that a promise which is
// kept loses nothing.

enum {
    BOTH = poolPromiseStreamDestroy | poolPromiseNoCapture,
    AND_ONE_CONTEXT = BOTH | poolPromiseOneContext,
    AND_NO_LEGACY_ORDER = BOTH | poolPromiseNoLegacyOrder
};

static CUstream const defaults[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
enum { DEFAULTS = sizeof defaults / sizeof defaults[0] };

static poolMemPool_t pool;
static CUstream a;

static int setup(void **state) {
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool();
    a = simulated_stream();
    return 0;
}

static void promise(int promises) {
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, promises);
}

static void pair(size_t size, CUstream stream) {
    fixture_free(fixture_malloc(pool, size, stream), stream);
}

static void pair_of_current(size_t size, CUstream stream) {
    void *pointer = NULL;
    assert_int_equal(poolMallocAsync(&pointer, size, stream), poolSuccess);
    fixture_free(pointer, stream);
}

static bool has_ids(void) {
    return sp_driver->cuStreamGetId != NULL;
}

struct calls {
    uint64_t all;
    uint64_t captures;
    uint64_t identities;
};

static struct calls count_calls(void) {
    return (struct calls){simcudaCallCount(NULL), simcudaCallCount("cuStreamIsCapturing"),
                          simcudaCallCount("cuStreamGetId") + simcudaCallCount("cuCtxGetId") +
                              simcudaCallCount("cuStreamGetCtx") +
                              simcudaCallCount("cuCtxGetCurrent")};
}

// Of the second and later pairs of a size.
static struct calls calls_of(void (*make_pair)(size_t size, CUstream stream), size_t size,
                             CUstream stream) {
    for (int warm = 0; warm < 2; warm++)
        make_pair(size, stream);
    struct calls before = count_calls();
    make_pair(size, stream);
    struct calls after = count_calls();
    return (struct calls){after.all - before.all, after.captures - before.captures,
                          after.identities - before.identities};
}

static const size_t sizes[] = {1000, MIB(1)};

static void without_a_promise_each_call_asks_for_both(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct calls calls = calls_of(pair, sizes[i], a);
        assert_int_equal(calls.captures, 2);
        assert_int_equal(calls.identities, 2);
        if (has_ids())
            assert_int_equal(calls.all, 4);
    }
}

// Without ids a chain of events takes their place, and stays.
static void with_both_promises_a_pair_makes_no_call(void **state) {
    (void)state;
    promise(BOTH);
    assert_int_equal(poolDeviceSetMemPool(0, pool), poolSuccess);
    for (int i = 0; i < 2; i++) {
        struct calls named = calls_of(pair, sizes[i], a);
        struct calls current = calls_of(pair_of_current, sizes[i], a);
        assert_int_equal(named.captures + named.identities, 0);
        assert_int_equal(current.captures + current.identities, 0);
        if (has_ids())
            assert_int_equal(named.all + current.all, 0);
    }
}

static void with_one_promise_the_other_question_is_asked(void **state) {
    (void)state;
    promise(poolPromiseStreamDestroy);
    struct calls calls = calls_of(pair, 1000, a);
    assert_int_equal(calls.captures, 2);
    assert_int_equal(calls.identities, 0);
    promise(poolPromiseNoCapture);
    calls = calls_of(pair, 1000, a);
    assert_int_equal(calls.captures, 0);
    assert_int_equal(calls.identities, 2);
}

// The memory tells, not the stream: this stream's allocations are of another pool.
static void a_free_goes_by_the_promises_of_the_pointers_pool(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    promise(BOTH);
    pair(1000, a);
    void *promised = fixture_malloc(pool, 1000, a);
    void *plain = fixture_malloc(other, 1000, a);
    struct calls before = count_calls();
    fixture_free(promised, a);
    assert_int_equal(count_calls().captures, before.captures);
    fixture_free(plain, a);
    assert_int_equal(count_calls().captures, before.captures + 1);
}

static void a_default_stream_is_asked_for_as_ever(void **state) {
    (void)state;
    promise(AND_NO_LEGACY_ORDER);
    for (int i = 0; i < DEFAULTS; i++) {
        struct calls calls = calls_of(pair, 1000, defaults[i]);
        if (has_ids())
            assert_int_equal(calls.all, 2);
        assert_int_equal(calls.identities, 2);
    }
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    void *pointer = NULL;
    assert_int_equal(poolMallocFromPoolAsync(&pointer, 1000, pool, NULL), poolSuccess);
    CUcontext current = NULL;
    assert_int_equal(sp_driver->cuCtxGetCurrent(&current), CUDA_SUCCESS);
    assert_ptr_equal(current, simulated_context());
    fixture_free(pointer, NULL);
}

static void with_one_context_a_pair_on_a_default_stream_makes_no_call(void **state) {
    static const int captures[] = {poolPromiseNoCapture, poolPromiseNeverCapture};
    (void)state;
    assert_int_equal(poolDeviceSetMemPool(0, pool), poolSuccess);
    for (int i = 0; i < 2 * 2 * DEFAULTS; i++) {
        CUstream stream = defaults[i / 4];
        promise(poolPromiseStreamDestroy | poolPromiseOneContext | poolPromiseNoLegacyOrder |
                captures[i % 2]);
        fixture_set_flag(pool, poolMemPoolAttrDeterministic, i / 2 % 2);
        struct calls named = calls_of(pair, sizes[i % 2], stream);
        struct calls current = calls_of(pair_of_current, sizes[i % 2], stream);
        assert_int_equal(named.captures + named.identities, 0);
        assert_int_equal(current.captures + current.identities, 0);
        if (has_ids())
            assert_int_equal(named.all + current.all, 0);
    }
}

static void in_one_context_another_pools_default_streams_are_asked_for(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, AND_ONE_CONTEXT);
    promise(BOTH);
    assert_int_equal(poolDeviceSetMemPool(0, pool), poolSuccess);
    for (int i = 0; i < DEFAULTS; i++) {
        fixture_free(fixture_malloc(other, 1000, defaults[i]), defaults[i]);
        assert_non_null(sp_stream_cache_find(defaults[i]));
        assert_int_equal(calls_of(pair, 1000, defaults[i]).identities, 2);
        struct calls current = calls_of(pair_of_current, 1000, defaults[i]);
        assert_int_equal(current.identities, 2);
        assert_int_equal(current.captures, 1);
    }
}

static void one_context_alone_spares_no_question(void **state) {
    (void)state;
    promise(poolPromiseOneContext | poolPromiseNoCapture);
    for (int i = 0; i < DEFAULTS; i++)
        assert_int_equal(calls_of(pair, 1000, defaults[i]).identities, 2);
    assert_null(sp_stream_cache_find(NULL));
}

static void another_number_is_refused_and_forgets_nothing(void **state) {
    (void)state;
    int unknown = 32;
    promise(AND_ONE_CONTEXT);
    pair(1000, NULL);
    assert_int_equal(poolMemPoolSetAttribute(pool, poolMemPoolAttrStreamPromises, &unknown),
                     poolErrorInvalidValue);
    assert_int_equal(sp_pool_promises(fixture_inside(pool)), AND_ONE_CONTEXT);
    assert_ptr_equal(sp_stream_cache_find(NULL), fixture_stream(NULL));
}

// A new stream at the handle, which the simulated driver gives out again at once.
static CUstream recycle(CUstream stream) {
    assert_int_equal(poolStreamDestroy(stream), poolSuccess);
    CUstream young = simulated_stream();
    assert_ptr_equal(young, stream);
    return young;
}

static void require_another_stream(CUstream young, const struct sp_stream *old) {
    if (has_ids())
        assert_ptr_not_equal(fixture_stream(young), old);
}

static void a_new_stream_at_a_handle_inherits_no_memory(void **state) {
    (void)state;
    promise(BOTH);
    for (int i = 0; i < 2; i++) {
        void *pointer = fixture_malloc(pool, sizes[i], a);
        const struct sp_stream *old = fixture_stream(a);
        simulated_work(a);
        fixture_free(pointer, a);
        a = recycle(a);
        require_another_stream(a, old);
        void *young = fixture_malloc(pool, sizes[i], a);
        assert_int_equal(young != pointer, has_ids()); // without ids the young one is made to wait
        fixture_free(young, a);
    }
}

// Two threads by turns, with nothing but the turns between them.
static struct {
    pthread_barrier_t turn;
    void *first;
    void *second;
} elsewhere;

static void *allocate_twice(void *unused) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    elsewhere.first = fixture_malloc(pool, 1000, a);
    pthread_barrier_wait(&elsewhere.turn);
    pthread_barrier_wait(&elsewhere.turn);
    elsewhere.second = fixture_malloc(pool, 1000, a);
    return unused;
}

static void every_thread_forgets_a_destroyed_stream(void **state) {
    (void)state;
    pthread_t thread;
    promise(BOTH);
    pair(1000, a);
    pthread_barrier_init(&elsewhere.turn, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, allocate_twice, NULL), 0);
    pthread_barrier_wait(&elsewhere.turn);
    simulated_work(a);
    fixture_free(elsewhere.first, a);
    recycle(a);
    pthread_barrier_wait(&elsewhere.turn);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&elsewhere.turn);
    assert_int_equal(elsewhere.second != elsewhere.first, has_ids());
    fixture_free(elsewhere.second, a);
}

// As another thread could do it as soon as the driver has destroyed the stream.
static struct {
    uint64_t destroyed; // streams, before
    void *young;
} meanwhile;

static void allocate_once_it_is_destroyed(int contended) {
    (void)contended;
    if (simcudaCallCount("cuStreamDestroy") == meanwhile.destroyed)
        return;
    sp_lock_set_hook(NULL);
    assert_ptr_equal(simulated_stream(), a);
    meanwhile.young = fixture_malloc(pool, 1000, a);
}

static void a_handle_is_forgotten_before_it_can_come_back(void **state) {
    (void)state;
    promise(BOTH);
    void *pointer = fixture_malloc(pool, 1000, a);
    simulated_work(a);
    fixture_free(pointer, a);
    meanwhile.destroyed = simcudaCallCount("cuStreamDestroy");
    sp_lock_set_hook(allocate_once_it_is_destroyed);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_non_null(meanwhile.young);
    assert_int_equal(meanwhile.young != pointer, has_ids());
    fixture_free(meanwhile.young, a);
}

static void a_stream_that_was_given_the_slot_meanwhile_is_not_taken_for_gone(void **state) {
    (void)state;
    pair(1000, a);
    fixture_synchronize(a);
    const struct sp_stream *old = fixture_stream(a);
    meanwhile.destroyed = simcudaCallCount("cuStreamDestroy");
    sp_lock_set_hook(allocate_once_it_is_destroyed);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_ptr_equal(fixture_stream(a), old);
    assert_false(old->gone);
    fixture_free(meanwhile.young, a);
}

// The driver refuses a handle that is no stream's any more, and is asked.
static void a_destroyed_stream_is_refused(void **state) {
    (void)state;
    void *pointer = NULL;
    promise(BOTH);
    pair(1000, a);
    void *block = fixture_malloc(pool, 1000, a);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_int_not_equal(poolMallocFromPoolAsync(&pointer, 1000, pool, a), poolSuccess);
    assert_int_not_equal(poolFreeAsync(block, a), poolSuccess);
    assert_int_equal(poolFree(block), poolSuccess);
    simcudaReportClear();
}

static void a_stream_whose_destruction_failed_goes_on(void **state) {
    (void)state;
    promise(BOTH);
    pair(1000, a);
    simcudaFailCall("cuStreamDestroy", 1, 1, CUDA_ERROR_UNKNOWN);
    assert_int_equal(poolStreamDestroy(a), poolErrorUnknown);
    struct calls calls = calls_of(pair, 1000, a);
    assert_int_equal(calls.captures + calls.identities, 0);
}

// Without a promise, streams may go any way.
static void a_promise_that_is_given_again_begins_with_nothing(void **state) {
    (void)state;
    promise(BOTH);
    pair(1000, a);
    const struct sp_stream *old = fixture_stream(a);
    promise(poolPromiseNothing);
    void *pointer = fixture_malloc(pool, 1000, a);
    simulated_work(a);
    fixture_free(pointer, a);
    simulated_destroy(a);
    assert_ptr_equal(simulated_stream(), a);
    promise(BOTH);
    void *young = fixture_malloc(pool, 1000, a);
    require_another_stream(a, old);
    assert_int_equal(young != pointer, has_ids());
    fixture_free(young, a);
}

// Nor may those that were of a promise which has ended, where another pool's goes on.
static void what_a_promise_told_ends_with_it(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, BOTH);
    promise(BOTH);
    pair(1000, a);
    const struct sp_stream *old = fixture_stream(a);
    promise(poolPromiseNothing);
    simulated_work(a);
    simulated_destroy(a);
    assert_ptr_equal(simulated_stream(), a);
    fixture_free(fixture_malloc(other, 1000, a), a);
    assert_int_equal(sp_stream_cache_find(a) != old, has_ids());
}

static void and_with_its_pool(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, BOTH);
    promise(BOTH);
    pair(1000, a);
    fixture_synchronize(a);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_null(sp_stream_cache_find(a));
}

static void null_and_the_legacy_stream_are_one(void **state) {
    (void)state;
    promise(AND_ONE_CONTEXT | poolPromiseNoLegacyOrder);
    for (int i = 0; i < 4; i++) {
        CUstream first = defaults[i % 2], second = defaults[1 - i % 2];
        void *pointer = fixture_malloc(pool, sizes[i / 2], first);
        simulated_work(first);
        fixture_free(pointer, first);
        assert_ptr_equal(sp_stream_cache_find(second), fixture_stream(first));
        struct calls before = count_calls();
        void *again = fixture_malloc(pool, sizes[i / 2], second);
        assert_int_equal(count_calls().identities, before.identities);
        assert_ptr_equal(again, pointer);
        fixture_free(again, first);
    }
    if (has_ids())
        assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), 0);
}

static void *allocate_on_its_own(void *unused) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_null(sp_stream_cache_find(CU_STREAM_PER_THREAD));
    elsewhere.first = fixture_malloc(pool, 1000, CU_STREAM_PER_THREAD);
    assert_ptr_equal(sp_stream_cache_find(CU_STREAM_PER_THREAD),
                     fixture_stream(CU_STREAM_PER_THREAD));
    elsewhere.second = fixture_malloc(pool, 1000, CU_STREAM_PER_THREAD);
    fixture_free(elsewhere.first, CU_STREAM_PER_THREAD);
    fixture_free(elsewhere.second, CU_STREAM_PER_THREAD);
    return unused;
}

static void each_thread_knows_its_own_default_stream(void **state) {
    (void)state;
    promise(AND_ONE_CONTEXT);
    void *pointer = fixture_malloc(pool, 1000, CU_STREAM_PER_THREAD);
    simulated_work(CU_STREAM_PER_THREAD);
    fixture_free(pointer, CU_STREAM_PER_THREAD);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, allocate_on_its_own, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_ptr_not_equal(elsewhere.first, pointer);
        assert_ptr_not_equal(elsewhere.second, pointer);
        assert_ptr_equal(sp_stream_cache_find(CU_STREAM_PER_THREAD),
                         fixture_stream(CU_STREAM_PER_THREAD));
    }
    void *again = fixture_malloc(pool, 1000, CU_STREAM_PER_THREAD);
    assert_ptr_equal(again, pointer);
    fixture_free(again, CU_STREAM_PER_THREAD);
}

// The default stream of another context, once it is no longer promised that there is none.
static void *allocate_in_both_contexts(void *another) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    elsewhere.first = fixture_malloc(pool, 1000, NULL);
    simulated_work(NULL);
    fixture_free(elsewhere.first, NULL);
    pthread_barrier_wait(&elsewhere.turn);
    pthread_barrier_wait(&elsewhere.turn);
    assert_int_equal(sp_driver->cuCtxSetCurrent(another), CUDA_SUCCESS);
    elsewhere.second = fixture_malloc(pool, 1000, NULL);
    fixture_free(elsewhere.second, NULL);
    return sp_stream_cache_find(NULL) == fixture_stream(NULL) ? another : NULL;
}

static void require_no_stale_default_stream(int promises) {
    CUcontext another;
    pthread_t thread;
    void *right;
    assert_int_equal(sp_driver->cuCtxCreate(&another, 0, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    pthread_barrier_init(&elsewhere.turn, NULL, 2);
    promise(AND_ONE_CONTEXT);
    pair(1000, NULL);
    assert_int_equal(pthread_create(&thread, NULL, allocate_in_both_contexts, another), 0);
    pthread_barrier_wait(&elsewhere.turn);
    promise(promises);
    assert_null(sp_stream_cache_find(NULL));
    promise(AND_ONE_CONTEXT);
    pthread_barrier_wait(&elsewhere.turn);
    assert_int_equal(pthread_join(thread, &right), 0);
    pthread_barrier_destroy(&elsewhere.turn);
    assert_ptr_equal(right, another);
    assert_ptr_not_equal(elsewhere.second, elsewhere.first);
}

static void when_one_context_ends_every_thread_forgets_default_streams(void **state) {
    (void)state;
    require_no_stale_default_stream(BOTH);
    require_no_stale_default_stream(poolPromiseOneContext | poolPromiseNoCapture);
    require_no_stale_default_stream(poolPromiseNothing);
}

static void and_so_it_is_at_the_pools_end(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, BOTH);
    promise(AND_ONE_CONTEXT);
    pair(1000, NULL);
    fixture_synchronize(NULL);
    assert_non_null(sp_stream_cache_find(NULL));
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_null(sp_stream_cache_find(NULL));
}

// A free looks for the pointer's pool only where some pool has a promise.
static void pools_with_a_promise_are_counted(void **state) {
    (void)state;
    assert_int_equal(sp_promises_pools, 0);
    promise(poolPromiseNoCapture);
    promise(BOTH);
    assert_int_equal(sp_promises_pools, 1);
    poolMemPool_t other = fixture_pool();
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, poolPromiseStreamDestroy);
    assert_int_equal(sp_promises_pools, 2);
    promise(poolPromiseNothing);
    promise(poolPromiseNothing);
    assert_int_equal(sp_promises_pools, 1);
    void *pointer = fixture_malloc(other, 1000, a);
    assert_int_equal(poolMemPoolDestroy(other), poolSuccess);
    assert_int_equal(sp_promises_pools, 1); // as long as its memory can be freed
    fixture_free(pointer, a);
    fixture_synchronize(a);
    assert_int_equal(sp_promises_pools, 0);
    assert_int_equal(sp_pool_promises(sp_handle_pool(fixture_pool())),
                     poolPromiseNothing); // in its struct
    assert_int_equal(sp_promises_pools, 0);
}

#define promises_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        promises_test(without_a_promise_each_call_asks_for_both),
        promises_test(with_both_promises_a_pair_makes_no_call),
        promises_test(with_one_promise_the_other_question_is_asked),
        promises_test(a_free_goes_by_the_promises_of_the_pointers_pool),
        promises_test(a_default_stream_is_asked_for_as_ever),
        promises_test(with_one_context_a_pair_on_a_default_stream_makes_no_call),
        promises_test(in_one_context_another_pools_default_streams_are_asked_for),
        promises_test(one_context_alone_spares_no_question),
        promises_test(another_number_is_refused_and_forgets_nothing),
        promises_test(a_new_stream_at_a_handle_inherits_no_memory),
        promises_test(every_thread_forgets_a_destroyed_stream),
        promises_test(a_handle_is_forgotten_before_it_can_come_back),
        promises_test(a_stream_that_was_given_the_slot_meanwhile_is_not_taken_for_gone),
        promises_test(a_destroyed_stream_is_refused),
        promises_test(a_stream_whose_destruction_failed_goes_on),
        promises_test(a_promise_that_is_given_again_begins_with_nothing),
        promises_test(what_a_promise_told_ends_with_it),
        promises_test(and_with_its_pool),
        promises_test(null_and_the_legacy_stream_are_one),
        promises_test(each_thread_knows_its_own_default_stream),
        promises_test(when_one_context_ends_every_thread_forgets_default_streams),
        promises_test(and_so_it_is_at_the_pools_end),
        promises_test(pools_with_a_promise_are_counted),
    };
    return cmocka_run_group_tests_name("process_promises", tests, NULL, NULL);
}
