#include "random/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "inside/check.h"
#include "random/observing.h"
#include "random/operations.h"
#include "random/space.h"
#include "random/work.h"
#include "region/device.h"
#include "region/pool.h"
#include "supply/growth.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

// ---------------------------------------------------------------------------------------- failures

void thread_fail(const struct thread *thread, const char *format, ...) {
    char reason[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    test_fail(__FILE__, __LINE__, "operation %" PRIu64 " (%s, thread %u): %s", thread->operation,
              thread->name, thread->index, reason);
}

void thread_trace(const struct thread *thread, const char *format, ...) {
    char text[256];
    va_list arguments;
    if (!thread->world->plan.trace)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("%" PRIu64 " %s %u: %s\n", thread->operation, thread->name, thread->index, text);
    fflush(stdout);
}

unsigned world_stream_number(const struct world *world, const struct stream *stream) {
    return (unsigned)(stream - world->streams);
}

unsigned world_event_number(const struct world *world, const struct event *event) {
    return (unsigned)(event - world->events);
}

unsigned world_block_number(const struct world *world, const struct block *block) {
    return (unsigned)(block - world->blocks);
}

bool thread_succeeded(const struct thread *thread, const char *call, int error) {
    bool lacks_memory = thread->lacks_space && error == (int)poolErrorMemoryAllocation;
    if (error != 0 && !thread->faulty && !lacks_memory)
        thread_fail(thread, "%s returned %s: %s", call, sp_driver_error_name((CUresult)error),
                    poolGetLastErrorDetail());
    return error == 0;
}

static size_t tell(char *text, size_t room, size_t used, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = used < room ? vsnprintf(text + used, room - used, format, arguments) : 0;
    va_end(arguments);
    return used + (size_t)length;
}

// Who had the block, newest first; only those who had this address if it isn't null.
static size_t tell_lives(const struct block *block, const char *address, char *text, size_t room,
                         size_t used) {
    for (uint64_t i = 0; i < LIVES && i < block->lives; i++) {
        const struct life *life = &block->life[(block->lives - 1 - i) % LIVES];
        const char *begin = life->pointer;
        if (address && (address < begin || address >= begin + life->size))
            continue;
        used = tell(text, room, used, "; %p + %zu: malloc %" PRIu64 " on stream %u, free",
                    life->pointer, life->size, life->malloc_operation, life->malloc_stream);
        used = life->free_operation ? tell(text, room, used, " %" PRIu64 " on stream %u",
                                           life->free_operation, life->free_stream)
                                    : tell(text, room, used, " not yet");
    }
    return used;
}

// The allocations at the first address that a report names.
static void tell_owners(const struct world *world, const char *report, char *text, size_t room) {
    const char *bracket = strchr(report, '[');
    void *address = NULL;
    size_t used = 0;
    *text = '\0';
    if (!bracket || sscanf(bracket, "[%p", &address) != 1)
        return;
    for (unsigned i = 0; i < world->block_count; i++)
        used = tell_lives(&world->blocks[i], address, text, room, used);
}

void thread_require_no_reports(const struct thread *thread) {
    const struct test_simulated *simulated = thread->world->simulated;
    char owners[700];
    if (!simulated || simulated->simcudaReportCount(NULL) == 0)
        return;
    tell_owners(thread->world, simulated->simcudaReportText(0), owners, sizeof owners);
    thread_fail(thread, "%s: %s%s", simulated->simcudaReportName(0),
                simulated->simcudaReportText(0), owners);
}

static void require_no_wrong_words(struct world *world, struct thread *thread, unsigned context) {
    uint64_t wrong[MAX_BLOCKS];
    char lives[600] = "";
    thread_enter(thread, context);
    DRIVER(test_driver()->cuCtxSynchronize());
    thread_require_no_reports(thread); // which say more than the wrong words that come of the same
    DRIVER(test_driver()->cuMemcpyDtoH(wrong, world->contexts[context].wrong_words, sizeof wrong));
    for (unsigned i = 0; i < world->block_count; i++) {
        if (wrong[i] == 0)
            continue;
        tell_lives(&world->blocks[i], NULL, lives, sizeof lives, 0);
        thread_fail(thread, "%" PRIu64 " wrong words in block %u%s", wrong[i], i, lives);
    }
}

void world_require_no_wrong_words(struct world *world, struct thread *thread) {
    for (unsigned i = 0; i < world->context_count; i++)
        require_no_wrong_words(world, thread, i);
    thread_require_no_reports(thread);
}

// ---------------------------------------------------------------------------- contexts and streams

void thread_require_order(const struct thread *thread) {
    char why[256] = "";
    for (uint64_t i = 0; i < thread->world->plan.pools; i++) {
        if (!inside_check(thread->world->pools[i].handle, why, sizeof why))
            thread_fail(thread, "the pool is not in order: %s", why);
    }
}

void thread_enter(struct thread *thread, unsigned context) {
    if (thread->context == context)
        return;
    DRIVER(test_driver()->cuCtxSetCurrent(thread->world->contexts[context].handle));
    thread->context = context;
}

void world_make_context(struct thread *thread, unsigned index) {
    struct context *context = &thread->world->contexts[index];
    CUdevice device;
    CUcontext popped;
    DRIVER(test_driver()->cuDeviceGet(&device, 0));
    if (index == 0) {
        DRIVER(test_driver()->cuDevicePrimaryCtxRetain(&context->handle, device));
    } else {
        DRIVER(test_driver()->cuCtxCreate(&context->handle, 0, device));
        DRIVER(test_driver()->cuCtxPopCurrent(&popped));
    }
    DRIVER(test_driver()->cuCtxSetCurrent(context->handle));
    thread->context = index;
    work_load(context);
}

void world_make_stream(struct thread *thread, struct stream *stream) {
    bool blocking = numbers_below(&thread->numbers, 100) < thread->world->plan.blocking;
    stream->kind = blocking ? STREAM_BLOCKING : STREAM_NON_BLOCKING;
    thread_enter(thread, stream->context);
    DRIVER(test_driver()->cuStreamCreate(&stream->handle, stream->kind == STREAM_BLOCKING
                                                              ? CU_STREAM_DEFAULT
                                                              : CU_STREAM_NON_BLOCKING));
    observing_created(thread, stream);
}

void world_make_event(struct thread *thread, struct event *event) {
    thread_enter(thread, event->context);
    DRIVER(test_driver()->cuEventCreate(&event->handle, CU_EVENT_DISABLE_TIMING));
}

bool thread_claim_this_stream(const struct thread *thread, struct stream *stream) {
    if (!claim_shared(&stream->claim))
        return false;
    if (stream->kind != STREAM_PER_THREAD || stream->thread == thread->index)
        return true;
    claim_return(&stream->claim);
    return false;
}

struct stream *thread_claim_stream(struct thread *thread) {
    struct world *world = thread->world;
    struct stream *stream = &world->streams[numbers_below(&thread->numbers, world->stream_count)];
    return thread_claim_this_stream(thread, stream) ? stream : NULL;
}

CUstream thread_handle(struct thread *thread, const struct stream *stream) {
    if (stream->kind != STREAM_LEGACY)
        return stream->handle;
    return numbers_once_in(&thread->numbers, 2) ? NULL : CU_STREAM_LEGACY;
}

CUstream thread_handle_to_pass(struct thread *thread, const struct stream *stream) {
    if (stream->kind == STREAM_LEGACY || stream->kind == STREAM_PER_THREAD)
        world_pass_default_stream(thread, stream->context);
    return thread_handle(thread, stream);
}

// ---------------------------------------------------------------------------------------- promises

static bool promises_one_context(const struct world *world) {
    return atomic_load(&world->pools[0].promises) & poolPromiseOneContext;
}

// The promises of a destroyed pool hold until the last of its memory has gone back.
static bool is_promised(const struct world *world, int promise) {
    return (atomic_load(&world->pools[0].promises) | atomic_load(&world->given_up.promises)) &
           promise;
}

bool world_promises_destroy(const struct world *world) {
    return is_promised(world, poolPromiseStreamDestroy);
}

bool world_promises_never_to_capture(const struct world *world) {
    return is_promised(world, poolPromiseNeverCapture);
}

void world_promise(struct thread *thread, int promises) {
    struct world *world = thread->world;
    thread_trace(thread, "promise %d", promises);
    EXPECT(
        poolMemPoolSetAttribute(world->pools[0].handle, poolMemPoolAttrStreamPromises, &promises),
        poolSuccess);
    atomic_store(&world->pools[0].promises, promises);
    if (!promises_one_context(world))
        world->one_context = CONTEXTS;
}

static void end_one_context(struct thread *thread) {
    world_promise(thread, atomic_load(&thread->world->pools[0].promises) & ~poolPromiseOneContext);
}

void world_pass_default_stream(struct thread *thread, unsigned context) {
    struct world *world = thread->world;
    if (world->context_count == 1 || !promises_one_context(world))
        return;
    if (world->one_context == CONTEXTS)
        world->one_context = context;
    if (world->one_context != context)
        end_one_context(thread);
}

void world_leave_context(struct thread *thread, unsigned context) {
    if (promises_one_context(thread->world) && thread->world->one_context == context)
        end_one_context(thread);
}

// --------------------------------------------------------------------------------------- the world

static struct stream *add_stream(struct world *world, enum stream_kind kind, unsigned context) {
    struct stream *stream = &world->streams[world->stream_count++];
    stream->kind = kind;
    stream->context = context;
    return stream;
}

static void make_streams(struct world *world, struct thread *thread) {
    for (unsigned context = 0; context < world->context_count; context++) {
        add_stream(world, STREAM_LEGACY, context);
        for (unsigned i = 0; i < world->plan.threads; i++) {
            struct stream *stream = add_stream(world, STREAM_PER_THREAD, context);
            stream->handle = CU_STREAM_PER_THREAD;
            stream->thread = i;
        }
    }
    for (unsigned i = 0; i < world->plan.streams; i++)
        world_make_stream(thread, add_stream(world, STREAM_NON_BLOCKING, i % world->context_count));
}

// Sizes of every order of magnitude; in some programs of few blocks to a slab, or of large blocks
// alone.
static void choose_sizes(struct world *world, struct numbers *numbers) {
    const size_t least[] = {8, 8, KIB(24), KIB(56), KIB(58), world->largest / 2};
    const size_t most[] = {world->largest, KIB(56),        KIB(56),
                           KIB(56),        world->largest, world->largest};
    uint64_t band = numbers_below(numbers, sizeof least / sizeof least[0]);
    for (unsigned i = 0; i < SIZES; i++) {
        size_t size = least[band];
        while (size < most[band] && !numbers_once_in(numbers, 9))
            size *= 2;
        size += numbers_below(numbers, size);
        world->sizes[i] = size < most[band] ? size : most[band];
    }
}

// Of some sizes there is room for many blocks, of others for few.
static void choose_large_sizes(struct world *world, struct numbers *numbers) {
    for (unsigned i = 0; i < SIZES; i++)
        world->sizes[i] =
            MIB(1) + numbers_below(numbers, world->largest >> numbers_below(numbers, 5));
}

// Few views are kept, so that some go that were used a moment ago.
static void keep_few_views(poolMemPool_t handle, struct numbers *numbers) {
    struct sp_pool *pool = sp_handle_pool(handle);
    pool->kept.views_max = (uint32_t)numbers_below(numbers, 6);
    pool->kept.mappings_max = 4 + numbers_below(numbers, 60);
}

// In every other pool small blocks are loose soon, or all.
static void leave_little_idle(poolMemPool_t handle, struct numbers *numbers) {
    struct sp_pool *pool = sp_handle_pool(handle);
    if (numbers_once_in(numbers, 2))
        sp_store_relaxed(&pool->slabs.idle_min, numbers_below(numbers, 4) * KIB(200));
}

static bool is_managed(const struct pool *pool) {
    return pool->place && pool->place->kind == TEST_MANAGED;
}

// By the seed and the policies, so that a program with such a pool draws what it would without.
static const struct test_place *choose_place(const struct world *world, const struct pool *pool) {
    static const struct test_place places[] = {
        {TEST_PINNED, "the host", {poolMemLocationTypeHost, 0}},
        {TEST_PINNED, "node 0", {poolMemLocationTypeHostNuma, 0}},
        {TEST_PINNED, "the host", {poolMemLocationTypeHost, 0}},
        {TEST_MANAGED, "managed", {poolMemLocationTypeDevice, 0}},
        {TEST_STAGED, "the host, for staging", {poolMemLocationTypeHost, 0}},
        {TEST_MANAGED, "managed", {poolMemLocationTypeNone, 0}}};
    bool is_last = pool == &world->pools[world->plan.pools - 1];
    uint64_t drawn = world->plan.seed + world->plan.policies;
    return world->plan.host && is_last ? &places[drawn % (sizeof places / sizeof places[0])] : NULL;
}

// Fails where there is hardly any address space, and succeeds then.
static void create_pool(const struct world *world, struct pool *pool, struct numbers *numbers) {
    pool->place = choose_place(world, pool);
    struct poolMemPoolProps props = pool->place ? test_props_at(pool->place) : test_pool_props(0);
    props.maxSize = is_managed(pool) ? 0 : world->plan.bytes;
    poolError_t error = poolErrorMemoryAllocation;
    if (world->plan.short_of_space > 0 && world->simulated) {
        space_take(numbers);
        error = poolMemPoolCreate(&pool->handle, &props);
        space_give_back();
    }
    if (error == poolErrorMemoryAllocation)
        error = poolMemPoolCreate(&pool->handle, &props);
    if (error == poolErrorNotSupported && pool->place) { // there is no memory of nodes
        pool->place = &test_the_host;
        props.location.type = poolMemLocationTypeHost;
        error = poolMemPoolCreate(&pool->handle, &props);
    }
    REQUIRE_EQUAL(error, poolSuccess);
}

// Figures that let a pool of any policy come to all its decisions: how much may go unfenced is part
// of them.
static void make_pool(const struct world *world, struct pool *pool, struct numbers *numbers) {
    static const uint64_t unfenced[] = {0, 64 << 10, 1 << 20, 8 << 20, 64 << 20};
    static const uint64_t beyond_use[] = {0, 20, UINT64_MAX};
    create_pool(world, pool, numbers);
    if (pool->place)
        test_let_in(pool->handle, 0);
    else
        test_set_attribute(pool->handle, poolMemPoolAttrHostOverflowMax, world->plan.overflow);
    if (!world->plan.large)
        leave_little_idle(pool->handle, numbers);
    for (int attribute = 1; attribute <= 3; attribute++)
        test_set_flag(pool->handle, (enum poolMemPoolAttr)attribute,
                      (int)(world->plan.policies >> (attribute - 1) & 1));
    test_set_attribute(pool->handle, poolMemPoolAttrUnfencedBytesMax,
                       unfenced[numbers_below(numbers, 5)]);
    pool->keeping.threshold = numbers_once_in(numbers, 3)
                                  ? numbers_below(numbers, 3) * world->plan.bytes / 4
                                  : UINT64_MAX;
    test_set_attribute(pool->handle, poolMemPoolAttrReleaseThreshold, pool->keeping.threshold);
    test_set_flag(pool->handle, poolMemPoolAttrDeterministic, numbers_once_in(numbers, 8));
    test_set_flag(pool->handle, poolMemPoolAttrContextFence, numbers_once_in(numbers, 3));
    test_set_attribute(pool->handle, poolMemPoolAttrGrowthBeyondUse,
                       beyond_use[numbers_below(numbers, 3)]);
}

// No call could end the promise of a destroyed pool that there is one context.
void world_give_up_pool(struct thread *thread, struct pool *pool) {
    struct world *world = thread->world;
    if (pool == world->pools && world->context_count > 1)
        end_one_context(thread);
    EXPECT(poolMemPoolDestroy(pool->handle), poolSuccess);
    atomic_fetch_or(&world->given_up.promises, atomic_load(&pool->promises));
    for (unsigned i = 0; i < world->block_count; i++)
        if (world->blocks[i].pool == pool)
            world->blocks[i].pool = &world->given_up;
}

// The first one is the current pool, and the one to which something is promised.
void world_make_pool(struct thread *thread, struct pool *pool) {
    struct world *world = thread->world;
    pool->keeping = (struct keeping){0};
    make_pool(world, pool, &thread->numbers);
    if (world->plan.large)
        keep_few_views(pool->handle, &thread->numbers);
    if (pool != world->pools)
        return;
    if (!pool->place)
        EXPECT(poolDeviceSetMemPool(0, pool->handle), poolSuccess);
    world->one_context = CONTEXTS;
    pool->promises = world->plan.promises ? ALL_PROMISES : poolPromiseNothing;
    if (world->plan.promises)
        test_set_flag(pool->handle, poolMemPoolAttrStreamPromises, pool->promises);
}

void world_open(struct world *world, const struct plan *plan) {
    struct thread thread = {.world = world,
                            .numbers = {plan->seed * 1000003 + plan->policies},
                            .context = CONTEXTS,
                            .name = "beginning"};
    world->plan = *plan;
    observing_begin(plan);
    world->simulated = test_simulated();
    world->given_up.promises = poolPromiseNothing;
    world->block_count = plan->peaks ? MAX_BLOCKS : BLOCKS;
    if (world->plan.bytes == 0)
        world->plan.bytes = world->simulated ? MIB(32) : MIB(256);
    world->largest = world->plan.bytes / (plan->large ? 3 : 16);
    world->context_count = (unsigned)plan->contexts;
    for (unsigned i = 0; i < world->context_count; i++)
        world_make_context(&thread, i);
    make_streams(world, &thread);
    for (unsigned i = 0; i < EVENTS; i++) {
        world->events[i].context = i % world->context_count;
        world_make_event(&thread, &world->events[i]);
    }
    world->longest_spin = (uint64_t)10000 << 3 * numbers_below(&thread.numbers, 3);
    world->quiet = numbers_once_in(&thread.numbers, 3);
    operations_weigh(world, &thread.numbers);
    if (plan->large)
        choose_large_sizes(world, &thread.numbers);
    else
        choose_sizes(world, &thread.numbers);
    for (uint64_t i = 0; i < plan->pools; i++)
        world_make_pool(&thread, &world->pools[i]);
    thread_enter(&thread, 0);
}

static void synchronize_contexts(const struct world *world, struct thread *thread) {
    for (unsigned i = 0; i < world->context_count; i++) {
        thread_enter(thread, i);
        world_pass_default_stream(thread, i);
        // Shows that earlier contexts are gone.
        EXPECT(poolStreamSynchronize(CU_STREAM_LEGACY), poolSuccess);
        EXPECT(poolDeviceSynchronize(), poolSuccess);
    }
}

// Of a pool that has been synchronised for longer than any delay, only what was primed may be left,
// and that until a trim; and a piece of memory that goes back wholly or not at all.
static void require_nothing_left(const struct pool *pool, uint64_t limit) {
    REQUIRE(is_managed(pool) ||
            test_attribute(pool->handle, poolMemPoolAttrReservedMemHigh) <= limit);
    REQUIRE(!sp_vmm_provider(&sp_handle_pool(pool->handle)->device->vmm)->divides ||
            test_reserved(pool->handle) <= atomic_load(&pool->most_primed));
    EXPECT(poolMemPoolTrimTo(pool->handle, 0), poolSuccess);
    REQUIRE_EQUAL(test_used(pool->handle), 0);
    REQUIRE_EQUAL(test_reserved(pool->handle), 0);
}

static void require_figures_of_an_end(struct world *world, struct thread *thread) {
    uint64_t limit = sp_round_up(world->plan.bytes, SP_GROWTH_UNIT);
    for (uint64_t i = 0; i < world->plan.pools; i++)
        test_set_attribute(world->pools[i].handle, poolMemPoolAttrReleaseThreshold, 0);
    for (unsigned i = 0; i < 2 * INTERVALS; i++)
        synchronize_contexts(world, thread);
    for (uint64_t i = 0; i < world->plan.pools; i++)
        require_nothing_left(&world->pools[i], limit);
}

// Whatever they still held is the device's once the library has heard of a synchronise.
static void require_all_back(struct world *world, struct thread *thread) {
    simcudaLive live;
    for (uint64_t i = 0; i < world->plan.pools; i++) {
        EXPECT(poolMemPoolDestroy(world->pools[i].handle), poolSuccess);
        atomic_store(&world->pools[i].promises, poolPromiseNothing); // they end with their pool
    }
    synchronize_contexts(world, thread);
    if (!world->simulated)
        return;
    world->simulated->simcudaGetLive(&live);
    REQUIRE_EQUAL(live.handles + live.registered + live.managed, 0);
}

void world_close(struct world *world, struct thread *thread) {
    bool as_they_are = numbers_once_in(&thread->numbers, 2);
    thread->name = "ending";
    operations_free_all(thread);
    if (!as_they_are) {
        synchronize_contexts(world, thread);
        world_require_no_wrong_words(world, thread);
        require_figures_of_an_end(world, thread);
    }
    require_all_back(world, thread);
    world_require_no_wrong_words(world, thread);
    thread_require_no_reports(thread);
}
