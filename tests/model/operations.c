#include "model/operations.h"
#include "inside/teardown.h"
#include "inside/worker.h"

#include <inttypes.h>
#include <stdlib.h>

#include "inside/check.h"
#include "model/ledger.h"
#include "process/runtime.h"
#include "region/device.h"
#include "supply/defer.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/room.h"
#include "support/simulated.h"

enum { STREAMS = 4 };

// Of live bytes, so that a machine of 16 GiB can always grow by the next request.
#define LIVE_LIMIT GIB(3)

// A pool whose limit leaves no room for this much more may refuse a request, by how its memory is
// cut up.
#define GROWTH MIB(32)

// Of a pool without a limit no more is asked for at once, for the same reason. A limited one may be
// asked for all that it can have.
#define ROOM_LIMIT MIB(512)

struct run {
    const struct sp_driver *driver;
    const struct test_simulated *simulated;
    struct ledger ledger;
    CUstream streams[STREAMS];
    CUevent event;
    uint64_t random;
    unsigned char value;
    uint64_t own_bytes;  // of the device, which are this test's and no pool's
    bool pools_given_up; // since all work was complete: their memory is in no figures
};

// ---------------------------------------------------------------------------------- random choices

// splitmix64
static uint64_t draw(struct run *run) {
    uint64_t z = run->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t draw_below(struct run *run, uint64_t limit) {
    return draw(run) % limit;
}

static bool draw_chance(struct run *run, unsigned percent) {
    return draw_below(run, 100) < percent;
}

static CUstream draw_stream(struct run *run) {
    return run->streams[draw_below(run, STREAMS)];
}

// Of a pool that has a handle; there is always the default pool.
static unsigned draw_pool(struct run *run) {
    unsigned pool;
    do
        pool = (unsigned)draw_below(run, LEDGER_POOLS);
    while (!run->ledger.pools[pool].handle);
    return pool;
}

static size_t draw_size(struct run *run) {
    static const struct {
        unsigned percent;
        size_t from, below;
    } kinds[] = {
        {10, 1, 1025},         {30, 1, KIB(8)},
        {25, KIB(8), MIB(1)},  {10, MIB(1) - 2000, MIB(1) + 2000},
        {20, MIB(1), MIB(24)}, {5, MIB(32), MIB(200)},
    };
    unsigned kind = 0;
    for (uint64_t rest = draw_below(run, 100); rest >= kinds[kind].percent; kind++)
        rest -= kinds[kind].percent;
    size_t size = kinds[kind].from + draw_below(run, kinds[kind].below - kinds[kind].from);
    return draw_chance(run, 30) ? (size + 511) / 512 * 512 : size;
}

// ---------------------------------------------------------------------------------------- contents

// Orders a block's contents before whatever comes next on another stream.
static void hand_over(struct run *run, struct ledger_block *block, CUstream stream) {
    if (block->stream == stream)
        return;
    DRIVER(run->driver->cuEventRecord(run->event, block->stream));
    DRIVER(run->driver->cuStreamWaitEvent(stream, run->event, 0));
    block->stream = stream;
}

// ------------------------------------------------------------------------------------ malloc, free

static void require_refusal_is_fair(const struct ledger_pool *pool, size_t size,
                                    struct test_figures before) {
    REQUIRE(pool->max_size != 0);
    REQUIRE(before.reserved + size + GROWTH > pool->max_size);
    REQUIRE_FIGURES(pool->handle, before);
}

static void do_malloc(struct run *run) {
    struct ledger_block block = {
        .pool = draw_pool(run),
        .stream = draw_stream(run),
        .size = draw_size(run),
        .value = ++run->value,
    };
    struct ledger_pool *pool = &run->ledger.pools[block.pool];
    if (run->ledger.count == LEDGER_LIVE ||
        ledger_live_bytes(&run->ledger) + block.size > LIVE_LIMIT)
        return;

    struct test_figures before = test_figures(pool->handle);
    void *pointer = &block;
    poolError_t error = poolMallocFromPoolAsync(&pointer, block.size, pool->handle, block.stream);
    if (error == poolErrorMemoryAllocation) {
        REQUIRE(pointer == &block);
        require_refusal_is_fair(pool, block.size, before);
        return;
    }
    EXPECT(error, poolSuccess);
    REQUIRE((uintptr_t)pointer % 512 == 0);
    block.address = pointer;
    REQUIRE(ledger_add(&run->ledger, &block));
    test_fill_block(block.address, block.value, block.size, block.stream);
}

static void free_block(struct run *run, unsigned index) {
    struct ledger_block block = ledger_remove(&run->ledger, index);
    if (draw_chance(run, 30))
        hand_over(run, &block, draw_stream(run));
    test_check_block(block.address, block.value, block.size, block.stream);
    if (draw_chance(run, 10)) {
        test_finish(block.stream);
        EXPECT(poolFree(block.address), poolSuccess);
    } else {
        EXPECT(poolFreeAsync(block.address, block.stream), poolSuccess);
    }
    if (draw_chance(run, 10))
        EXPECT(poolFreeAsync(block.address, block.stream), poolErrorInvalidValue);
}

static void do_free(struct run *run) {
    if (run->ledger.count != 0)
        free_block(run, (unsigned)draw_below(run, run->ledger.count));
}

static void do_many_frees(struct run *run) {
    for (uint64_t i = draw_below(run, 60); i != 0; i--)
        do_free(run);
}

static void do_wrong_free(struct run *run) {
    if (run->ledger.count == 0)
        return;
    const struct ledger_block *block = &run->ledger.live[draw_below(run, run->ledger.count)];
    char *inside = block->address + 1 + draw_below(run, block->size);
    if (inside < block->address + block->size)
        EXPECT(poolFreeAsync(inside, block->stream), poolErrorInvalidValue);
}

// --------------------------------------------------------------------- synchronise, trim, settings

static void do_stream_synchronise(struct run *run) {
    EXPECT(poolStreamSynchronize(draw_stream(run)), poolSuccess);
}

static void do_event_synchronise(struct run *run) {
    EXPECT(poolEventRecord(run->event, draw_stream(run)), poolSuccess);
    EXPECT(poolEventSynchronize(run->event), poolSuccess);
}

static void do_device_synchronise(struct run *run) {
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    run->pools_given_up = false;
    for (unsigned i = 0; i < LEDGER_POOLS; i++)
        run->pools_given_up |= !run->ledger.pools[i].handle && run->ledger.pools[i].used != 0;
}

static void do_drivers_synchronise(struct run *run) {
    test_finish(draw_stream(run));
}

static void do_query(struct run *run) {
    poolError_t error = poolStreamQuery(draw_stream(run));
    REQUIRE(error == poolSuccess || error == poolErrorNotReady);
}

static void do_trim(struct run *run) {
    poolMemPool_t pool = run->ledger.pools[draw_pool(run)].handle;
    uint64_t before = test_reserved(pool);
    EXPECT(poolMemPoolTrimTo(pool, draw_below(run, MIB(200))), poolSuccess);
    REQUIRE(test_reserved(pool) <= before);
}

// Little enough for every pool and the device, or else refused.
static void do_prime(struct run *run) {
    poolMemPool_t pool = run->ledger.pools[draw_pool(run)].handle;
    uint64_t before = test_reserved(pool);
    poolError_t error = poolMemPoolPrime(pool, draw_below(run, MIB(64)));
    REQUIRE(error == poolSuccess || error == poolErrorMemoryAllocation);
    REQUIRE(error == poolSuccess ? test_reserved(pool) >= before : test_reserved(pool) == before);
}

static void do_set_threshold(struct run *run) {
    static const uint64_t thresholds[] = {0, MIB(1), MIB(16), MIB(100), UINT64_MAX};
    poolMemPool_t pool = run->ledger.pools[draw_pool(run)].handle;
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, thresholds[draw_below(run, 5)]);
}

