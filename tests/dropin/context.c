// context NAME: calls in threads that have no current context, or one that was destroyed.
//
// The codes of `FACTS` are those of CUDA's own pools on an H200 (driver 580.159). The driver of the
// test has them, and so has the drop-in over it.
#include "dropin/require.h"

#include <pthread.h>

static CUcontext primary;
static CUstream stream, blocking;
static CUevent event;
static CUmemoryPool pool;
static CUdeviceptr addresses[4], made;

// The ways to be without a context that works.
enum without { FRESH, EMPTIED, POPPED, DESTROYED, WAYS };

static void prepare(void) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    primary = start();
    stream = new_stream();
    REQUIRE_DONE(cu.cuStreamCreate(&blocking, 0));
    REQUIRE_DONE(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    REQUIRE_DONE(cu.cuEventRecord(event, stream));
    REQUIRE_DONE(cu.cuMemPoolCreate(&pool, &props));
    for (int i = 0; i < 4; i++)
        addresses[i] = allocate(MIB, stream);
    REQUIRE_DONE(cu.cuCtxSynchronize());
}

static void *destroy(void *context) {
    REQUIRE_DONE(cu.cuCtxDestroy_v2(context));
    return NULL;
}

static void in_thread(void *(*run)(void *), void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run, argument) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static void lose_context(enum without way) {
    CUcontext context = NULL;
    if (way == EMPTIED) {
        REQUIRE_DONE(cu.cuCtxSetCurrent(primary));
        REQUIRE_DONE(cu.cuCtxSetCurrent(NULL));
    } else if (way == POPPED) {
        REQUIRE_DONE(cu.cuCtxPushCurrent_v2(primary));
        REQUIRE_DONE(cu.cuCtxPopCurrent_v2(&context));
    } else if (way == DESTROYED) {
        REQUIRE_DONE(cu.cuCtxCreate_v2(&context, 0, 0));
        in_thread(destroy, context);
    }
}

