#include "stress/cancel_scene.h"

#include "support/check.h"
#include "support/device.h"
#include "support/places.h"
#include "support/pools.h"

#include <pthread.h>
#include <unistd.h>

#define SCENE_LIMIT MIB(128)

static uint64_t draw(struct scene *scene, uint64_t below) {
    return numbers_below(&scene->numbers, below);
}

static CUstream a_stream(struct scene *scene) {
    return scene->streams[draw(scene, SCENE_STREAMS)];
}

static CUevent an_event(struct scene *scene) {
    return scene->events[draw(scene, SCENE_EVENTS)];
}

static poolMemPool_t a_pool(struct scene *scene) {
    return scene->pools[draw(scene, SCENE_POOLS)];
}

// A host function that hasn't run yet makes who waits for the stream sleep.
static void do_nothing(void *unused) {
    (void)unused;
}

static void add_work(struct scene *scene) {
    DRIVER(test_driver()->cuLaunchHostFunc(a_stream(scene), do_nothing, NULL));
}

static void require_one_of(poolError_t error, poolError_t other) {
    if (error != other)
        EXPECT(error, poolSuccess);
}

// -------------------------------------------------------------------------------------------
// memory

// A place with a block, or one without. Null where there is none.
static void **place(struct scene *scene, bool taken, size_t **size) {
    size_t first = draw(scene, SCENE_BLOCKS);
    for (size_t i = 0; i < SCENE_BLOCKS; i++) {
        size_t at = (first + i) % SCENE_BLOCKS;
        *size = &scene->blocks[at].size;
        if ((scene->blocks[at].address != NULL) == taken)
            return &scene->blocks[at].address;
    }
    return NULL;
}

static size_t a_size(struct scene *scene) {
    switch (draw(scene, 4)) {
    case 0:
        return MIB(1) + draw(scene, MIB(40));
    case 1:
        return KIB(57) + draw(scene, MIB(1));
    default:
        return 1 + draw(scene, KIB(56));
    }
}

static poolError_t allocate_at(struct scene *scene, void **address, size_t size) {
    switch (draw(scene, 3)) {
    case 0:
        return poolMallocFromPool(address, size, a_pool(scene));
    case 1:
        return poolMallocFromPoolAsync(address, size, a_pool(scene), a_stream(scene));
    default:
        return poolMallocAsync(address, size, a_stream(scene));
    }
}

static void allocate(struct scene *scene) {
    size_t *size, wanted = a_size(scene);
    void **address = place(scene, false, &size);
    if (!address)
        return;
    *size = wanted;
    require_one_of(allocate_at(scene, address, wanted), poolErrorMemoryAllocation);
}

// It climbs far, and may wait on the host.
static void allocate_nearly_all(struct scene *scene) {
    CUstream stream = a_stream(scene);
    unsigned int flags = draw(scene, 2) ? poolMallocNoInsertedWaits : poolMallocDefault;
    void *address = NULL;
    add_work(scene);
    require_one_of(
        poolMallocAsyncWithFlags(&address, SCENE_LIMIT - MIB(20), scene->pools[1], stream, flags),
        poolErrorMemoryAllocation);
    EXPECT(poolFreeAsync(address, stream), poolSuccess);
}

static void free_one(struct scene *scene) {
    CUstream streams[] = {a_stream(scene), a_stream(scene), a_stream(scene)};
    size_t *size;
    void **address = place(scene, true, &size);
    if (!address)
        return;
    void *block = *address;
    *address = NULL;
    switch (draw(scene, 3)) {
    case 0:
        EXPECT(poolFree(block), poolSuccess);
        break;
    case 1:
        EXPECT(poolFreeAsyncAfter(block, streams, 3), poolSuccess);
        break;
    default:
        EXPECT(poolFreeAsync(block, streams[0]), poolSuccess);
    }
}

static void free_foreign(struct scene *scene) {
    CUdeviceptr memory = 0;
    int state;
    add_work(scene);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    CUresult result = test_driver()->cuMemAlloc(&memory, 4096);
    pthread_setcancelstate(state, &state);
    if (result == CUDA_SUCCESS)
        EXPECT(poolFree((void *)(uintptr_t)memory), poolSuccess);
}

static void look_up(struct scene *scene) {
    struct poolPointerAttributes attributes;
    size_t *size;
    void **address = place(scene, true, &size);
    if (address)
        EXPECT(poolPointerGetAttributes(&attributes, *address), poolSuccess);
}

// ------------------------------------------------------------------------------------------- order

static void synchronize(struct scene *scene) {
    add_work(scene);
    switch (draw(scene, 3)) {
    case 0:
        EXPECT(poolEventSynchronize(an_event(scene)), poolSuccess);
        break;
    case 1:
        EXPECT(poolDeviceSynchronize(), poolSuccess);
        break;
    default:
        EXPECT(poolStreamSynchronize(a_stream(scene)), poolSuccess);
    }
}

static void query(struct scene *scene) {
    add_work(scene);
    require_one_of(draw(scene, 2) ? poolEventQuery(an_event(scene))
                                  : poolStreamQuery(a_stream(scene)),
                   poolErrorNotReady);
}

static void record_or_wait(struct scene *scene) {
    CUstream stream = a_stream(scene);
    CUevent event = an_event(scene);
    EXPECT(draw(scene, 2) ? poolEventRecord(event, stream) : poolStreamWaitEvent(stream, event, 0),
           poolSuccess);
}

static void destroy(struct scene *scene) {
    size_t at = draw(scene, SCENE_EVENTS); // there are fewer of these than streams to be destroyed
    if (draw(scene, 2)) {
        CUstream stream = scene->streams[at];
        scene->streams[at] = NULL;
        EXPECT(poolStreamDestroy(stream), poolSuccess);
    } else {
        CUevent event = scene->events[at];
        scene->events[at] = NULL;
        EXPECT(poolEventDestroy(event), poolSuccess);
    }
}

