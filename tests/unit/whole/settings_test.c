// Settings that other tests try singly, several at once, as they are drawn: devices that have
// virtual memory, lack it, or say that they have it and refuse it; several pools, with limits and
// policies, that come and go; resets of the device; access of another device, from before the first
// allocation on; streams that end; and every way to synchronise.
//
// Whatever came of it, a refusal has a word that is true, and what is free can be had.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "region/device.h"
#include "unit/fixture/advice.h"

enum { SEEDS = 250 };

static bool is_plain(void) {
    return sp_vmm_provider(&fixture_inside(scene.pools[0])->device->vmm) == &sp_vmm_plain;
}

// ------------------------------------------------------------------------------------------ access

static void set_access(poolMemPool_t pool, enum poolMemAccessFlags flags) {
    struct poolMemAccessDesc desc = {{poolMemLocationTypeDevice, 1}, flags};
    bool possible = flags == poolMemAccessFlagsProtNone || !is_plain();
    assert_int_equal(poolMemPoolSetAccess(pool, &desc, 1),
                     possible ? poolSuccess : poolErrorNotSupported);
}

static void give_or_take_access(void) {
    static const enum poolMemAccessFlags flags[] = {
        poolMemAccessFlagsProtNone, poolMemAccessFlagsProtRead, poolMemAccessFlagsProtReadWrite};
    set_access(scene.pools[scene_below(scene.pool_count)], flags[scene_below(3)]);
}

static void take_all_access_back(void) {
    for (unsigned i = 0; i < scene.pool_count; i++)
        set_access(scene.pools[i], poolMemAccessFlagsProtNone);
}

// --------------------------------------------------------------------------- what ends, and begins

static CUstream new_stream(void) {
    return scene_once_in(3) ? simulated_blocking_stream() : simulated_stream();
}

static void hand_over(CUstream from, CUstream to) {
    for (unsigned i = 0; i < scene.piece_count; i++) {
        if (scene.pieces[i].stream == from)
            scene.pieces[i].stream = to;
    }
}

static bool has_ended_streams;

static void end_a_stream(void) {
    CUstream *place = &scene.streams[scene_below(SCENE_STREAMS)];
    CUstream old = *place;
    if (old == CU_STREAM_LEGACY)
        return;
    *place = new_stream();
    fixture_order(*place, old);
    hand_over(old, *place);
    has_ended_streams = true;
    if (scene_once_in(2))
        simulated_destroy(old);
    else
        assert_int_equal(poolStreamDestroy(old), poolSuccess);
}

// Nothing of before is ordered before anything any more.
static void reset_the_device(void) {
    CUdevice device;
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
    for (unsigned i = 0; i < SCENE_STREAMS; i++) {
        CUstream old = scene.streams[i];
        if (old != CU_STREAM_LEGACY)
            scene.streams[i] = new_stream();
        hand_over(old, scene.streams[i]);
    }
    for (unsigned i = 0; i < scene.piece_count; i++)
        scene.pieces[i].outlived = true;
}

static void replace_a_pool(void) {
    unsigned place = scene_below(scene.pool_count);
    poolMemPool_t default_pool = NULL;
    assert_int_equal(poolDeviceGetDefaultMemPool(&default_pool, 0), poolSuccess);
    if (scene.pools[place] != default_pool)
        assert_int_equal(poolMemPoolDestroy(scene.pools[place]), poolSuccess);
    if (scene_once_in(4))
        scene.pools[place] = default_pool;
    else
        scene_open_pool(place);
}

// -------------------------------------------------------------------------------------
// synchronising

// What the library is told; else it may have to ask.
static bool synchronize_device(void) {
    bool told = scene_once_in(2);
    if (told)
        assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    else
        assert_int_equal(sp_driver->cuCtxSynchronize(), CUDA_SUCCESS);
    return told;
}

static bool synchronize_stream(CUstream stream) {
    bool told = scene_once_in(2);
    if (told)
        fixture_synchronize(stream);
    else
        assert_int_equal(sp_driver->cuStreamSynchronize(stream), CUDA_SUCCESS);
    return told;
}

