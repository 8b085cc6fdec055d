#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/list.h"
#include "base/tree.h"
#include "inside/tree.h"

#define ITEMS 512

struct item {
    int key;
    struct sp_tree_node node;
};

static int key_of(const struct sp_tree_node *node) {
    return SP_CONTAINER_OF(node, struct item, node)->key;
}

static int compare_nodes(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return (key_of(a) > key_of(b)) - (key_of(a) < key_of(b));
}

static int compare_key(const void *key, const struct sp_tree_node *node) {
    int wanted = *(const int *)key;
    return (wanted > key_of(node)) - (wanted < key_of(node));
}

static void fill_items(struct item *items, int count) {
    for (int i = 0; i < count; i++)
        items[i].key = i;
}

static int height(const struct sp_tree_node *node) {
    if (!node)
        return 0;
    int less = height(node->child[0]);
    int greater = height(node->child[1]);
    return 1 + (less > greater ? less : greater);
}

static uint64_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

// The nearest present key from `from` on, stepping by `step`; -1 for none.
static int scan(const bool *present, int count, int from, int step) {
    for (int key = from; key >= 0 && key < count; key += step) {
        if (present[key])
            return key;
    }
    return -1;
}

static void assert_key(const struct sp_tree_node *node, int key) {
    if (key < 0) {
        assert_null(node);
    } else {
        assert_non_null(node);
        assert_int_equal(key_of(node), key);
    }
}

static void an_empty_tree_has_no_nodes(void **state) {
    (void)state;
    struct sp_tree tree;
    int key = 1;
    sp_tree_init(&tree, compare_nodes);
    assert_true(sp_tree_empty(&tree));
    assert_null(sp_tree_first(&tree));
    assert_null(sp_tree_last(&tree));
    assert_null(sp_tree_lower_bound(&tree, &key, compare_key));
    assert_true(inside_tree_check(&tree));
}

static void random_operations_agree_with_a_sorted_array(void **state) {
    (void)state;
    static struct item items[ITEMS];
    static bool present[ITEMS];
    struct sp_tree tree;
    uint64_t seed = 42;
    sp_tree_init(&tree, compare_nodes);
    fill_items(items, ITEMS);
    memset(present, 0, sizeof(present));

    for (int operation = 0; operation < 20000; operation++) {
        int key = (int)(next_random(&seed) % ITEMS);
        assert_key(sp_tree_lower_bound(&tree, &key, compare_key), scan(present, ITEMS, key, 1));
        if (present[key]) {
            assert_key(sp_tree_next(&items[key].node), scan(present, ITEMS, key + 1, 1));
            assert_key(sp_tree_prev(&items[key].node), scan(present, ITEMS, key - 1, -1));
            sp_tree_remove(&tree, &items[key].node);
        } else {
            sp_tree_insert(&tree, &items[key].node);
        }
        present[key] = !present[key];
        assert_true(inside_tree_check(&tree));
        assert_key(sp_tree_first(&tree), scan(present, ITEMS, 0, 1));
        assert_key(sp_tree_last(&tree), scan(present, ITEMS, ITEMS - 1, -1));
    }
}

#define FEW 6

static void swap(int *a, int *b) {
    int old = *a;
    *a = *b;
    *b = old;
}

// The order with this number of all FEW! orders.
static void make_order(int *order, int number) {
    for (int i = 0; i < FEW; i++)
        order[i] = i;
    for (int i = FEW; i > 1; i--) {
        swap(&order[i - 1], &order[number % i]);
        number /= i;
    }
}

static void every_order_of_insertions_and_removals_keeps_the_tree_valid(void **state) {
    (void)state;
    enum { ORDERS = 720 };
    struct item items[FEW];
    struct sp_tree tree;
    fill_items(items, FEW);
    sp_tree_init(&tree, compare_nodes);
    for (int number = 0; number < ORDERS * ORDERS; number += 7) { // 7 and ORDERS share no factor
        int in[FEW];
        int out[FEW];
        make_order(in, number / ORDERS);
        make_order(out, number % ORDERS);
        for (int i = 0; i < FEW; i++)
            sp_tree_insert(&tree, &items[in[i]].node);
        assert_true(inside_tree_check(&tree));
        for (int i = 0; i < FEW; i++) {
            sp_tree_remove(&tree, &items[out[i]].node);
            assert_true(inside_tree_check(&tree));
        }
        assert_true(sp_tree_empty(&tree));
    }
}

