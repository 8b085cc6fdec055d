// Memory for staging on the simulated driver: the kernel's pages and the driver's registrations.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/fixture/pool.h"

static CUstream stream;

static int begin(void **state) {
    int failed = fixture_setup(state);
    stream = simulated_stream();
    return failed;
}

static poolError_t make(enum poolMemLocationType type, int id, poolMemPool_t *pool) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {type, id},
                                           .usage = poolMemPoolUsageStaging};
    return poolMemPoolCreate(pool, &props);
}

static poolMemPool_t staging_pool(void) {
    poolMemPool_t pool = NULL;
    assert_int_equal(make(poolMemLocationTypeHost, 0, &pool), poolSuccess);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    return pool;
}

static uint64_t registered(void) {
    simcudaLive live;
    simcudaGetLive(&live);
    return live.registered;
}

// The pages of address space that the process has.
static long pages_of_process(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    return pages;
}

static void memory_is_registered_until_it_is_given_back(void **state) {
    (void)state;
    poolMemPool_t pool = staging_pool();
    char *block = fixture_malloc(pool, MIB(3), stream);
    assert_true(registered() > 0);
    memset(block, 7, MIB(3));
    fixture_free(block, stream);
    fixture_synchronize(stream);
    assert_true(registered() > 0);
    fixture_trim(pool, 0);
    assert_int_equal(registered(), 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void memory_begins_with_a_huge_page_of_zeros(void **state) {
    (void)state;
    poolMemPool_t pool = staging_pool();
    for (int i = 0; i < 3; i++) {
        const char *block = fixture_malloc(pool, MIB(5), stream);
        assert_int_equal((uintptr_t)block % MIB(2), 0);
        for (size_t at = 0; at < MIB(5); at += KIB(1))
            assert_int_equal(block[at], 0);
    }
}

// More than one thread touches them.
static void all_pages_of_a_large_piece_are_there(void **state) {
    (void)state;
    enum { PAGES = (200 << 20) / 4096 };
    static unsigned char there[PAGES];
    poolMemPool_t pool = staging_pool();
    char *block = fixture_malloc(pool, MIB(200), stream);
    if (sysconf(_SC_PAGESIZE) != 4096)
        skip();
    assert_int_equal(mincore(block, MIB(200), there), 0);
    for (size_t i = 0; i < PAGES; i++)
        assert_int_equal(there[i] & 1, 1);
}

struct rounds {
    poolMemPool_t pool;
    bool have_succeeded;
};

static void *prime_and_end(void *argument) {
    struct rounds *rounds = argument;
    bool succeed = true;
    pthread_cancel(pthread_self());
    for (int i = 0; i < 10 && succeed; i++)
        succeed = poolMemPoolPrime(rounds->pool, MIB(200)) == poolSuccess &&
                  poolMemPoolTrimTo(rounds->pool, 0) == poolSuccess;
    rounds->have_succeeded = succeed;
    pthread_testcancel();
    return NULL;
}

// It waits for those others in pthread_join, where a thread that was asked to end would do so.
static void a_thread_that_touches_with_others_ends_behind_its_call(void **state) {
    (void)state;
    struct rounds rounds = {.pool = staging_pool()};
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, prime_and_end, &rounds), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_true(rounds.have_succeeded);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(registered(), 0);
    fixture_check(rounds.pool);
}

static void pages_that_the_driver_refuses_go_back(void **state) {
    (void)state;
    poolMemPool_t pool = staging_pool();
    void *pointer = NULL;
    fixture_free(fixture_malloc(pool, MIB(1), stream), stream);
    long before = pages_of_process();
    simcudaFailCall("cuMemHostRegister", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    for (int i = 0; i < 20; i++)
        assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(40), pool, stream),
                         poolErrorMemoryAllocation);
    simcudaFailClear();
    assert_null(pointer);
    assert_true(pages_of_process() - before < (long)(MIB(64) / 4096));
    fixture_check(pool);
    fixture_malloc(pool, MIB(40), stream);
}

// With its pages: they go once the driver has let go of them.
static void memory_that_stays_registered_stays_the_pools(void **state) {
    (void)state;
    poolMemPool_t pool = staging_pool();
    char *block = fixture_malloc(pool, MIB(3), stream);
    fixture_free(block, stream);
    fixture_synchronize(stream);
    uint64_t reserved = fixture_reserved(pool);
    simcudaFailCall("cuMemHostUnregister", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_equal(poolMemPoolTrimTo(pool, 0), poolErrorUnknown);
    assert_int_equal(fixture_reserved(pool), reserved);
    fixture_check(pool);
    assert_int_equal(msync(block, MIB(3), MS_ASYNC), 0);
    fixture_trim(pool, 0);
    assert_int_equal(registered(), 0);
    assert_int_not_equal(msync(block, MIB(3), MS_ASYNC), 0);
}

static void a_node_that_there_is_not_has_no_memory(void **state) {
    (void)state;
    static const int nodes[] = {99, 5000, -1};
    poolMemPool_t pool = NULL;
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++)
        assert_int_equal(make(poolMemLocationTypeHostNuma, nodes[i], &pool), poolErrorInvalidValue);
    assert_null(pool);
}

// A child that wrote there would have the kernel move the parent's page away from the driver's.
static void a_child_has_no_part_in_it(void **state) {
    (void)state;
    int status = 0;
    char *block = fixture_malloc(staging_pool(), MIB(3), stream);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile char *)block = 1;
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

static void reset(void) {
    CUdevice device = 0;
    CUcontext context;
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
    stream = simulated_stream();
}

// The registration ends with the context, and the pages are the process's own.
static void pages_go_back_when_their_context_has_ended(void **state) {
    (void)state;
    poolMemPool_t pool = staging_pool();
    char *block = fixture_malloc(pool, MIB(8), stream);
    fixture_free(block, stream);
    fixture_synchronize(stream);
    assert_int_equal(msync(block, MIB(8), MS_ASYNC), 0);
    reset();
    fixture_free(fixture_malloc(pool, MIB(1), stream), stream);
    fixture_synchronize(stream);
    assert_int_equal(poolMemPoolTrimTo(pool, 0), poolSuccess);
    assert_int_not_equal(msync(block, MIB(8), MS_ASYNC), 0);
}

// The host may still read and write what is live.
static void pages_of_a_live_block_outlive_their_context(void **state) {
    (void)state;
    poolMemPool_t pool = staging_pool();
    char *block = fixture_malloc(pool, MIB(8), stream);
    memset(block, 7, MIB(8));
    reset();
    fixture_free(fixture_malloc(pool, MIB(1), stream), stream);
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    assert_int_equal(msync(block, MIB(8), MS_ASYNC), 0);
    assert_int_equal(block[MIB(8) - 1], 7);
    fixture_free(block, stream);
    fixture_trim(pool, 0);
    assert_int_not_equal(msync(block, MIB(8), MS_ASYNC), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(memory_is_registered_until_it_is_given_back),
        TEST(memory_begins_with_a_huge_page_of_zeros),
        TEST(all_pages_of_a_large_piece_are_there),
        TEST(a_thread_that_touches_with_others_ends_behind_its_call),
        TEST(pages_that_the_driver_refuses_go_back),
        TEST(memory_that_stays_registered_stays_the_pools),
        TEST(a_node_that_there_is_not_has_no_memory),
        TEST(a_child_has_no_part_in_it),
        TEST(pages_go_back_when_their_context_has_ended),
        TEST(pages_of_a_live_block_outlive_their_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
