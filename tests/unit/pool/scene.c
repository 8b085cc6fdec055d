#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/pool/scene.h"

struct scene scene;

bool scene_once_in(uint64_t times) {
    return numbers_once_in(&scene.numbers, times);
}

unsigned scene_below(uint64_t bound) {
    return (unsigned)numbers_below(&scene.numbers, bound);
}

size_t scene_any_size(void) {
    switch (scene_below(8)) {
    case 0:
    case 1:
        return 512 + scene_below(KIB(56));
    case 2:
        return KIB(32);
    case 3:
        return KIB(57) + scene_below(KIB(400));
    case 4:
        return MIB(1) + scene_below(MIB(3));
    case 5:
    case 6:
        return MIB(2) * (1 + scene_below(4));
    default:
        return MIB(1 + scene_below(30));
    }
}

CUstream scene_any_stream(void) {
    return scene.streams[scene_below(SCENE_STREAMS)];
}

static void free_piece(unsigned place) {
    struct scene_piece *piece = &scene.pieces[place];
    CUstream on = scene_once_in(2) ? piece->stream : scene_any_stream();
    if (on != piece->stream)
        fixture_order(on, piece->stream);
    if (scene_once_in(3))
        simulated_work(on);
    fixture_free(piece->block, on);
    *piece = scene.pieces[--scene.piece_count];
}

void scene_free_some(unsigned count) {
    for (; count > 0 && scene.piece_count > 0; count--)
        free_piece(scene_below(scene.piece_count));
}

void scene_free_outlived(void) {
    for (unsigned i = scene.piece_count; i > 0; i--) {
        if (scene.pieces[i - 1].outlived)
            free_piece(i - 1);
    }
}

// Small ones are too many to be compared.
static void expect_alone(const struct scene_piece *piece) {
    uintptr_t begin = (uintptr_t)piece->block;
    for (unsigned i = 0; i < scene.piece_count && piece->size >= KIB(57); i++) {
        uintptr_t other = (uintptr_t)scene.pieces[i].block;
        assert_true(begin + piece->size <= other || other + scene.pieces[i].size <= begin);
    }
}

static void expect_true_word(poolError_t error) {
    if (error == poolErrorNotSupported)
        assert_non_null(strstr(poolGetLastErrorDetail(), "poolMemPoolSetAccess takes"));
    else
        assert_int_equal(error, poolErrorMemoryAllocation);
}

// Small ones come in numbers, as slabs are to be filled.
static void allocate_some(void) {
    poolMemPool_t pool = scene.pools[scene_once_in(2) ? 0 : scene_below(scene.pool_count)];
    CUstream stream = scene_any_stream();
    size_t size = scene_any_size();
    unsigned flags = scene_once_in(12) ? poolMallocFixed : 0;
    unsigned count = size < KIB(57) && scene_once_in(3) ? 60 : 1;
    for (; count > 0 && scene.piece_count < SCENE_PIECES; count--) {
        struct scene_piece piece = {.size = size, .stream = stream};
        poolError_t error = poolMallocAsyncWithFlags(&piece.block, size, pool, stream, flags);
        if (error != poolSuccess) {
            expect_true_word(error);
            scene_free_some(1 + scene_below(8));
            return;
        }
        expect_alone(&piece);
        scene.pieces[scene.piece_count++] = piece;
    }
}

static void set_one_in(poolMemPool_t pool, uint64_t times, enum poolMemPoolAttr attribute,
                       int value) {
    if (scene_once_in(times))
        fixture_set_flag(pool, attribute, value);
}

void scene_open_pool(unsigned place) {
    static const uint64_t caps[] = {0, MIB(1), MIB(512), UINT64_MAX};
    size_t limit = scene_once_in(2) ? MIB(32) * (1 + scene_below(4)) : 0;
    poolMemPool_t pool = fixture_pool_of_at_most(limit);
    fixture_set_flag(pool, poolMemPoolAttrReaper, 0);
    if (scene_once_in(2))
        fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    if (scene_once_in(2))
        fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, caps[scene_below(4)]);
    if (scene_once_in(8))
        fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, scene_below(40));
    set_one_in(pool, 3, poolMemPoolAttrDefragmentation, (int)scene_below(3));
    set_one_in(pool, 4, poolMemPoolReuseAllowInternalDependencies, 0);
    set_one_in(pool, 6, poolMemPoolReuseAllowOpportunistic, 0);
    set_one_in(pool, 6, poolMemPoolReuseFollowEventDependencies, 0);
    set_one_in(pool, 8, poolMemPoolAttrDeterministic, 1);
    set_one_in(pool, 8, poolMemPoolAttrContextFence, 1);
    scene.pools[place] = pool;
}

void scene_take_step(void) {
    unsigned step = scene_below(16);
    if (step < 9)
        allocate_some();
    else if (step < 14)
        scene_free_some(scene_once_in(8) ? 20 : 1);
    else if (scene_once_in(6))
        fixture_synchronize(scene_any_stream());
    else if (scene_once_in(12))
        fixture_trim(scene.pools[0], MIB(scene_below(64)));
}

void scene_open(uint64_t seed, const char *more) {
    static const unsigned sizes[] = {64, 128, 256, 1024};
    char settings[80];
    scene.numbers.state = scene.seed = seed;
    scene.pool_count = scene.piece_count = 0;
    snprintf(settings, sizeof settings, "memory=%uM%s", sizes[scene_below(4)], more);
    assert_int_equal(fixture_begin(settings), 0);
    unsigned kind = scene_below(4);
    for (unsigned i = 0; i < SCENE_STREAMS; i++)
        scene.streams[i] =
            kind == 0 || (kind == 1 && i % 2) ? simulated_blocking_stream() : simulated_stream();
    if (kind == 2)
        scene.streams[1] = CU_STREAM_LEGACY;
    for (unsigned left = scene_once_in(3) ? 2 + scene_below(2) : 1; left > 0; left--)
        scene_open_pool(scene.pool_count++);
}

static void take_steps(void) {
    for (unsigned left = 20 + scene_below(400); left > 0; left--)
        scene_take_step();
}

void scene_play(uint64_t seeds, const char *settings, void (*show)(void)) {
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        scene_open(seed, settings);
        take_steps();
        show();
        assert_int_equal(fixture_teardown(NULL), 0);
    }
}
