// Pools that are evicted and become resident again: what goes, what stays, what is refused
// meanwhile, and what failures leave.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "fault/host_memory.h"
#include "random/numbers.h"
#include "unit/fixture/scattered.h"

// Where a test puts the contents aside. What is loaded may be less than what was saved.
enum { RANGES = 64 };
static struct {
    struct poolMemRange ranges[RANGES];
    char *contents[RANGES];
    size_t saved, loaded, bytes;
    poolError_t answer;
    void (*inside)(void); // called in both visitors
} aside;

static unsigned char byte_at(const void *address) {
    unsigned char byte = 0;
    assert_int_equal(simcudaPeek(&byte, (uintptr_t)address, 1), CUDA_SUCCESS);
    return byte;
}

static bool has_memory(const void *address) {
    unsigned char byte;
    return simcudaPeek(&byte, (uintptr_t)address, 1) == CUDA_SUCCESS;
}

static void write_to(void *address, unsigned char byte) {
    assert_int_equal(simcudaPoke((uintptr_t)address, &byte, 1), CUDA_SUCCESS);
}

static void forget_contents(void) {
    for (size_t i = 0; i < aside.saved; i++)
        free(aside.contents[i]);
    aside.saved = aside.bytes = 0;
}

static poolError_t save(void *user, const struct poolMemRange *ranges, size_t count) {
    assert_ptr_equal(user, &aside);
    assert_in_range(count, 0, RANGES);
    forget_contents();
    for (size_t i = 0; i < count; i++) {
        const struct poolMemRange *range = &ranges[i];
        assert_true(i == 0 || (char *)range[-1].ptr + range[-1].size <= (char *)range->ptr);
        aside.ranges[i] = *range;
        aside.bytes += range->size;
        aside.contents[i] = malloc(range->size);
        if (!aside.contents[i])
            return poolErrorMemoryAllocation;
        aside.saved++;
        assert_int_equal(simcudaPeek(aside.contents[i], (uintptr_t)range->ptr, range->size),
                         CUDA_SUCCESS);
    }
    if (aside.inside)
        aside.inside();
    return aside.answer;
}

// A range lies in one that was saved.
static void load_range(const struct poolMemRange *range) {
    for (size_t i = 0; i < aside.saved; i++) {
        uintptr_t offset = (uintptr_t)range->ptr - (uintptr_t)aside.ranges[i].ptr;
        if (offset >= aside.ranges[i].size)
            continue;
        assert_in_range(range->size, 1, aside.ranges[i].size - offset);
        assert_int_equal(
            simcudaPoke((uintptr_t)range->ptr, aside.contents[i] + offset, range->size),
            CUDA_SUCCESS);
        return;
    }
    fail_msg("%p was not saved", range->ptr);
}

static poolError_t load(void *user, const struct poolMemRange *ranges, size_t count) {
    assert_ptr_equal(user, &aside);
    aside.loaded = count;
    for (size_t i = 0; i < count; i++)
        load_range(&ranges[i]);
    if (aside.inside)
        aside.inside();
    return aside.answer;
}

static size_t evict(void) {
    size_t stayed = SIZE_MAX;
    assert_int_equal(poolMemPoolEvict(pool, save, &aside, &stayed), poolSuccess);
    assert_int_equal(stayed, fixture_reserved(pool));
    fixture_check(pool);
    return stayed;
}

static void make_resident(void) {
    assert_int_equal(poolMemPoolMakeResident(pool, load, &aside), poolSuccess);
    fixture_check(pool);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEvictedBytes), 0);
}

static int begin(void **state) {
    memset(&aside, 0, sizeof aside);
    return setup(state);
}

static int finish(void **state) {
    forget_contents();
    return fixture_teardown(state);
}

static int begin_with_peers(void **state) {
    (void)state;
    memset(&aside, 0, sizeof aside);
    if (fixture_begin("devices=2") != 0)
        return -1;
    pool = fixture_pool_of_at_most(POOL);
    a = simulated_stream();
    b = simulated_stream();
    return 0;
}

// ------------------------------------------------------------------------------ what goes and
// comes

