// Rows in which the library's own thread works beside those of the program.
#include "inside/worker.h"
#include "supply/defer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "region/collect.h"
#include "region/device.h"
#include "region/stitch.h"
#include "stress/crew.h"
#include "stress/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/hang.h"
#include "support/pools.h"
#include "support/simulated.h"

enum { REAPER_ROUNDS = 6000 };

static struct crew crew;

// What a few blocks of each member fill, so that the pool rather remaps than grows.
static poolMemPool_t pool_for_reaper(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(256));
    test_set_flag(pool, poolMemPoolAttrTrimByReaper, 1);
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, MIB(32));
    return pool;
}

// As if so many other views had been made that these are kept no longer.
static void drop_kept_views(poolMemPool_t handle) {
    struct sp_pool *pool = sp_handle_pool(handle);
    sp_collect_all(pool);
    sp_lock_acquire(&pool->lock);
    sp_stitch_limit_kept(pool, 0, 0);
    sp_lock_release(&pool->lock);
    sp_defer_bury(pool);
}

static void allocate_if_possible(struct crew_member *member, struct crew_block *block) {
    size_t size = MIB(1) + crew_draw(member, MIB(24));
    poolError_t error =
        poolMallocFromPoolAsync(&block->address, size, member->crew->pool, member->stream);
    if (error != poolSuccess) {
        EXPECT(error, poolErrorMemoryAllocation);
        block->address = NULL;
        return;
    }
    block->size = size;
    block->stream = member->stream;
    block->value = (unsigned char)member->number;
    block->filled = crew_draw(member, 8) == 0;
    if (block->filled)
        test_fill_block(block->address, block->value, size, member->stream);
}

static void free_block(struct crew_block *block) {
    if (block->filled)
        test_check_block(block->address, block->value, block->size, block->stream);
    test_free(block->address, block->stream);
    block->address = NULL;
}

static void allocate_or_free_much(struct crew_member *member) {
    struct crew_block *block = &member->blocks[crew_draw(member, 3)];
    if (block->address)
        free_block(block);
    else
        allocate_if_possible(member, block);
}

static void give_the_reaper_work(struct crew_member *member) {
    poolMemPool_t pool = member->crew->pool;
    switch (crew_draw(member, 64)) {
    case 0:
        EXPECT(poolMemPoolTrimTo(pool, crew_draw(member, MIB(256))), poolSuccess);
        break;
    case 1:
        test_set_flag(pool, poolMemPoolAttrReaper, crew_draw(member, 4) != 0);
        break;
    case 2:
    case 3:
        drop_kept_views(pool);
        break;
    case 4:
    case 5:
    case 6:
        EXPECT(poolStreamSynchronize(member->stream), poolSuccess);
        break;
    case 7:
        test_set_attribute(pool, poolMemPoolAttrReleaseDelay, crew_draw(member, 3));
        break;
    default:
        allocate_or_free_much(member);
        break;
    }
}

void row_threads_map_while_the_reaper_works(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = pool_for_reaper();
    crew_open(&crew, pool);
    crew_start(&crew, give_the_reaper_work, REAPER_ROUNDS);
    crew_join(&crew);
    crew_close(&crew);
    REQUIRE(test_attribute(pool, poolMemPoolStatZombiesBuried) > 0);
    REQUIRE(test_attribute(pool, poolMemPoolStatBytesReleasedByReaper) > 0);
    crew_require_all_back(pool);
}

// Pieces, a view of every other one, and all of it free: in the end there is something of
// everything to do.
static void leave_work(poolMemPool_t pool, CUstream stream) {
    void *pieces[8];
    void *joined;
    for (unsigned i = 0; i < 8; i++)
        pieces[i] = test_malloc(pool, MIB(8), stream);
    for (unsigned i = 0; i < 8; i += 2)
        test_free(pieces[i], stream);
    EXPECT(poolMallocAsyncWithFlags(&joined, MIB(24), pool, stream, poolMallocNoGrowth),
           poolSuccess);
    test_free(joined, stream);
    for (unsigned i = 1; i < 8; i += 2)
        test_free(pieces[i], stream);
    drop_kept_views(pool);
}

static void live_a_pools_life(struct crew_member *member) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(64));
    test_set_flag(pool, poolMemPoolAttrTrimByReaper, 1);
    leave_work(pool, member->stream);
    if (crew_draw(member, 4) != 0)
        EXPECT(poolStreamSynchronize(member->stream), poolSuccess);
    if (crew_draw(member, 2) != 0)
        EXPECT(poolStreamQuery(member->stream), poolSuccess);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
}

void row_pools_end_while_the_reaper_works(void) {
    test_require_virtual_memory();
    crew_open(&crew, NULL);
    crew_start(&crew, live_a_pools_life, 60);
    crew_join(&crew);
    crew_close(&crew);
    inside_worker_rest();
    crew_require_all_back(test_default_pool(0));
}

