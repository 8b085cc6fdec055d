// Tables and lines on a page of 80 columns.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/program/table.h"

static char *text;
static size_t length;

static struct sp_page open_page(void) {
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    return (struct sp_page){.out = out};
}

static void assert_page(const struct sp_page *page, const char *expected) {
    fclose(page->out);
    assert_string_equal(text, expected);
    free(text);
}

// ------------------------------------------------------------------------------------------- lines

#define TEN    "123456789 "
#define TWENTY TEN TEN

static void a_line_goes_on_in_the_next_one_where_it_is_full(void **state) {
    (void)state;
    struct sp_page page = open_page();
    sp_page_say(&page, "%s\n", TWENTY TWENTY TWENTY TEN "1234567890 x");
    assert_page(&page, TWENTY TWENTY TWENTY TEN "1234567890\n    x\n");
}

static void blanks_at_the_beginning_and_lines_of_their_own_stay(void **state) {
    (void)state;
    struct sp_page page = open_page();
    sp_page_say(&page, "\n  a   b\n    c\n\n");
    assert_page(&page, "\n  a   b\n    c\n\n");
}

static void a_word_that_no_line_holds_goes_on_and_a_path_does_not(void **state) {
    (void)state;
    char word[101] = "", path[101] = "/", expected[128];
    memset(word, 'w', 100);
    memset(path + 1, 'p', 99);
    snprintf(expected, sizeof expected, "%.80s\n    %s\n", word, word + 80);
    struct sp_page page = open_page();
    sp_page_say(&page, "%s\n", word);
    assert_page(&page, expected);
    page = open_page();
    sp_page_say(&page, "see %s\n", path);
    snprintf(expected, sizeof expected, "see\n    %s\n", path);
    assert_page(&page, expected);
}

static void a_character_is_not_cut(void **state) {
    (void)state;
    char word[2 * 81 + 1] = "", expected[200];
    for (int i = 0; i < 81; i++)
        strcat(word, "é");
    snprintf(expected, sizeof expected, "%.160s\n    é\n", word);
    struct sp_page page = open_page();
    sp_page_say(&page, "%s\n", word);
    assert_page(&page, expected);
}

static void a_wide_page_has_lines_as_long_as_they_are(void **state) {
    (void)state;
    struct sp_page page = open_page();
    page.wide = true;
    sp_page_say(&page, "%s\n", TWENTY TWENTY TWENTY TWENTY TWENTY);
    assert_page(&page, TWENTY TWENTY TWENTY TWENTY TWENTY "\n");
}

// ------------------------------------------------------------------------------------------ tables

// A table of two texts and a number.
static void print(const struct sp_page *page, size_t rows, const char *const cells[][3]) {
    static const char *const titles[][2] = {{"", "name"}, {"", "kind"}, {"in", "all"}};
    struct sp_table table;
    assert_true(sp_table_open(&table, 3, 2, rows));
    for (size_t column = 0; column < 3; column++) {
        sp_table_title(&table, column, titles[column]);
        for (size_t row = 0; row < rows; row++)
            sp_cell_text(sp_table_cell(&table, row, column), cells[row][column]);
    }
    sp_table_print(&table, page);
    sp_table_release(&table);
}

static void columns_are_as_wide_as_they_must_be(void **state) {
    (void)state;
    struct sp_page page = open_page();
    print(&page, 2, (const char *const[][3]){{"a", "é", "1"}, {"long name", "b", ""}});
    assert_page(&page,
                "                  in\n"
                "name       kind  all\n"
                "a          é       1\n"
                "long name  b\n");
}

static void a_column_without_text_is_left_out(void **state) {
    (void)state;
    struct sp_page page = open_page();
    print(&page, 1, (const char *const[][3]){{"a", "b", ""}});
    assert_page(&page, "name  kind\na     b\n");
}

// The widest texts give way first, and stand above the rows that they are of, once.
static void texts_that_have_no_room_stand_above_their_rows(void **state) {
    (void)state;
    char name[91] = "", kind[41] = "";
    memset(name, 'n', 90);
    memset(kind, 'k', 40);
    struct sp_page page = open_page();
    print(&page, 3,
          (const char *const[][3]){{name, "k", "1234567890"}, {name, "l", "2"}, {"m", kind, "3"}});
    fclose(page.out);
    const char *first = strstr(text, "\nnnnn");
    assert_non_null(first);
    assert_null(strstr(first + 1, "\nnnnn"));
    assert_non_null(strstr(text, kind));
    assert_non_null(strstr(text, "\nm "));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= SP_PAGE_COLUMNS);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_goes_on_in_the_next_one_where_it_is_full),
        cmocka_unit_test(blanks_at_the_beginning_and_lines_of_their_own_stay),
        cmocka_unit_test(a_word_that_no_line_holds_goes_on_and_a_path_does_not),
        cmocka_unit_test(a_character_is_not_cut),
        cmocka_unit_test(a_wide_page_has_lines_as_long_as_they_are),
        cmocka_unit_test(columns_are_as_wide_as_they_must_be),
        cmocka_unit_test(a_column_without_text_is_left_out),
        cmocka_unit_test(texts_that_have_no_room_stand_above_their_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
