#include "heap/block.h"

#include "base/cold.h"
#include "base/lock.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64, CHAIN_SPARE_MAX = 512 };

// ------------------------------------------------------------------------------- spare descriptors

struct chunk {
    struct chunk *next;
    struct sp_block blocks[CHUNK];
};

// The spare descriptors of the process. Each chain keeps some of its own.
static struct {
    struct sp_lock lock;
    struct sp_block *spare;
    struct chunk *chunks;
} store;

// Takes a descriptor from the spare ones, those of the chain first. Null without host memory.
static struct sp_block *take_spare(struct sp_chain *chain) {
    struct sp_block *block = chain->spare;
    struct chunk *chunk = NULL;
    if (block) {
        chain->spare = block->next;
        chain->spare_count--;
        return block;
    }
    sp_lock_acquire(&store.lock);
    if (!store.spare)
        chunk = aligned_alloc(_Alignof(struct chunk), sizeof *chunk);
    if (chunk) {
        memset(chunk, 0, sizeof *chunk);
        chunk->next = store.chunks;
        store.chunks = chunk;
        for (int i = 0; i < CHUNK; i++) {
            chunk->blocks[i].next = store.spare;
            store.spare = &chunk->blocks[i];
        }
    }
    block = store.spare;
    if (block)
        store.spare = block->next;
    sp_lock_release(&store.lock);
    return block;
}

// Gives a list of descriptors, which may have none, to the store.
static void give_to_store(struct sp_block *first) {
    struct sp_block *last = first;
    if (!first)
        return;
    while (last->next)
        last = last->next;
    sp_lock_acquire(&store.lock);
    last->next = store.spare;
    store.spare = first;
    sp_lock_release(&store.lock);
}

static void clear(struct sp_block *block) {
    sp_fence_set_clear(&block->fences);
    sp_block_set_state(block, SP_BLOCK_NONE);
}

// Makes a block's descriptor spare: of the chain, as long as that has few.
static void give_spare(struct sp_chain *chain, struct sp_block *block) {
    clear(block);
    if (chain->spare_count == CHAIN_SPARE_MAX) {
        block->next = NULL;
        give_to_store(block);
        return;
    }
    block->next = chain->spare;
    chain->spare = block;
    chain->spare_count++;
}

// --------------------------------------------------------------------------------------- the table

// A leaf has fewer units where the whole chain has fewer than that.
SP_COLD static struct sp_leaf *new_leaf(const struct sp_chain *chain) {
    size_t units = sp_min(sp_units_count(chain), SP_LEAF_UNITS);
    return calloc(1, sizeof(struct sp_leaf) + units * sizeof(struct sp_block *));
}

bool sp_chain_make_room(struct sp_chain *chain, uint64_t address) {
    struct sp_leaf **leaf = &chain->leaves[sp_units_at(chain, address) >> SP_LEAF_SHIFT];
    if (SP_UNLIKELY(!*leaf))
        *leaf = new_leaf(chain);
    return *leaf != NULL;
}

// A block is the first in its unit if the one before it begins in another. The chain itself tells,
// so that the table is touched only for these.
static inline bool is_first(const struct sp_block *block, size_t unit) {
    return !block->prev || sp_units_at(block->chain, block->prev->address) != unit;
}

// Sets the entry of a unit whose leaf has been made.
static inline void set_entry(const struct sp_chain *chain, size_t unit, struct sp_block *block) {
    struct sp_leaf *leaf = sp_units_leaf(chain, unit);
    size_t within = unit & (SP_LEAF_UNITS - 1);
    uint64_t *begins = &leaf->begins[within >> SP_GROUP_SHIFT], bit = (uint64_t)1 << within % 64;
    *begins = block ? *begins | bit : *begins & ~bit;
    leaf->first[within] = block;
}

// Enters a block whose neighbours are known and for which there is room.
static inline void enter(struct sp_block *block) {
    size_t unit = sp_units_at(block->chain, block->address);
    if (is_first(block, unit))
        set_entry(block->chain, unit, block);
}