// ------------------------------------------------------------------------------------------- pools

// Its block is freed behind the pool's end, which takes the pool apart.
static void live_and_die(struct scene *scene) {
    CUstream stream = a_stream(scene);
    poolMemPool_t pool = test_pool();
    void *block = NULL;
    require_one_of(poolMallocFromPoolAsync(&block, a_size(scene), pool, stream),
                   poolErrorMemoryAllocation);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    if (block)
        EXPECT(poolFreeAsync(block, stream), poolSuccess);
}

static void trim_or_prime(struct scene *scene) {
    poolMemPool_t pool = a_pool(scene);
    if (draw(scene, 2))
        EXPECT(poolMemPoolTrimTo(pool, draw(scene, MIB(64))), poolSuccess);
    else
        require_one_of(poolMemPoolPrime(pool, draw(scene, MIB(64))), poolErrorMemoryAllocation);
}

static void set(struct scene *scene) {
    uint64_t bytes = draw(scene, 2) ? MIB(1) : UINT64_MAX;
    EXPECT(poolMemPoolSetAttribute(a_pool(scene), poolMemPoolAttrReleaseThreshold, &bytes),
           poolSuccess);
}

static void print(struct scene *scene) {
    EXPECT(poolMemPoolPrintStatistics(a_pool(scene), scene->nowhere), poolSuccess);
}

// The write is one of the program's own.
static void note_growth(const struct poolMemPoolGrowth *growth, void *nowhere) {
    REQUIRE(write(fileno(nowhere), "\n", 1) == 1);
    EXPECT(poolMemPoolPrintGrowth(growth, nowhere), poolSuccess);
}

static void observe(struct scene *scene) {
    EXPECT(poolMemPoolSetGrowthObserver(a_pool(scene), draw(scene, 2) ? note_growth : NULL,
                                        scene->nowhere),
           poolSuccess);
}

// --------------------------------------------------------------------------------------- the scene

void scene_call(struct scene *scene) {
    static void (*const calls[])(struct scene * scene) = {
        allocate,
        allocate,
        free_one,
        free_one,
        allocate_nearly_all,
        allocate_nearly_all,
        free_foreign,
        look_up,
        synchronize,
        query,
        record_or_wait,
        destroy,
        live_and_die,
        trim_or_prime,
        set,
        print,
        observe,
    };
    calls[draw(scene, sizeof calls / sizeof calls[0])](scene);
}

void scene_mend(struct scene *scene) {
    for (size_t i = 0; i < SCENE_STREAMS - 2; i++) {
        if (!scene->streams[i])
            scene->streams[i] = i == 0 ? test_blocking_stream() : test_stream();
    }
    for (size_t i = 0; i < SCENE_EVENTS; i++) {
        if (!scene->events[i])
            scene->events[i] = test_event();
    }
}

uint64_t scene_live_bytes(const struct scene *scene) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < SCENE_BLOCKS; i++)
        bytes += scene->blocks[i].address ? scene->blocks[i].size : 0;
    return bytes;
}

uint64_t scene_used_bytes(const struct scene *scene) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < SCENE_POOLS; i++)
        bytes += test_used(scene->pools[i]);
    return bytes;
}

static poolMemPool_t host_pool(unsigned short usage) {
    struct poolMemPoolProps props = test_props_at(&test_the_host);
    poolMemPool_t pool = NULL;
    props.usage = usage;
    props.maxSize = SCENE_LIMIT; // the pages of memory for staging are the machine's own
    EXPECT(poolMemPoolCreate(&pool, &props), poolSuccess);
    return pool;
}

void scene_open(struct scene *scene, uint64_t seed) {
    *scene = (struct scene){.numbers = {seed}};
    scene->pools[0] = test_default_pool(0);
    scene->pools[1] = test_pool_of_at_most(SCENE_LIMIT);
    scene->pools[2] = host_pool(poolMemPoolUsageNone);
    scene->pools[3] = host_pool(poolMemPoolUsageStaging);
    test_set_attribute(scene->pools[1], poolMemPoolAttrHostWaitMax, 200 * 1000);
    test_set_attribute(scene->pools[1], poolMemPoolAttrContextWaitMax, 200 * 1000);
    test_set_flag(scene->pools[1], poolMemPoolAttrContextFence, 1);
    if (draw(scene, 2))
        test_set_attribute(scene->pools[1], poolMemPoolAttrUnfencedBytesMax, MIB(1));
    scene->streams[SCENE_STREAMS - 2] = CU_STREAM_LEGACY;
    scene->streams[SCENE_STREAMS - 1] = CU_STREAM_PER_THREAD;
    scene->nowhere = fopen("/dev/null", "w");
    REQUIRE(scene->nowhere);
    setvbuf(scene->nowhere, NULL, _IONBF, 0);
    scene_mend(scene);
    EXPECT(poolMemPoolSetGrowthObserver(scene->pools[1], note_growth, scene->nowhere), poolSuccess);
}

void scene_close(struct scene *scene) {
    for (size_t i = 0; i < SCENE_BLOCKS; i++)
        EXPECT(poolFree(scene->blocks[i].address), poolSuccess);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    EXPECT(poolMemPoolSetGrowthObserver(scene->pools[0], NULL, NULL), poolSuccess);
    for (size_t i = 1; i < SCENE_POOLS; i++) {
        REQUIRE_EQUAL(test_used(scene->pools[i]), 0);
        EXPECT(poolMemPoolDestroy(scene->pools[i]), poolSuccess);
    }
    fclose(scene->nowhere);
}
