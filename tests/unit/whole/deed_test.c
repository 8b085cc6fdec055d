// Gauges against deeds: in scenes that are drawn by lot a gauge is read, and what it says is done.
// It comes true; and where nothing is pending, a little more doesn't.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/fixture/scene.h"

enum { SEEDS = 150 };

static bool is_plain;
static poolMemPool_t pool; // the first of the scene

#define MUST(is_so, ...)                                                                           \
    do {                                                                                           \
        if (!(is_so)) {                                                                            \
            print_error("seed %u: %s\n", (unsigned)scene.seed, #is_so);                            \
            fail_msg(__VA_ARGS__);                                                                 \
        }                                                                                          \
    } while (0)

static uint64_t told(enum poolMemPoolAttr gauge) {
    return fixture_attribute(pool, gauge);
}

// ------------------------------------------------------------------------------ how it was served

// What an allocation may do beside taking memory as it lies: each is counted.
static const enum poolMemPoolAttr ways[] = {
    poolMemPoolStatRemaps,        poolMemPoolStatRemappedExtents,  poolMemPoolStatOtherRegion,
    poolMemPoolStatGrowths,       poolMemPoolStatGrowthsAfterTrim, poolMemPoolStatHostWaits,
    poolMemPoolStatWaitsInserted, poolMemPoolStatReuseMadeOrdered, poolMemPoolStatLegacyFences,
    poolMemPoolStatContextFences, poolMemPoolStatContextWaits,
};
enum { WAYS = sizeof ways / sizeof ways[0], WITHOUT_NEW_MEMORY = 0x7 };

struct served {
    poolError_t error;
    unsigned ways;     // a bit for each
    bool is_same_size; // what the pool has reserved
    void *block;
};

static void count(uint64_t counts[WAYS]) {
    for (int i = 0; i < WAYS; i++)
        counts[i] = told(ways[i]);
}

static struct served allocate(uint64_t size, CUstream stream, unsigned flags) {
    struct served served = {0};
    uint64_t before[WAYS], after[WAYS], reserved = fixture_reserved(pool);
    count(before);
    served.error = poolMallocAsyncWithFlags(&served.block, size, pool, stream, flags);
    count(after);
    for (int i = 0; i < WAYS; i++)
        served.ways |= (unsigned)(after[i] != before[i]) << i;
    served.is_same_size = fixture_reserved(pool) == reserved;
    return served;
}

// ------------------------------------------------------------------------------------- the deeds

// The next size that a large block can have.
static uint64_t more_than(uint64_t size) {
    return size < KIB(64) ? KIB(57) : size + 512;
}

// Any stream of the scene, or one that has nothing of its own.
static CUstream any_taker(void) {
    return scene_once_in(3) ? simulated_stream() : scene_any_stream();
}

static void the_largest_free_block_is_given_as_it_lies(bool is_settled) {
    uint64_t size = told(poolMemPoolStatLargestFree);
    MUST(size == 0 || size >= KIB(64), "%llu bytes", (unsigned long long)size);
    if (size > 0 && (!is_settled || scene_once_in(2))) {
        struct served served = allocate(size, any_taker(), 0);
        MUST(served.error == poolSuccess && served.ways == 0 && served.is_same_size,
             "%llu bytes: %s, ways %#x", (unsigned long long)size, poolGetErrorName(served.error),
             served.ways);
    } else if (is_settled) {
        struct served served = allocate(more_than(size), simulated_stream(), 0);
        MUST(served.error != poolSuccess || served.ways != 0, "%llu bytes",
             (unsigned long long)size);
    }
}

// What is refused changes nothing.
static void more_is_refused(uint64_t size) {
    struct served served = allocate(more_than(size), simulated_stream(), poolMallocNoGrowth);
    MUST(served.error == poolErrorMemoryAllocation && served.is_same_size,
         "%llu bytes: %s, ways %#x", (unsigned long long)size, poolGetErrorName(served.error),
         served.ways);
    MUST(told(poolMemPoolStatLargestRemapped) == size, "it is another size afterwards");
}

static void the_largest_remapped_block_is_given_without_new_memory(bool is_settled) {
    uint64_t size = told(poolMemPoolStatLargestRemapped);
    MUST(size == 0 || size >= KIB(64), "%llu bytes", (unsigned long long)size);
    MUST(size >= told(poolMemPoolStatLargestFree), "%llu bytes", (unsigned long long)size);
    if (is_settled)
        more_is_refused(size);
    if (size == 0)
        return;
    struct served served = allocate(size, any_taker(), poolMallocNoGrowth);
    MUST(served.error == poolSuccess && !(served.ways & ~(unsigned)WITHOUT_NEW_MEMORY) &&
             served.is_same_size,
         "%llu bytes: %s, ways %#x: %s", (unsigned long long)size, poolGetErrorName(served.error),
         served.ways, poolGetLastErrorDetail());
}

// Blocks in use take the rest of the extents that can't be given back.
static void pinned_bytes_stay_and_all_other_free_ones_go(bool is_settled) {
    uint64_t used = 0;
    if (!is_settled)
        return;
    told(poolMemPoolStatLargestFree); // which brings in what lies in lanes
    uint64_t pinned = told(poolMemPoolStatPinnedBytes);
    fixture_trim(pool, 0);
    MUST(told(poolMemPoolStatPinnedBytes) == pinned, "%llu bytes", (unsigned long long)pinned);
    for (unsigned i = 0; i < scene.piece_count; i++) {
        struct poolPointerAttributes attributes;
        assert_int_equal(poolPointerGetAttributes(&attributes, scene.pieces[i].block), poolSuccess);
        used += attributes.pool == pool ? attributes.size : 0;
    }
    MUST(pinned + used <= fixture_reserved(pool), "%llu bytes are pinned, %llu used",
         (unsigned long long)pinned, (unsigned long long)used);
    MUST(told(poolMemPoolStatZombies) == 0, "zombies stay");
}

// With that all is known that there is to know.
static void pending_bytes_are_none_behind_a_synchronise(bool is_settled) {
    uint64_t pending = told(poolMemPoolStatPendingBytes);
    uint64_t largest = told(poolMemPoolStatLargestFree);
    MUST(!is_settled || pending == 0, "%llu bytes", (unsigned long long)pending);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    MUST(told(poolMemPoolStatPendingBytes) == 0, "%llu bytes", (unsigned long long)pending);
    MUST(told(poolMemPoolStatLargestFree) >= largest, "%llu bytes", (unsigned long long)largest);
}

static void extents_are_the_drivers(bool is_settled) {
    (void)is_settled;
    simcudaLive live;
    uint64_t sum = 0;
    for (unsigned i = 0; i < scene.pool_count; i++)
        sum += fixture_attribute(scene.pools[i], poolMemPoolStatExtents);
    simcudaGetLive(&live);
    MUST(sum == (is_plain ? live.allocations : live.extents), "%llu extents",
         (unsigned long long)sum);
}

static void (*const deeds[])(bool is_settled) = {
    the_largest_free_block_is_given_as_it_lies,
    the_largest_remapped_block_is_given_without_new_memory,
    the_largest_remapped_block_is_given_without_new_memory,
    pinned_bytes_stay_and_all_other_free_ones_go,
    pending_bytes_are_none_behind_a_synchronise,
    extents_are_the_drivers,
};

// ------------------------------------------------------------------------------------- the scenes

// What the trim was to give back can be used, but not remapped.
static void cut_trim_short(void) {
    assert_int_equal(simcudaFailCall(is_plain ? "cuMemFree" : "cuMemUnmap", 1 + scene_below(2),
                                     simcudaFaultOnwards, CUDA_ERROR_UNKNOWN),
                     0);
    (void)poolMemPoolTrimTo(pool, 0);
    simcudaFailClear();
}

static bool settle_some(void) {
    if (scene_once_in(2))
        scene_free_some(scene.piece_count / 2);
    if (scene_once_in(5))
        fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    if (scene_once_in(8))
        cut_trim_short();
    if (scene_once_in(8))
        (void)poolMemPoolPrime(pool, MIB(1 + scene_below(16)));
    if (scene_once_in(3))
        return false;
    if (scene_once_in(2))
        fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    return true;
}

static void do_some(void) {
    pool = scene.pools[0];
    bool is_settled = settle_some();
    for (unsigned left = 1 + scene_below(3); left > 0; left--)
        deeds[scene_below(sizeof deeds / sizeof deeds[0])](is_settled);
}

static void play(const char *device) {
    is_plain = *device;
    scene_play(SEEDS, device, do_some);
}

static void what_gauges_say_comes_true(void **state) {
    (void)state;
    play("");
}

static void so_it_does_without_virtual_memory(void **state) {
    (void)state;
    play(",vmm=missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_gauges_say_comes_true),
        cmocka_unit_test(so_it_does_without_virtual_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
