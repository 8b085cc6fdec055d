#include "heap/block.h"

#include "base/lock.h"
#include "base/number.h"
#include "heap/rows.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64, CHAIN_SPARE_MAX = 512 };

struct chunk {
    struct chunk *next;
    struct sp_block blocks[CHUNK];
};

// Spare descriptors, for all pools. Each chain keeps some at hand.
static struct {
    struct sp_lock lock;
    struct sp_block *spare;
    struct chunk *chunks;
} store;

static bool add_chunk(void) {
    struct chunk *chunk = aligned_alloc(_Alignof(struct chunk), sizeof *chunk);
    if (!chunk)
        return false;
    memset(chunk, 0, sizeof *chunk);
    chunk->next = store.chunks;
    store.chunks = chunk;
    for (int i = 0; i < CHUNK; i++) {
        chunk->blocks[i].next = store.spare;
        store.spare = &chunk->blocks[i];
    }
    return true;
}

static struct sp_block *take_from_store(void) {
    sp_lock_acquire(&store.lock);
    struct sp_block *block = store.spare || add_chunk() ? store.spare : NULL;
    if (block)
        store.spare = block->next;
    sp_lock_release(&store.lock);
    return block;
}

static void give_to_store(struct sp_block *first, struct sp_block *last) {
    sp_lock_acquire(&store.lock);
    last->next = store.spare;
    store.spare = first;
    sp_lock_release(&store.lock);
}

static struct sp_block *take_descriptor(struct sp_chain *chain) {
    struct sp_block *block = chain->spare;
    if (!block)
        return take_from_store();
    chain->spare = block->next;
    chain->spare_count--;
    return block;
}

static void retire(struct sp_block *block) {
    sp_fence_set_clear(&block->fences);
    sp_block_set_state(block, SP_BLOCK_NONE);
}

static void give_descriptor(struct sp_chain *chain, struct sp_block *block) {
    retire(block);
    if (chain->spare_count == CHAIN_SPARE_MAX) {
        give_to_store(block, block);
        return;
    }
    block->next = chain->spare;
    chain->spare = block;
    chain->spare_count++;
}

static void fill(struct sp_block *block, struct sp_chain *chain, uint64_t address, uint64_t size,
                 enum sp_block_state state) {
    block->address = address;
    block->size = size;
    block->is_run = false;
    block->requested = 0;
    block->chain = chain;
    block->prev = NULL;
    block->next = NULL;
    block->tier = NULL;
    block->quick_next = NULL;
    block->slab = NULL;
    sp_block_set_state(block, state);
}

// ------------------------------------------------------------------------------ the table of units

// The entry of a unit in which a block has begun.
static struct sp_block **entry_of(const struct sp_chain *chain, size_t unit) {
    return &sp_leaf_of(chain, unit)->first[unit & (SP_LEAF_UNITS - 1)];
}

// One of a chain, which has fewer units where that has fewer than a leaf.
static struct sp_leaf *new_leaf(const struct sp_chain *chain) {
    size_t units = sp_min(sp_chain_units(chain), SP_LEAF_UNITS);
    return calloc(1, sizeof(struct sp_leaf) + units * sizeof(struct sp_block *));
}

// Makes room for a block to begin at an address. False without host memory.
static bool make_leaf(struct sp_chain *chain, uint64_t address) {
    struct sp_leaf **leaf = &chain->leaves[sp_unit_of(chain, address) >> SP_LEAF_SHIFT];
    if (!*leaf)
        *leaf = new_leaf(chain);
    return *leaf != NULL;
}

// The chain itself tells which block is the first in its unit: the one before it begins in another.
// So the table is only touched for these.
static bool is_first_in_unit(const struct sp_block *block, size_t unit) {
    return !block->prev || sp_unit_of(block->chain, block->prev->address) != unit;
}

// For a block with its neighbours known.
static void enter(struct sp_block *block) {
    size_t unit = sp_unit_of(block->chain, block->address);
    if (is_first_in_unit(block, unit))
        *entry_of(block->chain, unit) = block;
}

