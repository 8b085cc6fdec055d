#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/page_map.h"
#include "inside/page_map.h"
#include "unit/random.h"

#define TIB ((uint64_t)1 << 40)

static int clear(void **state) {
    (void)state;
    inside_page_map_clear();
    return 0;
}

static void an_address_in_no_range_has_no_entry(void **state) {
    (void)state;
    assert_null(sp_page_map_find(0));
    assert_null(sp_page_map_find(UINT64_MAX));
    assert_true(sp_page_map_add(4 * TIB, TIB));
    assert_null(sp_page_map_find(4 * TIB - 1));
    assert_null(sp_page_map_find(5 * TIB));
    assert_null(sp_page_map_find(0));
    assert_null(sp_page_map_find(UINT64_MAX));
}

static void addresses_of_one_page_share_an_entry_and_others_do_not(void **state) {
    (void)state;
    assert_true(sp_page_map_add(TIB, TIB));
    _Atomic uintptr_t *entry = sp_page_map_find(TIB + 5 * SP_PAGE_SIZE);
    assert_non_null(entry);
    assert_ptr_equal(sp_page_map_find(TIB + 6 * SP_PAGE_SIZE - 1), entry);
    assert_ptr_equal(sp_page_map_find(TIB + 6 * SP_PAGE_SIZE), entry + 1);
    assert_ptr_equal(sp_page_map_find(TIB + 5 * SP_PAGE_SIZE - 1), entry - 1);
}

static void a_new_range_is_owned_by_nobody(void **state) {
    (void)state;
    assert_true(sp_page_map_add(TIB, TIB));
    assert_int_equal(*sp_page_map_find(TIB), 0);
    assert_int_equal(*sp_page_map_find(2 * TIB - 1), 0);
}

static void an_entry_keeps_its_word_when_ranges_are_added(void **state) {
    (void)state;
    assert_true(sp_page_map_add(8 * TIB, TIB));
    *sp_page_map_find(9 * TIB - 1) = 42;
    assert_true(sp_page_map_add(TIB, TIB));
    assert_true(sp_page_map_add(9 * TIB, TIB));
    assert_int_equal(*sp_page_map_find(9 * TIB - 1), 42);
    assert_int_equal(*sp_page_map_find(9 * TIB), 0);
    assert_int_equal(*sp_page_map_find(2 * TIB - 1), 0);
}

static void one_range_too_many_is_refused_and_changes_nothing(void **state) {
    (void)state;
    const uint64_t size = SP_PAGE_SIZE;
    for (uint64_t i = 1; i <= SP_PAGE_MAP_MAX_RANGES; i++)
        assert_true(sp_page_map_add(i * size, size));
    assert_false(sp_page_map_add(TIB, size));
    assert_null(sp_page_map_find(TIB));
    for (uint64_t i = 1; i <= SP_PAGE_MAP_MAX_RANGES; i++)
        assert_non_null(sp_page_map_find(i * size));
}

static void a_range_whose_table_can_not_be_had_is_refused_and_changes_nothing(void **state) {
    (void)state;
    assert_false(sp_page_map_add(0, UINT64_MAX - SP_PAGE_SIZE + 1));
    assert_null(sp_page_map_find(TIB));
    assert_true(sp_page_map_add(TIB, TIB));
    assert_non_null(sp_page_map_find(TIB));
}

enum { THREADS = 4, RANGES_EACH = 16 };

static void *add_and_find(void *argument) {
    uint64_t first = *(const uint64_t *)argument;
    for (uint64_t i = first; i < first + RANGES_EACH; i++) {
        if (!sp_page_map_add(i * TIB, SP_PAGE_SIZE))
            return NULL;
        _Atomic uintptr_t *entry = sp_page_map_find(i * TIB);
        if (!entry)
            return NULL;
        *entry = (uintptr_t)i;
    }
    return argument;
}

