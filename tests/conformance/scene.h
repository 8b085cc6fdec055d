// A pool in which one block is all that there is to have, two streams, and work that is held:
// whether a stream is given the block says what the pool knows of the order.
//
// All policies are off; a row turns on the one that it is about. A pool that may not hand the block
// out has nothing else and can't grow, so it fails, and changes nothing.
#ifndef STREAMPOOL_TESTS_CONFORMANCE_SCENE_H
#define STREAMPOOL_TESTS_CONFORMANCE_SCENE_H

#include "support/device.h"
#include "support/pools.h"

// Less than may stay without an event behind it, and more.
#define SCENE_SMALL MIB(6)
#define SCENE_LARGE MIB(64)

struct scene {
    poolMemPool_t pool;
    CUstream a, b; // non-blocking streams
    size_t size;
    void *block; // allocated on a
    struct test_hold hold;
};

// With the block live; and with the block freed on a, behind held work that writes to it.
void scene_open(struct scene *scene, size_t size);
void scene_open_pending(struct scene *scene, size_t size);

// The same for a row's own streams.
void scene_open_on(struct scene *scene, size_t size, CUstream a, CUstream b);
void scene_hold_and_write(struct scene *scene, CUstream stream);
void scene_free_held(struct scene *scene, CUstream stream);

// Whether a stream is given the block now. One that is not is told that there is no memory.
bool scene_gives(struct scene *scene, CUstream stream);
bool scene_gives_with(struct scene *scene, CUstream stream, unsigned int flags);

// The stream was given the block: what it writes there comes after all that was written before, as
// the held work shows once it is let go.
void scene_require_order(struct scene *scene, CUstream stream);

// Lets the held work go, if it is held, and waits for the device in a way that the library sees.
void scene_let_go(struct scene *scene);

// For rows that run for each of the two sizes.
void scene_for_each_size(void (*row)(size_t size));

#endif