static void live_blocks_get_other_memory_at_their_addresses(void **state) {
    (void)state;
    char *large = fixture_malloc(pool, MIB(20), a);
    char *small = fixture_malloc(pool, 700, b);
    char *loose = fixture_malloc(pool, KIB(100), b);
    write_to(large, 1);
    write_to(large + MIB(20) - 1, 2);
    write_to(small, 3);
    write_to(loose, 4);
    size_t reserved = fixture_reserved(pool), used = fixture_used(pool);
    assert_int_equal(evict(), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
    assert_true(fixture_attribute(pool, poolMemPoolStatEvictedBytes) <= reserved);
    assert_int_equal(fixture_used(pool), used);
    assert_false(has_memory(large) || has_memory(small) || has_memory(loose));
    make_resident();
    assert_int_equal(simcudaMemoryInUse(0), fixture_reserved(pool));
    assert_int_equal(byte_at(large), 1);
    assert_int_equal(byte_at(large + MIB(20) - 1), 2);
    assert_int_equal(byte_at(small), 3);
    assert_int_equal(byte_at(loose), 4);
    fixture_free(large, a);
    fixture_free(small, b);
    fixture_free(loose, a);
}

static void pending_work_is_waited_for(void **state) {
    (void)state;
    void *live = fixture_malloc(pool, MIB(4), a);
    void *freed = fixture_malloc(pool, MIB(4), a);
    simulated_work(a);
    simulated_work(b);
    fixture_free(freed, a);
    assert_int_equal(evict(), 0);
    assert_int_equal(aside.bytes, MIB(4));
    make_resident();
    assert_int_equal(fixture_reserved(pool), MIB(4));
    fixture_free(live, a);
}

// The stitched block and its pieces at home are one memory.
static void stitched_views_come_back_with_their_pieces(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    char *joined = fixture_malloc(pool, 6 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(joined));
    for (size_t i = 0; i < 6; i++)
        write_to(joined + i * EXTENT, (unsigned char)(10 + i));
    assert_int_equal(evict(), 0);
    assert_int_equal(aside.bytes, 14 * EXTENT);
    assert_false(has_memory(joined));
    make_resident();
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(byte_at(joined + i * EXTENT), 10 + i);
    fixture_free(joined, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), POOL / 2);
}

static void stitched_blocks_are_freed_while_they_have_no_memory(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 6 * EXTENT, a);
    assert_int_equal(evict(), 0);
    fixture_free(joined, a);
    make_resident();
    assert_int_equal(fixture_reserved(pool), POOL / 2);
    assert_int_equal(simcudaMemoryInUse(0), POOL / 2);
    void *again = fixture_malloc(pool, 8 * EXTENT, a);
    assert_int_equal(fixture_reserved(pool), POOL);
    fixture_free(again, a);
}

static void views_that_serve_nobody_are_not_made_again(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_free(fixture_malloc(pool, 6 * EXTENT, a), a);
    assert_int_equal(evict(), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViews), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatZombies), 0);
    make_resident();
}

static void fixed_blocks_stay(void **state) {
    (void)state;
    void *fixed = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, MIB(6), pool, a, poolMallocFixed),
                     poolSuccess);
    void *other = fixture_malloc(pool, MIB(4), a);
    write_to(fixed, 7);
    assert_int_equal(evict(), MIB(6));
    assert_int_equal(aside.saved, 1);
    assert_ptr_equal(aside.ranges[0].ptr, other);
    assert_int_equal(byte_at(fixed), 7);
    make_resident();
    assert_int_equal(byte_at(fixed), 7);
    fixture_free(fixed, a);
    fixture_free(other, a);
}

static void both_calls_do_nothing_that_is_done(void **state) {
    (void)state;
    void *live = fixture_malloc(pool, MIB(4), a);
    make_resident();
    assert_int_equal(aside.loaded, 0);
    evict();
    aside.answer = poolErrorUnknown;
    uint64_t calls = mapping_calls();
    assert_int_equal(evict(), 0); // saves nothing
    assert_int_equal(mapping_calls(), calls);
    aside.answer = poolSuccess;
    make_resident();
    assert_int_equal(aside.loaded, 1);
    make_resident();
    fixture_free(live, a);
}