// For a block that is about to become part of the one before it.
static void leave(const struct sp_block *block) {
    const struct sp_chain *chain = block->chain;
    size_t unit = sp_unit_of(chain, block->address);
    if (!is_first_in_unit(block, unit))
        return;
    bool next_begins_here = block->next && sp_unit_of(chain, block->next->address) == unit;
    *entry_of(chain, unit) = next_begins_here ? block->next : NULL;
}

static bool begins_behind(const struct sp_block *block, uint64_t address) {
    return !block || block->address > address;
}

struct sp_block *sp_chain_find(const struct sp_chain *chain, uint64_t address) {
    size_t unit = sp_unit_of(chain, address);
    while (!sp_leaf_of(chain, unit) || begins_behind(*entry_of(chain, unit), address)) {
        if (!sp_leaf_of(chain, unit))
            unit &= ~(size_t)(SP_LEAF_UNITS - 1);
        unit--; // the first unit has the chain's first block
    }
    struct sp_block *block = *entry_of(chain, unit);
    while (sp_block_end(block) <= address)
        block = block->next;
    return block;
}

// ------------------------------------------------------------------------------------------ chains

static void free_leaves(struct sp_chain *chain) {
    for (size_t i = 0; chain->leaves && i < sp_chain_leaves(chain); i++)
        free(chain->leaves[i]);
    free(chain->leaves);
    chain->leaves = NULL;
}

bool sp_chain_open(struct sp_chain *chain, uint64_t address, uint64_t size) {
    chain->address = address;
    chain->size = size;
    chain->first = NULL;
    chain->spare = NULL;
    chain->spare_count = 0;
    chain->leaves = calloc(sp_chain_leaves(chain), sizeof *chain->leaves);
    if (!chain->leaves)
        return false;
    if (make_leaf(chain, address))
        chain->first = take_from_store();
    if (!chain->first) {
        free_leaves(chain);
        return false;
    }
    fill(chain->first, chain, address, size, SP_BLOCK_BUSY);
    enter(chain->first);
    return true;
}

struct sp_block *sp_chain_last(const struct sp_chain *chain) {
    return sp_chain_find(chain, chain->address + chain->size - 1);
}

// A table for a chain of `size` bytes, more than it has. The only leaf of a chain that is shorter
// than one becomes longer. False without host memory; then nothing has changed.
static bool extend_table(struct sp_chain *chain, uint64_t size) {
    const struct sp_chain longer = {.address = chain->address, .size = size};
    size_t units = sp_chain_units(chain), leaves = sp_chain_leaves(chain);
    struct sp_leaf **table = calloc(sp_chain_leaves(&longer), sizeof *table);
    struct sp_leaf *only = table && units < SP_LEAF_UNITS ? new_leaf(&longer) : NULL;
    if (!table || (units < SP_LEAF_UNITS && !only)) {
        free(table);
        return false;
    }
    memcpy(table, chain->leaves, leaves * sizeof *table);
    if (only) {
        memcpy(only, chain->leaves[0], sizeof *only + units * sizeof only->first[0]);
        free(chain->leaves[0]);
        table[0] = only;
    }
    free(chain->leaves);
    chain->leaves = table;
    return true;
}

struct sp_block *sp_chain_extend(struct sp_chain *chain, uint64_t more) {
    struct sp_block *last = sp_chain_last(chain);
    uint64_t end = chain->address + chain->size;
    struct sp_block *block = take_descriptor(chain);
    if (!block)
        return NULL;
    if (!extend_table(chain, chain->size + more)) {
        give_descriptor(chain, block);
        return NULL;
    }
    chain->size += more;
    if (!make_leaf(chain, end)) {
        chain->size -= more; // the longer table does no harm
        give_descriptor(chain, block);
        return NULL;
    }
    fill(block, chain, end, more, SP_BLOCK_BUSY);
    block->prev = last;
    last->next = block;
    enter(block);
    return block;
}

