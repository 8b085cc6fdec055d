#include "simcuda/queue/heap.h"

#include <stdbool.h>

#include "simcuda/common/host.h"
#include "simcuda/queue/item.h"

static bool before(const struct sim_item *a, const struct sim_item *b) {
    return a->end != b->end ? a->end < b->end : a->serial < b->serial;
}

static void put(struct sim_heap *heap, size_t index, struct sim_item *item) {
    heap->items[index] = item;
    item->heap_index = index;
}

static void sift_up(struct sim_heap *heap, size_t index, struct sim_item *item) {
    while (index > 0 && before(item, heap->items[(index - 1) / 2])) {
        put(heap, index, heap->items[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(heap, index, item);
}

static void sift_down(struct sim_heap *heap, size_t index, struct sim_item *item) {
    for (;;) {
        size_t child = 2 * index + 1;
        if (child + 1 < heap->count && before(heap->items[child + 1], heap->items[child]))
            child++;
        if (child >= heap->count || !before(heap->items[child], item))
            break;
        put(heap, index, heap->items[child]);
        index = child;
    }
    put(heap, index, item);
}

void sim_heap_push(struct sim_heap *heap, struct sim_item *item) {
    SIM_RESERVE_ONE(heap->items, heap->count, heap->capacity);
    sift_up(heap, heap->count++, item);
}

void sim_heap_remove(struct sim_heap *heap, struct sim_item *item) {
    size_t index = item->heap_index;
    struct sim_item *moved = heap->items[--heap->count];
    if (moved == item)
        return;
    if (index > 0 && before(moved, heap->items[(index - 1) / 2]))
        sift_up(heap, index, moved);
    else
        sift_down(heap, index, moved);
}

void sim_heap_hasten(struct sim_heap *heap, struct sim_item *item) {
    sift_up(heap, item->heap_index, item);
}

void sim_heap_destroy(struct sim_heap *heap) {
    sim_free(heap->items);
    *heap = (struct sim_heap){0};
}