// Nobody can be told any more that a stream is synchronised which has ended.
static bool synchronize_all(void) {
    bool told = !has_ended_streams;
    if (scene_once_in(2))
        return synchronize_device();
    for (unsigned i = 0; i < SCENE_STREAMS; i++)
        told = synchronize_stream(scene.streams[i]) && told;
    return told;
}

static void synchronize_some(void) {
    if (scene_once_in(4))
        synchronize_device();
    else if (scene_once_in(2))
        synchronize_stream(scene_any_stream());
    else
        assert_in_set(poolStreamQuery(scene_any_stream()),
                      ((const LargestIntegralType[]){poolSuccess, poolErrorNotReady}), 2);
}

// ------------------------------------------------------------------------------------------ scenes

static void take_a_step(void) {
    switch (scene_below(60)) {
    case 0:
        reset_the_device();
        break;
    case 1:
    case 2:
        give_or_take_access();
        break;
    case 3:
        end_a_stream();
        break;
    case 4:
        replace_a_pool();
        break;
    case 5:
    case 6:
        synchronize_some();
        break;
    default:
        scene_take_step();
    }
}

static void play_scene(uint64_t seed) {
    static const char *const devices[] = {",devices=2,peers=1", ",devices=2,peers=1,vmm=missing",
                                          ",devices=2,peers=1,vmm=refused"};
    has_ended_streams = false;
    scene_open(seed, devices[seed % 3]);
    if (scene_once_in(3))
        give_or_take_access();
    for (unsigned left = 20 + scene_below(300); left > 0; left--)
        take_a_step();
}

// ---------------------------------------------------------------------------------------- promises

// A request was refused, which may be.
static void expect_as_said(bool may_be) {
    char detail[1024];
    snprintf(detail, sizeof detail, "%s", poolGetLastErrorDetail());
    if (!may_be || !advice_is_as_said(detail))
        fail_msg("seed %u, %zu bytes: %s\n then: %s", (unsigned)scene.seed, advice_request.size,
                 detail, poolGetLastErrorDetail());
}

static void every_refusal_has_a_true_word(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_scene(seed);
        take_all_access_back();
        if (advice_refuse())
            expect_as_said(true);
        assert_int_equal(fixture_teardown(NULL), 0);
    }
}

// As much as the device and the limit allow.
static size_t all_there_is(const struct sp_pool *pool) {
    size_t total = pool->device->vmm.total_memory;
    return pool->limit < total ? pool->limit : total;
}

// Everything is free, and complete as far as the program knows. Returns whether the library was
// told.
static bool free_and_synchronize(void) {
    scene_free_some(SCENE_PIECES);
    return synchronize_all();
}

// All that the pool had is free, and the stream runs after all work on it, which is pending.
// Returns whether it is to be had so: memory that is mapped can't always be put together, and other
// pools' can't be had before it is complete.
static bool free_in_order(CUstream stream) {
    struct sp_pool *pool = fixture_inside(scene.pools[0]);
    for (unsigned i = 0; i < SCENE_STREAMS; i++) {
        if (scene.streams[i] != stream)
            fixture_order(stream, scene.streams[i]);
        hand_over(scene.streams[i], stream);
    }
    simulated_work(stream);
    for (; scene.piece_count > 0; scene.piece_count--)
        fixture_free(scene.pieces[scene.piece_count - 1].block, stream);
    uint64_t others = sp_device_reserved(pool->device) - fixture_reserved(scene.pools[0]);
    return is_plain() && sp_pool_policy(pool, poolMemPoolReuseFollowEventDependencies) &&
           others + all_there_is(pool) <= pool->device->vmm.total_memory;
}

static void what_is_free_can_be_had(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play_scene(seed);
        take_all_access_back();
        advice_request = (struct advice_request){scene_any_stream(),
                                                 all_there_is(fixture_inside(scene.pools[0])), 0};
        bool at_once =
            scene_once_in(2) ? free_and_synchronize() : free_in_order(advice_request.stream);
        if (!advice_is_served())
            expect_as_said(!at_once);
        assert_int_equal(fixture_teardown(NULL), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_refusal_has_a_true_word),
        cmocka_unit_test(what_is_free_can_be_had),
    };
    return cmocka_run_group_tests_name("whole_settings", tests, NULL, NULL);
}