// A row X(call, without a context, with one that was destroyed).
// clang-format off
#define NONE 201
#define GONE 709
#define PER_THREAD CU_STREAM_PER_THREAD
#define FACTS(X) \
    X(cu.cuMemAllocAsync(&made, KIB, stream), 0, 0) \
    X(cu.cuMemFreeAsync(made, blocking), 0, 0) \
    X(cu.cuMemAllocAsync(&made, 64 * MIB, blocking), 0, 0) \
    X(cu.cuMemFreeAsync(made, stream), 0, 0) \
    X(cu.cuMemAllocFromPoolAsync(&made, KIB, pool, stream), 0, 0) \
    X(cu.cuMemFreeAsync(made, stream), 0, 0) \
    X(cu.cuMemAllocAsync(&made, 0, stream), 0, 0) \
    X(cu.cuMemFreeAsync(0, stream), 0, 0) \
    X(cu.cuMemAllocAsync(NULL, KIB, stream), 1, 1) \
    X(cu.cuMemFreeAsync(77, stream), 1, 1) \
    X(cu.cuMemAllocAsync(&made, KIB, NULL), NONE, GONE) \
    X(cu.cuMemAllocAsync(&made, KIB, PER_THREAD), NONE, GONE) \
    X(cu.cuMemAllocAsync_ptsz(&made, KIB, NULL), NONE, GONE) \
    X(cu.cuMemAllocFromPoolAsync(&made, KIB, pool, NULL), NONE, GONE) \
    X(cu.cuMemAllocAsync(&made, 0, NULL), NONE, GONE) \
    X(cu.cuMemAllocAsync(NULL, KIB, NULL), NONE, GONE) \
    X(cu.cuMemAllocFromPoolAsync(NULL, KIB, pool, PER_THREAD), NONE, GONE) \
    X(cu.cuMemFreeAsync(addresses[0], NULL), NONE, GONE) \
    X(cu.cuMemFreeAsync(addresses[0], PER_THREAD), NONE, GONE) \
    X(cu.cuMemFreeAsync(0, NULL), NONE, GONE) \
    X(cu.cuMemFreeAsync(77, NULL), NONE, GONE) \
    X(cu.cuMemFreeAsync(addresses[0], stream), 0, 0) \
    X(cu.cuMemFree_v2(addresses[1]), 0, GONE) \
    X(cu.cuMemFree_v2(77), 1, GONE) \
    X(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value), 0, 0) \
    X(cu.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value), 0, 0) \
    X(cu.cuMemPoolSetAccess(pool, &access, 1), 0, 0) \
    X(cu.cuMemPoolGetAccess(&flags, pool, &here), 0, 0) \
    X(cu.cuMemPoolTrimTo(pool, 0), 0, 0) \
    X(cu.cuDeviceGetDefaultMemPool(&found, 0), 0, 0) \
    X(cu.cuDeviceGetMemPool(&found, 0), 0, 0) \
    X(cu.cuDeviceSetMemPool(0, found), 0, 0) \
    X(cu.cuMemPoolCreate(&found, &props), 0, 0) \
    X(cu.cuMemPoolDestroy(found), 0, 0) \
    X(cu.cuPointerGetAttribute(value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addresses[2]), 0, 0) \
    X(cu.cuPointerGetAttribute(value, CU_POINTER_ATTRIBUTE_BUFFER_ID, addresses[2]), 0, 0) \
    X(cu.cuPointerSetAttribute(&set, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, addresses[2]), 0, 1) \
    X(cu.cuMemGetAddressRange_v2(&made, &size, addresses[2]), NONE, GONE) \
    X(cu.cuStreamWaitEvent(stream, event, 0), 0, 0) \
    X(cu.cuStreamWaitEvent(NULL, event, 0), NONE, GONE) \
    X(cu.cuEventRecord(event, stream), 0, 0) \
    X(cu.cuEventRecord(event, NULL), NONE, GONE) \
    X(cu.cuStreamSynchronize(stream), 0, 0) \
    X(cu.cuStreamSynchronize(NULL), NONE, GONE) \
    X(cu.cuStreamSynchronize_ptsz(NULL), NONE, GONE) \
    X(cu.cuStreamQuery(stream), 0, 0) \
    X(cu.cuStreamQuery(NULL), NONE, GONE) \
    X(cu.cuEventQuery(event), 0, 0) \
    X(cu.cuEventSynchronize(event), 0, 0) \
    X(cu.cuCtxSynchronize(), NONE, GONE) \
    X(cu.cuMemAlloc_v2(&made, KIB), NONE, GONE)
// clang-format on

static void *require_facts(void *argument) {
    enum without way = *(const enum without *)argument;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAccessDesc access = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemAccess_flags flags;
    CUmemoryPool found = NULL;
    uint64_t value[2] = {0};
    unsigned int set = 1;
    size_t size;
    CUcontext before = NULL, after = NULL;
    lose_context(way);
    REQUIRE_DONE(cu.cuCtxGetCurrent(&before));
#define REQUIRE_FACT(call, none, gone)                                                             \
    REQUIRE_CODE(call, (CUresult)(way == DESTROYED ? (gone) : (none)));
    FACTS(REQUIRE_FACT)
#undef REQUIRE_FACT
    REQUIRE_DONE(cu.cuCtxGetCurrent(&after));
    REQUIRE(after == before);
    return NULL;
}

static void require_way(enum without way) {
    prepare();
    in_thread(require_facts, &way);
    REQUIRE_DONE(cu.cuMemFreeAsync(addresses[2], NULL));
}

static void a_fresh_thread(void) {
    require_way(FRESH);
}

static void a_thread_whose_context_was_taken_away(void) {
    require_way(EMPTIED);
}

static void a_thread_that_has_popped_its_context(void) {
    require_way(POPPED);
}

static void a_thread_whose_context_was_destroyed(void) {
    require_way(DESTROYED);
}

