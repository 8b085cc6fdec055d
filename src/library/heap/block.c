#include "heap/block.h"

#include "base/lock.h"
#include "heap/units.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64, CHAIN_SPARE_MAX = 512 };

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

static struct sp_block *take_from_store(void) {
    struct chunk *chunk = NULL;
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
    struct sp_block *block = store.spare;
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

// Takes a descriptor from the spare ones, those of the chain first. Null without host memory.
static struct sp_block *take_spare(struct sp_chain *chain) {
    struct sp_block *block = chain->spare;
    if (!block)
        return take_from_store();
    chain->spare = block->next;
    chain->spare_count--;
    return block;
}

static void clear(struct sp_block *block) {
    sp_fence_set_clear(&block->fences);
    sp_block_set_state(block, SP_BLOCK_NONE);
}

// Makes a block's descriptor spare: of the chain, as long as that has few.
static void give_spare(struct sp_chain *chain, struct sp_block *block) {
    clear(block);
    if (chain->spare_count == CHAIN_SPARE_MAX) {
        give_to_store(block, block);
        return;
    }
    block->next = chain->spare;
    chain->spare = block;
    chain->spare_count++;
}

static void give_list(struct sp_block *first) {
    struct sp_block *last = first;
    if (!first)
        return;
    while (last->next)
        last = last->next;
    give_to_store(first, last);
}

// Makes a descriptor a block of the chain that has no neighbours yet and is in no index.
static void fill(struct sp_block *block, struct sp_chain *chain, uint64_t address, uint64_t size,
                 enum sp_block_state state) {
    block->address = address;
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
    struct sp_block *part = sp_units_make_room(chain, address) ? take_spare(chain) : NULL;
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
    sp_units_enter(rest);
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
    sp_units_enter(front);
    block->prev = front;
    block->address += size;
    block->size -= size;
    sp_units_enter(block);
    return front;
}

bool sp_block_absorb_next(struct sp_block *block) {
    struct sp_block *next = block->next;
    if (!sp_fence_set_join(&block->fences, &next->fences))
        return false;
    sp_units_leave(next);
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
    if (!sp_units_open(chain))
        return false;
    if (sp_units_make_room(chain, address))
        chain->first = take_spare(chain);
    if (!chain->first) {
        sp_units_close(chain);
        return false;
    }
    fill(chain->first, chain, address, size, SP_BLOCK_BUSY);
    sp_units_enter(chain->first);
    return true;
}

void sp_chain_close(struct sp_chain *chain) {
    for (struct sp_block *block = chain->first; block; block = block->next)
        clear(block);
    give_list(chain->first);
    give_list(chain->spare);
    chain->first = NULL;
    chain->spare = NULL;
    chain->spare_count = 0;
    sp_units_close(chain);
}

struct sp_block *sp_chain_find(const struct sp_chain *chain, uint64_t address) {
    struct sp_block *block = sp_units_find(chain, address);
    while (sp_block_end(block) <= address)
        block = block->next;
    return block;
}

struct sp_block *sp_chain_last(const struct sp_chain *chain) {
    return sp_chain_find(chain, chain->address + chain->size - 1);
}

// A table that is longer than it need be, as there was no host memory for more, does no harm.
struct sp_block *sp_chain_extend(struct sp_chain *chain, uint64_t more) {
    struct sp_block *last = sp_chain_last(chain);
    uint64_t end = sp_block_end(last), size = chain->size;
    struct sp_block *block = sp_units_extend(chain, size + more) ? take_spare(chain) : NULL;
    if (!block)
        return NULL;
    chain->size += more;
    if (!sp_units_make_room(chain, end)) {
        chain->size = size;
        give_spare(chain, block);
        return NULL;
    }
    fill(block, chain, end, more, SP_BLOCK_BUSY);
    block->prev = last;
    last->next = block;
    sp_units_enter(block);
    return block;
}

struct sp_block *sp_chain_shrink(struct sp_chain *chain, uint64_t less) {
    struct sp_block *last = sp_chain_last(chain);
    if (last->size == less) {
        sp_units_leave(last);
        last->prev->next = NULL;
        give_spare(chain, last);
        last = NULL;
    } else {
        last->size -= less;
    }
    sp_units_shrink(chain, chain->size - less);
    chain->size -= less;
    return last;
}
