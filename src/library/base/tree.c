// The rank rule is stated in tree.h. A rank is known by its parity alone. The difference between
// parent and child is 1 or 2 in a valid tree, which shows as odd or even. While a tree is being
// repaired it can also be 0 after an insertion, or 3 after a removal.
#include "base/tree.h"

#include <assert.h>

enum { LESS, GREATER };

static struct sp_tree_node *parent_of(const struct sp_tree_node *node) {
    return (struct sp_tree_node *)(node->parent_and_parity & ~(uintptr_t)1);
}

// The rank of null is -1, which is odd.
static unsigned parity_of(const struct sp_tree_node *node) {
    return node ? (unsigned)(node->parent_and_parity & 1) : 1;
}

static void set_parent(struct sp_tree_node *node, struct sp_tree_node *parent) {
    node->parent_and_parity = (uintptr_t)parent | parity_of(node);
}

// Promotes or demotes a node by one, which is the same change of parity.
static void flip_rank(struct sp_tree_node *node) {
    node->parent_and_parity ^= 1;
}

// The difference in rank is 1 or 3, not 0 or 2.
static bool is_odd_child(const struct sp_tree_node *child, const struct sp_tree_node *parent) {
    return parity_of(child) != parity_of(parent);
}

static bool is_leaf(const struct sp_tree_node *node) {
    return !node->child[LESS] && !node->child[GREATER];
}

static int side_of(const struct sp_tree_node *node, const struct sp_tree_node *parent) {
    return parent->child[GREATER] == node;
}

// Puts `node` (may be null) where `old` hangs under `parent` (null: at the root).
static void replace_child(struct sp_tree *tree, struct sp_tree_node *parent,
                          struct sp_tree_node *old, struct sp_tree_node *node) {
    if (!parent)
        tree->root = node;
    else
        parent->child[side_of(old, parent)] = node;
    if (node)
        set_parent(node, parent);
}

// Lifts the child on `side` of `top` into the place of `top`, which becomes its child on the other
// side.
static void rotate(struct sp_tree *tree, struct sp_tree_node *top, int side) {
    struct sp_tree_node *riser = top->child[side];
    struct sp_tree_node *middle = riser->child[!side];
    replace_child(tree, parent_of(top), top, riser);
    top->child[side] = middle;
    if (middle)
        set_parent(middle, top);
    riser->child[!side] = top;
    set_parent(top, riser);
}

// Repairs a tree in which `node` has the rank of its parent, whose other child is two below.
static void end_insertion(struct sp_tree *tree, struct sp_tree_node *parent,
                          struct sp_tree_node *node) {
    int side = side_of(node, parent);
    struct sp_tree_node *inner = node->child[!side];
    if (!is_odd_child(inner, node)) {
        rotate(tree, parent, side);
        flip_rank(parent);
        return;
    }
    rotate(tree, node, !side);
    rotate(tree, parent, side);
    flip_rank(inner);
    flip_rank(node);
    flip_rank(parent);
}

void sp_tree_insert(struct sp_tree *tree, struct sp_tree_node *node) {
    struct sp_tree_node *parent = NULL;
    struct sp_tree_node **link = &tree->root;
    while (*link) {
        parent = *link;
        int order = tree->compare(node, parent);
        assert(order != 0);
        link = &parent->child[order > 0 ? GREATER : LESS];
    }
    assert(((uintptr_t)node & 1) == 0);
    *link = node;
    node->child[LESS] = NULL;
    node->child[GREATER] = NULL;
    node->parent_and_parity = (uintptr_t)parent;
    while (parent && !is_odd_child(node, parent)) { // both have the same rank
        struct sp_tree_node *sibling = parent->child[!side_of(node, parent)];
        if (!is_odd_child(sibling, parent)) {
            end_insertion(tree, parent, node);
            return;
        }
        flip_rank(parent);
        node = parent;
        parent = parent_of(node);
    }
}

// Repairs a tree in which `parent` is three above its child on the other side of `side` and one
// above its child on `side`, which is one above one of its own children.
static void end_removal(struct sp_tree *tree, struct sp_tree_node *parent, int side) {
    struct sp_tree_node *sibling = parent->child[side];
    if (is_odd_child(sibling->child[side], sibling)) {
        rotate(tree, parent, side);
        flip_rank(sibling);
        flip_rank(parent);
        if (is_leaf(parent))
            flip_rank(parent);
        return;
    }
    // The inner child rises by two and the parent falls by two, which their parities do not show.
    rotate(tree, sibling, !side);
    rotate(tree, parent, side);
    flip_rank(sibling);
}

// Repairs a tree in which the place on `side` of `parent` has lost a rank.
static void repair_after_removal(struct sp_tree *tree, struct sp_tree_node *parent, int side) {
    // A parent that has become a leaf has rank 1, as it had a child.
    if (is_leaf(parent)) {
        flip_rank(parent);
        struct sp_tree_node *node = parent;
        parent = parent_of(node);
        if (!parent)
            return;
        side = side_of(node, parent);
    }
    while (is_odd_child(parent->child[side], parent)) {
        struct sp_tree_node *node = parent;
        struct sp_tree_node *sibling = node->child[!side];
        if (is_odd_child(sibling, node)) {
            if (is_odd_child(sibling->child[LESS], sibling) ||
                is_odd_child(sibling->child[GREATER], sibling)) {
                end_removal(tree, node, !side);
                return;
            }
            flip_rank(sibling);
        }
        flip_rank(node);
        parent = parent_of(node);
        if (!parent)
            return;
        side = side_of(node, parent);
    }
}

void sp_tree_remove(struct sp_tree *tree, struct sp_tree_node *node) {
    struct sp_tree_node *leaving = node;
    if (node->child[LESS] && node->child[GREATER])
        leaving = sp_tree_next(node);

    struct sp_tree_node *parent = parent_of(leaving);
    int side = parent ? side_of(leaving, parent) : LESS;
    struct sp_tree_node *orphan =
        leaving->child[LESS] ? leaving->child[LESS] : leaving->child[GREATER];
    replace_child(tree, parent, leaving, orphan);
    if (leaving != node) { // it is in no tree now, and gets the node's place and rank
        *leaving = *node;
        replace_child(tree, parent_of(node), node, leaving);
        for (int i = LESS; i <= GREATER; i++) {
            if (leaving->child[i])
                set_parent(leaving->child[i], leaving);
        }
        if (parent == node)
            parent = leaving;
    }
    if (parent)
        repair_after_removal(tree, parent, side);
}

static struct sp_tree_node *outermost(struct sp_tree_node *node, int side) {
    while (node && node->child[side])
        node = node->child[side];
    return node;
}

static struct sp_tree_node *neighbour(const struct sp_tree_node *node, int side) {
    if (node->child[side])
        return outermost(node->child[side], !side);
    struct sp_tree_node *parent = parent_of(node);
    while (parent && side_of(node, parent) == side) {
        node = parent;
        parent = parent_of(node);
    }
    return parent;
}

struct sp_tree_node *sp_tree_first(const struct sp_tree *tree) {
    return outermost(tree->root, LESS);
}

struct sp_tree_node *sp_tree_last(const struct sp_tree *tree) {
    return outermost(tree->root, GREATER);
}

struct sp_tree_node *sp_tree_next(const struct sp_tree_node *node) {
    return neighbour(node, GREATER);
}

struct sp_tree_node *sp_tree_prev(const struct sp_tree_node *node) {
    return neighbour(node, LESS);
}