static void a_pool_without_live_blocks_has_nothing_to_show(void **state) {
    (void)state;
    fixture_free(fixture_malloc(pool, MIB(4), a), a);
    aside.loaded = 77;
    assert_int_equal(evict(), 0);
    assert_int_equal(aside.saved, 0);
    make_resident();
    assert_int_equal(aside.loaded, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void what_others_may_do_with_the_memory_stays(void **state) {
    (void)state;
    const CUmemLocation peer = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    struct poolMemAccessDesc desc = {{poolMemLocationTypeDevice, 1}, poolMemAccessFlagsProtRead};
    unsigned long long flags = 0;
    char *live = fixture_malloc(pool, MIB(4), a);
    evict();
    assert_int_equal(poolMemPoolSetAccess(pool, &desc, 1), poolSuccess); // of nothing yet
    make_resident();
    assert_int_equal(sp_driver->cuMemGetAccess(&flags, &peer, (CUdeviceptr)(uintptr_t)live),
                     CUDA_SUCCESS);
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
    evict();
    make_resident();
    assert_int_equal(sp_driver->cuMemGetAccess(&flags, &peer, (CUdeviceptr)(uintptr_t)live),
                     CUDA_SUCCESS);
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
    fixture_free(live, a);
}

static void memory_of_the_host_is_evicted_too(void **state) {
    (void)state;
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeHostNuma, 0}};
    poolMemPool_t device_pool = pool;
    assert_int_equal(poolMemPoolCreate(&pool, &props), poolSuccess);
    char *live = fixture_malloc(pool, MIB(4), a);
    write_to(live, 5);
    assert_int_equal(evict(), 0);
    assert_int_equal(simcudaMemoryInUse(-1), 0);
    make_resident();
    assert_int_equal(byte_at(live), 5);
    fixture_free(live, a);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    pool = device_pool;
}

// -------------------------------------------------------------------------------------- meanwhile

static void refuse_all(void) {
    static const size_t sizes[] = {1, 700, KIB(57), MIB(1), MIB(4)};
    static const unsigned flags[] = {poolMallocDefault, poolMallocFixed, poolMallocNoGrowth,
                                     poolMallocSameStreamOnly, poolMallocCompleteOnly};
    for (size_t i = 0; i < 5; i++) {
        for (size_t of = 0; of < 5; of++) {
            void *pointer = &pool;
            assert_int_equal(
                poolMallocAsyncWithFlags(&pointer, sizes[i], pool, of % 2 ? a : b, flags[of]),
                poolErrorIllegalState);
            assert_ptr_equal(pointer, &pool);
        }
    }
    assert_non_null(strstr(poolGetLastErrorDetail(), "poolMemPoolMakeResident"));
    assert_int_equal(poolMemPoolPrime(pool, MIB(2)), poolErrorIllegalState);
}

// Also what a stream has at hand, in a slab and in its lists.
static void an_evicted_pool_allocates_nothing(void **state) {
    (void)state;
    void *small = fixture_malloc(pool, 700, a);
    void *large = fixture_malloc(pool, MIB(4), a);
    aside.inside = refuse_all;
    evict();
    fixture_free(small, a);
    fixture_free(large, b);
    fixture_synchronize(a);
    fixture_synchronize(b);
    refuse_all();
    make_resident();
    assert_int_equal(fixture_reserved(pool), 0);
    fixture_free(fixture_malloc(pool, 700, a), a);
    fixture_free(fixture_malloc(pool, MIB(4), b), b);
}

static void a_stream_that_comes_meanwhile_allocates_later(void **state) {
    (void)state;
    void *live = fixture_malloc(pool, MIB(4), a);
    void *small = fixture_malloc(pool, 700, a), *beside = fixture_malloc(pool, 700, a);
    evict();
    fixture_free(beside, a);        // and at hand there
    for (int i = 0; i < 100; i++) { // more than the pool's table of lanes has room for
        CUstream other = simulated_stream();
        fixture_lane(pool, other);
        void *pointer = NULL;
        assert_int_equal(poolMallocFromPoolAsync(&pointer, 700, pool, other),
                         poolErrorIllegalState);
    }
    refuse_all();
    make_resident();
    fixture_free(small, a);
    fixture_free(fixture_malloc(pool, 700, simulated_stream()), b);
    fixture_free(live, simulated_stream());
}

