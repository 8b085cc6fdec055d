// A life of pools in steps, each of them one call of the library: make, grow, split, free on two
// streams, trim, give up.
//
// A step that returns an error has changed nothing, so it can be done again: that is what the fault
// loops check. They make something fail inside one step, look at what is left, do the step again
// undisturbed, and go on to the end, where everything must come back.
#ifndef STREAMPOOL_TESTS_FAULT_SCENARIO_H
#define STREAMPOOL_TESTS_FAULT_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#include <streampool/streampool.h>

enum { SCENE_POOLS = 13, SCENE_BLOCKS = 19, SCENE_BALLAST = 64 };

enum scene_pool {
    DEFAULT_POOL,
    OPEN_POOL,
    LIMITED_POOL,
    CURRENT_POOL,
    PIECED_POOL,
    PIECES_POOL,
    PRIMED_POOL,
    LOOSE_POOL,
    DEFAULT_HOST_POOL,
    HOST_POOL,
    CURRENT_HOST_POOL,
    MANAGED_POOL,
    STAGED_POOL
};
enum scene_stream { STREAM_A, STREAM_B, SCENE_STREAMS };

struct scene_block {
    void *address; // null: none
    size_t size;
};

struct scene {
    poolMemPool_t pools[SCENE_POOLS]; // null: not made yet, or given up
    struct scene_block blocks[SCENE_BLOCKS];
    CUstream streams[SCENE_STREAMS];
    CUevent event;
    void *foreign;              // memory of the driver
    poolMemPool_t ballast_pool; // null: no ballast
    void *ballast[SCENE_BALLAST];
    unsigned ballast_count;
    // Called around the step's call of the library, so that what the test itself asks of the driver
    // is left in peace.
    void (*before)(void *hooks);
    void (*after)(void *hooks);
    void *hooks;
};

struct step {
    const char *name;
    poolError_t (*act)(struct scene *scene); // succeeds where nothing is disturbed
};

// One of pools of a device, and one of pools of the host and of managed memory.
struct scenario {
    const char *name;
    const struct step *steps;
    size_t count;
};
enum { SCENARIOS = 2 };
extern const struct scenario scenarios[SCENARIOS];

// Before the first step and after the last one, on a machine that starts anew. Ballast is so many
// large blocks of a pool of its own, live all the while: the library makes its own objects by the
// chunk, and with each number the chunks run out at other steps.
void scene_open(struct scene *scene, unsigned ballast);
void scene_close(struct scene *scene);

// The figures of all pools, and what cuMemCreate has given out of the device and the host.
struct scene_state {
    uint64_t figures[SCENE_POOLS][4];
    uint64_t physical;
};

struct scene_state scene_state(const struct scene *scene);
void scene_require_state(const struct scene *scene, const struct scene_state *expected);

// Every pool's invariants hold, and the simulated driver has no complaint.
void scene_check(const struct scene *scene);

#endif