static void ranges_added_by_several_threads_are_all_found(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    uint64_t firsts[THREADS];
    for (uint64_t i = 0; i < THREADS; i++) {
        firsts[i] = 1 + i * RANGES_EACH;
        assert_int_equal(pthread_create(&threads[i], NULL, add_and_find, &firsts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *finished;
        assert_int_equal(pthread_join(threads[i], &finished), 0);
        assert_ptr_equal(finished, &firsts[i]);
    }
    for (uint64_t i = 1; i <= THREADS * RANGES_EACH; i++)
        assert_int_equal(*sp_page_map_find(i * TIB), i);
}

// Pages 3, 63, 64 and 130 of a range that is not the first one.
static void pieces_behind_a_span_are_counted_by_where_they_begin(void **state) {
    (void)state;
    const uint64_t base = 8 * TIB, page = SP_PAGE_SIZE, begins[] = {3, 63, 64, 130};
    assert_true(sp_page_map_add(TIB, TIB));
    assert_true(sp_page_map_add(base, TIB));
    for (int i = 0; i < 4; i++)
        sp_page_map_set_begin(base + begins[i] * page, true);
    assert_int_equal(sp_page_map_count_pieces(base + 3 * page, 1), 1);
    assert_int_equal(sp_page_map_count_pieces(base + 3 * page, 60 * page), 1);
    assert_int_equal(sp_page_map_count_pieces(base + 3 * page, 60 * page + 1), 2);
    assert_int_equal(sp_page_map_count_pieces(base + 62 * page + 512, 2 * page), 3);
    assert_int_equal(sp_page_map_count_pieces(base + 63 * page, 67 * page), 2);
    assert_int_equal(sp_page_map_count_pieces(base + 3 * page + 512, 128 * page), 4);
    sp_page_map_set_begin(base + 64 * page, false);
    assert_int_equal(sp_page_map_count_pieces(base + 3 * page + 512, 128 * page), 3);
    assert_int_equal(sp_page_map_count_pieces(base + TIB - page, page), 1);
    assert_int_equal(sp_page_map_count_pieces(TIB, TIB), 1);
    assert_int_equal(sp_page_map_count_pieces(4 * TIB, page), 0);
    sp_page_map_set_begin(4 * TIB, true); // nobody's, and nothing is done
    assert_int_equal(*sp_page_map_find(base), 0);
}

// Pieces of drawn sizes come and go in a range of so many pages.
enum { PAGES = 1 << 20, DRAWS = 3000 };

static uint64_t count_one_by_one(const bool *begins, uint64_t first, uint64_t last) {
    uint64_t count = 1;
    for (uint64_t page = first + 1; page <= last; page++)
        count += begins[page];
    return count;
}

static uint64_t draw_page(uint64_t *seed) {
    return random_below(seed, (uint64_t)1 << random_below(seed, 21));
}

static void pieces_behind_drawn_spans_are_counted_as_one_by_one(void **state) {
    (void)state;
    static bool begins[PAGES];
    uint64_t seed = 7;
    assert_true(sp_page_map_add(TIB, PAGES * SP_PAGE_SIZE));
    for (int draw = 0; draw < DRAWS; draw++) {
        for (int i = 0; i < 20; i++) { // some twice, which changes nothing
            uint64_t page = draw_page(&seed);
            begins[page] = random_below(&seed, 3) != 0;
            sp_page_map_set_begin(TIB + page * SP_PAGE_SIZE, begins[page]);
        }
        uint64_t first = draw_page(&seed), last = first + draw_page(&seed);
        last = last < PAGES ? last : PAGES - 1;
        uint64_t size = (last - first) * SP_PAGE_SIZE + 1 + random_below(&seed, SP_PAGE_SIZE);
        assert_int_equal(sp_page_map_count_pieces(TIB + first * SP_PAGE_SIZE, size),
                         count_one_by_one(begins, first, last));
    }
}

static void the_range_of_an_address_is_found(void **state) {
    (void)state;
    assert_null(sp_page_map_range(TIB));
    assert_true(sp_page_map_add(TIB, TIB));
    assert_true(sp_page_map_add(8 * TIB, TIB));
    assert_int_equal(sp_page_map_range(2 * TIB - 1)->base, TIB);
    assert_int_equal(sp_page_map_range(8 * TIB)->base, 8 * TIB);
    assert_null(sp_page_map_range(9 * TIB));
}

// ---------------------------------------------------------------------------------------- windows

#define PAGE SP_PAGE_SIZE

static void held_pages_are_known_and_their_neighbours_are_not(void **state) {
    (void)state;
    assert_true(sp_page_map_hold(5 * TIB + 7 * PAGE, 3 * PAGE));
    assert_false(sp_page_map_has(5 * TIB + 7 * PAGE - 1));
    assert_true(sp_page_map_has(5 * TIB + 7 * PAGE));
    assert_true(sp_page_map_has(5 * TIB + 10 * PAGE - 1));
    assert_false(sp_page_map_has(5 * TIB + 10 * PAGE));
    assert_int_equal(*sp_page_map_find(5 * TIB + 8 * PAGE), 0);
    *sp_page_map_find(5 * TIB + 8 * PAGE) = 42;
    sp_page_map_drop(5 * TIB + 7 * PAGE, 3 * PAGE);
    assert_false(sp_page_map_has(5 * TIB + 8 * PAGE));
    assert_int_equal(*sp_page_map_find(5 * TIB + 8 * PAGE), 0);
}

static void memory_may_reach_over_the_end_of_a_window(void **state) {
    (void)state;
    assert_true(sp_page_map_hold(6 * TIB - 2 * PAGE, 4 * PAGE));
    assert_int_equal(sp_page_window_count, 2);
    for (int i = -2; i < 2; i++)
        assert_true(sp_page_map_has(6 * TIB + (uint64_t)i * PAGE));
    sp_page_map_set_begin(6 * TIB - 2 * PAGE, true);
    assert_int_equal(sp_page_map_count_pieces(6 * TIB - 2 * PAGE, 4 * PAGE), 1);
    sp_page_map_drop(6 * TIB - 2 * PAGE, 4 * PAGE);
    assert_false(sp_page_map_has(6 * TIB));
    assert_true(sp_page_map_hold(6 * TIB, PAGE));
    assert_int_equal(sp_page_window_count, 2);
}

static void a_range_has_the_say_where_a_window_overlaps_it(void **state) {
    (void)state;
    assert_true(sp_page_map_hold(5 * TIB, PAGE));
    assert_true(sp_page_map_add(5 * TIB + TIB / 2, TIB));
    assert_true(sp_page_map_has(5 * TIB + TIB / 2));
    assert_true(sp_page_map_has(6 * TIB));
    assert_false(sp_page_map_has(5 * TIB + PAGE));
    *sp_page_map_find(5 * TIB + TIB / 2) = 42;
    assert_ptr_equal(sp_page_map_range(5 * TIB + TIB / 2), &sp_page_ranges[0]);
    assert_int_equal(sp_page_ranges[0].entries[0], 42);
    assert_ptr_equal(sp_page_map_range(5 * TIB), &sp_page_windows[0].range);
}

static void an_address_of_more_than_48_bits_is_not_held(void **state) {
    (void)state;
    assert_false(sp_page_map_hold(256 * TIB, PAGE));
    assert_false(sp_page_map_hold(256 * TIB - PAGE, 2 * PAGE));
    assert_true(sp_page_map_hold(256 * TIB - PAGE, PAGE));
    assert_false(sp_page_map_has(256 * TIB));
    assert_false(sp_page_map_has(UINT64_MAX));
}

static void fine_words_come_to_be_part_by_part_and_stay(void **state) {
    (void)state;
    assert_true(sp_page_map_add(TIB, TIB));
    assert_true(sp_page_map_make_fine(TIB + 512));
    _Atomic uintptr_t *fine = sp_page_map_fine(TIB + 512);
    assert_int_equal(*fine, 0);
    *fine = 42;
    assert_ptr_equal(sp_page_map_fine(TIB + 1023), fine);
    assert_ptr_equal(sp_page_map_fine(TIB + 1024), fine + 1);
    assert_ptr_equal(sp_page_map_fine(TIB), fine - 1);
    assert_true(sp_page_map_make_fine(2 * TIB - 1));
    assert_int_equal(*sp_page_map_fine(2 * TIB - 1), 0);
    assert_true(sp_page_map_make_fine(TIB));
    assert_ptr_equal(sp_page_map_fine(TIB + 512), fine);
    assert_int_equal(*fine, 42);
    assert_int_equal(*sp_page_map_find(TIB), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_address_in_no_range_has_no_entry, clear),
        cmocka_unit_test_teardown(addresses_of_one_page_share_an_entry_and_others_do_not, clear),
        cmocka_unit_test_teardown(a_new_range_is_owned_by_nobody, clear),
        cmocka_unit_test_teardown(an_entry_keeps_its_word_when_ranges_are_added, clear),
        cmocka_unit_test_teardown(one_range_too_many_is_refused_and_changes_nothing, clear),
        cmocka_unit_test_teardown(a_range_whose_table_can_not_be_had_is_refused_and_changes_nothing,
                                  clear),
        cmocka_unit_test_teardown(ranges_added_by_several_threads_are_all_found, clear),
        cmocka_unit_test_teardown(pieces_behind_a_span_are_counted_by_where_they_begin, clear),
        cmocka_unit_test_teardown(pieces_behind_drawn_spans_are_counted_as_one_by_one, clear),
        cmocka_unit_test_teardown(the_range_of_an_address_is_found, clear),
        cmocka_unit_test_teardown(held_pages_are_known_and_their_neighbours_are_not, clear),
        cmocka_unit_test_teardown(memory_may_reach_over_the_end_of_a_window, clear),
        cmocka_unit_test_teardown(a_range_has_the_say_where_a_window_overlaps_it, clear),
        cmocka_unit_test_teardown(an_address_of_more_than_48_bits_is_not_held, clear),
        cmocka_unit_test_teardown(fine_words_come_to_be_part_by_part_and_stay, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