static void frees_change_the_books_alone(void **state) {
    (void)state;
    void *first = fixture_malloc(pool, MIB(8), a);
    void *second = fixture_malloc(pool, MIB(8), a);
    evict();
    uint64_t calls = mapping_calls();
    fixture_free(first, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_check(pool);
    assert_int_equal(mapping_calls(), calls);
    assert_int_equal(fixture_used(pool), MIB(8));
    assert_int_equal(poolFreeAsync(first, a), poolErrorInvalidValue);
    make_resident();
    assert_int_equal(fixture_reserved(pool), MIB(8));
    assert_int_equal(aside.loaded, 1);
    assert_true(has_memory(second));
    fixture_free(second, b);
}

// A part of an extent would be mapped anew.
static void a_trim_maps_nothing_in_an_evicted_pool(void **state) {
    (void)state;
    void *first = fixture_malloc(pool, MIB(8), a), *second = fixture_malloc(pool, MIB(8), a);
    evict();
    fixture_free(first, a);
    fixture_synchronize(a);
    fixture_trim(pool, MIB(10));
    assert_int_equal(simcudaMemoryInUse(0), 0);
    make_resident();
    fixture_free(second, a);
}

static void *freed_inside;

static void free_and_trim(void) {
    fixture_free(freed_inside, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_true(has_memory(freed_inside)); // the visitor may be about to copy it
}

static void what_is_freed_in_a_visitor_stays_until_that_returns(void **state) {
    (void)state;
    void *live = fixture_malloc(pool, MIB(8), a);
    freed_inside = fixture_malloc(pool, MIB(8), a);
    aside.inside = free_and_trim;
    evict();
    aside.inside = NULL;
    make_resident();
    assert_int_equal(fixture_reserved(pool), MIB(8));
    fixture_free(live, a);
}

static void free_blocks_in_a_part_of_an_extent_come_back_with_it(void **state) {
    (void)state;
    fill_with(HALF);
    evict();
    for (size_t i = 0; i < HALVES; i += 2)
        drop(i, a);
    make_resident();
    assert_int_equal(fixture_reserved(pool), POOL);
    void *half = fixture_malloc(pool, HALF, a);
    assert_true(has_memory(half));
    fixture_free(half, a);
}

static void the_figures_tell_what_is_not_there(void **state) {
    (void)state;
    struct poolPointerAttributes before, after;
    char *live = fixture_malloc(pool, MIB(4), a);
    assert_int_equal(poolPointerGetAttributes(&before, live + 5), poolSuccess);
    evict();
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEvictedBytes), MIB(4));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestFree), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestRemapped), 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatExtents), 1);
    assert_int_equal(poolPointerGetAttributes(&after, live + 5), poolSuccess);
    assert_memory_equal(&before, &after, sizeof before);
    fixture_set(pool, poolMemPoolAttrReservedMemHigh, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrReservedMemHigh), 0);
    make_resident();
    fixture_free(live, a);
}

static void others_get_the_room(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    void *live = fixture_malloc(pool, MIB(32), a);
    evict();
    void *all = fixture_malloc(other, GIB(16) - MIB(4), b);
    assert_int_equal(poolMemPoolMakeResident(pool, load, &aside), poolErrorMemoryAllocation);
    assert_non_null(strstr(poolGetLastErrorDetail(), "needs 32.0 MiB"));
    assert_non_null(strstr(poolGetLastErrorDetail(), "4.0 MiB are free"));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEvictedBytes), MIB(32));
    fixture_check(pool);
    fixture_free(all, b); // free memory of another pool makes room
    assert_int_equal(poolStreamQuery(b), poolSuccess);
    make_resident();
    fixture_free(live, a);
}

static bool destroys;

static void destroy(void) {
    if (destroys)
        assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    destroys = false;
}

static void a_pool_is_destroyed_while_it_is_evicted(void **state) {
    (void)state;
    void *small = fixture_malloc(pool, 700, a);
    void *large = fixture_malloc(pool, MIB(4), b);
    evict();
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(poolMemPoolMakeResident(pool, load, &aside), poolErrorInvalidValue);
    assert_int_equal(simcudaMemoryInUse(0), 0);
    uint64_t calls = mapping_calls();
    fixture_free(small, a);
    fixture_free(large, a);
    fixture_synchronize(a);
    assert_int_equal(mapping_calls(), calls);
    pool = fixture_pool(); // in the same struct
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEvictedBytes), 0);
    fixture_free(fixture_malloc(pool, 700, a), a);
}

