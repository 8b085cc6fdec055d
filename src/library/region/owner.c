#include "region/owner.h"

#include "base/lock.h"

// Held while a page comes to be one of loose blocks.
static struct sp_lock becoming;

// The page has no fine word that is in date as yet. A large block that begins in it gets one.
static void become_loose_locked(_Atomic uintptr_t *entry, uint64_t address) {
    uintptr_t owner = sp_load_acquire(entry);
    while (owner != SP_OWNER_LOOSE) {
        const struct sp_block *block = sp_owner_block(owner);
        uint64_t begin = block ? sp_load_plain(&block->address) : 0;
        if (begin >> SP_PAGE_SHIFT == address >> SP_PAGE_SHIFT)
            sp_store_release(sp_page_map_fine(begin), owner);
        if (atomic_compare_exchange_weak_explicit(entry, &owner, SP_OWNER_LOOSE,
                                                  memory_order_acq_rel, memory_order_acquire))
            return;
    }
}

void sp_owner_set_loose(struct sp_block *block) {
    _Atomic uintptr_t *entry = sp_page_map_find(block->address);
    if (sp_load_acquire(entry) != SP_OWNER_LOOSE) {
        sp_lock_acquire(&becoming);
        become_loose_locked(entry, block->address);
        sp_lock_release(&becoming);
    }
    sp_store_release(sp_page_map_fine(block->address), (uintptr_t)block);
}
