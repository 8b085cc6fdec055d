// Linear probing. A removal moves later keys of the run back, so there are no tombstones and a
// trace with millions of frees keeps its probes short.
#include "cli/trace/map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { SMALLEST_CAPACITY = 64 };

void sp_map_release(struct sp_map *map) {
    free(map->keys);
    free(map->values);
    *map = (struct sp_map){.capacity = 0};
}

// The upper bits of a product depend on all bits of its factors. Those of the first one are mixed
// into the lower ones, as keys may differ in their upper bits alone.
static size_t home_of(const struct sp_map *map, uint64_t key) {
    uint64_t mixed = (key ^ map->secrets[0]) * map->secrets[1];
    mixed = (mixed ^ mixed >> 32) * 0x9E3779B97F4A7C15u;
    return (size_t)((mixed >> 32) * map->capacity >> 32);
}

static size_t slot_after(const struct sp_map *map, size_t slot) {
    return (slot + 1) & (map->capacity - 1);
}

// The slot with the key, or the empty slot where it would go.
static size_t slot_of(const struct sp_map *map, uint64_t key) {
    size_t slot = home_of(map, key);
    while (map->values[slot] != SP_MAP_NONE && map->keys[slot] != key)
        slot = slot_after(map, slot);
    return slot;
}

static void put(struct sp_map *map, uint64_t key, uint32_t value) {
    size_t slot = slot_of(map, key);
    map->keys[slot] = key;
    map->values[slot] = value;
    map->count++;
}

static bool grow(struct sp_map *map) {
    struct sp_map larger = {.capacity = map->capacity ? 2 * map->capacity : SMALLEST_CAPACITY};
    larger.keys = calloc(larger.capacity, sizeof *larger.keys);
    larger.values = calloc(larger.capacity, sizeof *larger.values);
    if (!larger.keys || !larger.values) {
        sp_map_release(&larger);
        return false;
    }
    // The system gives each process 16 random bytes.
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random)
        memcpy(larger.secrets, random, sizeof larger.secrets);
    larger.secrets[1] |= 1;
    memset(larger.values, 0xff, larger.capacity * sizeof *larger.values); // SP_MAP_NONE
    for (size_t slot = 0; slot < map->capacity; slot++)
        if (map->values[slot] != SP_MAP_NONE)
            put(&larger, map->keys[slot], map->values[slot]);
    sp_map_release(map);
    *map = larger;
    return true;
}

bool sp_map_insert(struct sp_map *map, uint64_t key, uint32_t value) {
    if (2 * (map->count + 1) > map->capacity && !grow(map))
        return false;
    put(map, key, value);
    return true;
}

uint32_t sp_map_find(const struct sp_map *map, uint64_t key) {
    return map->capacity == 0 ? SP_MAP_NONE : map->values[slot_of(map, key)];
}

uint32_t sp_map_remove(struct sp_map *map, uint64_t key) {
    if (map->capacity == 0)
        return SP_MAP_NONE;
    size_t hole = slot_of(map, key);
    uint32_t value = map->values[hole];
    if (value == SP_MAP_NONE)
        return SP_MAP_NONE;
    for (size_t slot = slot_after(map, hole); map->values[slot] != SP_MAP_NONE;
         slot = slot_after(map, slot)) {
        // The key may move unless its home is in the slots (hole, slot], counted around the end.
        size_t mask = map->capacity - 1, home = home_of(map, map->keys[slot]);
        if (((slot - home) & mask) < ((slot - hole) & mask))
            continue;
        map->keys[hole] = map->keys[slot];
        map->values[hole] = map->values[slot];
        hole = slot;
    }
    map->values[hole] = SP_MAP_NONE;
    map->count--;
    return value;
}
