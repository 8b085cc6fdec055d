#include "room/scene.h"

#include <stdarg.h>
#include <stdio.h>

#include "room/orders.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/simulated.h"

void scene_trace(const struct scene *scene, const char *format, ...) {
    va_list arguments;
    if (!scene->trace)
        return;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

// ------------------------------------------------------------------------------------------
// opening

// A non-blocking one in most cases: no other stream tells of its frees.
static CUstream any_stream(struct scene *scene) {
    switch (scene_below(scene, 24)) {
    case 0:
        return CU_STREAM_LEGACY;
    case 1:
        return CU_STREAM_PER_THREAD;
    case 2:
    case 3:
    case 4:
        return test_blocking_stream();
    default:
        return test_stream();
    }
}

// One, two, a few, or many.
static unsigned draw_count(struct scene *scene, unsigned most) {
    static const unsigned bounds[] = {1, 1, 1, 2, 2, 8, 8, 0};
    unsigned bound = bounds[scene_below(scene, sizeof bounds / sizeof bounds[0])];
    return 1 + (unsigned)scene_below(scene, bound ? bound : most);
}

static void set_cap(const struct scene *scene, poolMemPool_t pool) {
    if (scene->cap >= 0)
        test_set_attribute(pool, poolMemPoolAttrUnfencedBytesMax, (uint64_t)scene->cap);
}

void scene_open(struct scene *scene) {
    set_cap(scene, test_default_pool(0));
    scene->pool_count = draw_count(scene, SCENE_POOLS);
    scene->stream_count = draw_count(scene, SCENE_STREAMS);
    for (unsigned i = 0; i < scene->stream_count; i++)
        scene->streams[i] = any_stream(scene);
    scene_trace(scene, "%u pools, %u streams, %zu MiB in granules of %zu KiB", scene->pool_count,
                scene->stream_count, scene->memory >> 20, scene->granule >> 10);
}

static poolMemPool_t pool_at(struct scene *scene, unsigned index) {
    if (!scene->pools[index]) {
        scene->pools[index] = test_pool();
        set_cap(scene, scene->pools[index]);
    }
    return scene->pools[index];
}

// ------------------------------------------------------------------------------------------
// filling

struct sizes {
    size_t least, most; // bytes
};

static size_t draw_size(struct scene *scene, const struct sizes *sizes) {
    return sizes->least + scene_below(scene, sizes->most - sizes->least + 1);
}

static bool allocate(struct scene *scene, size_t size) {
    struct block *block = &scene->blocks[scene->block_count];
    *block = (struct block){.size = size,
                            .number = (uint32_t)scene->block_count,
                            .pool = (uint16_t)scene_below(scene, scene->pool_count),
                            .stream = (uint16_t)scene_below(scene, scene->stream_count)};
    poolError_t error = poolMallocFromPoolAsync(&block->pointer, size, pool_at(scene, block->pool),
                                                scene->streams[block->stream]);
    scene->tally->operations++;
    if (error == poolErrorMemoryAllocation)
        return false;
    EXPECT(error, poolSuccess);
    scene->block_count++;
    return true;
}

static void fill_with(struct scene *scene, const struct sizes *sizes, size_t bytes, size_t most) {
    for (size_t size = draw_size(scene, sizes); bytes >= size && scene->block_count < most;
         bytes -= size, size = draw_size(scene, sizes)) {
        if (!allocate(scene, size))
            return;
    }
}

// With blocks of one kind or of two. Few of them make many quiet points, and many fill the device.
static void fill(struct scene *scene) {
    static const struct sizes kinds[] = {
        {KIB(64), KIB(64)}, {1, KIB(56)},         {KIB(64), MIB(1)}, {MIB(1), MIB(8)},
        {512, 512},         {KIB(16), KIB(16)},   {MIB(2), MIB(2)},  {100, MIB(4)},
        {KIB(4), KIB(4)},   {KIB(300), KIB(900)}, {MIB(8), MIB(64)},
    };
    size_t bytes = scene->memory / 100 * (10 + scene_below(scene, 86));
    size_t blocks = (size_t)64 << scene_below(scene, scene_once_in(scene, 8) ? 10 : 5);
    unsigned count = scene_once_in(scene, 3) ? 2 : 1;
    for (unsigned i = 0; i < count; i++)
        fill_with(scene, &kinds[scene_below(scene, sizeof kinds / sizeof kinds[0])], bytes / count,
                  blocks / count * (i + 1));
    scene_trace(scene, "%zu blocks live", scene->block_count);
}

// ------------------------------------------------------------------------------------------
// freeing

static void work_on(CUstream stream, const struct block *block) {
    uint64_t address = (uint64_t)(uintptr_t)block->pointer;
    simcudaAccess access = {address, block->size < 64 ? block->size : 64, simcudaAccessWrite};
    simcudaWork work = {"work", 1000, &access, 1};
    DRIVER((CUresult)test_simulated()->simcudaEnqueue(stream, &work));
}

// Some of what is freed is allocated again at once, as programs do.
static void churn(struct scene *scene, const struct block *block, CUstream stream) {
    void *again;
    for (uint64_t i = scene_below(scene, 4); i > 0; i--) {
        if (poolMallocFromPoolAsync(&again, block->size, scene->pools[block->pool], stream) !=
            poolSuccess)
            return;
        EXPECT(poolFreeAsync(again, stream), poolSuccess);
        scene->tally->operations += 2;
    }
}

struct way {
    bool elsewhere; // some on a stream that didn't allocate them
    bool churns;
};

static void free_block(struct scene *scene, const struct block *block, struct way way) {
    CUstream stream = scene->streams[block->stream];
    if (way.elsewhere && scene_once_in(scene, 2))
        stream = scene->streams[scene_below(scene, scene->stream_count)];
    if (scene_once_in(scene, 50))
        work_on(stream, block);
    EXPECT(poolFreeAsync(block->pointer, stream), poolSuccess);
    scene->tally->operations++;
    if (way.churns && scene_once_in(scene, 10))
        churn(scene, block, stream);
}

// All blocks but some at the end of the order, mostly none. Before some are freed elsewhere, all
// work has ended, which is as good as an order between the streams.
static void free_most(struct scene *scene) {
    size_t kept = scene_once_in(scene, 3) ? scene_below(scene, 1 + scene->block_count / 50) : 0;
    struct way way = {.elsewhere = scene->stream_count > 1 && scene_once_in(scene, 4),
                      .churns = scene_once_in(scene, 4)};
    size_t freed = scene->block_count - kept;
    orders_sort(scene);
    if (way.elsewhere)
        DRIVER(test_driver()->cuCtxSynchronize());
    for (size_t i = 0; i < freed; i++)
        free_block(scene, &scene->blocks[i], way);
    for (size_t i = 0; i < kept; i++)
        scene->blocks[i] = scene->blocks[freed + i];
    scene->block_count = kept;
    scene_trace(scene, "%zu blocks stay%s", kept, way.elsewhere ? ", some freed elsewhere" : "");
}

// -------------------------------------------------------------------------------------------
// ending

static bool is_default(CUstream stream) {
    return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

// Some, by CUDA's own call: their last frees can't be asked about any more. The default streams
// stay, and the blocks that stay may be freed on the new ones.
static void end_streams(struct scene *scene) {
    for (unsigned i = 0; i < scene->stream_count; i++) {
        if (is_default(scene->streams[i]) || !scene_once_in(scene, 2))
            continue;
        DRIVER(test_driver()->cuStreamDestroy(scene->streams[i]));
        scene->streams[i] = any_stream(scene);
    }
    scene_trace(scene, "streams end");
}

static void end_pools(struct scene *scene) {
    for (unsigned i = 0; i < scene->pool_count; i++) {
        if (!scene->pools[i])
            continue;
        EXPECT(poolMemPoolDestroy(scene->pools[i]), poolSuccess);
        scene->pools[i] = NULL;
        scene->tally->operations++;
    }
    scene_trace(scene, "pools end");
}

void scene_become_quiet(struct scene *scene) {
    bool early = scene_once_in(scene, 2);
    fill(scene);
    free_most(scene);
    if (early)
        DRIVER(test_driver()->cuCtxSynchronize());
    if (scene_once_in(scene, 4))
        end_pools(scene);
    if (scene_once_in(scene, 4))
        end_streams(scene);
    DRIVER(test_driver()->cuCtxSynchronize());
    scene->tally->quiet_points++;
}