static void do_set_delay(struct run *run) {
    test_set_attribute(run->ledger.pools[draw_pool(run)].handle, poolMemPoolAttrReleaseDelay,
                       draw_below(run, 4));
}

static void do_set_policies(struct run *run) {
    test_set_all_policies(run->ledger.pools[draw_pool(run)].handle, draw_chance(run, 50));
}

static void do_set_unfenced(struct run *run) {
    static const uint64_t limits[] = {0, KIB(64), MIB(32), UINT64_MAX};
    poolMemPool_t pool = run->ledger.pools[draw_pool(run)].handle;
    test_set_attribute(pool, poolMemPoolAttrUnfencedBytesMax, limits[draw_below(run, 4)]);
}

static void do_set_bound(struct run *run) {
    static const uint64_t percents[] = {0, 20, 100, UINT64_MAX};
    poolMemPool_t pool = run->ledger.pools[draw_pool(run)].handle;
    test_set_attribute(pool, poolMemPoolAttrGrowthBeyondUse, percents[draw_below(run, 4)]);
}

// Small blocks are loose soon, or all.
static void leave_little_idle(struct run *run, poolMemPool_t pool) {
    if (draw_chance(run, 50))
        sp_store_relaxed(&sp_handle_pool(pool)->slabs.idle_min, draw_below(run, 4) * KIB(200));
}

static void do_reset_highs(struct run *run) {
    struct ledger_pool *pool = &run->ledger.pools[draw_pool(run)];
    test_set_attribute(pool->handle, poolMemPoolAttrUsedMemHigh, 0);
    test_set_attribute(pool->handle, poolMemPoolAttrReservedMemHigh, 0);
    pool->used_high = pool->used;
    REQUIRE_EQUAL(test_attribute(pool->handle, poolMemPoolAttrReservedMemHigh),
                  test_reserved(pool->handle));
}

