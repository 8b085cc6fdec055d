// Extents that are refined before a far smaller block comes to lie in them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"
#include "region/collect.h"
#include "region/refine.h"
#include "supply/growth.h"
#include "unit/fixture/pool.h"

enum { DRAWN = 400, BLOCKS_MOST = 1024 };

static poolMemPool_t pool;
static CUstream a;

static int setup(void **state) {
    (void)state;
    if (fixture_begin("memory=16G") != 0)
        return -1;
    pool = fixture_pool();
    a = simulated_stream();
    return 0;
}

static void leave_free(size_t size) {
    fixture_free(fixture_malloc(pool, size, a), a);
    fixture_synchronize(a);
}

static uint64_t extents(void) {
    return fixture_attribute(pool, poolMemPoolStatExtents);
}

static void a_small_block_keeps_no_more_than_its_part(void **state) {
    (void)state;
    leave_free(4 * SP_EXTENT_MAX);
    assert_int_equal(extents(), 4);
    fixture_malloc(pool, MIB(1), a);
    assert_int_equal(extents(), 3 + SP_EXTENT_MAX / SP_REFINE_MIN);
    assert_int_equal(fixture_reserved(pool), 4 * SP_EXTENT_MAX);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), SP_REFINE_MIN);
}

static void pieces_are_the_next_power_of_two_and_small_blocks_share_one(void **state) {
    (void)state;
    static const unsigned pieces[][2] = {{1, 16},  {8, 16},  {9, 32},  {16, 32},
                                         {20, 32}, {33, 64}, {64, 64}, {65, 128}};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        leave_free(SP_EXTENT_MAX);
        void *block = fixture_malloc(pool, MIB(pieces[i][0]), a);
        fixture_trim(pool, 0);
        assert_int_equal(fixture_reserved(pool), MIB(pieces[i][1]));
        fixture_free(block, a);
        fixture_synchronize(a);
        fixture_trim(pool, 0);
    }
}

static void a_block_that_ends_in_a_large_extent_has_it_refined(void **state) {
    (void)state;
    leave_free(GIB(2));
    fixture_malloc(pool, MIB(1), a);
    fixture_malloc(pool, SP_EXTENT_MAX - MIB(2), a); // nearly all of the first
    fixture_malloc(pool, MIB(8), a);
    fixture_trim(pool, 0);
    assert_in_range(fixture_reserved(pool), SP_EXTENT_MAX, SP_EXTENT_MAX + SP_REFINE_MIN);
}

static void one_that_fills_much_of_it_has_not(void **state) {
    (void)state;
    leave_free(GIB(2));
    uint64_t before = extents();
    fixture_malloc(pool, SP_EXTENT_MAX / 2, a);
    assert_int_equal(extents(), before);
}

// The driver would unmap it under what runs there.
static void pending_memory_is_never_refined(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(64), a);
    void *large = fixture_malloc(pool, GIB(4), a);
    simulated_work(a);
    fixture_free(large, a);
    uint64_t before = simcudaCallCount("cuMemUnmap");
    fixture_malloc(pool, MIB(1), a);
    assert_int_equal(simcudaCallCount("cuMemUnmap"), before);
}

static void a_stream_is_asked_if_its_own_large_extent_is_complete(void **state) {
    (void)state;
    fixture_free(fixture_malloc(pool, GIB(4), a), a);
    uint64_t before = extents();
    fixture_malloc(pool, MIB(1), a);
    assert_true(extents() > before);
}

static void one_that_another_stream_has_in_its_quick_list_is_refined(void **state) {
    (void)state;
    CUstream b = simulated_stream();
    fixture_malloc(pool, MIB(1), b);
    fixture_free(fixture_malloc(pool, GIB(4), a), a);
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_malloc(pool, MIB(48), b); // more than what the first growth has left
    fixture_trim(pool, 0);
    assert_in_range(fixture_reserved(pool), MIB(49), MIB(49) + 3 * sp_refine_size(MIB(48)));
}

// The host runs ahead: on each stream a large block is freed behind work, and a small one stays.
static void small_blocks_keep_little_of_large_ones_that_are_pending(void **state) {
    (void)state;
    enum { STREAMS = 8 };
    void *small[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        CUstream stream = simulated_stream();
        void *large = fixture_malloc(pool, GIB(1), stream);
        simulated_work(stream);
        fixture_free(large, stream);
        small[i] = fixture_malloc(pool, MIB(1), stream);
    }
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_trim(pool, 0);
    assert_in_range(fixture_reserved(pool), STREAMS * MIB(1), 2 * SP_REFINE_MIN);
    for (int i = 0; i < STREAMS; i++)
        fixture_free(small[i], a);
}

