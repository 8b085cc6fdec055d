#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"

struct item {
    int number;
    struct sp_list link;
};

static int number_of(const struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct item, link)->number;
}

// The list holds the numbers, forwards and backwards, and nothing else.
static void assert_numbers(const struct sp_list *head, const int *numbers, size_t count) {
    size_t i = 0;
    SP_LIST_FOR_EACH(node, head) {
        assert_true(i < count);
        assert_int_equal(number_of(node), numbers[i]);
        assert_ptr_equal(node->next->prev, node);
        i++;
    }
    assert_int_equal(i, count);
    for (const struct sp_list *node = head->prev; node != head; node = node->prev)
        assert_int_equal(number_of(node), numbers[--i]);
    assert_int_equal(i, 0);
    SP_LIST_FOR_EACH_OF(const struct item, item, link, head)
        assert_int_equal(item->number, numbers[i++]);
    assert_int_equal(i, count);
}

static void an_empty_list_has_no_first_element(void **state) {
    (void)state;
    struct sp_list head;
    sp_list_init(&head);
    assert_true(sp_list_empty(&head));
    assert_null(sp_list_first(&head));
    assert_null(sp_list_pop_front(&head));
}

static void elements_stand_in_the_order_of_their_ends(void **state) {
    (void)state;
    struct item items[] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    struct sp_list head;
    sp_list_init(&head);
    sp_list_push_back(&head, &items[1].link);
    sp_list_push_back(&head, &items[2].link);
    sp_list_push_front(&head, &items[0].link);
    sp_list_push_back(&head, &items[3].link);
    assert_numbers(&head, (const int[]){0, 1, 2, 3}, 4);
    assert_int_equal(number_of(sp_list_first(&head)), 0);
}

static void removing_leaves_the_others_and_an_unlinked_node(void **state) {
    (void)state;
    struct item items[] = {{.number = 0}, {.number = 1}, {.number = 2}};
    struct sp_list head;
    sp_list_init(&head);
    for (size_t i = 0; i < 3; i++)
        sp_list_push_back(&head, &items[i].link);
    sp_list_remove(&items[1].link);
    assert_numbers(&head, (const int[]){0, 2}, 2);
    assert_true(sp_list_empty(&items[1].link));
    sp_list_remove(&items[1].link);
    assert_numbers(&head, (const int[]){0, 2}, 2);
}

static void popping_takes_from_the_front_until_nothing_is_left(void **state) {
    (void)state;
    struct item items[] = {{.number = 0}, {.number = 1}};
    struct sp_list head;
    sp_list_init(&head);
    for (size_t i = 0; i < 2; i++)
        sp_list_push_back(&head, &items[i].link);
    assert_ptr_equal(sp_list_pop_front(&head), &items[0].link);
    assert_ptr_equal(sp_list_pop_front(&head), &items[1].link);
    assert_null(sp_list_pop_front(&head));
}

static void the_safe_walk_survives_the_removal_of_its_current_node(void **state) {
    (void)state;
    struct item items[] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    struct sp_list head;
    sp_list_init(&head);
    for (size_t i = 0; i < 4; i++)
        sp_list_push_back(&head, &items[i].link);
    int visited = 0;
    SP_LIST_FOR_EACH_SAFE(node, &head) {
        if (number_of(node) % 2 == 0)
            sp_list_remove(node);
        visited++;
    }
    assert_int_equal(visited, 4);
    assert_numbers(&head, (const int[]){1, 3}, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_list_has_no_first_element),
        cmocka_unit_test(elements_stand_in_the_order_of_their_ends),
        cmocka_unit_test(removing_leaves_the_others_and_an_unlinked_node),
        cmocka_unit_test(popping_takes_from_the_front_until_nothing_is_left),
        cmocka_unit_test(the_safe_walk_survives_the_removal_of_its_current_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