// ---------------------------------------------------------------------------------- drawn programs

enum { PROGRAMS = 24, STEPS = 400, BLOCKS = 48, STREAMS = 6 };

static uint64_t state;

static unsigned int draw(unsigned int below) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (unsigned int)(state >> 33) % below;
}

static CUstream streams[STREAMS];
static CUdeviceptr blocks[BLOCKS];
static CUstream used_in[BLOCKS];

// Small and large ones, and such as make the pool grow.
static size_t draw_size(void) {
    static const size_t most[] = {4 * KIB, 64 * KIB, 2 * MIB, 48 * MIB};
    return 1 + draw((unsigned int)most[draw(4)]);
}

static CUstream draw_stream(void) {
    return streams[draw(STREAMS)];
}

// A free on another stream comes behind the block's use.
static void free_block(unsigned int place) {
    CUstream in = draw_stream();
    if (blocks[place] && in != used_in[place]) {
        REQUIRE_DONE(cu.cuEventRecord(event, used_in[place]));
        REQUIRE_DONE(cu.cuStreamWaitEvent(in, event, 0));
    }
    REQUIRE_DONE(cu.cuMemFreeAsync(blocks[place], in));
    blocks[place] = 0;
}

static void draw_block(CUmemoryPool from) {
    unsigned int place = draw(BLOCKS);
    CUdeviceptr *block = &blocks[place];
    size_t size = draw_size();
    CUstream in = draw_stream();
    free_block(place);
    used_in[place] = in;
    if (draw(4) == 0)
        REQUIRE_DONE(cu.cuMemAllocFromPoolAsync(block, size, from, in));
    else
        REQUIRE_DONE(cu.cuMemAllocAsync(block, size, in));
    REQUIRE_DONE(cu.cuMemsetD8Async(*block, 1, size < 4096 ? size : 4096, in));
}

static void draw_order(CUmemoryPool of) {
    switch (draw(6)) {
    case 0:
        REQUIRE_DONE(cu.cuStreamSynchronize(draw_stream()));
        break;
    case 1:
        REQUIRE_DONE(cu.cuMemPoolTrimTo(of, 0));
        break;
    case 2:
        cu.cuStreamQuery(draw_stream());
        break;
    default:
        REQUIRE_DONE(cu.cuEventRecord(event, stream));
        REQUIRE_DONE(cu.cuStreamWaitEvent(draw_stream(), event, 0));
    }
}

static void *run_drawn(void *unused) {
    CUcontext before = NULL, after = NULL;
    (void)unused;
    lose_context((enum without)draw(WAYS));
    REQUIRE_DONE(cu.cuCtxGetCurrent(&before));
    for (int step = 0; step < STEPS; step++) {
        if (draw(8) == 0)
            draw_order(pool);
        else
            draw_block(pool);
    }
    for (unsigned int place = 0; place < BLOCKS; place++)
        free_block(place);
    REQUIRE_DONE(cu.cuCtxGetCurrent(&after));
    REQUIRE(after == before);
    return NULL;
}

// Streams of one context, of both kinds; the calls come from threads without any.
static void drawn_programs_on_created_streams(void) {
    simulate("memory=2G");
    prepare();
    for (int i = 0; i < STREAMS; i++)
        REQUIRE_DONE(cu.cuStreamCreate(&streams[i], i % 3 == 0 ? 0 : CU_STREAM_NON_BLOCKING));
    stream = streams[1];
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
        state = seed;
        in_thread(run_drawn, NULL);
    }
    REQUIRE_DONE(cu.cuCtxSynchronize());
    REQUIRE(pool_figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
}

// clang-format off
#define ROWS(X) \
    X(a_fresh_thread) \
    X(a_thread_whose_context_was_taken_away) \
    X(a_thread_that_has_popped_its_context) \
    X(a_thread_whose_context_was_destroyed) \
    X(drawn_programs_on_created_streams)
// clang-format on

MAIN(ROWS)