static void a_pool_that_is_destroyed_by_its_saver_keeps_its_memory(void **state) {
    (void)state;
    char *live = fixture_malloc(pool, MIB(4), a);
    aside.inside = destroy;
    destroys = true;
    assert_int_equal(poolMemPoolEvict(pool, save, &aside, NULL), poolErrorInvalidValue);
    assert_true(has_memory(live));
    fixture_free(live, a);
    fixture_synchronize(a);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

static void change_once_more(void) {
    assert_int_equal(poolMemPoolEvict(pool, NULL, NULL, NULL), poolErrorIllegalState);
    assert_int_equal(poolMemPoolMakeResident(pool, NULL, NULL), poolErrorIllegalState);
    assert_int_equal(poolMemPoolTrimTo(pool, 0), poolSuccess);
}

static void a_pool_is_changed_by_one_at_a_time(void **state) {
    (void)state;
    void *live = fixture_malloc(pool, MIB(4), a);
    aside.inside = change_once_more;
    evict();
    make_resident();
    fixture_free(live, a);
}

// -------------------------------------------------------------------------------------- failures

static void a_saver_that_fails_leaves_the_pool_resident(void **state) {
    (void)state;
    char *live = fixture_malloc(pool, MIB(4), a);
    write_to(live, 9);
    aside.answer = poolErrorTimeout;
    assert_int_equal(poolMemPoolEvict(pool, save, &aside, NULL), poolErrorTimeout);
    assert_int_equal(poolGetLastError(), poolErrorTimeout);
    assert_non_null(strstr(poolGetLastErrorDetail(), "visitor"));
    assert_int_equal(byte_at(live), 9);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatEvictedBytes), 0);
    fixture_free(fixture_malloc(pool, 700, a), a);
    fixture_free(live, a);
}

static void a_loader_that_fails_leaves_the_pool_evicted(void **state) {
    (void)state;
    char *live = fixture_malloc(pool, MIB(4), a);
    write_to(live, 9);
    evict();
    aside.answer = poolErrorTimeout;
    assert_int_equal(poolMemPoolMakeResident(pool, load, &aside), poolErrorTimeout);
    assert_int_equal(simcudaMemoryInUse(0), 0);
    refuse_all();
    aside.answer = poolSuccess;
    make_resident();
    assert_int_equal(byte_at(live), 9);
    fixture_free(live, a);
}

// What the driver refuses to take stays, and goes when it is tried again; what it refuses to give
// is asked for again.
static void each_call_of_the_driver_may_fail(void **state) {
    static const char *const calls[] = {"cuMemUnmap", "cuMemRelease", "cuMemCreate", "cuMemMap",
                                        "cuMemSetAccess"};
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    char *joined = fixture_malloc(pool, 4 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(joined));
    for (size_t i = 5; i < EXTENTS; i += 2)
        drop(i, a);
    for (size_t i = 0; i < 4; i++)
        write_to(joined + i * EXTENT, (unsigned char)(20 + i));
    for (size_t call = 0; call < 5; call++) {
        for (uint64_t n = 1; n <= 20; n++) {
            simcudaFaultSpan span = n % 2 ? simcudaFaultOnce : simcudaFaultOnwards;
            simcudaFailCall(calls[call], n, span, CUDA_ERROR_UNKNOWN);
            size_t stayed = evict();
            bool takes = call < 2 && simcudaFailCount() > 0;
            assert_true(takes || stayed == 0);
            poolError_t error = poolMemPoolMakeResident(pool, load, &aside);
            assert_true(error == poolSuccess || (call >= 2 && simcudaFailCount() > 0));
            simcudaFailClear();
            fixture_check(pool);
            if (error != poolSuccess) {
                assert_int_equal(simcudaMemoryInUse(0), 0);
                assert_int_equal(evict(), 0);
                make_resident();
            }
            for (size_t i = 0; i < 4; i++)
                assert_int_equal(byte_at(joined + i * EXTENT), 20 + i);
            assert_int_equal(simcudaMemoryInUse(0), fixture_reserved(pool));
        }
    }
    fixture_free(joined, a);
}

