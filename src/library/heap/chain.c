#include "heap/chain.h"

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