// Takes out a block that is about to become part of the one before it.
static inline void leave(const struct sp_block *block) {
    const struct sp_chain *chain = block->chain;
    size_t unit = sp_units_at(chain, block->address);
    if (!is_first(block, unit))
        return;
    bool next_begins_here = block->next && sp_units_at(chain, block->next->address) == unit;
    set_entry(chain, unit, next_begins_here ? block->next : NULL);
}

static void close_table(struct sp_chain *chain) {
    for (size_t i = 0; chain->leaves && i < sp_units_leaves(chain); i++)
        free(chain->leaves[i]);
    free(chain->leaves);
    chain->leaves = NULL;
}

// ------------------------------------------------------------------------------------------ blocks

// Makes a descriptor a block of the chain that has no neighbours yet and is in no index.
static void fill(struct sp_block *block, struct sp_chain *chain, uint64_t address, uint64_t size,
                 enum sp_block_state state) {
    sp_store_plain(&block->address, address); // region/owner.c reads it with no lock
    block->size = size;
    block->is_run = false;
    block->is_foreign = false;
    block->requested = 0;
    block->chain = chain;
    block->prev = NULL;
    block->next = NULL;
    block->tier = NULL;
    block->quick_next = NULL;
    block->slab = NULL;
    sp_block_set_state(block, state);
}

// Returns a descriptor with the block's fences for one of two parts of it, of which the second
// begins at an address. Null without host memory.
static struct sp_block *take_for_part(const struct sp_block *block, uint64_t address) {
    struct sp_chain *chain = block->chain;
    struct sp_block *part = sp_chain_make_room(chain, address) ? take_spare(chain) : NULL;
    if (!part || sp_fence_set_join(&part->fences, &block->fences))
        return part;
    give_spare(chain, part);
    return NULL;
}

struct sp_block *sp_block_split(struct sp_block *block, uint64_t size) {
    struct sp_chain *chain = block->chain;
    uint64_t address = block->address + size;
    struct sp_block *rest = take_for_part(block, address);
    if (!rest)
        return NULL;
    fill(rest, chain, address, block->size - size, sp_block_state(block));
    rest->is_foreign = block->is_foreign;
    rest->prev = block;
    rest->next = block->next;
    if (rest->next)
        rest->next->prev = rest;
    block->next = rest;
    block->size = size;
    enter(rest);
    return rest;
}

struct sp_block *sp_block_cut_front(struct sp_block *block, uint64_t size) {
    struct sp_chain *chain = block->chain;
    struct sp_block *front = take_for_part(block, block->address + size);
    if (!front)
        return NULL;
    fill(front, chain, block->address, size, SP_BLOCK_BUSY);
    front->is_foreign = block->is_foreign;
    front->prev = block->prev;
    front->next = block;
    if (front->prev)
        front->prev->next = front;
    else
        chain->first = front;
    enter(front);
    block->prev = front;
    sp_store_plain(&block->address, block->address + size);
    block->size -= size;
    enter(block);
    return front;
}

bool sp_block_absorb_next(struct sp_block *block) {
    struct sp_block *next = block->next;
    if (!sp_fence_set_join(&block->fences, &next->fences))
        return false;
    leave(next);
    block->is_foreign = block->is_foreign || next->is_foreign;
    block->size += next->size;
    block->next = next->next;
    if (block->next)
        block->next->prev = block;
    give_spare(block->chain, next);
    return true;
}

// ------------------------------------------------------------------------------------------ chains

bool sp_chain_open(struct sp_chain *chain, uint64_t address, uint64_t size) {
    *chain = (struct sp_chain){.address = address, .size = size};
    chain->leaves = calloc(sp_units_leaves(chain), sizeof *chain->leaves);
    if (chain->leaves && sp_chain_make_room(chain, address))
        chain->first = take_spare(chain);
    if (!chain->first) {
        close_table(chain);
        return false;
    }
    fill(chain->first, chain, address, size, SP_BLOCK_BUSY);
    enter(chain->first);
    return true;
}

