#include "room/measure.h"

#include <inttypes.h>

#include "region/device.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/room.h"

// The promise's exception (docs/promises.md): at most so many bytes of a device may stay out of
// others' reach.
static size_t exception(const struct scene *scene) {
    size_t part = scene->memory / 64;
    return part < MIB(64) ? part : MIB(64);
}

// Of so much that is free, what others must get: whole granules.
static size_t promised(const struct scene *scene, size_t room) {
    size_t excepted = exception(scene);
    return room > excepted ? (room - excepted) / scene->granule * scene->granule : 0;
}

static bool lies_in(const void *context, uint64_t address, uint64_t size) {
    const struct scene *scene = context;
    for (size_t i = 0; i < scene->block_count; i++) {
        uint64_t begin = (uint64_t)(uintptr_t)scene->blocks[i].pointer;
        if (begin < address + size && address < begin + scene->blocks[i].size)
            return true;
    }
    return false;
}

static bool can_have(struct scene *scene, poolMemPool_t pool, size_t size, CUstream stream) {
    void *pointer = NULL;
    poolError_t error = poolMallocFromPoolAsync(&pointer, size, pool, stream);
    scene->tally->operations++;
    if (error == poolErrorMemoryAllocation)
        return false;
    EXPECT(error, poolSuccess);
    EXPECT(poolFreeAsync(pointer, stream), poolSuccess);
    return true;
}

// By halves: the most that can be had, to a granule, where `refused` can't.
static size_t most_of(struct scene *scene, poolMemPool_t pool, size_t refused, CUstream stream) {
    size_t least = 0;
    while (refused - least > scene->granule) {
        size_t half = least + (refused - least) / 2;
        *(can_have(scene, pool, half, stream) ? &least : &refused) = half;
    }
    return least;
}

static void require_room(struct scene *scene, poolMemPool_t pool, const char *who) {
    const struct test_live live = {lies_in, scene};
    CUstream stream = scene_once_in(scene, 8) ? test_blocking_stream() : test_stream();
    size_t room = test_room(&live, sp_handle_pool(pool));
    size_t size = promised(scene, room);
    scene_trace(scene, "%s: %zu MiB are free", who, room >> 20);
    scene->tally->measured++;
    if (size > 0 && !can_have(scene, pool, size, stream))
        test_fail(__FILE__, __LINE__, "%s gets %zu of %zu KiB that are free: %s", who,
                  most_of(scene, pool, size, stream) >> 10, room >> 10, poolGetLastErrorDetail());
    DRIVER(test_driver()->cuCtxSynchronize());
    DRIVER(test_driver()->cuStreamDestroy(stream));
}

// What stays out of reach of anybody lies in few extents, also where there is enough beside it.
static void require_little_out_of_reach(struct scene *scene) {
    CUstream stream = test_stream();
    size_t most = scene->cap < 0 ? exception(scene) : (size_t)scene->cap;
    uint64_t hidden = test_out_of_reach(sp_handle_pool(test_default_pool(0))->device, stream);
    scene_trace(scene, "%" PRIu64 " KiB of extents are out of reach", hidden >> 10);
    if (hidden > most)
        test_fail(__FILE__, __LINE__, "%" PRIu64 " KiB of extents are out of reach, not %zu",
                  hidden >> 10, most >> 10);
    DRIVER(test_driver()->cuStreamDestroy(stream));
}

static bool all_is_given_up(const struct scene *scene) {
    bool all = scene->block_count == 0;
    for (unsigned i = 0; i < scene->pool_count; i++)
        all = all && !scene->pools[i];
    return all;
}

// CUDA's own call asks nobody: what given-up pools had is the device's once a pool is made.
static void require_device_room(struct scene *scene) {
    CUdeviceptr memory;
    size_t size = promised(scene, scene->memory - test_reserved(test_default_pool(0)));
    poolMemPool_t made = test_pool();
    bool has = size == 0 || test_driver()->cuMemAlloc(&memory, size) == CUDA_SUCCESS;
    scene->tally->measured++;
    if (!has)
        test_fail(__FILE__, __LINE__, "cuMemAlloc of %zu KiB: %zu are free, and no pool is left",
                  size >> 10, test_device_free_bytes() >> 10);
    if (size > 0)
        DRIVER(test_driver()->cuMemFree(memory));
    EXPECT(poolMemPoolDestroy(made), poolSuccess);
}

void measure(struct scene *scene) {
    if (scene_once_in(scene, 4))
        require_little_out_of_reach(scene);
    if (all_is_given_up(scene))
        require_device_room(scene);
    unsigned index = (unsigned)scene_below(scene, scene->pool_count);
    if (scene->pools[index] && scene_once_in(scene, 2))
        require_room(scene, scene->pools[index], "another stream");
    else
        require_room(scene, test_default_pool(0), "another pool");
}