// Then they lie where there is room.
static void but_the_pool_grows_for_them_by_little(void **state) {
    (void)state;
    void *large = fixture_malloc(pool, GIB(4), a);
    simulated_work(a);
    fixture_free(large, a);
    fixture_malloc(pool, MIB(2), a);
    assert_int_equal(fixture_reserved(pool), GIB(4) + SP_REFINE_MIN);
    for (int i = 0; i < 128; i++)
        fixture_malloc(pool, MIB(8), a);
    assert_in_range(fixture_reserved(pool), GIB(4) + sp_refine_size(MIB(8)),
                    GIB(4) + GIB(4) / SP_REFINE_GROWS_SHARE + sp_refine_size(MIB(8)));
}

static void a_new_pool_knows_nothing_of_an_earlier_ones_failures(void **state) {
    (void)state;
    fixture_inside(pool)->refine_rests = SP_REFINE_RESTS;
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    pool = fixture_pool();
    assert_int_equal(fixture_inside(pool)->refine_rests, 0);
}

static void *freed_meanwhile;
static CUstream of_another;

// Another thread frees a large block while this one comes to the map lock.
static void free_at_the_map_lock(void) {
    struct sp_pool *inside = fixture_inside(pool);
    if (sp_load_relaxed(&inside->mappers) == 0 || sp_lock_is_held(&inside->map_lock)) {
        fixture_at_next_lock(free_at_the_map_lock);
        return;
    }
    fixture_free(freed_meanwhile, of_another);
    fixture_synchronize(of_another);
    sp_collect_all(inside);
    freed_meanwhile = NULL;
}

static void what_is_freed_while_a_request_comes_to_grow_serves_it_once(void **state) {
    (void)state;
    of_another = simulated_stream();
    freed_meanwhile = fixture_malloc(pool, 2 * SP_EXTENT_MAX, of_another);
    fixture_at_next_lock(free_at_the_map_lock);
    void *block = fixture_malloc(pool, MIB(8), a);
    assert_null(freed_meanwhile);
    assert_int_equal(fixture_reserved(pool), 2 * SP_EXTENT_MAX);
    fixture_free(block, a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void primed_memory_is_not_refined(void **state) {
    (void)state;
    assert_int_equal(poolMemPoolPrime(pool, GIB(2)), poolSuccess);
    uint64_t before = simcudaCallCount("cuMemCreate");
    for (int i = 0; i < 64; i++)
        fixture_malloc(pool, MIB(1) + 512, a);
    assert_int_equal(simcudaCallCount("cuMemCreate"), before);
}

static void nor_is_that_of_a_pool_which_may_not_grow_now(void **state) {
    (void)state;
    void *pointer;
    leave_free(GIB(2));
    uint64_t before = simcudaCallCount("cuMemCreate");
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(1), pool, a, poolMallocNoGrowth),
                     poolSuccess);
    assert_int_equal(simcudaCallCount("cuMemCreate"), before);
}

// Somebody else takes the memory before it comes again.
static void a_pool_that_lost_an_extent_lets_many_requests_go_by(void **state) {
    (void)state;
    leave_free(GIB(4));
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    fixture_malloc(pool, MIB(1), a);
    assert_int_equal(fixture_inside(pool)->refine_rests, SP_REFINE_RESTS);
    uint64_t before = extents();
    fixture_malloc(pool, MIB(1), a);
    assert_int_equal(extents(), before);
    fixture_inside(pool)->refine_rests = 0;
    fixture_malloc(pool, SP_EXTENT_MAX - MIB(2), a); // the rest of it
    fixture_malloc(pool, MIB(1), a);
    assert_true(extents() > before);
}

static void end(void *small) {
    simcudaFailClear();
    fixture_check(pool);
    void *large = fixture_malloc(pool, GIB(1), a);
    fixture_free(large, a);
    fixture_free(small, a);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
}

