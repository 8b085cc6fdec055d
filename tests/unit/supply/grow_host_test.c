// Pools of the host that take memory at once: together no more than there is. And what one gives
// back meanwhile is another one's to take.
//
// One thread stands for several: where the library takes a lock, or waits for another thread, a
// test does what that one would.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "unit/fixture/host_root.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

// 32 MiB are kept for others.
static void leave(size_t bytes) {
    char limit[32];
    snprintf(limit, sizeof limit, "%zu\n", bytes + MIB(32));
    host_root_write("/proc/self/cgroup", "0::/mine\n");
    host_root_write("/sys/fs/cgroup/mine/memory.max", limit);
    host_root_write("/sys/fs/cgroup/mine/memory.current", "0\n");
}

static const struct sp_vmm_device the_host = {.place = {{CU_MEM_LOCATION_TYPE_HOST, 0}, 0, 0},
                                              .ordinal = -1};

static CUstream stream;

static int begin(void **state) {
    int failed = fixture_setup(state);
    stream = simulated_stream();
    if (failed || host_root_setup(state) != 0)
        return -1;
    leave(MIB(100));
    return 0;
}

static int end(void **state) {
    int removed = host_root_teardown(state);
    return fixture_teardown(state) == 0 ? removed : -1;
}

// ------------------------------------------------------------------------------------------- waits

static int waits;
static void (*while_one_waits)(void);

static void note_wait(int contended) {
    if (!contended)
        return;
    waits++;
    while_one_waits();
}

static struct sp_outcome take(uint64_t bytes, void (*meanwhile)(void)) {
    waits = 0;
    while_one_waits = meanwhile;
    sp_lock_set_hook(note_wait);
    struct sp_outcome outcome = sp_vmm_device_begin_taking(&the_host, bytes);
    sp_lock_set_hook(NULL);
    return outcome;
}

static void leave_enough(void) {
    leave(MIB(500));
}

static struct sp_outcome take_at_once(uint64_t bytes) {
    struct sp_outcome outcome = take(bytes, leave_enough);
    assert_int_equal(waits, 0);
    return outcome;
}

static void end_with_memory(void) {
    leave(MIB(40));
    sp_vmm_device_end_taking(&the_host, MIB(60));
}

static void end_without_memory(void) {
    sp_vmm_device_end_taking(&the_host, MIB(60));
}

static void who_takes_what_another_one_is_taking_waits_and_is_refused(void **state) {
    (void)state;
    assert_done(take_at_once(MIB(60)));
    assert_cause(take(MIB(60), end_with_memory), SP_HOST_IS_FULL);
    assert_int_equal(waits, 1);
    assert_done(take_at_once(MIB(40)));
    sp_vmm_device_end_taking(&the_host, MIB(40));
}

static void who_waits_gets_what_another_one_did_not_get(void **state) {
    (void)state;
    assert_done(take_at_once(MIB(60)));
    assert_done(take(MIB(60), end_without_memory));
    assert_int_equal(waits, 1);
    sp_vmm_device_end_taking(&the_host, MIB(60));
}

static void two_that_fit_beside_each_other_do_not_wait(void **state) {
    (void)state;
    assert_done(take_at_once(MIB(60)));
    assert_done(take_at_once(MIB(40)));
    sp_vmm_device_end_taking(&the_host, MIB(100));
}

static void a_refusal_takes_nothing(void **state) {
    (void)state;
    assert_cause(take_at_once(MIB(101)), SP_HOST_IS_FULL);
    assert_done(take_at_once(MIB(100)));
    sp_vmm_device_end_taking(&the_host, MIB(100));
}

// ----------------------------------------------------------------------------------- what counts

static poolMemPool_t make_pool(unsigned short usage) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeHost, 0},
                                           .usage = usage};
    poolMemPool_t pool = NULL;
    assert_int_equal(poolMemPoolCreate(&pool, &props), poolSuccess);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    return pool;
}

static bool would_wait(uint64_t bytes) {
    struct sp_outcome outcome = take(bytes, leave_enough);
    if (sp_is_done(outcome))
        sp_vmm_device_end_taking(&the_host, bytes);
    leave(MIB(100));
    return waits > 0;
}

// At the first lock behind the call of this entry point, another thread takes memory: as much as
// there is beside what the first one takes, and then a little more.
static const char *entry_point;
static uint64_t calls_before, beside;
static bool less_waited, more_waited, has_looked;

static void look_behind_call(int contended) {
    if (contended || simcudaCallCount(entry_point) == calls_before)
        return;
    less_waited = would_wait(beside);
    more_waited = would_wait(beside + MIB(2));
    has_looked = true;
}

static void look_behind(const char *call, uint64_t taken) {
    entry_point = call;
    calls_before = simcudaCallCount(call);
    beside = MIB(100) - taken;
    has_looked = false;
    sp_lock_set_hook(look_behind_call);
}

