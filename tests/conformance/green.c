// Green contexts, which the simulated driver doesn't have: parts of a device's multiprocessors,
// each with a handle that can be made current like a context's, and a default stream of its own.
#include <dlfcn.h>
#include <string.h>

#include "conformance/rows.h"
#include "conformance/scene.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/simulated.h"

// What the driver fills in and takes back; larger than it is in any version so far.
struct resource {
    _Alignas(16) char bytes[1024];
};

enum { MULTIPROCESSORS = 1, WITH_DEFAULT_STREAM = 1, LEAST = 8 };

struct calls {
    CUresult (*cuDeviceGetDevResource)(CUdevice device, struct resource *resource, int type);
    CUresult (*cuDevSmResourceSplitByCount)(struct resource *groups, unsigned int *count,
                                            const struct resource *input,
                                            struct resource *remaining, unsigned int flags,
                                            unsigned int least);
    CUresult (*cuDevResourceGenerateDesc)(void **description, struct resource *resources,
                                          unsigned int count);
    CUresult (*cuGreenCtxCreate)(void **green, void *description, CUdevice device,
                                 unsigned int flags);
    CUresult (*cuCtxFromGreenCtx)(CUcontext *context, void *green);
    CUresult (*cuGreenCtxDestroy)(void *green);
};

static void find(void *library, const char *name, void *call) {
    void *symbol = dlsym(library, name);
    if (!symbol)
        test_skip("this driver has no green contexts");
    memcpy(call, &symbol, sizeof symbol);
}

static struct calls require_green_contexts(void) {
    struct calls calls;
    if (test_simulated())
        test_skip("the simulated driver has no green contexts");
    void *library = dlopen(test_driver()->path, RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(library);
    find(library, "cuDeviceGetDevResource", &calls.cuDeviceGetDevResource);
    find(library, "cuDevSmResourceSplitByCount", &calls.cuDevSmResourceSplitByCount);
    find(library, "cuDevResourceGenerateDesc", &calls.cuDevResourceGenerateDesc);
    find(library, "cuGreenCtxCreate", &calls.cuGreenCtxCreate);
    find(library, "cuCtxFromGreenCtx", &calls.cuCtxFromGreenCtx);
    find(library, "cuGreenCtxDestroy", &calls.cuGreenCtxDestroy);
    dlclose(library);
    return calls;
}

static void *create(const struct calls *calls, CUcontext *context) {
    struct resource all = {{0}}, group = {{0}};
    unsigned int count = 1;
    void *description = NULL, *green = NULL;
    CUdevice device;
    DRIVER(test_driver()->cuDeviceGet(&device, 0));
    DRIVER(calls->cuDeviceGetDevResource(device, &all, MULTIPROCESSORS));
    DRIVER(calls->cuDevSmResourceSplitByCount(&group, &count, &all, NULL, 0, LEAST));
    DRIVER(calls->cuDevResourceGenerateDesc(&description, &group, 1));
    DRIVER(calls->cuGreenCtxCreate(&green, description, device, WITH_DEFAULT_STREAM));
    DRIVER(calls->cuCtxFromGreenCtx(context, green));
    return green;
}

static void *malloc_in(poolMemPool_t pool, CUcontext context) {
    DRIVER(test_driver()->cuCtxSetCurrent(context));
    return test_malloc(pool, MIB(2), NULL);
}

// With no policy on, memory that was freed on a stream goes to that stream alone.
void row_green_contexts_have_default_streams_of_their_own(void) {
    const struct calls calls = require_green_contexts();
    poolMemPool_t pool = test_pool();
    CUcontext before, contexts[2];
    void *greens[2];
    test_set_all_policies(pool, 0);
    DRIVER(test_driver()->cuCtxGetCurrent(&before));
    for (int i = 0; i < 2; i++)
        greens[i] = create(&calls, &contexts[i]);
    void *block = malloc_in(pool, contexts[0]);
    test_free(block, NULL);
    void *other = malloc_in(pool, contexts[1]);
    REQUIRE(other != block);
    void *others = malloc_in(pool, before);
    REQUIRE(others != block);
    REQUIRE(malloc_in(pool, contexts[0]) == block);
    test_free(block, NULL);
    DRIVER(test_driver()->cuCtxSetCurrent(before));
    test_free(other, NULL);
    test_free(others, NULL);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    for (int i = 0; i < 2; i++)
        DRIVER(calls.cuGreenCtxDestroy(greens[i]));
}

struct place {
    CUcontext context;
    CUstream stream;
};

static void enter(const struct place *place) {
    DRIVER(test_driver()->cuCtxSetCurrent(place->context));
}

// Memory freed behind held work in one place is given neither to the other nor to a stream without
// order, whatever the other is asked; the host waits for everything in the third, whose context is
// the primary one.
static void require_no_order(const struct place *busy, const struct place *idle,
                             const struct place *third) {
    struct scene scene;
    enter(busy);
    scene_open_on(&scene, SCENE_SMALL, busy->stream, third->stream);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    scene_free_held(&scene, busy->stream);
    enter(idle);
    REQUIRE(!scene_gives(&scene, idle->stream));
    CUevent event = test_event();
    EXPECT(poolEventRecord(event, idle->stream), poolSuccess);
    EXPECT(poolEventSynchronize(event), poolSuccess);
    EXPECT(poolStreamSynchronize(idle->stream), poolSuccess);
    REQUIRE(!scene_gives(&scene, idle->stream));
    enter(third);
    REQUIRE(!scene_gives(&scene, scene.b));
    scene_let_go(&scene);
}

void row_green_contexts_legacy_streams_have_no_order_with_the_primarys_streams(void) {
    const struct calls calls = require_green_contexts();
    struct place green = {NULL, NULL}, third = {NULL, test_stream()};
    DRIVER(test_driver()->cuCtxGetCurrent(&third.context));
    const struct place primary[] = {{third.context, NULL}, {third.context, test_blocking_stream()}};
    void *context = create(&calls, &green.context);
    for (int i = 0; i < 2; i++) {
        require_no_order(&green, &primary[i], &third);
        require_no_order(&primary[i], &green, &third);
    }
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    DRIVER(calls.cuGreenCtxDestroy(context));
}
