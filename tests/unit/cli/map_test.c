#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/map.h"

static void an_empty_map_finds_and_removes_nothing(void **state) {
    (void)state;
    struct sp_map map = {0};
    assert_int_equal(sp_map_find(&map, 7), SP_MAP_NONE);
    assert_int_equal(sp_map_remove(&map, 7), SP_MAP_NONE);
    sp_map_release(&map);
}

static void a_key_is_found_until_it_is_removed(void **state) {
    (void)state;
    struct sp_map map = {0};
    assert_true(sp_map_insert(&map, 0, 5));
    assert_true(sp_map_insert(&map, UINT64_MAX, 6));
    assert_int_equal(sp_map_find(&map, 0), 5);
    assert_int_equal(sp_map_remove(&map, 0), 5);
    assert_int_equal(sp_map_find(&map, 0), SP_MAP_NONE);
    assert_int_equal(sp_map_find(&map, UINT64_MAX), 6);
    sp_map_release(&map);
}

enum { KEYS = 512, STEPS = 200000 };

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

// Keys as pointers are: far apart or next to each other, with zeros at the end.
static uint64_t key_of(size_t i) {
    return (i % 2 ? 0x7f0000000000u : 0x100000u) + 512 * (uint64_t)i;
}

static void check_all(const struct sp_map *map, const uint32_t model[KEYS]) {
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(sp_map_find(map, key_of(i)), model[i]);
}

static void a_map_agrees_with_an_array_over_random_operations(void **state) {
    (void)state;
    struct sp_map map = {0};
    uint32_t model[KEYS];
    for (size_t i = 0; i < KEYS; i++)
        model[i] = SP_MAP_NONE;
    uint64_t seed = 1;
    for (uint32_t step = 0; step < STEPS; step++) {
        size_t i = next_random(&seed) % KEYS;
        if (model[i] == SP_MAP_NONE) {
            assert_true(sp_map_insert(&map, key_of(i), step));
            model[i] = step;
        } else {
            assert_int_equal(sp_map_remove(&map, key_of(i)), model[i]);
            model[i] = SP_MAP_NONE;
        }
        if (step % 1000 == 0)
            check_all(&map, model);
    }
    check_all(&map, model);
    sp_map_release(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_finds_and_removes_nothing),
        cmocka_unit_test(a_key_is_found_until_it_is_removed),
        cmocka_unit_test(a_map_agrees_with_an_array_over_random_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
