#include "inside/tree.h"

enum {
    // No valid tree is higher than twice the bits of a pointer, plus one.
    MAX_HEIGHT = 129,
    INVALID_RANK = -2,
};

static const struct sp_tree_node *parent_of(const struct sp_tree_node *node) {
    return (const struct sp_tree_node *)(node->parent_and_parity & ~(uintptr_t)1);
}

// The rank of null is -1, which is odd.
static unsigned parity_of(const struct sp_tree_node *node) {
    return node ? (unsigned)(node->parent_and_parity & 1) : 1;
}

// Returns the rank that a node must have above a child with this rank, which is one or two below.
static int rank_above(const struct sp_tree_node *child, int rank, const struct sp_tree_node *node) {
    return parity_of(child) != parity_of(node) ? rank + 1 : rank + 2;
}

// Returns the rank of the subtree, or INVALID_RANK if parents or ranks in it are wrong.
static int check_ranks(const struct sp_tree_node *node, const struct sp_tree_node *parent,
                       int levels_left) {
    if (!node)
        return -1;
    if (levels_left == 0 || parent_of(node) != parent)
        return INVALID_RANK;
    int less = check_ranks(node->child[0], node, levels_left - 1);
    int greater = check_ranks(node->child[1], node, levels_left - 1);
    if (less == INVALID_RANK || greater == INVALID_RANK)
        return INVALID_RANK;
    int rank = rank_above(node->child[0], less, node);
    bool is_leaf = !node->child[0] && !node->child[1];
    if (rank != rank_above(node->child[1], greater, node) || (is_leaf && rank != 0))
        return INVALID_RANK;
    return rank;
}

bool inside_tree_check(const struct sp_tree *tree) {
    if (check_ranks(tree->root, NULL, MAX_HEIGHT) == INVALID_RANK)
        return false;
    struct sp_tree_node *before = NULL;
    for (struct sp_tree_node *node = sp_tree_first(tree); node; node = sp_tree_next(node)) {
        if (before && tree->compare(before, node) >= 0)
            return false;
        before = node;
    }
    return true;
}