// ---------------------------------------------------------------------------------------- liveness

static bool lies_in(const void *context, uint64_t address, uint64_t size) {
    const struct ledger *ledger = context;
    for (unsigned i = 0; i < ledger->count; i++) {
        uint64_t begin = (uintptr_t)ledger->live[i].address;
        if (begin < address + size && address < begin + ledger->live[i].size)
            return true;
    }
    return false;
}

// By the library's call, or by the driver's, of which it hears nothing.
static void become_idle(struct run *run) {
    if (draw_chance(run, 30))
        do_device_synchronise(run);
    else
        DRIVER(run->driver->cuCtxSynchronize());
}

static poolError_t allocate_patiently(struct run *run, const struct ledger_pool *pool,
                                      struct ledger_block *block) {
    void *pointer = NULL;
    poolError_t error = poolMallocFromPoolAsync(&pointer, block->size, pool->handle, block->stream);
    if (error == poolErrorMemoryAllocation && test_completes_late()) {
        DRIVER(run->driver->cuCtxSynchronize());
        error = poolMallocFromPoolAsync(&pointer, block->size, pool->handle, block->stream);
    }
    block->address = pointer;
    return error;
}

static void require_out_of_reach(const struct test_live *live, const struct ledger_pool *pool,
                                 const struct ledger_block *block, uint64_t room) {
    uint64_t reach = test_room_in_reach(live, sp_handle_pool(pool->handle), block->stream);
    if (block->size <= reach)
        test_fail(__FILE__, __LINE__,
                  "%zu bytes are refused, and %" PRIu64 " of %" PRIu64 " fit within reach: %s",
                  block->size, reach, room, poolGetLastErrorDetail());
}

// Once nothing is pending, what fits must be had, if the pool may ask what is complete.
static void do_look_for_room(struct run *run) {
    struct ledger_block block = {.pool = draw_pool(run), .stream = draw_stream(run)};
    struct ledger_pool *pool = &run->ledger.pools[block.pool];
    const struct test_live live = {lies_in, &run->ledger};
    if (run->ledger.count == LEDGER_LIVE ||
        !test_flag(pool->handle, poolMemPoolReuseAllowOpportunistic))
        return;
    become_idle(run);
    uint64_t room = test_room(&live, sp_handle_pool(pool->handle));
    if (room > ROOM_LIMIT)
        room = ROOM_LIMIT;
    if (room == 0)
        return;
    block.size = draw_chance(run, 50) ? room : 1 + draw_below(run, room);
    poolError_t error = allocate_patiently(run, pool, &block);
    if (error == poolErrorMemoryAllocation) {
        require_out_of_reach(&live, pool, &block, room);
        return;
    }
    EXPECT(error, poolSuccess);
    REQUIRE(ledger_add(&run->ledger, &block));
    for (unsigned i = 0; i < run->ledger.count; i++) {
        if (run->ledger.live[i].address == block.address)
            (void)ledger_remove(&run->ledger, i);
    }
    EXPECT(poolFreeAsync(block.address, block.stream), poolSuccess);
}

// ------------------------------------------------------------------------------------------- pools

static void do_create(struct run *run) {
    struct ledger_pool *pool = &run->ledger.pools[1 + draw_below(run, LEDGER_POOLS - 1)];
    if (pool->handle || pool->used != 0)
        return;
    *pool = (struct ledger_pool){.max_size =
                                     draw_chance(run, 50) ? MIB(32) * (1 + draw_below(run, 8)) : 0};
    pool->handle = test_pool_of_at_most(pool->max_size);
    leave_little_idle(run, pool->handle);
}

static void do_destroy(struct run *run) {
    struct ledger_pool *pool = &run->ledger.pools[1 + draw_below(run, LEDGER_POOLS - 1)];
    if (!pool->handle)
        return;
    EXPECT(poolMemPoolDestroy(pool->handle), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool->handle, 0), poolErrorInvalidValue);
    pool->handle = NULL;
    run->pools_given_up = true;
}

// ---------------------------------------------------------------------------- after each operation

static uint64_t check_pool(const struct ledger_pool *pool) {
    char why[256] = "";
    if (!inside_check(pool->handle, why, sizeof why))
        test_fail(__FILE__, __LINE__, "an invariant of the pool is broken: %s", why);
    struct test_figures figures = test_figures(pool->handle);
    REQUIRE_EQUAL(figures.used, pool->used);
    REQUIRE_EQUAL(figures.used_high, pool->used_high);
    REQUIRE(figures.reserved >= figures.used);
    REQUIRE(figures.reserved_high >= figures.reserved);
    REQUIRE(pool->max_size == 0 || figures.reserved_high <= pool->max_size);
    return figures.reserved;
}

