#include "room/orders.h"

#include <inttypes.h>
#include <stdlib.h>

#include "support/device.h"

const char *const orders_names[ORDERS] = {
#define NAME(name) #name,
    ROOM_ORDERS(NAME)
#undef NAME
};

static int by_key(const void *left, const void *right) {
    const struct block *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

// What the keys of an order's blocks are made with.
struct draw {
    enum order order;
    uint64_t stride, classes, granule;
};

static bool ends_granule(const struct block *block, uint64_t granule) {
    uint64_t address = (uint64_t)(uintptr_t)block->pointer;
    return (address + block->size) / granule != address / granule;
}

static uint64_t key_of(struct scene *scene, const struct block *block, const struct draw *draw) {
    switch (draw->order) {
    case ORDER_residue:
        return (uint64_t)(uintptr_t)block->pointer / draw->stride % draw->classes;
    case ORDER_granule_end:
        return ends_granule(block, draw->granule);
    case ORDER_oldest_last:
        return UINT32_MAX - block->number;
    case ORDER_newest_last:
        return block->number;
    case ORDER_smallest_last:
        return UINT64_MAX - block->size;
    case ORDER_largest_last:
        return block->size;
    case ORDER_few_last:
        return scene_once_in(scene, draw->classes);
    case ORDER_by_stream:
        return block->stream;
    default:
        return scene_below(scene, UINT32_MAX);
    }
}

void orders_sort(struct scene *scene) {
    static const uint64_t strides[] = {KIB(4), KIB(64), MIB(1), MIB(2), MIB(8)};
    static const uint64_t granules[] = {KIB(64), MIB(2), MIB(4), MIB(16)};
    struct draw draw = {.order = (enum order)scene_below(scene, ORDERS),
                        .stride = strides[scene_below(scene, 5)],
                        .classes = 2 + scene_below(scene, 63),
                        .granule = granules[scene_below(scene, 4)]};
    scene_trace(scene, "free by %s, %" PRIu64 " classes of %" PRIu64 " bytes",
                orders_names[draw.order], draw.classes, draw.stride);
    for (size_t i = 0; i < scene->block_count; i++)
        scene->blocks[i].key = key_of(scene, &scene->blocks[i], &draw);
    qsort(scene->blocks, scene->block_count, sizeof scene->blocks[0], by_key);
    scene->tally->orders[draw.order]++;
}
