// Calls of the library on a scene of pools, streams, events and blocks: each call draws what it is
// made with. The scene knows every block that a call has given out, also where the thread that made
// the call has ended since.
#ifndef STREAMPOOL_TESTS_STRESS_CANCEL_SCENE_H
#define STREAMPOOL_TESTS_STRESS_CANCEL_SCENE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <streampool/streampool.h>

#include "random/numbers.h"

enum { SCENE_POOLS = 4, SCENE_STREAMS = 5, SCENE_EVENTS = 3, SCENE_BLOCKS = 24 };

struct scene {
    struct numbers numbers;
    // The device's default pool, one with a limit, and two of the host's memory, of which the last
    // is for staging.
    poolMemPool_t pools[SCENE_POOLS];
    CUstream streams[SCENE_STREAMS]; // the last two are default streams
    CUevent events[SCENE_EVENTS];
    FILE *nowhere; // unbuffered: each print is a write
    struct {
        void *address; // null: none
        size_t size;
    } blocks[SCENE_BLOCKS];
};

// Opens the scene for a seed. All scenes have the default pool together.
void scene_open(struct scene *scene, uint64_t seed);

// Draws one call and makes it. Its arguments and its result are good, but for an allocation that
// finds no memory, and a query that finds something pending.
void scene_call(struct scene *scene);

// Makes again what the last call has destroyed.
void scene_mend(struct scene *scene);

// The sizes of the blocks that the scene knows, and the bytes that its pools have given out.
uint64_t scene_live_bytes(const struct scene *scene);
uint64_t scene_used_bytes(const struct scene *scene);

// Frees all, and requires that the scene's own pools are empty.
void scene_close(struct scene *scene);

#endif
