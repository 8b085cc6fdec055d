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

struct sp_block *sp_block_take_spare(struct sp_chain *chain) {
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

void sp_block_give_spare(struct sp_chain *chain, struct sp_block *block) {
    retire(block);
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

void sp_block_give_all(struct sp_chain *chain) {
    for (struct sp_block *block = chain->first; block; block = block->next)
        retire(block);
    give_list(chain->first);
    give_list(chain->spare);
    chain->first = NULL;
    chain->spare = NULL;
    chain->spare_count = 0;
}

void sp_block_fill(struct sp_block *block, struct sp_chain *chain, uint64_t address, uint64_t size,
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

struct sp_block *sp_block_split(struct sp_block *block, uint64_t size) {
    struct sp_chain *chain = block->chain;
    uint64_t address = block->address + size;
    struct sp_block *rest = sp_units_make_room(chain, address) ? sp_block_take_spare(chain) : NULL;
    if (!rest)
        return NULL;
    if (!sp_fence_set_join(&rest->fences, &block->fences)) {
        sp_block_give_spare(chain, rest);
        return NULL;
    }
    sp_block_fill(rest, chain, address, block->size - size, sp_block_state(block));
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
    bool room = sp_units_make_room(chain, block->address + size);
    struct sp_block *front = room ? sp_block_take_spare(chain) : NULL;
    if (!front)
        return NULL;
    if (!sp_fence_set_join(&front->fences, &block->fences)) {
        sp_block_give_spare(chain, front);
        return NULL;
    }
    sp_block_fill(front, chain, block->address, size, SP_BLOCK_BUSY);
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
    sp_block_give_spare(block->chain, next);
    return true;
}
