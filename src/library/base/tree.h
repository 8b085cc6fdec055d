// An intrusive ordered tree: O(log n) in the worst case, no allocation.
//
// The owner of the struct sp_tree owns the order and guards the tree with a lock of its own. Nodes
// are embedded in the elements. Keys are unique: the owner's compare breaks ties, by address for
// instance, and never returns 0 for two different nodes. An element's key must not change while it
// is in the tree.
//
// It is a rank-balanced (weak AVL) tree. Each node has a rank, of which only the parity is kept, in
// the lowest bit of the parent pointer:
//
//   rank(null) = -1, rank(leaf) = 0
//   rank(parent) - rank(child) is 1 or 2, for every child, null ones too
//
// So the height is at most 2 log2(n), and less than 1.44 log2(n) while nothing is removed. An
// insertion or removal does at most two rotations, which suits an index that is updated on each
// call.
#ifndef STREAMPOOL_BASE_TREE_H
#define STREAMPOOL_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_tree_node {
    struct sp_tree_node *child[2]; // [0] is less, [1] is greater
    uintptr_t parent_and_parity;
};

struct sp_tree {
    struct sp_tree_node *root;
    // Less than, equal to or greater than 0 as a stands before b, is b, or stands after it.
    int (*compare)(const struct sp_tree_node *a, const struct sp_tree_node *b);
};

static inline void sp_tree_init(struct sp_tree *tree,
                                int (*compare)(const struct sp_tree_node *a,
                                               const struct sp_tree_node *b)) {
    tree->root = NULL;
    tree->compare = compare;
}

static inline bool sp_tree_empty(const struct sp_tree *tree) {
    return !tree->root;
}

// The node's contents need not be initialised.
void sp_tree_insert(struct sp_tree *tree, struct sp_tree_node *node);

// The node must be in the tree. Its contents are undefined afterwards.
void sp_tree_remove(struct sp_tree *tree, struct sp_tree_node *node);

// Makes a node the root of a tree with no other node, for an owner of many small trees.
static inline struct sp_tree_node *sp_tree_alone(struct sp_tree_node *node) {
    *node = (struct sp_tree_node){{NULL, NULL}, 0};
    return node;
}

// The node is the root of a tree with no other node.
static inline bool sp_tree_is_alone(const struct sp_tree_node *root,
                                    const struct sp_tree_node *node) {
    return root == node && !node->child[0] && !node->child[1];
}

// These return null when there is no such node.
struct sp_tree_node *sp_tree_first(const struct sp_tree *tree);
struct sp_tree_node *sp_tree_last(const struct sp_tree *tree);
struct sp_tree_node *sp_tree_next(const struct sp_tree_node *node);
struct sp_tree_node *sp_tree_prev(const struct sp_tree_node *node);

// The first node that does not stand before the key, or null. compare_key orders a key against a
// node as the tree's compare orders two nodes. The function is inline so that the comparison can be
// inlined too.
static inline struct sp_tree_node *
sp_tree_lower_bound(const struct sp_tree *tree, const void *key,
                    int (*compare_key)(const void *key, const struct sp_tree_node *node)) {
    struct sp_tree_node *node = tree->root;
    struct sp_tree_node *best = NULL;
    while (node) {
        if (compare_key(key, node) <= 0) {
            best = node;
            node = node->child[0];
        } else {
            node = node->child[1];
        }
    }
    return best;
}

#endif