// Units in which no block can begin any more.
static void forget_units_from(struct sp_chain *chain, size_t first) {
    size_t whole = ((first - 1) >> SP_LEAF_SHIFT) + 1;
    size_t within = first & (SP_LEAF_UNITS - 1);
    struct sp_leaf *leaf = within > 0 ? sp_leaf_of(chain, first) : NULL;
    if (leaf)
        memset(&leaf->rows[within], 0, SP_LEAF_UNITS - within);
    for (size_t i = whole; i < sp_chain_leaves(chain); i++) {
        free(chain->leaves[i]);
        chain->leaves[i] = NULL;
    }
}

struct sp_block *sp_chain_shrink(struct sp_chain *chain, uint64_t less) {
    struct sp_chain shorter = {.address = chain->address, .size = chain->size - less};
    struct sp_block *last = sp_chain_last(chain);
    if (last->size == less) {
        leave(last);
        last->prev->next = NULL;
        give_descriptor(chain, last);
        last = NULL;
    } else {
        last->size -= less;
    }
    forget_units_from(chain, sp_chain_units(&shorter));
    chain->size -= less;
    return last;
}

static void give_list(struct sp_block *first) {
    struct sp_block *last = first;
    if (!first)
        return;
    while (last->next)
        last = last->next;
    give_to_store(first, last);
}

void sp_chain_close(struct sp_chain *chain) {
    for (struct sp_block *block = chain->first; block; block = block->next)
        retire(block);
    give_list(chain->first);
    give_list(chain->spare);
    chain->first = NULL;
    chain->spare = NULL;
    chain->spare_count = 0;
    free_leaves(chain);
}

struct sp_block *sp_block_split(struct sp_block *block, uint64_t size) {
    struct sp_block *rest =
        make_leaf(block->chain, block->address + size) ? take_descriptor(block->chain) : NULL;
    if (!rest)
        return NULL;
    if (!sp_fence_set_join(&rest->fences, &block->fences)) {
        give_descriptor(block->chain, rest);
        return NULL;
    }
    fill(rest, block->chain, block->address + size, block->size - size, sp_block_state(block));
    rest->prev = block;
    rest->next = block->next;
    if (rest->next)
        rest->next->prev = rest;
    block->next = rest;
    block->size = size;
    enter(rest);
    return rest;
}

bool sp_block_absorb_next(struct sp_block *block) {
    struct sp_block *next = block->next;
    if (!sp_fence_set_join(&block->fences, &next->fences))
        return false;
    leave(next);
    block->size += next->size;
    block->next = next->next;
    if (block->next)
        block->next->prev = block;
    give_descriptor(block->chain, next);
    return true;
}

static bool fits_neighbour(const struct sp_block *block) {
    const struct sp_block *next = block->next;
    if (!next)
        return sp_block_end(block) == block->chain->address + block->chain->size;
    return next->address == sp_block_end(block) && next->prev == block &&
           next->chain == block->chain &&
           !(sp_block_state(block) == SP_BLOCK_HOLE && sp_block_state(next) == SP_BLOCK_HOLE);
}

// Exactly the first block of each unit stands in the table.
static bool fits_table(const struct sp_chain *chain, const struct sp_block *block) {
    size_t unit = sp_unit_of(chain, block->address);
    return (*entry_of(chain, unit) == block) == is_first_in_unit(block, unit);
}

bool sp_chain_check(const struct sp_chain *chain) {
    if (chain->first->address != chain->address || chain->first->prev)
        return false;
    for (const struct sp_block *block = chain->first; block; block = block->next) {
        if (block->size == 0 || (block->address | block->size) & (SP_ALIGNMENT - 1) ||
            !fits_neighbour(block) || !fits_table(chain, block))
            return false;
        enum sp_block_state state = sp_block_state(block);
        if ((state == SP_BLOCK_FREE || state == SP_BLOCK_HOLE) != (block->tier != NULL))
            return false;
    }
    return sp_rows_check(chain);
}
