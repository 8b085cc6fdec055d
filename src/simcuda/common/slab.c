#include "simcuda/common/slab.h"

#include <stdlib.h>

static const uintptr_t first_handles[] = {
    [SIM_SLAB_OF_CONTEXTS] = 0x100000000000u,
    [SIM_SLAB_OF_STREAMS] = 0x101000000000u,
    [SIM_SLAB_OF_EVENTS] = 0x102000000000u,
    [SIM_SLAB_OF_FUNCTIONS] = 0x103000000000u,
};

bool sim_slab_init(struct sim_slab *slab, enum sim_slab_kind kind, size_t stride, size_t capacity) {
    // Host pages are spent only where an element was used.
    void *base = calloc(capacity, stride);
    if (!base)
        return false;
    *slab = (struct sim_slab){
        .base = base, .first_handle = first_handles[kind], .stride = stride, .capacity = capacity};
    return true;
}

static struct sim_slab_element *element_at(const struct sim_slab *slab, size_t index) {
    return (struct sim_slab_element *)(void *)(slab->base + index * slab->stride);
}

void sim_slab_clear(struct sim_slab *slab) {
    for (size_t i = 0; i < slab->used; i++)
        atomic_store_explicit(&element_at(slab, i)->identity, 0, memory_order_relaxed);
    slab->used = slab->live = 0;
    slab->free = NULL;
}

void *sim_slab_take(struct sim_slab *slab) {
    struct sim_slab_element *element = slab->free;
    if (element)
        slab->free = element->next_free;
    else if (slab->used < slab->capacity)
        element = element_at(slab, slab->used++);
    if (element)
        slab->live++;
    return element;
}

void sim_slab_publish(void *element, uint64_t identity) {
    struct sim_slab_element *header = element;
    atomic_store_explicit(&header->identity, identity, memory_order_release);
}

void sim_slab_give(struct sim_slab *slab, void *element) {
    struct sim_slab_element *header = element;
    atomic_store_explicit(&header->identity, 0, memory_order_release);
    header->next_free = slab->free;
    slab->free = header;
    slab->live--;
}
