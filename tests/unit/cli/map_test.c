#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/trace/map.h"
#include "unit/random.h"

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
        size_t i = (size_t)random_below(&seed, KEYS);
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

// ------------------------------------------------------------------------ keys that somebody chose

// A key is looked for up to the next empty slot. Among random keys, of which the map has at most
// half as many as slots, runs of this length don't occur.
enum { CHOSEN = 20000, LONGEST = 400 };

static size_t longest_run(const struct sp_map *map) {
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < 2 * map->capacity; i++) { // a run may go on at the begin
        run = map->values[i % map->capacity] == SP_MAP_NONE ? 0 : run + 1;
        longest = run > longest ? run : longest;
    }
    return longest;
}

// The key that a multiplication takes to the product. The factor is odd.
static uint64_t divide(uint64_t product, uint64_t factor) {
    uint64_t inverse = factor; // right in three bits, and in twice as many each time
    for (int i = 0; i < 5; i++)
        inverse *= 2 - factor * inverse;
    return product * inverse;
}

#define GOLDEN 0x9E3779B97F4A7C15u

static uint64_t in_steps(uint64_t i, uint64_t drawn) {
    return drawn + (i << drawn % 48);
}

static uint64_t of_equal_lower_products(uint64_t i, uint64_t drawn) {
    return divide(i << drawn % 48, GOLDEN);
}

static uint64_t of_equal_upper_products(uint64_t i, uint64_t drawn) {
    return divide(drawn << 40 | i, GOLDEN);
}

// Of which the two halves of the product are the same.
static uint64_t of_equal_halves(uint64_t i, uint64_t drawn) {
    return divide((i + 1) << 32 | (i + 1), drawn % 2 ? GOLDEN : 1);
}

// Of the same home, if the map had no random numbers.
static uint64_t of_one_home(uint64_t i, uint64_t drawn) {
    uint64_t mixed = of_equal_upper_products(i, drawn);
    return mixed ^ mixed >> 32;
}

static uint64_t (*const choices[])(uint64_t i, uint64_t drawn) = {
    in_steps, of_equal_lower_products, of_equal_upper_products, of_equal_halves, of_one_home};

enum { CHOICES = sizeof choices / sizeof choices[0], DRAWS = 60 };

static void keys_that_somebody_chose_do_not_meet_in_one_place(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (int draw = 0; draw < DRAWS; draw++) {
        struct sp_map map = {0};
        uint64_t drawn = random_next(&seed);
        for (uint32_t i = 0; i < CHOSEN; i++) {
            uint64_t key = choices[draw % CHOICES](i, drawn);
            if (sp_map_find(&map, key) == SP_MAP_NONE)
                assert_true(sp_map_insert(&map, key, i));
        }
        assert_true(longest_run(&map) < LONGEST);
        sp_map_release(&map);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_finds_and_removes_nothing),
        cmocka_unit_test(a_key_is_found_until_it_is_removed),
        cmocka_unit_test(a_map_agrees_with_an_array_over_random_operations),
        cmocka_unit_test(keys_that_somebody_chose_do_not_meet_in_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