static void check_all(struct run *run) {
    uint64_t reserved = 0;
    for (unsigned i = 0; i < LEDGER_POOLS; i++) {
        if (run->ledger.pools[i].handle)
            reserved += check_pool(&run->ledger.pools[i]);
    }
    if (!run->pools_given_up)
        inside_worker_rest(); // which may stand on one, and then takes it apart
    uint64_t physical = run->simulated->simcudaMemoryInUse(0) - run->own_bytes;
    if (run->pools_given_up)
        REQUIRE(reserved <= physical);
    else
        REQUIRE_EQUAL(physical, reserved);
    test_require_no_complaints();
}

// ----------------------------------------------------------------------------------------- the run

static const struct {
    unsigned weight;
    void (*operation)(struct run *run);
} operations_table[] = {
    {420, do_malloc},
    {330, do_free},
    {15, do_many_frees},
    {25, do_wrong_free},
    {40, do_stream_synchronise},
    {20, do_event_synchronise},
    {20, do_device_synchronise},
    {15, do_drivers_synchronise},
    {15, do_query},
    {30, do_trim},
    {10, do_prime},
    {15, do_set_threshold},
    {10, do_set_delay},
    {10, do_set_policies},
    {10, do_set_unfenced},
    {10, do_set_bound},
    {10, do_reset_highs},
    {15, do_look_for_room},
    {15, do_create},
    {10, do_destroy},
};

static void do_any(struct run *run) {
    enum { COUNT = sizeof operations_table / sizeof operations_table[0] };
    uint64_t sum = 0;
    for (unsigned i = 0; i < COUNT; i++)
        sum += operations_table[i].weight;
    unsigned choice = 0;
    for (uint64_t rest = draw_below(run, sum); rest >= operations_table[choice].weight; choice++)
        rest -= operations_table[choice].weight;
    operations_table[choice].operation(run);
}

static void choose_machine(struct run *run, uint64_t seed) {
    static const uint64_t granules[] = {MIB(2), MIB(2), KIB(64), MIB(4)};
    if (seed % 2 == 0)
        setenv("STREAMPOOL_DRIVER_API", "10020", 1);
    simcudaConfig machine;
    run->driver = test_driver();
    run->simulated = test_require_simulated();
    run->simulated->simcudaConfigDefault(&machine);
    machine.granule = granules[seed / 2 % 4];
    machine.completion = (simcudaCompletion)(seed % 3);
    machine.patience = 3;
    machine.delay = 1000000;
    machine.seed = seed;
    REQUIRE(run->simulated->simcudaReset(&machine) == 0);
}

static void begin(struct run *run) {
    test_use_device(0);
    test_load_kernels();
    run->own_bytes = run->simulated->simcudaMemoryInUse(0);
    run->event = test_event();
    run->streams[0] = CU_STREAM_LEGACY;
    run->streams[1] = test_blocking_stream();
    for (unsigned i = 2; i < STREAMS; i++)
        run->streams[i] = test_stream();
    run->ledger.pools[0].handle = test_default_pool(0);
    leave_little_idle(run, run->ledger.pools[0].handle);
}

static void keep_nothing(poolMemPool_t pool) {
    if (!pool)
        return;
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess); // ends what is primed
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, 0);
    test_set_attribute(pool, poolMemPoolAttrReleaseDelay, 0);
}

static void free_everything(struct run *run) {
    while (run->ledger.count != 0)
        free_block(run, run->ledger.count - 1);
    for (unsigned i = 0; i < LEDGER_POOLS; i++)
        keep_nothing(run->ledger.pools[i].handle);
    do_device_synchronise(run);
    check_all(run);
    REQUIRE_EQUAL(run->simulated->simcudaMemoryInUse(0), run->own_bytes);
}

// Everything that the library holds goes back; what is left at the device is this test's own, which
// goes too.
static void tear_down(struct run *run) {
    inside_teardown();
    for (unsigned i = 1; i < STREAMS; i++) // 0 is the legacy stream
        DRIVER(run->driver->cuStreamDestroy(run->streams[i]));
    DRIVER(run->driver->cuEventDestroy(run->event));
    test_unload_kernels();
    test_require_no_leaks();
}

void run_operations(uint64_t seed, uint64_t operations, _Atomic uint64_t *done) {
    struct run run = {.random = seed};
    test_set_subject("seed %" PRIu64 ", set-up", seed);
    choose_machine(&run, seed);
    begin(&run);
    for (uint64_t i = 1; i <= operations; i++) {
        *done = i;
        test_set_subject("seed %" PRIu64 ", operation %" PRIu64, seed, i);
        do_any(&run);
        check_all(&run);
    }
    test_set_subject("seed %" PRIu64 ", the end", seed);
    free_everything(&run);
    tear_down(&run);
}
