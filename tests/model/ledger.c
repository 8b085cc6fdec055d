#include "model/ledger.h"

#include <string.h>

static unsigned first_at_or_above(const struct ledger *ledger, const char *address) {
    unsigned low = 0, high = ledger->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (ledger->live[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool reaches(const struct ledger_block *block, const char *address) {
    return block->address + block->size > address;
}

bool ledger_add(struct ledger *ledger, const struct ledger_block *block) {
    unsigned place = first_at_or_above(ledger, block->address);
    struct ledger_block *here = &ledger->live[place];
    if (place < ledger->count && reaches(block, here->address))
        return false;
    if (place > 0 && reaches(here - 1, block->address))
        return false;

    memmove(here + 1, here, (ledger->count - place) * sizeof *here);
    *here = *block;
    ledger->count++;
    struct ledger_pool *pool = &ledger->pools[block->pool];
    pool->used += block->size;
    if (pool->used_high < pool->used)
        pool->used_high = pool->used;
    return true;
}

struct ledger_block ledger_remove(struct ledger *ledger, unsigned index) {
    struct ledger_block *here = &ledger->live[index];
    struct ledger_block block = *here;
    ledger->count--;
    memmove(here, here + 1, (ledger->count - index) * sizeof *here);
    ledger->pools[block.pool].used -= block.size;
    return block;
}

uint64_t ledger_live_bytes(const struct ledger *ledger) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < LEDGER_POOLS; i++)
        bytes += ledger->pools[i].used;
    return bytes;
}
