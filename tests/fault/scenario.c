#include "fault/scenario.h"
#include "inside/teardown.h"
#include "inside/worker.h"

#include <string.h>

#include "inside/check.h"
#include "process/runtime.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/stitch.h"
#include "supply/defer.h"
#include "support/check.h"
#include "support/device.h"
#include "support/places.h"
#include "support/pools.h"
#include "support/simulated.h"

#define UNTOUCHED ((void *)(uintptr_t)0x5a5a)

// -------------------------------------------------------------------------- what steps are made of

// A call of the library, between the scene's hooks.
#define CALL(call) (before_call(scene), after_call(scene, (call)))

static void before_call(struct scene *scene) {
    if (scene->before)
        scene->before(scene->hooks);
}

static poolError_t after_call(struct scene *scene, poolError_t error) {
    if (scene->after)
        scene->after(scene->hooks);
    return error;
}

static unsigned char value_of(unsigned slot) {
    return (unsigned char)(slot + 1);
}

static poolError_t keep_block(struct scene *scene, unsigned slot, void *pointer, size_t size,
                              enum scene_stream stream, poolError_t error) {
    if (error != poolSuccess) {
        REQUIRE(pointer == UNTOUCHED);
        return error;
    }
    REQUIRE(pointer && !scene->blocks[slot].address);
    scene->blocks[slot] = (struct scene_block){.address = pointer, .size = size};
    test_fill_block(pointer, value_of(slot), size, scene->streams[stream]);
    return poolSuccess;
}

static poolError_t allocate(struct scene *scene, unsigned slot, size_t size, enum scene_pool pool,
                            enum scene_stream stream) {
    void *pointer = UNTOUCHED;
    poolError_t error =
        CALL(poolMallocFromPoolAsync(&pointer, size, scene->pools[pool], scene->streams[stream]));
    return keep_block(scene, slot, pointer, size, stream, error);
}

static poolError_t allocate_from_current(struct scene *scene, unsigned slot, size_t size,
                                         enum scene_stream stream) {
    void *pointer = UNTOUCHED;
    poolError_t error = CALL(poolMallocAsync(&pointer, size, scene->streams[stream]));
    return keep_block(scene, slot, pointer, size, stream, error);
}

static poolError_t forget_block(struct scene *scene, unsigned slot, poolError_t error) {
    if (error == poolSuccess)
        scene->blocks[slot].address = NULL;
    return error;
}

// The contents are read in the order of the stream that wrote them, and the other one comes after
// that.
static poolError_t release(struct scene *scene, unsigned slot, enum scene_stream written,
                           enum scene_stream freed) {
    const struct scene_block *block = &scene->blocks[slot];
    test_check_block(block->address, value_of(slot), block->size, scene->streams[written]);
    if (written != freed)
        test_finish(scene->streams[written]);
    return forget_block(scene, slot, CALL(poolFreeAsync(block->address, scene->streams[freed])));
}

static poolError_t release_in_no_order(struct scene *scene, unsigned slot,
                                       enum scene_stream written) {
    const struct scene_block *block = &scene->blocks[slot];
    test_check_block(block->address, value_of(slot), block->size, scene->streams[written]);
    test_finish(scene->streams[written]);
    return forget_block(scene, slot, CALL(poolFree(block->address)));
}

// Memory that the driver gave, which no call of the library has a part in.
static poolError_t take_foreign(struct scene *scene) {
    CUdeviceptr address;
    DRIVER(test_driver()->cuMemAlloc(&address, MIB(1)));
    scene->foreign = (void *)(uintptr_t)address;
    return poolSuccess;
}

static poolError_t release_foreign(struct scene *scene, enum scene_stream stream) {
    void *pointer = scene->foreign;
    return test_driver()->cuMemFreeAsync ? CALL(poolFreeAsync(pointer, scene->streams[stream]))
                                         : CALL(poolFree(pointer));
}

static poolError_t release_foreign_in_no_order(struct scene *scene) {
    return CALL(poolFree(scene->foreign));
}

static poolError_t make_pool(struct scene *scene, enum scene_pool place, size_t max_size) {
    struct poolMemPoolProps props = test_pool_props(0);
    props.maxSize = max_size;
    poolMemPool_t pool = UNTOUCHED;
    poolError_t error = CALL(poolMemPoolCreate(&pool, &props));
    if (error == poolSuccess)
        scene->pools[place] = pool;
    else
        REQUIRE(pool == (poolMemPool_t)UNTOUCHED);
    return error;
}

static poolError_t give_up_pool(struct scene *scene, enum scene_pool place) {
    poolError_t error = CALL(poolMemPoolDestroy(scene->pools[place]));
    if (error == poolSuccess)
        scene->pools[place] = NULL;
    return error;
}

static poolError_t set_attribute(struct scene *scene, enum scene_pool place,
                                 enum poolMemPoolAttr attr, uint64_t bytes) {
    return CALL(poolMemPoolSetAttribute(scene->pools[place], attr, &bytes));
}