void sp_chain_close(struct sp_chain *chain) {
    for (struct sp_block *block = chain->first; block; block = block->next)
        clear(block);
    give_to_store(chain->first);
    give_to_store(chain->spare);
    chain->first = NULL;
    chain->spare = NULL;
    chain->spare_count = 0;
    close_table(chain);
}

// The last block in the table that begins at the address or before it is found by a look at a group
// at a time. In the chain's first unit its first block begins.
struct sp_block *sp_chain_find(const struct sp_chain *chain, uint64_t address) {
    size_t unit = sp_units_at(chain, address), group = unit >> SP_GROUP_SHIFT;
    uint64_t up_to_unit = UINT64_MAX >> (63 - unit % 64);
    for (;; group--, up_to_unit = UINT64_MAX) {
        struct sp_leaf *leaf = sp_units_leaf(chain, group << SP_GROUP_SHIFT);
        size_t in_leaf = group % SP_LEAF_GROUPS;
        uint64_t begins = leaf ? leaf->begins[in_leaf] & up_to_unit : 0;
        while (begins != 0) { // the last one may begin behind the address, in its unit
            unsigned last = 63u - (unsigned)__builtin_clzll(begins);
            struct sp_block *block = leaf->first[(in_leaf << SP_GROUP_SHIFT) + last];
            begins -= (uint64_t)1 << last;
            if (block->address > address)
                continue;
            while (sp_block_end(block) <= address)
                block = block->next;
            return block;
        }
    }
}

struct sp_block *sp_chain_last(const struct sp_chain *chain) {
    return sp_chain_find(chain, chain->address + chain->size - 1);
}

// The only leaf of a chain that is shorter than one becomes longer. A table that is longer than it
// need be, as there was no host memory for more, does no harm.
struct sp_block *sp_chain_extend(struct sp_chain *chain, uint64_t more) {
    struct sp_block *last = sp_chain_last(chain), *block = NULL;
    size_t units = sp_units_count(chain), leaves = sp_units_leaves(chain);
    uint64_t end = sp_block_end(last);
    chain->size += more;
    struct sp_leaf **table = calloc(sp_units_leaves(chain), sizeof *table);
    struct sp_leaf *only = table && units < SP_LEAF_UNITS ? new_leaf(chain) : NULL;
    if (table && (only || units >= SP_LEAF_UNITS)) {
        memcpy(table, chain->leaves, leaves * sizeof *table);
        if (only) {
            memcpy(only, chain->leaves[0], sizeof *only + units * sizeof only->first[0]);
            free(chain->leaves[0]);
            table[0] = only;
        }
        free(chain->leaves);
        chain->leaves = table;
        block = take_spare(chain);
    } else {
        free(table);
    }
    if (!block || !sp_chain_make_room(chain, end)) {
        chain->size -= more;
        if (block)
            give_spare(chain, block);
        return NULL;
    }
    fill(block, chain, end, more, SP_BLOCK_BUSY);
    block->prev = last;
    last->next = block;
    enter(block);
    return block;
}

// The table forgets the units that the chain doesn't reach any more. No block begins in them.
struct sp_block *sp_chain_shrink(struct sp_chain *chain, uint64_t less) {
    struct sp_block *last = sp_chain_last(chain);
    size_t leaves = sp_units_leaves(chain);
    if (last->size == less) {
        leave(last);
        last->prev->next = NULL;
        give_spare(chain, last);
        last = NULL;
    } else {
        last->size -= less;
    }
    chain->size -= less;
    size_t units = sp_units_count(chain), within = units & (SP_LEAF_UNITS - 1);
    struct sp_leaf *leaf = within > 0 ? sp_units_leaf(chain, units) : NULL;
    if (leaf) {
        memset(&leaf->rows[within], 0, SP_LEAF_UNITS - within);
        memset(&leaf->free[within], 0, SP_LEAF_UNITS - within);
    }
    for (size_t i = sp_units_leaves(chain); i < leaves; i++) {
        free(chain->leaves[i]);
        chain->leaves[i] = NULL;
    }
    return last;
}