// A call of the driver fails: the request is served, and what the pool says that it has is there.
static void whatever_fails_the_request_is_served(void **state) {
    (void)state;
    static const char *const entries[] = {"cuMemGetInfo", "cuMemRelease", "cuMemUnmap",
                                          "cuMemCreate",  "cuMemMap",     "cuMemSetAccess"};
    for (size_t entry = 0; entry < sizeof entries / sizeof entries[0]; entry++)
        for (uint64_t nth = 1; nth <= 3; nth++) {
            pool = fixture_pool();
            leave_free(GIB(2));
            simcudaFailCall(entries[entry], nth, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
            end(fixture_malloc(pool, MIB(4), a));
        }
}

static void a_driver_that_maps_only_some_pieces_leaves_a_pool_that_is_whole(void **state) {
    (void)state;
    for (uint64_t nth = 1; nth <= 4; nth++) {
        pool = fixture_pool();
        leave_free(GIB(1));
        simcudaFailCall("cuMemCreate", nth, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
        simcudaFailCall("cuMemRelease", 2, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN);
        end(fixture_malloc(pool, MIB(4), a));
    }
}

// ------------------------------------------------------------------------------------ drawn peaks

static uint64_t drawn;

static uint64_t draw(uint64_t below) {
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (drawn >> 33) % below;
}

// Blocks of up to a size, until they are so many bytes or the device is full, of which few stay
// behind. Each of them holds less than two extents at either end, which have twice its part at
// most.
static void leave_few(uint64_t seed, size_t bytes) {
    static void *blocks[BLOCKS_MOST];
    size_t most = MIB(1) << draw(6), size = 0;
    unsigned count = 0, kept = 2 + (unsigned)draw(6);
    for (; count < BLOCKS_MOST && bytes >= size; count++) {
        bytes -= size;
        size = 65536 + draw(most);
        if (poolMallocFromPoolAsync(&blocks[count], size, pool, a) != poolSuccess)
            break;
    }
    unsigned step = count / kept + 1;
    for (unsigned i = 0; i < count; i++)
        if (i % step != 0)
            fixture_free(blocks[i], a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    uint64_t bound = fixture_used(pool) + kept * 4 * sp_refine_size(most);
    if (fixture_reserved(pool) > bound)
        fail_msg("seed %llu: %llu MiB, at most %llu", (unsigned long long)seed,
                 (unsigned long long)fixture_reserved(pool) >> 20, (unsigned long long)bound >> 20);
    fixture_check(pool);
    for (unsigned i = 0; i < count; i += step)
        fixture_free(blocks[i], a);
}

static void end_pool(void) {
    fixture_synchronize(a);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
}

// A large block or some, freed; then far smaller ones.
static void few_survivors_of_any_peak_keep_little(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= DRAWN; seed++) {
        drawn = seed;
        pool = fixture_pool();
        leave_free(GIB(1) + MIB(draw(7000)));
        leave_few(seed, GIB(4));
        end_pool();
    }
}

// The host waits for the peak by a call of the driver, of which the library isn't told, where it
// was one block.
static void leave_peak(size_t bytes) {
    void *parts[8];
    size_t count = draw(2) ? 1 : 2 + draw(7);
    for (size_t i = 0; i < count; i++) {
        size_t left = count - i, size = left > 1 ? MIB(1 + draw(2 * (bytes >> 20) / left)) : bytes;
        parts[i] = fixture_malloc(pool, sp_min(size, bytes - MIB(left - 1)), a);
        bytes -= sp_min(size, bytes - MIB(left - 1));
    }
    for (size_t i = 0; i < count; i++)
        fixture_free(parts[i], a);
    if (count == 1)
        assert_int_equal(sp_driver->cuStreamSynchronize(a), CUDA_SUCCESS);
    else
        fixture_synchronize(a);
}

// Others have some of the device, and the peak has nearly all of the rest, but for what lives
// beside it.
static void few_survivors_on_a_device_that_was_full_keep_little(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= DRAWN; seed++) {
        CUdeviceptr others;
        drawn = seed;
        pool = fixture_pool();
        size_t room = MIB(256) << draw(6);
        room += MIB(draw(room >> 20));
        assert_int_equal(sp_driver->cuMemAlloc(&others, GIB(16) - room), CUDA_SUCCESS);
        size_t lives = draw(2) ? room >> 5 : 65536;
        void *live = fixture_malloc(pool, lives, a);
        leave_peak(room - lives - MIB(16 + draw(room >> 24)));
        leave_few(seed, room - lives);
        fixture_free(live, a);
        end_pool();
        sp_driver->cuMemFree(others);
    }
}

// The large block gives memory back for the pages of slabs once the device has no more.
static void slabs_in_a_device_that_was_full_keep_little(void **state) {
    (void)state;
    CUdeviceptr others;
    enum { COUNT = 4096 };
    static void *blocks[COUNT];
    leave_free(GIB(2));
    assert_int_equal(sp_driver->cuMemAlloc(&others, GIB(14)), CUDA_SUCCESS);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = fixture_malloc(pool, 32768, a);
    for (int i = 1; i < COUNT; i++)
        fixture_free(blocks[i], a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_in_range(fixture_reserved(pool), 1, 2 * SP_REFINE_MIN);
    sp_driver->cuMemFree(others);
}

// A block leaves a part of its last granule, which small ones take: while it lives, and while it is
// pending as far as is known.
static void what_a_large_block_leaves_of_its_last_granule_holds_no_more(void **state) {
    (void)state;
    for (int lives = 0; lives < 2; lives++) {
        pool = fixture_pool();
        void *large = fixture_malloc(pool, GIB(2) - MIB(1), a);
        void *small = lives ? fixture_malloc(pool, 131072, a) : NULL;
        simulated_work(a);
        fixture_free(large, a);
        small = lives ? small : fixture_malloc(pool, 131072, a);
        fixture_synchronize(a);
        fixture_trim(pool, 0);
        assert_in_range(fixture_reserved(pool), MIB(1), SP_REFINE_MIN);
        fixture_free(small, a);
        assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    }
}

// The peak lay in extents of which none is large, nor half of the pool. Its end is seen by the
// library, or by the driver alone.
static void a_small_block_keeps_little_of_a_peak_of_several_blocks(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= DRAWN; seed++) {
        size_t sizes[] = {MIB(200), MIB(100), MIB(800)};
        void *blocks[3];
        drawn = seed;
        pool = fixture_pool();
        for (int i = 0; i < 3; i++)
            blocks[i] = fixture_malloc(pool, sizes[i] + draw(MIB(100)), a);
        simulated_work(a);
        for (int i = 0; i < 3; i++)
            fixture_free(blocks[((size_t)i + seed) % 3], a);
        if (seed % 2)
            assert_int_equal(sp_driver->cuStreamSynchronize(a), CUDA_SUCCESS);
        else
            fixture_synchronize(a);
        size_t size = MIB(1 + draw(20));
        void *small = fixture_malloc(pool, size, a);
        fixture_synchronize(a);
        fixture_trim(pool, 0);
        if (fixture_reserved(pool) > 2 * sp_refine_size(size))
            fail_msg("seed %llu: %llu MiB", (unsigned long long)seed,
                     (unsigned long long)fixture_reserved(pool) >> 20);
        fixture_free(small, a);
        assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    }
}

static void the_large_block_is_served_again_behind_scattered_survivors(void **state) {
    (void)state;
    enum { COUNT = 640 };
    static void *blocks[COUNT];
    leave_free(COUNT * MIB(16));
    for (int i = 0; i < COUNT; i++)
        blocks[i] = fixture_malloc(pool, MIB(16), a);
    for (int i = 0; i < COUNT; i++)
        if (i % 40 != 0)
            fixture_free(blocks[i], a);
    fixture_synchronize(a);
    fixture_malloc(pool, COUNT * MIB(16), a);
    assert_in_range(fixture_reserved(pool), COUNT * MIB(16), (COUNT + 2 * COUNT / 40) * MIB(16));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_small_block_keeps_no_more_than_its_part),
        TEST(pieces_are_the_next_power_of_two_and_small_blocks_share_one),
        TEST(a_block_that_ends_in_a_large_extent_has_it_refined),
        TEST(one_that_fills_much_of_it_has_not),
        TEST(pending_memory_is_never_refined),
        TEST(a_stream_is_asked_if_its_own_large_extent_is_complete),
        TEST(one_that_another_stream_has_in_its_quick_list_is_refined),
        TEST(small_blocks_keep_little_of_large_ones_that_are_pending),
        TEST(but_the_pool_grows_for_them_by_little),
        TEST(a_new_pool_knows_nothing_of_an_earlier_ones_failures),
        TEST(what_is_freed_while_a_request_comes_to_grow_serves_it_once),
        TEST(primed_memory_is_not_refined),
        TEST(nor_is_that_of_a_pool_which_may_not_grow_now),
        TEST(a_pool_that_lost_an_extent_lets_many_requests_go_by),
        TEST(whatever_fails_the_request_is_served),
        TEST(a_driver_that_maps_only_some_pieces_leaves_a_pool_that_is_whole),
        TEST(few_survivors_of_any_peak_keep_little),
        TEST(few_survivors_on_a_device_that_was_full_keep_little),
        TEST(slabs_in_a_device_that_was_full_keep_little),
        TEST(what_a_large_block_leaves_of_its_last_granule_holds_no_more),
        TEST(a_small_block_keeps_little_of_a_peak_of_several_blocks),
        TEST(the_large_block_is_served_again_behind_scattered_survivors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
