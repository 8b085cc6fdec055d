// Threads that share managers.
#include "mam/fixture.h"

#include <sched.h>
#include <stdlib.h>

#include "mam/blocks.h"
#include "mam/threads.h"

enum { THREADS = 4, PLACES = 32, STEPS = 3000 };

// A block goes from thread to thread through these places: who puts one in takes another out.
static _Atomic(struct block *) places[PLACES];
static _Atomic uint64_t next_seed;

static void exchange(poolMam_t mam, uint64_t *random, struct block *fresh) {
    struct block *old = atomic_exchange(&places[blocks_random(random) % PLACES], fresh);
    if (!old)
        return;
    blocks_free(mam, old);
    free(old);
}

static void *hand_around(void *argument) {
    uint64_t seed = atomic_fetch_add(&next_seed, 1) + 1, random = seed;
    for (uint64_t i = 0; i < STEPS; i++) {
        struct block *fresh = malloc(sizeof *fresh);
        if (!fresh)
            abort();
        if (blocks_allocate(argument, fresh, blocks_size(&random, MIB(8)), seed << 32 | i))
            exchange(argument, &random, fresh);
        else
            free(fresh);
    }
    return NULL;
}

static void what_one_thread_allocates_another_frees(void **state) {
    (void)state;
    for (unsigned int flags = poolMamDefault; flags <= poolMamFixed; flags++) {
        uint64_t random = 1;
        poolMam_t mam = mam_of(MIB(128), flags);
        threads_run(hand_around, mam, THREADS, NULL, NULL);
        for (int i = 0; i < 100 * PLACES; i++)
            exchange(mam, &random, NULL);
        fixture_check(mam_pool(mam));
        assert_int_equal(fixture_used(mam_pool(mam)), 0);
        mam_free(mam, mam_malloc(mam, MIB(128)));
        mam_destroy(mam);
    }
}

static void *allocate_once(void *argument) {
    struct block block;
    if (!blocks_allocate(argument, &block, KIB(100), 1))
        abort();
    blocks_free(argument, &block);
    return NULL;
}

static void threads_that_come_first_together_take_one_chunk(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        poolMam_t mam = mam_of(MIB(256), poolMamDefault);
        threads_run(allocate_once, mam, THREADS, NULL, NULL);
        assert_int_equal(simcudaMemoryInUse(0), MIB(256));
        mam_destroy(mam);
        mam_device_is_empty(0);
    }
}

static _Atomic unsigned beginners;

// Until somebody has destroyed the manager. What is live then is nobody's but this thread's.
static void *use_until_it_ends(void *argument) {
    poolError_t error = poolSuccess;
    for (uint64_t i = 0; error == poolSuccess; i++) {
        void *pointer = NULL;
        error = poolMamMalloc(argument, &pointer, i % 2 ? 300 : KIB(300));
        if (error == poolSuccess && poolMamFree(argument, pointer) != poolSuccess &&
            poolFree(pointer) != poolSuccess)
            abort();
        if (i == 10)
            atomic_fetch_add(&beginners, 1);
    }
    if (error != poolErrorInvalidValue)
        abort();
    return NULL;
}

static void destroy_beside_users(void *argument) {
    while (atomic_load(&beginners) < THREADS)
        sched_yield();
    mam_destroy(argument);
}

static void a_manager_can_be_destroyed_while_threads_use_it(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        poolMam_t mam = mam_of(MIB(64), poolMamDefault);
        atomic_store(&beginners, 0);
        threads_run(use_until_it_ends, mam, THREADS, destroy_beside_users, mam);
    }
}

static _Atomic unsigned destroyed;

static void *destroy(void *argument) {
    if (poolMamDestroy(argument) == poolSuccess)
        atomic_fetch_add(&destroyed, 1);
    return NULL;
}

static void one_of_several_threads_destroys_a_manager(void **state) {
    (void)state;
    for (int i = 0; i < 50; i++) {
        poolMam_t mam = mam_of(MIB(64), poolMamDefault);
        mam_free(mam, mam_malloc(mam, 100));
        atomic_store(&destroyed, 0);
        threads_run(destroy, mam, THREADS, NULL, NULL);
        assert_int_equal(atomic_load(&destroyed), 1);
    }
}

static _Atomic unsigned freed;
static void *_Atomic doubly;

static void *free_too(void *argument) {
    if (poolMamFree(argument, atomic_load(&doubly)) == poolSuccess)
        atomic_fetch_add(&freed, 1);
    return NULL;
}

static void one_of_several_threads_frees_a_block(void **state) {
    (void)state;
    static const size_t sizes[] = {100, KIB(64), MIB(3)};
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    for (int i = 0; i < 60; i++) {
        atomic_store(&doubly, mam_malloc(mam, sizes[i % 3]));
        atomic_store(&freed, 0);
        threads_run(free_too, mam, THREADS, NULL, NULL);
        assert_int_equal(atomic_load(&freed), 1);
    }
    assert_int_equal(fixture_used(mam_pool(mam)), 0);
    mam_destroy(mam);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_one_thread_allocates_another_frees),
        TEST(threads_that_come_first_together_take_one_chunk),
        TEST(a_manager_can_be_destroyed_while_threads_use_it),
        TEST(one_of_several_threads_destroys_a_manager),
        TEST(one_of_several_threads_frees_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
