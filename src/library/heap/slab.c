#include "heap/slab.h"

#include "base/checked.h"
#include "base/lock.h"

#include <stdlib.h>
#include <string.h>

// The spare slabs of all pools, by class. They are never given back to the system, so that a stale
// pointer from the page map still points to a slab. That has no block at any address.
static struct {
    struct sp_lock lock;
    struct sp_slab *slabs[SP_CLASS_COUNT];
} spare;

static size_t bytes_of(unsigned class_index) {
    size_t bytes =
        offsetof(struct sp_slab, codes) + sp_size_classes[class_index].blocks * sizeof(uint16_t);
    return sp_round_up(bytes, _Alignof(struct sp_slab));
}

static struct sp_slab *take_spare(unsigned class_index) {
    sp_lock_acquire(&spare.lock);
    struct sp_slab *slab = spare.slabs[class_index];
    if (slab)
        spare.slabs[class_index] = slab->next_spare;
    sp_lock_release(&spare.lock);
    return slab;
}

struct sp_slab *sp_slab_create(unsigned class_index) {
    struct sp_slab *slab = take_spare(class_index);
    if (!slab)
        slab = aligned_alloc(_Alignof(struct sp_slab), bytes_of(class_index));
    if (!slab)
        return NULL;
    memset(slab, 0, offsetof(struct sp_slab, codes));
    for (uint32_t i = 0; i < sp_size_classes[class_index].blocks; i++)
        sp_slab_set_next(slab, (uint16_t)i, SP_SLAB_END);
    sp_list_init(&slab->link);
    sp_list_init(&slab->returned_link);
    sp_list_init(&slab->owned_link);
    slab->class_index = (uint16_t)class_index;
    slab->free_head = SP_SLAB_END;
    slab->returned_head = SP_SLAB_END;
    return slab;
}

void sp_slab_set_run(struct sp_slab *slab, struct sp_block *run) {
    slab->run = run;
    slab->address = run->address;
    run->is_run = true;
    // The slab lies where a live block has its account: a free of an address that isn't live must
    // see `is_run` before it sees the slab.
    atomic_thread_fence(memory_order_release);
    run->slab = slab;
}

void sp_slab_destroy(struct sp_slab *slab) {
    sp_fence_set_clear(&slab->foreign);
    slab->address = 0;
    sp_lock_acquire(&spare.lock);
    slab->next_spare = spare.slabs[slab->class_index];
    spare.slabs[slab->class_index] = slab;
    sp_lock_release(&spare.lock);
}

void sp_slab_accept_returned(struct sp_slab *slab) {
    if (slab->returned == 0)
        return;
    uint16_t last = slab->returned_head;
    while (sp_slab_next(slab, last) != SP_SLAB_END)
        last = sp_slab_next(slab, last);
    sp_slab_set_next(slab, last, slab->free_head);
    slab->free_head = slab->returned_head;
    slab->returned_head = SP_SLAB_END;
    slab->returned = 0;
}
