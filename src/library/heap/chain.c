#include "heap/chain.h"

#include "heap/rows.h"
#include "heap/units.h"

bool sp_chain_open(struct sp_chain *chain, uint64_t address, uint64_t size) {
    *chain = (struct sp_chain){.address = address, .size = size};
    if (!sp_units_open(chain))
        return false;
    if (sp_units_make_room(chain, address))
        chain->first = sp_block_take_spare(chain);
    if (!chain->first) {
        sp_units_close(chain);
        return false;
    }
    sp_block_fill(chain->first, chain, address, size, SP_BLOCK_BUSY);
    sp_units_enter(chain->first);
    return true;
}

void sp_chain_close(struct sp_chain *chain) {
    sp_block_give_all(chain);
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

// Gives the table room for a block of `more` bytes at the end, which makes the chain as long. False
// without host memory; then the table may be longer than it need be, which does no harm.
static bool extend_table(struct sp_chain *chain, uint64_t more) {
    uint64_t end = chain->address + chain->size;
    if (!sp_units_extend(chain, chain->size + more))
        return false;
    chain->size += more;
    if (sp_units_make_room(chain, end))
        return true;
    chain->size -= more;
    return false;
}

struct sp_block *sp_chain_extend(struct sp_chain *chain, uint64_t more) {
    struct sp_block *last = sp_chain_last(chain);
    struct sp_block *block = sp_block_take_spare(chain);
    if (!block)
        return NULL;
    if (!extend_table(chain, more)) {
        sp_block_give_spare(chain, block);
        return NULL;
    }
    sp_block_fill(block, chain, sp_block_end(last), more, SP_BLOCK_BUSY);
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
        sp_block_give_spare(chain, last);
        last = NULL;
    } else {
        last->size -= less;
    }
    sp_units_shrink(chain, chain->size - less);
    chain->size -= less;
    return last;
}

static bool fits_neighbour(const struct sp_block *block) {
    const struct sp_block *next = block->next;
    if (!next)
        return sp_block_end(block) == block->chain->address + block->chain->size;
    return next->address == sp_block_end(block) && next->prev == block &&
           next->chain == block->chain &&
           !(sp_block_state(block) == SP_BLOCK_HOLE && sp_block_state(next) == SP_BLOCK_HOLE);
}

bool sp_chain_check(const struct sp_chain *chain) {
    if (chain->first->address != chain->address || chain->first->prev)
        return false;
    for (const struct sp_block *block = chain->first; block; block = block->next) {
        if (block->size == 0 || (block->address | block->size) & (SP_ALIGNMENT - 1) ||
            !fits_neighbour(block) || !sp_units_check(block))
            return false;
        enum sp_block_state state = sp_block_state(block);
        if ((state == SP_BLOCK_FREE || state == SP_BLOCK_HOLE) != (block->tier != NULL))
            return false;
    }
    return sp_rows_check(chain);
}
