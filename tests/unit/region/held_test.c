// What lanes may leave without an event behind it: what lies in few extents of the device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/mark.h"
#include "region/device.h"
#include "region/lane.h"
#include "unit/fixture/pool.h"

// A block that is an extent of its own, and as many as may be held.
#define EXTENT MIB(8)
enum { STREAMS = 4, MOST = 8 };

static poolMemPool_t pool;
static CUstream streams[STREAMS];

// The streams have work that is pending.
static int setup(void **state) {
    int failed = fixture_setup(state);
    if (failed)
        return failed;
    pool = fixture_pool();
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = simulated_stream();
        fixture_lane(pool, streams[i]);
        simulated_work(streams[i]);
    }
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MOST * EXTENT);
    return 0;
}

static uint64_t held(void) {
    return fixture_inside(pool)->device->held.bytes;
}

static uint64_t records(void) {
    return simcudaCallCount("cuEventRecord");
}

// Frees so many blocks of the size on a stream, which another one may have allocated. Returns the
// events that this has recorded.
static uint64_t free_of(poolMemPool_t of, int count, size_t size, int by, int on) {
    void *blocks[128];
    assert_true(count <= 128);
    for (int i = 0; i < count; i++)
        blocks[i] = fixture_malloc(of, size, streams[by]);
    uint64_t before = records();
    for (int i = 0; i < count; i++)
        fixture_free(blocks[i], streams[on]);
    return records() - before;
}

static uint64_t free_extents(int count, int on) {
    return free_of(pool, count, EXTENT, on, on);
}

static void an_extent_counts_once_however_much_is_freed_there(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(8));
    assert_int_equal(free_of(pool, 16, KIB(64), 0, 0), 0);
    uint64_t extent = held();
    assert_in_range(extent, MIB(2), MIB(4));
    for (int i = 0; i < 10; i++)
        assert_int_equal(free_of(pool, 16, KIB(64), 0, 0), 0);
    assert_int_equal(held(), extent);
    fixture_check(pool);
}

// A block of 64 KiB keeps the rest of its extent from others, however little that is.
static void it_counts_with_all_that_it_has(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(1));
    assert_int_equal(free_of(pool, 3, KIB(64), 0, 0), 3);
    assert_int_equal(free_of(pool, 3, 100, 0, 0), 3);
    assert_int_equal(held(), 0);
}

static void an_extent_counts_once_whichever_streams_free_there(void **state) {
    (void)state;
    assert_int_equal(free_of(pool, 2, KIB(64), 0, 0), 0);
    uint64_t extent = held();
    void *blocks[STREAMS];
    for (int i = 1; i < STREAMS; i++)
        blocks[i] = fixture_malloc(pool, KIB(64), streams[i]);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, extent); // and no other one
    uint64_t before = records();
    for (int i = 1; i < STREAMS; i++)
        fixture_free(blocks[i], streams[i]);
    assert_int_equal(records(), before);
    assert_int_equal(held(), extent);
}

static void a_stream_holds_half_of_what_others_leave(void **state) {
    (void)state;
    assert_int_equal(free_extents(MOST / 2, 0), 0);
    assert_int_equal(held(), MOST / 2 * EXTENT);
    assert_int_equal(free_extents(MOST / 4 + 1, 1), 1);
    assert_true(held() <= MOST * EXTENT);
    fixture_check(pool);
}

static void the_event_of_a_free_gives_all_back_that_its_stream_held(void **state) {
    (void)state;
    assert_int_equal(free_extents(MOST / 2 + 1, 0), 1);
    assert_int_equal(free_extents(MOST / 2, 0), 0);
    assert_int_equal(held(), MOST / 2 * EXTENT);
}

// Nobody tells a lane that its stream has an event: who is refused looks.
static void what_an_event_covers_is_there_for_others(void **state) {
    (void)state;
    assert_int_equal(free_extents(MOST / 2, 0), 0);
    assert_int_equal(free_extents(MOST / 4, 1), 0);
    assert_true(sp_is_done(sp_mark_record(fixture_stream(streams[0]))));
    assert_true(sp_is_done(sp_mark_record(fixture_stream(streams[1]))));
    assert_int_equal(free_extents(MOST / 2, 2), 0);
    assert_int_equal(held(), MOST / 2 * EXTENT);
}

