#include "observe/live.h"

#include "base/list.h"
#include "base/lock.h"
#include "base/thread.h"

#include <stdlib.h>

static int compare(const struct sp_tree_node *a, const struct sp_tree_node *b);

static struct sp_lock lock; // guards the two below
static struct sp_tree blocks = {NULL, compare};
static struct sp_observe_figures figures;

static struct sp_live_block *block_of(const struct sp_tree_node *node) {
    return SP_CONTAINER_OF(node, struct sp_live_block, node);
}

static int compare(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    uint64_t left = block_of(a)->address, right = block_of(b)->address;
    return (left > right) - (left < right);
}

static int compare_address(const void *key, const struct sp_tree_node *node) {
    uint64_t address = *(const uint64_t *)key;
    return (address > block_of(node)->address) - (address < block_of(node)->address);
}

static struct sp_live_block *find_locked(uint64_t address) {
    struct sp_tree_node *node = sp_tree_lower_bound(&blocks, &address, compare_address);
    return node && block_of(node)->address == address ? block_of(node) : NULL;
}

static void remove_locked(struct sp_live_block *block) {
    sp_tree_remove(&blocks, &block->node);
    figures.blocks--;
    figures.bytes -= block->size;
}

static void insert_locked(struct sp_live_block *block) {
    sp_tree_insert(&blocks, &block->node);
    figures.blocks++;
    figures.bytes += block->size;
    if (figures.bytes > figures.bytes_high)
        figures.bytes_high = figures.bytes;
}

void sp_live_end(struct sp_live_block *block) {
    if (block)
        sp_stack_drop(block->stack);
    free(block);
}

void sp_live_add(const struct sp_live_block *block) {
    struct sp_live_block *copy = malloc(sizeof *copy);
    if (copy)
        *copy = *block;
    sp_lock_acquire(&lock);
    // A block that ended unseen, in a forked child's exit for one, must not stand twice.
    struct sp_live_block *stale = find_locked(block->address);
    if (stale)
        remove_locked(stale);
    if (copy)
        insert_locked(copy);
    else
        figures.unnoted++;
    sp_lock_release(&lock);
    sp_live_end(stale);
    if (!copy)
        sp_stack_drop(block->stack);
}

struct sp_live_block *sp_live_take(uint64_t address) {
    sp_lock_acquire(&lock);
    struct sp_live_block *block = find_locked(address);
    if (block)
        remove_locked(block);
    sp_lock_release(&lock);
    return block;
}

void sp_live_put_back(struct sp_live_block *block) {
    sp_lock_acquire(&lock);
    insert_locked(block);
    sp_lock_release(&lock);
}

bool sp_live_settle(void) {
    bool settled = sp_lock_try_for(&lock, SP_SECOND);
    if (settled)
        sp_lock_release(&lock);
    return settled;
}

void sp_live_read(struct sp_observe_figures *copy) {
    sp_lock_acquire(&lock);
    *copy = figures;
    sp_lock_release(&lock);
}

// Larger blocks stand first, then lower addresses.
static int compare_for_list(const void *a, const void *b) {
    const struct sp_live_block *left = a, *right = b;
    if (left->size != right->size)
        return left->size < right->size ? 1 : -1;
    return (left->address > right->address) - (left->address < right->address);
}

struct sp_live_block *sp_live_list(size_t *count) {
    sp_lock_acquire(&lock);
    struct sp_live_block *list = calloc(figures.blocks, sizeof *list);
    *count = 0;
    for (struct sp_tree_node *node = list ? sp_tree_first(&blocks) : NULL; node;
         node = sp_tree_next(node)) {
        sp_stack_keep(block_of(node)->stack);
        list[(*count)++] = *block_of(node);
    }
    sp_lock_release(&lock);
    if (list)
        qsort(list, *count, sizeof *list, compare_for_list);
    return list;
}