static poolError_t set_flag(struct scene *scene, enum scene_pool place, enum poolMemPoolAttr attr,
                            int flag) {
    return CALL(poolMemPoolSetAttribute(scene->pools[place], attr, &flag));
}

static poolError_t prime(struct scene *scene, enum scene_pool place, size_t bytes) {
    return CALL(poolMemPoolPrime(scene->pools[place], bytes));
}

// The trim is the first to learn that the stream is idle.
static poolError_t trim_when_idle(struct scene *scene, enum scene_pool place, size_t keep,
                                  enum scene_stream stream) {
    test_finish(scene->streams[stream]);
    return CALL(poolMemPoolTrimTo(scene->pools[place], keep));
}

// What the reaper does then is a part of the step.
static poolError_t synchronise_with_reaper(struct scene *scene, enum scene_stream stream) {
    before_call(scene);
    poolError_t error = poolStreamSynchronize(scene->streams[stream]);
    inside_worker_rest();
    return after_call(scene, error);
}

// As if many others had been made since.
static poolError_t drop_kept_views(struct scene *scene, enum scene_pool place) {
    struct sp_pool *pool = sp_handle_pool(scene->pools[place]);
    before_call(scene);
    sp_collect_all(pool);
    sp_lock_acquire(&pool->lock);
    sp_stitch_limit_kept(pool, 0, 0);
    sp_lock_release(&pool->lock);
    sp_defer_bury(pool);
    return after_call(scene, poolSuccess);
}

// Small blocks are loose then.
static poolError_t leave_nothing_idle(struct scene *scene, enum scene_pool place) {
    sp_store_relaxed(&sp_handle_pool(scene->pools[place])->slabs.idle_min, 0);
    return poolSuccess;
}

static poolError_t find_default_pool(struct scene *scene) {
    poolMemPool_t pool = UNTOUCHED;
    poolError_t error = CALL(poolDeviceGetDefaultMemPool(&pool, 0));
    if (error == poolSuccess)
        scene->pools[DEFAULT_POOL] = pool;
    else
        REQUIRE(pool == (poolMemPool_t)UNTOUCHED);
    return error;
}

// --------------------------------------------------------------------------- memory of the host

static poolError_t find_default_at(struct scene *scene, enum scene_pool place,
                                   const struct test_place *where) {
    struct poolMemPoolProps props = test_props_at(where);
    poolMemPool_t pool = UNTOUCHED;
    poolError_t error = CALL(poolMemGetDefaultMemPool(&pool, &props.location, props.allocType));
    if (error == poolSuccess)
        scene->pools[place] = pool;
    else
        REQUIRE(pool == (poolMemPool_t)UNTOUCHED);
    return error;
}

// The first call that names a node takes memory of it for a moment. If the driver doesn't take that
// back, nobody can.
static poolError_t know_node(struct scene *scene) {
    poolMemPool_t pool = NULL;
    const struct poolMemLocation location = {poolMemLocationTypeHostNuma, 0};
    (void)scene;
    return poolMemGetDefaultMemPool(&pool, &location, poolMemAllocationTypePinned);
}

static poolError_t make_pool_at(struct scene *scene, enum scene_pool place,
                                const struct test_place *where, size_t max_size) {
    struct poolMemPoolProps props = test_props_at(where);
    props.maxSize = max_size;
    poolMemPool_t pool = UNTOUCHED;
    poolError_t error = CALL(poolMemPoolCreate(&pool, &props));
    if (error == poolSuccess)
        scene->pools[place] = pool;
    else
        REQUIRE(pool == (poolMemPool_t)UNTOUCHED);
    return error;
}

static poolError_t make_current(struct scene *scene, enum scene_pool place) {
    struct poolMemPoolProps props = test_props_at(&test_the_host);
    return CALL(poolMemSetMemPool(&props.location, props.allocType, scene->pools[place]));
}

static poolError_t set_access(struct scene *scene, enum scene_pool place,
                              enum poolMemAccessFlags flags) {
    const struct poolMemAccessDesc desc = {{poolMemLocationTypeDevice, 0}, flags};
    enum poolMemAccessFlags now = poolMemAccessFlagsProtRead, before = now;
    EXPECT(poolMemPoolGetAccess(&before, scene->pools[place], &desc.location), poolSuccess);
    poolError_t error = CALL(poolMemPoolSetAccess(scene->pools[place], &desc, 1));
    EXPECT(poolMemPoolGetAccess(&now, scene->pools[place], &desc.location), poolSuccess);
    REQUIRE(now == (error == poolSuccess ? flags : before));
    return error;
}

// The host writes to the block, which no device need be let in to.
static poolError_t keep_by_host(struct scene *scene, unsigned slot, void *pointer, size_t size,
                                poolError_t error) {
    if (error != poolSuccess) {
        REQUIRE(pointer == UNTOUCHED);
        return error;
    }
    REQUIRE(pointer && !scene->blocks[slot].address);
    scene->blocks[slot] = (struct scene_block){.address = pointer, .size = size};
    test_host_fill_block(pointer, value_of(slot), size);
    return poolSuccess;
}