static void assert_counted(void) {
    sp_lock_set_hook(NULL);
    assert_true(has_looked);
    assert_false(less_waited);
    assert_true(more_waited);
    assert_done(take_at_once(MIB(100)));
    sp_vmm_device_end_taking(&the_host, MIB(100));
}

static void a_growth_counts_while_the_driver_makes_it(void **state) {
    (void)state;
    poolMemPool_t pool = make_pool(0);
    look_behind("cuMemCreate", MIB(60));
    fixture_malloc(pool, MIB(60), stream);
    assert_counted();
}

static void a_growth_of_a_pool_for_staging_counts_while_the_driver_makes_it(void **state) {
    (void)state;
    poolMemPool_t pool = make_pool(poolMemPoolUsageStaging);
    look_behind("cuMemHostRegister", MIB(60));
    fixture_malloc(pool, MIB(60), stream);
    assert_counted();
}

static void a_trim_counts_what_it_takes_anew(void **state) {
    (void)state;
    poolMemPool_t pool = make_pool(0);
    fixture_free(fixture_malloc(pool, MIB(60), stream), stream);
    fixture_synchronize(stream);
    look_behind("cuMemUnmap", MIB(20));
    fixture_trim(pool, MIB(20));
    assert_counted();
    assert_int_equal(fixture_reserved(pool), MIB(20));
}

static void what_the_driver_refuses_counts_no_more(void **state) {
    (void)state;
    static const char *const calls[] = {"cuMemCreate", "cuMemSetAccess", "cuMemHostRegister"};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        poolMemPool_t pool = make_pool(i == 2 ? poolMemPoolUsageStaging : 0);
        void *pointer = NULL;
        simcudaFailCall(calls[i], 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
        assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(60), pool, stream),
                         poolErrorMemoryAllocation);
        simcudaFailClear();
        assert_done(take_at_once(MIB(100)));
        sp_vmm_device_end_taking(&the_host, MIB(100));
    }
}

// ------------------------------------------------------------------------- what others give back

static poolMemPool_t other;
static pthread_t here;
static _Atomic bool gives, waits_here, is_over;

// The thread that trims goes on with what it has given back once this one waits for it, or is over.
static void give_slowly(int contended) {
    if (pthread_equal(pthread_self(), here)) {
        waits_here = waits_here || contended;
    } else if (!gives && simcudaCallCount("cuMemHostUnregister") > calls_before) {
        gives = true;
        while (!waits_here && !is_over)
            sched_yield();
        leave(MIB(100));
    }
}

static void *trim_it(void *unused) {
    (void)unused;
    poolError_t error = poolMemPoolTrimTo(other, 0);
    gives = true;
    return (void *)(uintptr_t)error;
}

static poolError_t allocate(poolMemPool_t pool) {
    void *pointer = NULL;
    return poolMallocFromPoolAsync(&pointer, MIB(60), pool, stream);
}

static poolError_t prime(poolMemPool_t pool) {
    return poolMemPoolPrime(pool, MIB(60));
}

static void gets_what_is_given_back(poolError_t (*get)(poolMemPool_t pool)) {
    pthread_t thread;
    void *trimmed = NULL;
    poolMemPool_t pool = make_pool(0);
    other = make_pool(poolMemPoolUsageStaging);
    fixture_free(fixture_malloc(other, MIB(60), stream), stream);
    fixture_synchronize(stream);
    calls_before = simcudaCallCount("cuMemHostUnregister");
    here = pthread_self();
    gives = waits_here = is_over = false;
    leave(MIB(20));
    sp_lock_set_hook(give_slowly);
    assert_int_equal(pthread_create(&thread, NULL, trim_it, NULL), 0);
    while (!gives)
        sched_yield();
    poolError_t error = get(pool);
    is_over = true;
    assert_int_equal(pthread_join(thread, &trimmed), 0);
    sp_lock_set_hook(NULL);
    assert_null(trimmed);
    assert_int_equal(error, poolSuccess);
}

static void what_is_being_given_back_at_another_place_is_waited_for(void **state) {
    (void)state;
    gets_what_is_given_back(allocate);
}

static void priming_waits_for_what_is_being_given_back(void **state) {
    (void)state;
    gets_what_is_given_back(prime);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(who_takes_what_another_one_is_taking_waits_and_is_refused),
        TEST(who_waits_gets_what_another_one_did_not_get),
        TEST(two_that_fit_beside_each_other_do_not_wait),
        TEST(a_refusal_takes_nothing),
        TEST(a_growth_counts_while_the_driver_makes_it),
        TEST(a_growth_of_a_pool_for_staging_counts_while_the_driver_makes_it),
        TEST(a_trim_counts_what_it_takes_anew),
        TEST(what_the_driver_refuses_counts_no_more),
        TEST(what_is_being_given_back_at_another_place_is_waited_for),
        TEST(priming_waits_for_what_is_being_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
