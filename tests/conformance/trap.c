// Rows of what went wrong in other allocators of this kind, as far as any device can show it.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

// What a driver may keep for itself when memory comes and goes.
#define DRIVER_OVERHEAD MIB(64)

// ---------------------------------------------------------------------- trap 3: failed allocations

void row_trap_3_a_failed_allocation_keeps_nothing_of_what_it_grew(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    void *live = test_malloc(pool, MIB(40), stream);
    test_fill(live, 1, MIB(40), stream);
    test_free(test_malloc(pool, MIB(40), stream), stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);

    struct test_figures before = test_figures(pool);
    size_t taken = test_device_used_bytes(), too_much = test_device_free_bytes() + MIB(80);
    for (unsigned i = 0; i < 5; i++) {
        void *pointer = NULL;
        EXPECT(poolMallocFromPoolAsync(&pointer, too_much, pool, stream),
               poolErrorMemoryAllocation);
        REQUIRE(!pointer);
        REQUIRE_FIGURES(pool, before);
        REQUIRE(test_device_used_bytes() < taken + DRIVER_OVERHEAD);
    }
    void *later = test_malloc(pool, MIB(40), stream);
    REQUIRE_EQUAL(test_reserved(pool), before.reserved);
    test_fill(later, 2, MIB(40), stream);
    test_finish(stream);
    REQUIRE(test_is_filled(live, 1, MIB(40)) && test_is_filled(later, 2, MIB(40)));
    test_free(live, stream);
    test_free(later, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

// -------------------------------------------------------------- trap 4: a lock held after an error

struct use {
    poolMemPool_t pool;
    CUstream stream;
};

static void *use_pool(void *argument) {
    struct use *use = argument;
    static const size_t sizes[] = {512, KIB(300), MIB(3)};
    test_use_device(0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        test_free(test_malloc(use->pool, sizes[i], use->stream), use->stream);
    EXPECT(poolStreamSynchronize(use->stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(use->pool, 0), poolSuccess);
    return NULL;
}

static void use_pool_in_another_thread(poolMemPool_t pool, CUstream stream) {
    struct use use = {.pool = pool, .stream = stream};
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, use_pool, &use) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static poolError_t malloc_absurd(poolMemPool_t pool, CUstream stream) {
    void *pointer;
    return poolMallocFromPoolAsync(&pointer, SIZE_MAX, pool, stream);
}

static poolError_t malloc_beyond_the_largest_size(poolMemPool_t pool, CUstream stream) {
    void *pointer;
    return poolMallocFromPoolAsync(&pointer, MIB(65), pool, stream);
}

static poolError_t malloc_nowhere(poolMemPool_t pool, CUstream stream) {
    return poolMallocFromPoolAsync(NULL, 512, pool, stream);
}

static poolError_t free_twice(poolMemPool_t pool, CUstream stream) {
    void *pointer = test_malloc(pool, 512, stream);
    test_free(pointer, stream);
    return poolFreeAsync(pointer, stream);
}

static poolError_t free_large_twice(poolMemPool_t pool, CUstream stream) {
    void *pointer = test_malloc(pool, MIB(3), stream);
    test_free(pointer, stream);
    return poolFreeAsync(pointer, stream);
}

static poolError_t free_interior(poolMemPool_t pool, CUstream stream) {
    char *pointer = test_malloc(pool, MIB(3), stream);
    poolError_t error = poolFreeAsync(pointer + 512, stream);
    test_free(pointer, stream);
    return error;
}

static poolError_t free_host_memory(poolMemPool_t pool, CUstream stream) {
    return poolFreeAsync(&pool, stream);
}

static poolError_t set_read_only_attribute(poolMemPool_t pool, CUstream stream) {
    uint64_t value = (uintptr_t)stream;
    return poolMemPoolSetAttribute(pool, poolMemPoolAttrUsedMemCurrent, &value);
}

static poolError_t read_unknown_attribute(poolMemPool_t pool, CUstream stream) {
    uint64_t value = (uintptr_t)stream;
    return poolMemPoolGetAttribute(pool, (enum poolMemPoolAttr)999, &value);
}

static poolError_t destroy_the_default_pool(poolMemPool_t pool, CUstream stream) {
    (void)pool, (void)stream;
    return poolMemPoolDestroy(test_default_pool(0));
}

static poolError_t make_current_on_a_bad_device(poolMemPool_t pool, CUstream stream) {
    (void)stream;
    return poolDeviceSetMemPool(-1, pool);
}

void row_trap_4_no_lock_is_held_after_an_error(void) {
    static poolError_t (*const errors[])(poolMemPool_t, CUstream) = {
        malloc_absurd,
        malloc_beyond_the_largest_size,
        malloc_nowhere,
        free_twice,
        free_large_twice,
        free_interior,
        free_host_memory,
        set_read_only_attribute,
        read_unknown_attribute,
        destroy_the_default_pool,
        make_current_on_a_bad_device,
    };
    poolMemPool_t pool = test_pool_of_at_most(MIB(64));
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        REQUIRE(errors[i](pool, stream) != poolSuccess);
        use_pool_in_another_thread(pool, stream);
        use_pool_in_another_thread(test_default_pool(0), stream);
        use_pool(&(struct use){.pool = pool, .stream = stream});
    }
}

// ------------------------------------------------------------------ trap 9: first large allocation

void row_trap_9_the_first_large_allocation_reserves_what_it_needs(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    size_t before = test_device_used_bytes();
    void *pointer = test_malloc(pool, GIB(1), stream);
    REQUIRE(test_reserved(pool) >= GIB(1));
    REQUIRE(test_reserved(pool) <= GIB(1) + MIB(32));
    REQUIRE(test_device_used_bytes() < before + GIB(1) + DRIVER_OVERHEAD);

    struct test_figures figures = test_figures(pool);
    test_free(pointer, stream);
    REQUIRE(test_malloc(pool, GIB(1), stream) == pointer);
    REQUIRE_FIGURES(pool, figures);
}

// -------------------------------------------------------------- trap 10: destroy meets other calls

#define TRAP_10_BLOCKS 2000

struct freeing {
    CUstream stream;
    _Atomic unsigned freed;
    void *blocks[TRAP_10_BLOCKS];
};

static void *free_all(void *argument) {
    struct freeing *freeing = argument;
    test_use_device(0);
    for (unsigned i = 0; i < TRAP_10_BLOCKS; i++) {
        test_free(freeing->blocks[i], freeing->stream);
        freeing->freed++;
    }
    return NULL;
}

void row_trap_10_a_pool_may_be_destroyed_while_another_thread_frees_into_it(void) {
    static struct freeing freeing;
    size_t before = test_device_used_bytes();
    freeing.stream = test_stream();
    for (unsigned round = 0; round < 10; round++) {
        poolMemPool_t pool = test_pool();
        for (unsigned i = 0; i < TRAP_10_BLOCKS; i++)
            freeing.blocks[i] = test_malloc(pool, i % 50 ? 512 : MIB(2), freeing.stream);
        freeing.freed = 0;
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, free_all, &freeing) == 0);
        while (freeing.freed < TRAP_10_BLOCKS / 10 * round)
            sched_yield();
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
    EXPECT(poolStreamSynchronize(freeing.stream), poolSuccess);
    REQUIRE(test_device_used_bytes() < before + DRIVER_OVERHEAD);
}

// ------------------------------------------------------- trap 11: address space of destroyed pools

void row_trap_11_pools_are_made_while_frees_of_earlier_ones_are_queued(void) {
    test_require_virtual_memory();
    CUstream held = test_stream(), stream = test_stream();
    size_t before = test_device_used_bytes();
    struct test_hold hold;
    test_hold(&hold, held);
    for (unsigned i = 0; i < 100; i++) {
        poolMemPool_t pool = test_pool();
        test_free(test_malloc(pool, MIB(4), held), held);
        test_free(test_malloc(pool, 512, stream), stream);
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    }
    EXPECT(poolStreamQuery(held), poolErrorNotReady);
    test_let_go(&hold);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(test_device_used_bytes() < before + DRIVER_OVERHEAD);
}

// ----------------------------------------------------------------------- trap 14: the process ends

void row_end_with_everything_alive(void) {
    test_use_device(0);
    CUstream stream = test_stream();
    poolMemPool_t pool = test_keeping_pool();
    test_malloc(test_default_pool(0), 100, stream);
    test_malloc(pool, MIB(40), stream);
    test_free(test_malloc(pool, KIB(300), stream), stream);
    poolMemPool_t destroyed = test_pool();
    void *pointer = test_malloc(destroyed, MIB(4), stream);
    test_fill(pointer, 1, MIB(4), stream);
    test_free(pointer, stream);
    EXPECT(poolMemPoolDestroy(destroyed), poolSuccess);
}

void row_trap_14_a_process_ends_quietly_with_everything_alive(void) {
    test_run_helper_quietly("end_with_everything_alive");
}

// ------------------------------------------------------------------------- trap 15: a forked child

static void require_every_call_refused(poolMemPool_t pool, void *pointer, CUstream stream,
                                       CUevent event) {
    struct poolMemPoolProps props = test_pool_props(0);
    poolMemPool_t other;
    void *fresh;
    EXPECT(poolMallocAsync(&fresh, 512, stream), poolErrorInitializationError);
    EXPECT(poolMallocFromPoolAsync(&fresh, MIB(40), pool, stream), poolErrorInitializationError);
    EXPECT(poolFreeAsync(pointer, stream), poolErrorInitializationError);
    EXPECT(poolFree(pointer), poolErrorInitializationError);
    EXPECT(poolMemPoolCreate(&other, &props), poolErrorInitializationError);
    EXPECT(poolMemPoolDestroy(pool), poolErrorInitializationError);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolErrorInitializationError);
    EXPECT(poolDeviceGetDefaultMemPool(&other, 0), poolErrorInitializationError);
    EXPECT(poolStreamSynchronize(stream), poolErrorInitializationError);
    EXPECT(poolEventSynchronize(event), poolErrorInitializationError);
    EXPECT(poolDeviceSynchronize(), poolErrorInitializationError);
    EXPECT(poolStreamQuery(stream), poolErrorInitializationError);
    EXPECT(poolEventRecord(event, stream), poolErrorInitializationError);
    REQUIRE(*poolGetLastErrorDetail());
}

void row_trap_15_a_forked_child_gets_a_clear_error(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    CUevent event = test_event();
    void *pointer = test_malloc(pool, KIB(300), stream);
    test_fill(pointer, 5, KIB(300), stream);

    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        require_every_call_refused(pool, pointer, stream, event);
        _exit(0);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    test_finish(stream);
    REQUIRE(test_is_filled(pointer, 5, KIB(300)));
    test_free(pointer, stream);
    test_free(test_malloc(pool, MIB(40), stream), stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

static _Noreturn void use_in_child(int version) {
    int again = 0;
    test_use_device(0);
    CUstream stream = test_stream();
    void *pointer = test_malloc(test_default_pool(0), KIB(300), stream);
    test_fill(pointer, 5, KIB(300), stream);
    test_finish(stream);
    REQUIRE(test_is_filled(pointer, 5, KIB(300)));
    test_free(pointer, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolDriverGetVersion(&again), poolSuccess);
    REQUIRE(again == version);
    _exit(0);
}

// The parent may use it, too.
void row_ask_the_version_and_fork(void) {
    int version = 0, status;
    EXPECT(poolDriverGetVersion(&version), poolSuccess);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        use_in_child(version);
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    test_use_device(0);
    REQUIRE(test_driver()->version == version);
    CUstream stream = test_stream();
    test_free(test_malloc(test_default_pool(0), KIB(300), stream), stream);
}

void row_the_drivers_version_is_told_without_the_device(void) {
    test_run_helper_quietly("ask_the_version_and_fork");
}
