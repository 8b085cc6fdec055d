// The check of the library's trees.
#ifndef STREAMPOOL_TESTS_INSIDE_TREE_H
#define STREAMPOOL_TESTS_INSIDE_TREE_H

#include "base/tree.h"

// True when the order, the parents and the ranks of the whole tree are as base/tree.h states.
bool inside_tree_check(const struct sp_tree *tree);

#endif
