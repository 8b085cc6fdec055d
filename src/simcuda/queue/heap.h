// The pieces of work that are due, as a binary heap: the one that ends first is on top, among
// equals the one that was added first. An item knows its index, so any one can be taken out.
#ifndef STREAMPOOL_SIMCUDA_QUEUE_HEAP_H
#define STREAMPOOL_SIMCUDA_QUEUE_HEAP_H

#include <stddef.h>

struct sim_item;

struct sim_heap {
    struct sim_item **items;
    size_t count;
    size_t capacity;
};

void sim_heap_push(struct sim_heap *heap, struct sim_item *item);
void sim_heap_remove(struct sim_heap *heap, struct sim_item *item);
// The item's end has become earlier.
void sim_heap_hasten(struct sim_heap *heap, struct sim_item *item);
void sim_heap_destroy(struct sim_heap *heap);

static inline struct sim_item *sim_heap_top(const struct sim_heap *heap) {
    return heap->count ? heap->items[0] : NULL;
}

#endif