static void pools_share_what_may_be_held_of_a_device(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    fixture_set(other, poolMemPoolAttrUnfencedBytesMax, MOST * EXTENT);
    assert_int_equal(free_extents(MOST / 2, 0), 0);
    assert_int_equal(free_of(other, MOST / 2 + 1, EXTENT, 1, 1),
                     1); // alone it has all that is left
}

static void a_free_on_another_stream_counts_as_its_own(void **state) {
    (void)state;
    assert_int_equal(free_of(pool, MOST / 2 + 1, EXTENT, 0, 1), 1);
    assert_int_equal(held(), MOST / 2 * EXTENT);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(1));
    assert_int_equal(free_of(pool, 2, 100, 0, 1), 2); // small ones too
}

static void a_block_that_is_more_than_may_be_held_gets_an_event_each_time(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_int_equal(free_of(pool, 1, MOST * EXTENT + EXTENT, 0, 0), 1);
    assert_int_equal(held(), 0);
}

static void a_pool_that_is_gone_holds_nothing(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    assert_int_equal(free_of(other, 1, EXTENT, 0, 0), 0);
    assert_int_equal(held(), EXTENT);
    fixture_synchronize(streams[0]);
    assert_int_equal(poolMemPoolDestroy(other), poolSuccess);
    assert_int_equal(held(), 0);
}

static void each_free_of_a_given_up_pool_gets_an_event(void **state) {
    (void)state;
    void *blocks[2] = {fixture_malloc(pool, EXTENT, streams[0]),
                       fixture_malloc(pool, 100, streams[0])};
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    uint64_t before = records();
    fixture_free(blocks[0], streams[0]);
    fixture_free(blocks[1], streams[0]);
    assert_int_equal(records(), before + 2);
}

static void by_default_64_mib_may_be_held_or_a_64th_of_the_device(void **state) {
    (void)state;
    poolMemPool_t other = NULL;
    assert_int_equal(poolDeviceGetDefaultMemPool(&other, 0), poolSuccess);
    uint64_t part = fixture_inside(other)->device->vmm.total_memory / 64;
    assert_int_equal(fixture_attribute(other, poolMemPoolAttrUnfencedBytesMax),
                     part < MIB(64) ? part : MIB(64));
}

// It has nothing beside that.
static void of_a_pool_with_a_limit_a_64th_of_that_may_be_held(void **state) {
    (void)state;
    poolMemPool_t limited = NULL;
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0},
                                           .maxSize = MIB(256)};
    assert_int_equal(poolMemPoolCreate(&limited, &props), poolSuccess);
    assert_int_equal(fixture_attribute(limited, poolMemPoolAttrUnfencedBytesMax), MIB(4));
    assert_int_equal(free_of(limited, 1, MIB(8), 0, 0), 1);
    assert_int_equal(held(), 0);
}

// ------------------------------------------------------------------------- what others get of it

enum { SPREAD_POOLS = 100, PIECE = 64 << 10, PIECES_OF_GRANULE = 32, PIECES_MOST = 16384 };

static poolMemPool_t pool_as_by_default(void) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0}};
    poolMemPool_t made = NULL;
    assert_int_equal(poolMemPoolCreate(&made, &props), poolSuccess);
    return made;
}

// So many pools have small blocks on a stream each, and free them, the last one of each granule at
// the end. Streams and pools end, if they are to, and the program waits by CUDA's own call.
static void free_spread(unsigned pools, unsigned pieces, bool end) {
    static void *blocks[PIECES_MOST];
    poolMemPool_t of[SPREAD_POOLS];
    CUstream on[SPREAD_POOLS];
    for (unsigned i = 0; i < pools; i++) {
        of[i] = pool_as_by_default();
        on[i] = simulated_stream();
        for (unsigned j = 0; j < pieces; j++)
            blocks[i * pieces + j] = fixture_malloc(of[i], PIECE, on[i]);
    }
    for (int last = 0; last < 2; last++) {
        for (unsigned i = 0; i < pools * pieces; i++) {
            if ((i % PIECES_OF_GRANULE == PIECES_OF_GRANULE - 1) == last)
                fixture_free(blocks[i], on[i / pieces]);
        }
    }
    for (unsigned i = 0; end && i < pools; i++) {
        simulated_destroy(on[i]);
        assert_int_equal(poolMemPoolDestroy(of[i]), poolSuccess);
    }
    assert_int_equal(sp_driver->cuCtxSynchronize(), CUDA_SUCCESS);
}

