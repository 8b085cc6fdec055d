// A hash map from 64-bit keys to 32-bit values, for the trace parser: pointers to blocks, stream
// numbers to streams. Zeroed memory is an empty map. Not thread safe.
//
// Keys come from files, which anybody may have written. Where a key lies depends on random numbers
// of the process, so no file can have its keys meet in one place.
//
//   count <= capacity / 2, capacity is 0 or a power of two
//   values[i] == SP_MAP_NONE exactly when slot i is empty
//   no empty slot lies between a key's home slot and the slot it is in
#ifndef STREAMPOOL_CLI_MAP_H
#define STREAMPOOL_CLI_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SP_MAP_NONE UINT32_MAX

struct sp_map {
    uint64_t *keys;
    uint32_t *values;
    size_t capacity;
    size_t count;
    uint64_t secrets[2];
};

void sp_map_release(struct sp_map *map);

// The key must be absent and the value not SP_MAP_NONE. False, and nothing changed, without host
// memory.
bool sp_map_insert(struct sp_map *map, uint64_t key, uint32_t value);

// SP_MAP_NONE when the key is absent.
uint32_t sp_map_find(const struct sp_map *map, uint64_t key);
uint32_t sp_map_remove(struct sp_map *map, uint64_t key);

#endif