static void without_host_memory_nothing_changes(void **state) {
    (void)state;
    char *live = fixture_malloc(pool, MIB(4), a);
    write_to(live, 9);
    poolError_t error = poolSuccess;
    for (uint64_t n = 1; n < 8; n++) {
        uint64_t failed;
        host_memory_enter(n, true);
        error = poolMemPoolEvict(pool, save, &aside, NULL);
        host_memory_leave(&failed);
        assert_true(error == poolSuccess || error == poolErrorMemoryAllocation);
        if (error == poolSuccess)
            make_resident();
        assert_int_equal(byte_at(live), 9);
    }
    assert_int_equal(error, poolSuccess);
    fixture_free(live, a);
}

static void pools_whose_memory_others_may_have_are_not_evicted(void **state) {
    (void)state;
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .handleTypes = poolMemHandleTypePosixFileDescriptor,
                                     .location = {poolMemLocationTypeDevice, 0}};
    poolMemPool_t other = NULL;
    assert_int_equal(poolMemPoolCreate(&other, &props), poolSuccess);
    assert_int_equal(poolMemPoolEvict(other, NULL, NULL, NULL), poolErrorNotSupported);
    assert_int_equal(poolMemPoolMakeResident(other, NULL, NULL), poolSuccess);
    props = (struct poolMemPoolProps){.allocType = poolMemAllocationTypeManaged,
                                      .location = {poolMemLocationTypeDevice, 0}};
    assert_int_equal(poolMemPoolCreate(&other, &props), poolSuccess);
    assert_int_equal(poolMemPoolEvict(other, NULL, NULL, NULL), poolErrorNotSupported);
    assert_int_equal(poolMemPoolEvict(NULL, NULL, NULL, NULL), poolErrorInvalidValue);
    assert_int_equal(poolMemPoolMakeResident(NULL, NULL, NULL), poolErrorInvalidValue);
}

static void a_context_of_another_device_is_not_what_is_waited_for(void **state) {
    (void)state;
    CUcontext other = NULL, mine = simulated_context();
    char *live = fixture_malloc(pool, MIB(4), a);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(other), CUDA_SUCCESS);
    assert_int_equal(poolMemPoolEvict(pool, NULL, NULL, NULL), poolErrorInvalidDevice);
    assert_int_equal(sp_driver->cuCtxSetCurrent(mine), CUDA_SUCCESS);
    assert_true(has_memory(live));
    evict();
    make_resident();
    fixture_free(live, a);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
}