// All but a 64th, and a granule.
static size_t most_of(size_t memory) {
    return memory - memory / SP_HELD_PART - MIB(2);
}

static void require_room_behind(const char *settings, size_t memory, unsigned pools,
                                unsigned pieces) {
    for (int end = 0; end < 2; end++) {
        assert_int_equal(fixture_begin(settings), 0);
        free_spread(pools, pieces, end);
        fixture_malloc(pool_as_by_default(), most_of(memory), simulated_stream());
        assert_int_equal(fixture_teardown(NULL), 0);
    }
}

static void what_one_stream_frees_last_in_each_granule_is_had_by_others(void **state) {
    (void)state;
    require_room_behind("memory=256M", MIB(256), 1, 3712);
    require_room_behind("memory=256M,granule=64K", MIB(256), 1, 3712);
    require_room_behind("memory=256M,vmm=missing", MIB(256), 1, 3712);
}

static void so_is_what_eight_pools_free(void **state) {
    (void)state;
    require_room_behind("memory=256M", MIB(256), 8, 464);
    require_room_behind("memory=256M,vmm=missing", MIB(256), 8, 464);
}

static void so_is_what_a_hundred_pools_free_that_had_7_mib_each(void **state) {
    (void)state;
    require_room_behind("memory=1G", GIB(1), SPREAD_POOLS, 112);
    require_room_behind("memory=1G,vmm=missing", GIB(1), SPREAD_POOLS, 112);
}

// The driver doesn't ask the library.
static void what_the_driver_gives_others_goes_back_by_a_synchronise(void **state) {
    CUdeviceptr memory = 0;
    (void)state;
    for (int end = 0; end < 2; end++) {
        assert_int_equal(fixture_begin("memory=256M"), 0);
        free_spread(1, 3712, end);
        poolMemPool_t later = pool_as_by_default();
        size_t size = most_of(MIB(256));
        if (!end)
            assert_int_equal(sp_driver->cuMemAlloc(&memory, size), CUDA_ERROR_OUT_OF_MEMORY);
        assert_int_equal(poolDeviceSynchronize(), poolSuccess);
        assert_int_equal(sp_driver->cuMemAlloc(&memory, size), CUDA_SUCCESS);
        assert_int_equal(sp_driver->cuMemFree(memory), CUDA_SUCCESS);
        assert_int_equal(poolMemPoolDestroy(later), poolSuccess);
        assert_int_equal(fixture_teardown(NULL), 0);
    }
}

#define held_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        held_test(an_extent_counts_once_however_much_is_freed_there),
        held_test(it_counts_with_all_that_it_has),
        held_test(an_extent_counts_once_whichever_streams_free_there),
        held_test(a_stream_holds_half_of_what_others_leave),
        held_test(the_event_of_a_free_gives_all_back_that_its_stream_held),
        held_test(what_an_event_covers_is_there_for_others),
        held_test(pools_share_what_may_be_held_of_a_device),
        held_test(a_free_on_another_stream_counts_as_its_own),
        held_test(a_block_that_is_more_than_may_be_held_gets_an_event_each_time),
        held_test(a_pool_that_is_gone_holds_nothing),
        held_test(each_free_of_a_given_up_pool_gets_an_event),
        held_test(by_default_64_mib_may_be_held_or_a_64th_of_the_device),
        held_test(of_a_pool_with_a_limit_a_64th_of_that_may_be_held),
        cmocka_unit_test(what_one_stream_frees_last_in_each_granule_is_had_by_others),
        cmocka_unit_test(so_is_what_eight_pools_free),
        cmocka_unit_test(so_is_what_a_hundred_pools_free_that_had_7_mib_each),
        cmocka_unit_test(what_the_driver_gives_others_goes_back_by_a_synchronise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