// --------------------------------------------------------------------------------------- processes

static bool is_child;

static _Noreturn void end_child(poolMemPool_t pool) {
    is_child = true;
    alarm(TEST_HANG_SECONDS);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolErrorInitializationError);
    exit(EXIT_SUCCESS);
}

// Behind the library's handler, and before a leak checker's: what the parent's threads hold is
// nobody's in the child.
static void end_child_at_once(void) {
    if (is_child)
        _exit(EXIT_SUCCESS);
}

void row_a_fork_while_the_reaper_works_gives_the_child_none(void) {
    REQUIRE(atexit(end_child_at_once) == 0);
    poolMemPool_t pool = pool_for_reaper();
    crew_open(&crew, pool);
    crew_start(&crew, give_the_reaper_work, REAPER_ROUNDS);
    for (unsigned i = 0; i < 20; i++) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            end_child(pool);
        int status;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    }
    crew_join(&crew);
    crew_close(&crew);
    crew_require_all_back(pool);
}

static atomic_uint endless; // threads that have begun

// Until the driver shuts down beneath it, from when on every call may fail.
static void *give_work_endlessly(void *argument) {
    poolMemPool_t pool = argument;
    CUstream stream;
    test_use_device(0);
    stream = test_stream();
    for (atomic_fetch_add(&endless, 1);;) {
        void *pointers[2];
        unsigned made = 0;
        while (made < 2 &&
               poolMallocFromPoolAsync(&pointers[made], MIB(5), pool, stream) == poolSuccess)
            made++;
        while (made > 0)
            poolFreeAsync(pointers[--made], stream);
        poolStreamSynchronize(stream);
    }
    return NULL;
}

void row_end_while_the_reaper_works(void) {
    pthread_t thread;
    test_use_device(0);
    poolMemPool_t pool = pool_for_reaper();
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, 0);
    for (unsigned i = 0; i < 4; i++)
        REQUIRE(pthread_create(&thread, NULL, give_work_endlessly, pool) == 0);
    while (atomic_load(&endless) < 4 ||
           test_attribute(pool, poolMemPoolStatBytesReleasedByReaper) < MIB(64))
        ;
    exit(EXIT_SUCCESS);
}

void row_a_process_that_ends_while_the_reaper_works_ends_quietly(void) {
    for (unsigned i = 0; i < 5; i++)
        test_run_helper_quietly("end_while_the_reaper_works");
}

static void look_for_calls(void) {
    uint64_t calls = test_require_simulated()->simcudaCallCount(NULL);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    if (test_require_simulated()->simcudaCallCount(NULL) != calls)
        fprintf(stderr, "the driver was called after the handlers at exit had begun\n");
}

void row_end_with_much_left_to_the_reaper(void) {
    enum { EXTENTS = 256 };
    void *pointers[EXTENTS];
    REQUIRE(atexit(look_for_calls) == 0);
    test_use_device(0);
    poolMemPool_t pool = test_pool();
    test_set_flag(pool, poolMemPoolAttrTrimByReaper, 1);
    CUstream stream = test_stream();
    for (unsigned i = 0; i < EXTENTS; i++)
        EXPECT(poolMallocAsyncWithFlags(&pointers[i], MIB(2), pool, stream, poolMallocFixed),
               poolSuccess);
    for (unsigned i = 0; i < EXTENTS; i++)
        test_free(pointers[i], stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    exit(EXIT_SUCCESS);
}

// With work for the reaper, and with a view that waits for work of which nobody will hear.
void row_end_with_the_main_thread_gone(void) {
    test_use_device(0);
    poolMemPool_t pool = pool_for_reaper();
    CUstream stream = test_stream();
    leave_work(pool, stream);
    test_work(stream);
    leave_work(pool, stream);
    pthread_exit(NULL);
}

// The thread sanitizer has a thread of its own, with which such a process never ends.
#if defined(__SANITIZE_THREAD__)
#define HAS_SANITIZERS_THREAD true
#elif defined(__has_feature)
#define HAS_SANITIZERS_THREAD __has_feature(thread_sanitizer)
#else
#define HAS_SANITIZERS_THREAD false
#endif

void row_a_process_ends_with_its_last_thread_though_the_reaper_has_run(void) {
    test_require_virtual_memory();
    if (!HAS_SANITIZERS_THREAD)
        test_run_helper_quietly("end_with_the_main_thread_gone");
}

void row_the_reaper_makes_no_call_once_the_process_ends(void) {
    for (unsigned i = 0; i < 5; i++)
        test_run_helper_quietly("end_with_much_left_to_the_reaper");
}