static void without_a_context_others_give_what_they_have(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    char *live = fixture_malloc(pool, MIB(32), a);
    evict();
    fixture_free(fixture_malloc(other, GIB(16) - MIB(4), b), b);
    assert_int_equal(sp_driver->cuCtxSynchronize(), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    make_resident();
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_true(has_memory(live));
    fixture_free(live, a);
}

// ---------------------------------------------------------------------------------------- threads

static void *evict_in_a_thread(void *unused) {
    CUcontext context = simulated_context();
    (void)unused;
    pthread_cancel(pthread_self());
    sp_driver->cuCtxSetCurrent(context);
    poolMemPoolEvict(pool, save, &aside, NULL);
    pthread_testcancel();
    return NULL;
}

// The visitor is a point where a thread would end.
static void a_thread_that_is_cancelled_leaves_no_pool_half_evicted(void **state) {
    (void)state;
    pthread_t thread;
    void *result = NULL, *live = fixture_malloc(pool, MIB(4), a);
    aside.inside = pthread_testcancel;
    assert_int_equal(pthread_create(&thread, NULL, evict_in_a_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    aside.inside = NULL;
    make_resident();
    fixture_free(live, a);
}

enum { THREADS = 4, CALLS = 3000, HELD = 16, CHANGES = 40 };

static atomic_uint working, wrong;

// Allocates and frees, and gives nothing to its stream.
static void *work_on(void *stream) {
    struct numbers numbers = {(uintptr_t)stream};
    void *held[HELD] = {NULL};
    for (int i = 0; i < CALLS; i++) {
        void **place = &held[numbers_below(&numbers, HELD)];
        size_t size = numbers_once_in(&numbers, 2) ? 700 : 1 + numbers_below(&numbers, MIB(3));
        poolError_t error = poolFreeAsync(*place, stream);
        *place = NULL;
        if (error == poolSuccess)
            error = poolMallocFromPoolAsync(place, size, pool, stream);
        if (error != poolSuccess && error != poolErrorIllegalState &&
            error != poolErrorMemoryAllocation)
            atomic_fetch_add(&wrong, 1);
    }
    for (int i = 0; i < HELD; i++)
        poolFreeAsync(held[i], stream);
    atomic_fetch_sub(&working, 1);
    return NULL;
}

static void threads_allocate_beside_it(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    atomic_store(&working, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work_on, simulated_stream()), 0);
    for (int i = 0; i < CHANGES || atomic_load(&working) > 0; i++) {
        assert_int_equal(poolMemPoolEvict(pool, NULL, NULL, NULL), poolSuccess);
        assert_int_equal(simcudaMemoryInUse(0), 0);
        sched_yield();
        assert_int_equal(simcudaMemoryInUse(0), 0); // whatever was under way
        assert_int_equal(poolMemPoolMakeResident(pool, NULL, NULL), poolSuccess);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&wrong), 0);
    fixture_check(pool);
    assert_int_equal(fixture_used(pool), 0);
    assert_int_equal(poolMemPoolEvict(pool, NULL, NULL, NULL), poolSuccess);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

#define RESIDENCY_TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
#define PEER_TEST(name)      cmocka_unit_test_setup_teardown(name, begin_with_peers, finish)

int main(void) {
    const struct CMUnitTest tests[] = {
        RESIDENCY_TEST(live_blocks_get_other_memory_at_their_addresses),
        RESIDENCY_TEST(pending_work_is_waited_for),
        RESIDENCY_TEST(stitched_views_come_back_with_their_pieces),
        RESIDENCY_TEST(stitched_blocks_are_freed_while_they_have_no_memory),
        RESIDENCY_TEST(views_that_serve_nobody_are_not_made_again),
        RESIDENCY_TEST(fixed_blocks_stay),
        RESIDENCY_TEST(both_calls_do_nothing_that_is_done),
        RESIDENCY_TEST(a_pool_without_live_blocks_has_nothing_to_show),
        PEER_TEST(what_others_may_do_with_the_memory_stays),
        RESIDENCY_TEST(memory_of_the_host_is_evicted_too),
        RESIDENCY_TEST(an_evicted_pool_allocates_nothing),
        RESIDENCY_TEST(a_stream_that_comes_meanwhile_allocates_later),
        RESIDENCY_TEST(frees_change_the_books_alone),
        RESIDENCY_TEST(a_trim_maps_nothing_in_an_evicted_pool),
        RESIDENCY_TEST(what_is_freed_in_a_visitor_stays_until_that_returns),
        RESIDENCY_TEST(free_blocks_in_a_part_of_an_extent_come_back_with_it),
        RESIDENCY_TEST(the_figures_tell_what_is_not_there),
        RESIDENCY_TEST(others_get_the_room),
        RESIDENCY_TEST(a_pool_is_destroyed_while_it_is_evicted),
        RESIDENCY_TEST(a_pool_that_is_destroyed_by_its_saver_keeps_its_memory),
        RESIDENCY_TEST(a_pool_is_changed_by_one_at_a_time),
        RESIDENCY_TEST(a_saver_that_fails_leaves_the_pool_resident),
        RESIDENCY_TEST(a_loader_that_fails_leaves_the_pool_evicted),
        RESIDENCY_TEST(each_call_of_the_driver_may_fail),
        RESIDENCY_TEST(without_host_memory_nothing_changes),
        RESIDENCY_TEST(pools_whose_memory_others_may_have_are_not_evicted),
        RESIDENCY_TEST(without_a_context_others_give_what_they_have),
        RESIDENCY_TEST(a_thread_that_is_cancelled_leaves_no_pool_half_evicted),
        RESIDENCY_TEST(threads_allocate_beside_it),
        PEER_TEST(a_context_of_another_device_is_not_what_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
