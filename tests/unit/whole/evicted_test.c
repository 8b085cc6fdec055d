// Pools with all kinds of settings, to which a program has done this and that, are evicted, and
// blocks of theirs are freed; then they are resident again, with what their blocks held.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/fixture/scene.h"

enum { SEEDS = 60 };

// The contents of a pool's memory.
struct contents {
    struct range {
        uint64_t address;
        size_t size;
        unsigned char *bytes;
    } * ranges;
    size_t count;
};

static poolError_t save(void *user, const struct poolMemRange *ranges, size_t count) {
    struct contents *contents = user;
    *contents = (struct contents){calloc(count + 1, sizeof *contents->ranges), count};
    assert_non_null(contents->ranges);
    for (size_t i = 0; i < count; i++) {
        struct range *range = &contents->ranges[i];
        *range = (struct range){(uintptr_t)ranges[i].ptr, ranges[i].size, malloc(ranges[i].size)};
        assert_non_null(range->bytes);
        assert_int_equal(simcudaPeek(range->bytes, range->address, range->size), CUDA_SUCCESS);
    }
    return poolSuccess;
}

static const struct range *saved_at(const struct contents *contents, uint64_t address) {
    size_t i = 0;
    while (i < contents->count && address - contents->ranges[i].address >= contents->ranges[i].size)
        i++;
    assert_true(i < contents->count);
    return &contents->ranges[i];
}

// What is in use was in use when it was saved, though in other ranges.
static poolError_t load(void *user, const struct poolMemRange *ranges, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint64_t address = (uintptr_t)ranges[i].ptr, end = address + ranges[i].size;
        while (address < end) {
            const struct range *range = saved_at(user, address);
            size_t at = address - range->address;
            size_t size = range->size - at < end - address ? range->size - at : end - address;
            assert_int_equal(simcudaPoke(address, range->bytes + at, size), CUDA_SUCCESS);
            address += size;
        }
    }
    return poolSuccess;
}

static void forget(struct contents *contents) {
    for (size_t i = 0; i < contents->count; i++)
        free(contents->ranges[i].bytes);
    free(contents->ranges);
}

static uint64_t last_of(const struct scene_piece *piece) {
    return (uintptr_t)piece->block + piece->size - 1;
}

static unsigned char mark_of(const struct scene_piece *piece) {
    return (unsigned char)(((uintptr_t)piece->block >> 9) * 7 + piece->size);
}

static void mark_pieces(void) {
    for (unsigned i = 0; i < scene.piece_count; i++) {
        const struct scene_piece *piece = &scene.pieces[i];
        unsigned char mark = mark_of(piece);
        assert_int_equal(simcudaPoke((uintptr_t)piece->block, &mark, 1), CUDA_SUCCESS);
        assert_int_equal(simcudaPoke(last_of(piece), &mark, 1), CUDA_SUCCESS);
    }
}

static void expect_marks(void) {
    for (unsigned i = 0; i < scene.piece_count; i++) {
        const struct scene_piece *piece = &scene.pieces[i];
        unsigned char first = 0, last = 0;
        assert_int_equal(simcudaPeek(&first, (uintptr_t)piece->block, 1), CUDA_SUCCESS);
        assert_int_equal(simcudaPeek(&last, last_of(piece), 1), CUDA_SUCCESS);
        assert_int_equal(first, mark_of(piece));
        assert_int_equal(last, first);
    }
}

// Some are evicted and others aren't, and some are destroyed so.
static void show(void) {
    struct contents contents[SCENE_POOLS];
    bool evicted[SCENE_POOLS];
    uint64_t used[SCENE_POOLS];
    mark_pieces();
    for (unsigned i = 0; i < scene.pool_count; i++) {
        size_t stayed = 0;
        evicted[i] = !scene_once_in(4);
        used[i] = fixture_used(scene.pools[i]);
        uint64_t before = simcudaMemoryInUse(0);
        if (!evicted[i])
            continue;
        assert_int_equal(poolMemPoolEvict(scene.pools[i], save, &contents[i], &stayed),
                         poolSuccess);
        assert_int_equal(stayed, fixture_reserved(scene.pools[i]));
        assert_int_equal(fixture_used(scene.pools[i]), used[i]);
        assert_true(simcudaMemoryInUse(0) +
                        fixture_attribute(scene.pools[i], poolMemPoolStatEvictedBytes) <=
                    before);
        fixture_check(scene.pools[i]);
    }
    scene_free_some(scene_below(scene.piece_count + 1));
    for (unsigned i = 0; i < scene.pool_count; i++) {
        if (!evicted[i])
            continue;
        assert_int_equal(poolMemPoolMakeResident(scene.pools[i], load, &contents[i]), poolSuccess);
        forget(&contents[i]);
        fixture_check(scene.pools[i]);
    }
    expect_marks();
    for (unsigned left = scene_below(40); left > 0; left--)
        scene_take_step();
}

static void blocks_hold_what_they_held(void **state) {
    (void)state;
    scene_play(SEEDS, "", show);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_hold_what_they_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