static poolError_t allocate_by_host(struct scene *scene, unsigned slot, size_t size,
                                    enum scene_pool pool, enum scene_stream stream) {
    void *pointer = UNTOUCHED;
    poolError_t error = CALL(poolMallocAsyncWithFlags(
        &pointer, size, scene->pools[pool], scene->streams[stream], poolMallocCompleteOnly));
    return keep_by_host(scene, slot, pointer, size, error);
}

static poolError_t allocate_in_no_order(struct scene *scene, unsigned slot, size_t size,
                                        enum scene_pool pool) {
    void *pointer = UNTOUCHED;
    poolError_t error = CALL(poolMallocFromPool(&pointer, size, scene->pools[pool]));
    return keep_by_host(scene, slot, pointer, size, error);
}

// What was written, by whomever, is there for the host.
static poolError_t release_by_host(struct scene *scene, unsigned slot, enum scene_stream stream) {
    const struct scene_block *block = &scene->blocks[slot];
    test_finish(scene->streams[stream]);
    REQUIRE(test_host_is_block(block->address, value_of(slot), block->size));
    return forget_block(scene, slot, CALL(poolFreeAsync(block->address, scene->streams[stream])));
}

static const struct test_place managed = {TEST_MANAGED, "managed", {poolMemLocationTypeDevice, 0}};
static const struct test_place node = {TEST_PINNED, "node", {poolMemLocationTypeHostNuma, 0}};
static const struct test_place staged = {TEST_STAGED, "staged", {poolMemLocationTypeHost, 0}};

// --------------------------------------------------------------------------------------- the steps