static void sorted_insertions_stay_balanced(void **state) {
    (void)state;
    enum { COUNT = 4096, HEIGHT = 17 }; // 1.44 log2(4096)
    static struct item items[COUNT];
    struct sp_tree tree;
    fill_items(items, COUNT);

    sp_tree_init(&tree, compare_nodes);
    for (int i = 0; i < COUNT; i++)
        sp_tree_insert(&tree, &items[i].node);
    assert_true(inside_tree_check(&tree));
    assert_true(height(tree.root) <= HEIGHT);

    sp_tree_init(&tree, compare_nodes);
    for (int i = COUNT; i-- > 0;)
        sp_tree_insert(&tree, &items[i].node);
    assert_true(inside_tree_check(&tree));
    assert_true(height(tree.root) <= HEIGHT);
}

static void removals_from_one_end_stay_balanced(void **state) {
    (void)state;
    enum { COUNT = 4096, LEFT = 64, HEIGHT = 12 }; // 2 log2(64)
    static struct item items[COUNT];
    struct sp_tree tree;
    fill_items(items, COUNT);
    sp_tree_init(&tree, compare_nodes);
    for (int i = 0; i < COUNT; i++)
        sp_tree_insert(&tree, &items[i].node);
    for (int i = 0; i < COUNT - LEFT; i++)
        sp_tree_remove(&tree, sp_tree_first(&tree));
    assert_true(inside_tree_check(&tree));
    assert_true(height(tree.root) <= HEIGHT);
}

static void the_walk_visits_each_node_once_in_order_in_both_directions(void **state) {
    (void)state;
    static struct item items[ITEMS];
    struct sp_tree tree;
    fill_items(items, ITEMS);
    sp_tree_init(&tree, compare_nodes);
    for (int i = 0; i < ITEMS; i++)
        sp_tree_insert(&tree, &items[i * 37 % ITEMS].node); // 37 is odd, so every key comes once

    int expected = 0;
    for (struct sp_tree_node *node = sp_tree_first(&tree); node; node = sp_tree_next(node))
        assert_int_equal(key_of(node), expected++);
    assert_int_equal(expected, ITEMS);
    for (struct sp_tree_node *node = sp_tree_last(&tree); node; node = sp_tree_prev(node))
        assert_int_equal(key_of(node), --expected);
    assert_int_equal(expected, 0);
}

static void the_check_finds_a_wrong_order_a_wrong_parent_and_a_wrong_rank(void **state) {
    (void)state;
    struct item items[FEW];
    struct sp_tree tree;
    fill_items(items, FEW);
    sp_tree_init(&tree, compare_nodes);
    for (int i = 0; i < FEW; i++)
        sp_tree_insert(&tree, &items[i].node);

    swap(&items[2].key, &items[3].key);
    assert_false(inside_tree_check(&tree));
    swap(&items[2].key, &items[3].key);
    assert_true(inside_tree_check(&tree));
    for (int i = 0; i < FEW; i++) {
        struct sp_tree_node *node = &items[i].node;
        uintptr_t saved = node->parent_and_parity;
        node->parent_and_parity = (uintptr_t)node | (saved & 1);
        assert_false(inside_tree_check(&tree));
        node->parent_and_parity = saved & 1;
        if (node != tree.root)
            assert_false(inside_tree_check(&tree));
        node->parent_and_parity = saved ^ 1;
        if (!node->child[0] && !node->child[1]) // an inner node may be valid with another rank
            assert_false(inside_tree_check(&tree));
        node->parent_and_parity = saved;
        assert_true(inside_tree_check(&tree));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_tree_has_no_nodes),
        cmocka_unit_test(random_operations_agree_with_a_sorted_array),
        cmocka_unit_test(every_order_of_insertions_and_removals_keeps_the_tree_valid),
        cmocka_unit_test(sorted_insertions_stay_balanced),
        cmocka_unit_test(removals_from_one_end_stay_balanced),
        cmocka_unit_test(the_walk_visits_each_node_once_in_order_in_both_directions),
        cmocka_unit_test(the_check_finds_a_wrong_order_a_wrong_parent_and_a_wrong_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