// X(name, call)
// clang-format off
#define STEPS(X) \
    X(open_the_device, find_default_pool(scene)) \
    X(make_a_pool, make_pool(scene, OPEN_POOL, 0)) \
    X(make_a_limited_pool, make_pool(scene, LIMITED_POOL, MIB(64))) \
    X(make_a_pool_for_loose_blocks, make_pool(scene, LOOSE_POOL, 0)) \
    X(have_blocks_loose, leave_nothing_idle(scene, LOOSE_POOL)) \
    X(allocate_a_loose_block, allocate(scene, 7, 5000, LOOSE_POOL, STREAM_A)) \
    X(allocate_one_beside_it, allocate(scene, 8, 700, LOOSE_POOL, STREAM_B)) \
    X(free_the_loose_block_on_another_stream, release(scene, 7, STREAM_A, STREAM_B)) \
    X(use_it_there, allocate(scene, 7, 5000, LOOSE_POOL, STREAM_B)) \
    X(free_a_loose_block_in_no_order, release_in_no_order(scene, 7, STREAM_B)) \
    X(free_the_one_beside_it, release(scene, 8, STREAM_B, STREAM_B)) \
    X(give_up_the_pool_for_loose_blocks, give_up_pool(scene, LOOSE_POOL)) \
    X(allocate_the_first_bytes, allocate_from_current(scene, 0, 100, STREAM_A)) \
    X(allocate_small_memory, allocate(scene, 1, 5000, OPEN_POOL, STREAM_A)) \
    X(allocate_small_memory_of_another_class, allocate(scene, 2, KIB(300), OPEN_POOL, STREAM_A)) \
    X(allocate_small_memory_on_another_stream, allocate(scene, 3, 5000, OPEN_POOL, STREAM_B)) \
    X(allocate_large_memory, allocate(scene, 4, MIB(40), OPEN_POOL, STREAM_A)) \
    X(allocate_large_memory_on_another_stream, allocate(scene, 5, MIB(20), OPEN_POOL, STREAM_B)) \
    X(keep_what_is_freed, set_attribute(scene, OPEN_POOL, poolMemPoolAttrReleaseThreshold, UINT64_MAX)) \
    X(free_large_memory, release(scene, 4, STREAM_A, STREAM_A)) \
    X(split_it, allocate(scene, 4, MIB(10), OPEN_POOL, STREAM_A)) \
    X(split_the_rest, allocate(scene, 6, MIB(10), OPEN_POOL, STREAM_A)) \
    X(free_a_part_on_another_stream, release(scene, 4, STREAM_A, STREAM_B)) \
    X(free_a_part_on_its_stream, release(scene, 6, STREAM_A, STREAM_A)) \
    X(free_small_memory_on_another_stream, release(scene, 1, STREAM_A, STREAM_B)) \
    X(free_in_no_order, release_in_no_order(scene, 2, STREAM_A)) \
    X(have_memory_of_the_driver, take_foreign(scene)) \
    X(free_memory_of_the_driver, release_foreign(scene, STREAM_A)) \
    X(have_other_memory_of_the_driver, take_foreign(scene)) \
    X(free_other_memory_of_the_driver_in_no_order, release_foreign_in_no_order(scene)) \
    X(query_a_stream, CALL(poolStreamQuery(scene->streams[STREAM_A]))) \
    X(record_an_event, CALL(poolEventRecord(scene->event, scene->streams[STREAM_B]))) \
    X(synchronise_the_event, CALL(poolEventSynchronize(scene->event))) \
    X(query_the_event, CALL(poolEventQuery(scene->event))) \
    X(reuse_it_on_another_stream, allocate(scene, 4, MIB(30), OPEN_POOL, STREAM_B)) \
    X(grow_by_much, allocate(scene, 6, MIB(200), OPEN_POOL, STREAM_A)) \
    X(free_much, release(scene, 6, STREAM_A, STREAM_A)) \
    X(synchronise_a_stream, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(trim_to_a_part, CALL(poolMemPoolTrimTo(scene->pools[OPEN_POOL], MIB(64)))) \
    X(grow_again, allocate(scene, 6, MIB(100), OPEN_POOL, STREAM_A)) \
    X(record_at_every_free, set_attribute(scene, OPEN_POOL, poolMemPoolAttrUnfencedBytesMax, 0)) \
    X(free_with_a_record, release(scene, 6, STREAM_A, STREAM_A)) \
    X(fill_half_of_the_limited_pool, allocate(scene, 7, MIB(32), LIMITED_POOL, STREAM_A)) \
    X(fill_the_other_half, allocate(scene, 8, MIB(32), LIMITED_POOL, STREAM_B)) \
    X(free_one_half, release(scene, 7, STREAM_A, STREAM_A)) \
    X(trim_on_a_synchronise, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(fill_the_half_again, allocate(scene, 7, MIB(20), LIMITED_POOL, STREAM_B)) \
    X(make_a_pool_to_be_current, make_pool(scene, CURRENT_POOL, 0)) \
    X(make_it_current, CALL(poolDeviceSetMemPool(0, scene->pools[CURRENT_POOL]))) \
    X(allocate_from_the_current_pool, allocate_from_current(scene, 9, MIB(3), STREAM_A)) \
    X(allocate_little_from_the_current_pool, allocate_from_current(scene, 10, 700, STREAM_A)) \
    X(give_up_the_current_pool, give_up_pool(scene, CURRENT_POOL)) \
    X(free_of_a_given_up_pool, release(scene, 9, STREAM_A, STREAM_A)) \
    X(free_the_last_of_it, release(scene, 10, STREAM_A, STREAM_A)) \
    X(synchronise_the_device, CALL(poolDeviceSynchronize())) \
    X(free_the_first_bytes, release(scene, 0, STREAM_A, STREAM_A)) \
    X(free_small_memory_of_the_other_stream, release(scene, 3, STREAM_B, STREAM_B)) \
    X(free_what_was_reused, release(scene, 4, STREAM_B, STREAM_B)) \
    X(free_large_memory_of_the_other_stream, release(scene, 5, STREAM_B, STREAM_A)) \
    X(empty_the_limited_pool, release(scene, 7, STREAM_B, STREAM_B)) \
    X(empty_the_limited_pool_wholly, release(scene, 8, STREAM_B, STREAM_B)) \
    X(make_a_pool_of_pieces, make_pool(scene, PIECED_POOL, MIB(64))) \
    X(bury_on_the_calling_thread, set_flag(scene, PIECED_POOL, poolMemPoolAttrReaper, 0)) \
    X(keep_the_pieces, set_attribute(scene, PIECED_POOL, poolMemPoolAttrReleaseThreshold, UINT64_MAX)) \
    X(make_the_first_piece, allocate(scene, 11, MIB(16), PIECED_POOL, STREAM_A)) \
    X(make_the_second_piece, allocate(scene, 12, MIB(16), PIECED_POOL, STREAM_A)) \
    X(make_the_third_piece, allocate(scene, 13, MIB(16), PIECED_POOL, STREAM_A)) \
    X(make_the_fourth_piece, allocate(scene, 14, MIB(16), PIECED_POOL, STREAM_A)) \
    X(free_the_first_piece, release(scene, 11, STREAM_A, STREAM_A)) \
    X(free_the_third_piece, release(scene, 13, STREAM_A, STREAM_A)) \
    X(map_them_side_by_side, allocate(scene, 15, MIB(32), PIECED_POOL, STREAM_A)) \
    X(free_the_view, release(scene, 15, STREAM_A, STREAM_A)) \
    X(keep_the_view_no_longer, drop_kept_views(scene, PIECED_POOL)) \
    X(bury_it_at_a_synchronise, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(map_others_side_by_side, allocate(scene, 15, MIB(32), PIECED_POOL, STREAM_A)) \
    X(free_the_view_of_them, release(scene, 15, STREAM_A, STREAM_A)) \
    X(keep_that_view_no_longer, drop_kept_views(scene, PIECED_POOL)) \
    X(record_behind_it, CALL(poolEventRecord(scene->event, scene->streams[STREAM_A]))) \
    X(bury_it_at_a_trim, trim_when_idle(scene, PIECED_POOL, MIB(64), STREAM_A)) \
    X(free_the_second_piece, release(scene, 12, STREAM_A, STREAM_A)) \
    X(free_the_fourth_piece, release(scene, 14, STREAM_A, STREAM_A)) \
    X(use_the_reaper, set_flag(scene, PIECED_POOL, poolMemPoolAttrReaper, 1)) \
    X(leave_trims_to_it, set_flag(scene, PIECED_POOL, poolMemPoolAttrTrimByReaper, 1)) \
    X(keep_some_of_the_pieces, set_attribute(scene, PIECED_POOL, poolMemPoolAttrReleaseThreshold, MIB(10))) \
    X(have_the_reaper_trim, synchronise_with_reaper(scene, STREAM_A)) \
    X(leave_nothing_to_it, set_flag(scene, PIECED_POOL, poolMemPoolAttrReaper, 0)) \
    X(give_up_the_pool_of_pieces, give_up_pool(scene, PIECED_POOL)) \
    X(make_a_pool_for_pieces, make_pool(scene, PIECES_POOL, MIB(96))) \
    X(keep_what_is_in_pieces, set_attribute(scene, PIECES_POOL, poolMemPoolAttrReleaseThreshold, UINT64_MAX)) \
    X(allocate_piece_1, allocate(scene, 11, MIB(8), PIECES_POOL, STREAM_A)) \
    X(allocate_piece_2, allocate(scene, 12, MIB(8), PIECES_POOL, STREAM_A)) \
    X(allocate_piece_3, allocate(scene, 13, MIB(8), PIECES_POOL, STREAM_A)) \
    X(allocate_piece_4, allocate(scene, 14, MIB(8), PIECES_POOL, STREAM_A)) \
    X(allocate_piece_5, allocate(scene, 15, MIB(8), PIECES_POOL, STREAM_A)) \
    X(allocate_piece_6, allocate(scene, 16, MIB(8), PIECES_POOL, STREAM_A)) \
    X(allocate_piece_7, allocate(scene, 17, MIB(8), PIECES_POOL, STREAM_A)) \
    X(allocate_piece_8, allocate(scene, 18, MIB(8), PIECES_POOL, STREAM_A)) \
    X(free_piece_1, release(scene, 11, STREAM_A, STREAM_A)) \
    X(free_piece_3, release(scene, 13, STREAM_A, STREAM_A)) \
    X(free_piece_5, release(scene, 15, STREAM_A, STREAM_A)) \
    X(free_piece_7, release(scene, 17, STREAM_A, STREAM_A)) \
    X(join_pieces, allocate(scene, 11, MIB(27), PIECES_POOL, STREAM_A)) \
    X(use_what_was_left_over, allocate(scene, 13, MIB(4), PIECES_POOL, STREAM_A)) \
    X(free_what_was_left_over, release(scene, 13, STREAM_A, STREAM_A)) \
    X(free_what_was_joined, release(scene, 11, STREAM_A, STREAM_A)) \
    X(join_pieces_by_the_same_view, allocate(scene, 11, MIB(20), PIECES_POOL, STREAM_A)) \
    X(free_it_on_its_stream, release(scene, 11, STREAM_A, STREAM_A)) \
    X(join_pieces_with_new_memory, allocate(scene, 11, MIB(45), PIECES_POOL, STREAM_A)) \
    X(free_it_on_another_stream, release(scene, 11, STREAM_A, STREAM_B)) \
    X(learn_of_it, CALL(poolStreamSynchronize(scene->streams[STREAM_B]))) \
    X(join_pieces_by_a_view_with_new_memory, allocate(scene, 11, MIB(41), PIECES_POOL, STREAM_A)) \
    X(free_it_in_no_order, release_in_no_order(scene, 11, STREAM_A)) \
    X(trim_what_views_stand_on, CALL(poolMemPoolTrimTo(scene->pools[PIECES_POOL], MIB(50)))) \
    X(learn_of_the_rest, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(join_what_is_left_with_new_memory, allocate(scene, 11, MIB(40), PIECES_POOL, STREAM_B)) \
    X(free_it_again, release(scene, 11, STREAM_B, STREAM_B)) \
    X(free_the_last_pieces_2, release(scene, 12, STREAM_A, STREAM_A)) \
    X(free_the_last_pieces_4, release(scene, 14, STREAM_A, STREAM_A)) \
    X(free_the_last_pieces_6, release(scene, 16, STREAM_A, STREAM_A)) \
    X(free_the_last_pieces_8, release(scene, 18, STREAM_A, STREAM_A)) \
    X(give_up_the_pool_for_pieces, give_up_pool(scene, PIECES_POOL)) \
    X(make_a_pool_to_be_primed, make_pool(scene, PRIMED_POOL, MIB(96))) \
    X(prime_it, prime(scene, PRIMED_POOL, MIB(40))) \
    X(allocate_small_memory_that_was_primed, allocate(scene, 11, 5000, PRIMED_POOL, STREAM_A)) \
    X(allocate_large_memory_that_was_primed, allocate(scene, 12, MIB(10), PRIMED_POOL, STREAM_A)) \
    X(allocate_more_that_was_primed, allocate(scene, 13, MIB(10), PRIMED_POOL, STREAM_B)) \
    X(free_a_part_of_it, release(scene, 12, STREAM_A, STREAM_A)) \
    X(prime_once_more, prime(scene, PRIMED_POOL, MIB(32))) \
    X(prime_what_lies_in_pieces, prime(scene, PRIMED_POOL, MIB(70))) \
    X(leave_what_was_primed, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(trim_what_was_primed, CALL(poolMemPoolTrimTo(scene->pools[PRIMED_POOL], MIB(16)))) \
    X(hold_what_is_in_use, set_attribute(scene, PRIMED_POOL, poolMemPoolAttrReleaseDelay, 1)) \
    X(use_memory_for_a_round, allocate(scene, 12, MIB(20), PRIMED_POOL, STREAM_A)) \
    X(free_memory_of_the_round, release(scene, 12, STREAM_A, STREAM_A)) \
    X(hold_it_at_a_synchronise, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(release_it_at_the_next, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(free_the_rest_that_was_primed, release(scene, 13, STREAM_B, STREAM_B)) \
    X(free_the_small_memory_that_was_primed, release(scene, 11, STREAM_A, STREAM_A)) \
    X(give_up_the_primed_pool, give_up_pool(scene, PRIMED_POOL)) \
    X(keep_nothing, set_attribute(scene, OPEN_POOL, poolMemPoolAttrReleaseThreshold, 0)) \
    X(synchronise_one_stream, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(synchronise_the_other_stream, CALL(poolStreamSynchronize(scene->streams[STREAM_B]))) \
    X(give_up_the_limited_pool, give_up_pool(scene, LIMITED_POOL)) \
    X(give_up_the_pool, give_up_pool(scene, OPEN_POOL)) \
    X(synchronise_the_device_at_the_end, CALL(poolDeviceSynchronize()))

#define HOST_STEPS(X) \
    X(open_the_host, find_default_at(scene, DEFAULT_HOST_POOL, &test_the_host)) \
    X(make_a_pool_of_the_host, make_pool_at(scene, HOST_POOL, &test_the_host, MIB(64))) \
    X(keep_memory_of_the_host, set_attribute(scene, HOST_POOL, poolMemPoolAttrReleaseThreshold, UINT64_MAX)) \
    X(write_small_memory_by_the_host, allocate_by_host(scene, 0, 5000, HOST_POOL, STREAM_A)) \
    X(write_large_memory_by_the_host, allocate_by_host(scene, 1, MIB(8), HOST_POOL, STREAM_A)) \
    X(let_the_device_in, set_access(scene, HOST_POOL, poolMemAccessFlagsProtReadWrite)) \
    X(read_it_on_the_device, release(scene, 1, STREAM_A, STREAM_A)) \
    X(write_it_on_the_device, allocate(scene, 1, MIB(8), HOST_POOL, STREAM_A)) \
    X(write_beside_it, allocate(scene, 2, MIB(8), HOST_POOL, STREAM_A)) \
    X(write_a_third_piece, allocate(scene, 3, MIB(8), HOST_POOL, STREAM_A)) \
    X(write_a_fourth_piece, allocate(scene, 4, MIB(8), HOST_POOL, STREAM_B)) \
    X(free_the_first_by_the_host, release_by_host(scene, 1, STREAM_A)) \
    X(free_the_third_by_the_host, release_by_host(scene, 3, STREAM_A)) \
    X(join_what_is_left, allocate(scene, 1, MIB(44), HOST_POOL, STREAM_A)) \
    X(keep_the_device_out, set_access(scene, HOST_POOL, poolMemAccessFlagsProtNone)) \
    X(let_it_in_again, set_access(scene, HOST_POOL, poolMemAccessFlagsProtReadWrite)) \
    X(free_what_was_joined_by_the_host, release_by_host(scene, 1, STREAM_A)) \
    X(take_what_is_complete, allocate_by_host(scene, 1, MIB(8), HOST_POOL, STREAM_A)) \
    X(take_memory_in_no_order, allocate_in_no_order(scene, 3, MIB(12), HOST_POOL)) \
    X(take_little_in_no_order, allocate_in_no_order(scene, 5, 600, HOST_POOL)) \
    X(free_little_in_no_order, release_in_no_order(scene, 5, STREAM_A)) \
    X(free_the_first_again, release_by_host(scene, 1, STREAM_A)) \
    X(free_the_third_on_the_device, release(scene, 3, STREAM_A, STREAM_B)) \
    X(free_the_second_piece_of_the_host, release(scene, 2, STREAM_A, STREAM_A)) \
    X(free_the_fourth_piece_of_the_host, release(scene, 4, STREAM_B, STREAM_A)) \
    X(synchronise_a_stream_of_the_host, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(trim_memory_of_the_host, trim_when_idle(scene, HOST_POOL, MIB(8), STREAM_B)) \
    X(prime_memory_of_the_host, prime(scene, HOST_POOL, MIB(24))) \
    X(free_small_memory_of_the_host, release_by_host(scene, 0, STREAM_A)) \
    X(know_the_node, know_node(scene)) \
    X(make_a_pool_of_a_node, make_pool_at(scene, CURRENT_HOST_POOL, &node, 0)) \
    X(allocate_from_the_node, allocate_by_host(scene, 6, MIB(3), CURRENT_HOST_POOL, STREAM_A)) \
    X(free_memory_of_the_node, release_by_host(scene, 6, STREAM_A)) \
    X(give_up_the_pool_of_the_node, give_up_pool(scene, CURRENT_HOST_POOL)) \
    X(synchronise_it, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(make_a_pool_to_be_the_hosts, make_pool_at(scene, CURRENT_HOST_POOL, &test_the_host, 0)) \
    X(make_it_the_hosts, make_current(scene, CURRENT_HOST_POOL)) \
    X(use_the_hosts, allocate_by_host(scene, 6, 700, CURRENT_HOST_POOL, STREAM_A)) \
    X(give_up_the_hosts, give_up_pool(scene, CURRENT_HOST_POOL)) \
    X(free_what_the_given_up_pool_had, release_by_host(scene, 6, STREAM_A)) \
    X(make_a_managed_pool, make_pool_at(scene, MANAGED_POOL, &managed, 0)) \
    X(keep_managed_memory, set_attribute(scene, MANAGED_POOL, poolMemPoolAttrReleaseThreshold, UINT64_MAX)) \
    X(write_managed_memory_by_the_host, allocate_by_host(scene, 7, MIB(3), MANAGED_POOL, STREAM_A)) \
    X(write_managed_memory_on_the_device, allocate(scene, 8, 5000, MANAGED_POOL, STREAM_A)) \
    X(note_access_to_managed_memory, set_access(scene, MANAGED_POOL, poolMemAccessFlagsProtReadWrite)) \
    X(free_managed_memory_on_the_device, release(scene, 7, STREAM_A, STREAM_A)) \
    X(free_managed_memory_by_the_host, release_by_host(scene, 8, STREAM_A)) \
    X(synchronise_managed_memory, CALL(poolStreamSynchronize(scene->streams[STREAM_A]))) \
    X(trim_managed_memory, CALL(poolMemPoolTrimTo(scene->pools[MANAGED_POOL], 0))) \
    X(write_managed_memory_again, allocate(scene, 8, MIB(2), MANAGED_POOL, STREAM_A)) \
    X(give_up_the_managed_pool, give_up_pool(scene, MANAGED_POOL)) \
    X(free_the_last_managed_memory, release(scene, 8, STREAM_A, STREAM_A)) \
    X(make_a_pool_for_staging, make_pool_at(scene, STAGED_POOL, &staged, MIB(32))) \
    X(write_memory_for_staging, allocate_by_host(scene, 9, MIB(2), STAGED_POOL, STREAM_A)) \
    X(write_little_memory_for_staging, allocate(scene, 10, 5000, STAGED_POOL, STREAM_B)) \
    X(free_memory_for_staging, release_by_host(scene, 9, STREAM_A)) \
    X(free_little_memory_for_staging, release(scene, 10, STREAM_B, STREAM_B)) \
    X(synchronise_memory_for_staging, CALL(poolDeviceSynchronize())) \
    X(give_up_the_pool_for_staging, give_up_pool(scene, STAGED_POOL)) \
    X(make_a_pool_that_overflows, make_pool(scene, LIMITED_POOL, MIB(32))) \
    X(let_it_overflow, set_attribute(scene, LIMITED_POOL, poolMemPoolAttrHostOverflowMax, MIB(48))) \
    X(fill_it, allocate(scene, 11, MIB(32), LIMITED_POOL, STREAM_A)) \
    X(have_it_overflow, allocate(scene, 12, MIB(16), LIMITED_POOL, STREAM_A)) \
    X(have_it_overflow_on_the_other_stream, allocate(scene, 13, MIB(8), LIMITED_POOL, STREAM_B)) \
    X(free_what_overflowed, release(scene, 12, STREAM_A, STREAM_B)) \
    X(take_what_overflowed_again, allocate(scene, 12, MIB(16), LIMITED_POOL, STREAM_A)) \
    X(free_it_once_more, release(scene, 12, STREAM_A, STREAM_A)) \
    X(trim_what_overflowed, trim_when_idle(scene, LIMITED_POOL, MIB(32), STREAM_A)) \
    X(empty_what_overflows, release(scene, 11, STREAM_A, STREAM_A)) \
    X(give_up_what_overflows, give_up_pool(scene, LIMITED_POOL)) \
    X(free_the_last_that_overflowed, release(scene, 13, STREAM_B, STREAM_B)) \
    X(give_up_the_pool_of_the_host, give_up_pool(scene, HOST_POOL)) \
    X(synchronise_at_the_end, CALL(poolDeviceSynchronize()))

#define STEP_FUNCTION(name, call) \
    static poolError_t name(struct scene *scene) { \
            return call; \
    }
STEPS(STEP_FUNCTION)
HOST_STEPS(STEP_FUNCTION)

#define STEP_ENTRY(name, call) {#name, name},
static const struct step steps[] = {STEPS(STEP_ENTRY)};
static const struct step host_steps[] = {HOST_STEPS(STEP_ENTRY)};
// clang-format on

const struct scenario scenarios[SCENARIOS] = {
    {"devices", steps, sizeof steps / sizeof steps[0]},
    {"host", host_steps, sizeof host_steps / sizeof host_steps[0]},
};

// ----------------------------------------------------------------------------------- begin and end

static void take_ballast(struct scene *scene, unsigned count) {
    REQUIRE(count <= SCENE_BALLAST);
    if (count == 0)
        return;
    scene->ballast_pool = test_pool();
    for (unsigned i = 0; i < count; i++)
        scene->ballast[i] = test_malloc(scene->ballast_pool, MIB(1), scene->streams[STREAM_A]);
    scene->ballast_count = count;
}

static void drop_ballast(struct scene *scene) {
    for (unsigned i = 0; i < scene->ballast_count; i++)
        test_free(scene->ballast[i], scene->streams[STREAM_A]);
    if (scene->ballast_pool)
        EXPECT(poolMemPoolDestroy(scene->ballast_pool), poolSuccess);
}

void scene_open(struct scene *scene, unsigned ballast) {
    *scene = (struct scene){0};
    REQUIRE(test_require_simulated()->simcudaReset(NULL) == 0);
    test_use_device(0);
    test_load_kernels();
    for (unsigned i = 0; i < SCENE_STREAMS; i++)
        scene->streams[i] = test_stream();
    scene->event = test_event();
    take_ballast(scene, ballast);
}

void scene_close(struct scene *scene) {
    for (unsigned i = 0; i < SCENE_BLOCKS; i++)
        REQUIRE(!scene->blocks[i].address);
    drop_ballast(scene);
    scene_check(scene);
    inside_teardown();
    test_unload_kernels();
    REQUIRE_EQUAL(test_require_simulated()->simcudaMemoryInUse(0), 0);
    REQUIRE_EQUAL(test_require_simulated()->simcudaMemoryInUse(-1), 0);
    for (unsigned i = 0; i < SCENE_STREAMS; i++)
        DRIVER(test_driver()->cuStreamDestroy(scene->streams[i]));
    DRIVER(test_driver()->cuEventDestroy(scene->event));
    test_require_no_leaks();
}

// ------------------------------------------------------------------------------------------- state

struct scene_state scene_state(const struct scene *scene) {
    const struct test_simulated *simulated = test_require_simulated();
    struct scene_state state = {.physical = simulated->simcudaMemoryInUse(0) +
                                            simulated->simcudaMemoryInUse(-1)};
    for (unsigned i = 0; i < SCENE_POOLS; i++) {
        if (!scene->pools[i])
            continue;
        struct test_figures figures = test_figures(scene->pools[i]);
        uint64_t values[4] = {figures.reserved, figures.reserved_high, figures.used,
                              figures.used_high};
        memcpy(state.figures[i], values, sizeof values);
    }
    return state;
}

// What a call released before it failed stays released, and the figures say so; but for pools that
// were given up, which have none.
void scene_require_state(const struct scene *scene, const struct scene_state *expected) {
    struct scene_state state = scene_state(scene);
    uint64_t released = 0;
    for (unsigned i = 0; i < SCENE_POOLS; i++) {
        REQUIRE(state.figures[i][0] <= expected->figures[i][0]);
        if (i != MANAGED_POOL && i != STAGED_POOL) // whose memory cuMemCreate has no part in
            released += expected->figures[i][0] - state.figures[i][0];
        REQUIRE_EQUAL(state.figures[i][1], expected->figures[i][1]);
        REQUIRE_EQUAL(state.figures[i][2], expected->figures[i][2]);
        REQUIRE_EQUAL(state.figures[i][3], expected->figures[i][3]);
    }
    REQUIRE(state.physical + released <= expected->physical);
}

void scene_check(const struct scene *scene) {
    char why[256] = "";
    for (unsigned i = 0; i < SCENE_POOLS; i++) {
        if (scene->pools[i] && !inside_check(scene->pools[i], why, sizeof why))
            test_fail(__FILE__, __LINE__, "an invariant of a pool is broken: %s", why);
    }
    test_require_no_complaints();
}
