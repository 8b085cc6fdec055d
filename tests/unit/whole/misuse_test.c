#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "unit/fixture/pool.h"
#include "unit/random.h"

#include "inside/check.h"

// Frees of what isn't live, between all that a program does: each is refused with a clear error and
// changes nothing, whatever has become of the address meanwhile. And with one thread every figure
// is exact.

enum { STREAMS = 4, POOLS = 3, LIVE_MAX = 200, DEAD_MAX = 400, STEPS = 12000, SEEDS = 8 };

struct allocation {
    char *pointer;
    size_t size;
    int pool;
};

static struct {
    uint64_t seed;
    poolMemPool_t pools[POOLS];
    uint64_t used[POOLS], high[POOLS];
    CUstream streams[STREAMS + 2];
    struct allocation live[LIVE_MAX];
    int live_count;
    char *dead[DEAD_MAX];
    uint64_t dead_count;
} world;

static uint64_t below(uint64_t bound) {
    return random_below(&world.seed, bound);
}

static CUstream any_stream(void) {
    return world.streams[below(STREAMS + 2)];
}

static size_t any_size(void) {
    switch (below(6)) {
    case 0:
        return 1 + below(4096);
    case 1:
        return 1 + below(57344);
    case 2:
        return 57344 - below(3) + below(6);
    case 3:
        return KIB(64) << below(4);
    case 4:
        return 1 + below(MIB(1));
    default:
        return MIB(1) + below(MIB(6));
    }
}

static bool is_live(const char *pointer) {
    for (int i = 0; i < world.live_count; i++) {
        if (world.live[i].pointer == pointer)
            return true;
    }
    return false;
}

static void allocate(void) {
    static const unsigned flags[] = {
        0, 0, 0, poolMallocSameStreamOnly, poolMallocNoInsertedWaits, poolMallocFixed};
    struct allocation *made = &world.live[world.live_count];
    void *pointer = NULL;
    if (world.live_count == LIVE_MAX)
        return;
    made->pool = (int)below(POOLS);
    made->size = any_size();
    poolError_t error = poolMallocAsyncWithFlags(&pointer, made->size, world.pools[made->pool],
                                                 any_stream(), flags[below(6)]);
    if (error == poolErrorMemoryAllocation)
        return;
    assert_int_equal(error, poolSuccess);
    made->pointer = pointer;
    for (int i = 0; i < world.live_count; i++)
        assert_true(made->pointer + made->size <= world.live[i].pointer ||
                    world.live[i].pointer + world.live[i].size <= made->pointer);
    world.live_count++;
    world.used[made->pool] += made->size;
    if (world.used[made->pool] > world.high[made->pool])
        world.high[made->pool] = world.used[made->pool];
}

static poolError_t free_anyhow(void *pointer) {
    return below(8) == 0 ? poolFree(pointer) : poolFreeAsync(pointer, any_stream());
}

// What poolFree is told nothing is pending on, since nothing in here looks at the memory.
static void free_one(int index) {
    struct allocation freed = world.live[index];
    assert_int_equal(free_anyhow(freed.pointer), poolSuccess);
    world.live[index] = world.live[--world.live_count];
    world.used[freed.pool] -= freed.size;
    world.dead[world.dead_count++ % DEAD_MAX] = freed.pointer;
}

static void free_any(void) {
    if (world.live_count > 0)
        free_one((int)below((uint64_t)world.live_count));
}

static char *any_that_is_not_live(void) {
    static const size_t beside[] = {0, 1, 256, 512, 1024, KIB(64), MIB(1), MIB(2)};
    uint64_t known = world.dead_count < DEAD_MAX ? world.dead_count : DEAD_MAX;
    if (known == 0)
        return NULL;
    char *pointer = world.dead[below(known)] + beside[below(3) ? 0 : below(8)];
    return is_live(pointer) ? NULL : pointer;
}

static void free_what_is_not_live(void) {
    char *pointer = any_that_is_not_live();
    if (pointer)
        assert_int_equal(free_anyhow(pointer), poolErrorInvalidValue);
}

static void free_all_of(int pool) {
    for (int i = world.live_count; i-- > 0;) {
        if (world.live[i].pool == pool)
            free_one(i);
    }
}

static void make_pool(int pool) {
    world.pools[pool] = fixture_pool_of_at_most(below(2) ? MIB(96) : 0);
    world.used[pool] = world.high[pool] = 0;
    fixture_set_flag(world.pools[pool], poolMemPoolAttrDeterministic, below(4) == 0);
    fixture_set_flag(world.pools[pool], poolMemPoolAttrStreamPromises, (int)below(32));
}

static void replace_pool(void) {
    int pool = (int)below(POOLS);
    bool before = below(2);
    if (before)
        free_all_of(pool);
    assert_int_equal(poolMemPoolDestroy(world.pools[pool]), poolSuccess);
    if (!before)
        free_all_of(pool);
    make_pool(pool);
}

static void replace_stream(void) {
    CUstream *stream = &world.streams[below(STREAMS)];
    assert_int_equal(poolStreamDestroy(*stream), poolSuccess);
    *stream = simulated_stream();
}

static void do_something_else(void) {
    poolMemPool_t pool = world.pools[below(POOLS)];
    switch (below(10)) {
    case 0:
        replace_pool();
        break;
    case 1:
        replace_stream();
        break;
    case 2:
        fixture_trim(pool, below(2) ? 0 : MIB(8));
        break;
    case 3:
        fixture_set_flag(pool, poolMemPoolAttrStreamPromises, (int)below(32));
        break;
    case 4:
        fixture_set_flag(pool, poolMemPoolAttrDeterministic, (int)below(2));
        break;
    case 5:
        fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, below(2) ? 0 : MIB(8));
        break;
    case 6:
        simcudaCompleteAll();
        break;
    default:
        fixture_synchronize(any_stream());
        break;
    }
}

static void check_figures(void) {
    for (int i = 0; i < POOLS; i++) {
        fixture_check(world.pools[i]);
        assert_int_equal(fixture_used(world.pools[i]), world.used[i]);
        assert_int_equal(fixture_attribute(world.pools[i], poolMemPoolAttrUsedMemHigh),
                         world.high[i]);
    }
}

static void step(void) {
    uint64_t what = below(1000);
    if (what < 420)
        allocate();
    else if (what < 800)
        free_any();
    else if (what < 970)
        free_what_is_not_live();
    else if (what < 985)
        simulated_work(any_stream());
    else
        do_something_else();
}

static void what_is_not_live_is_never_freed(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        memset(&world, 0, sizeof world);
        world.seed = seed;
        for (int i = 0; i < STREAMS; i++)
            world.streams[i] = simulated_stream();
        world.streams[STREAMS + 1] = CU_STREAM_PER_THREAD;
        for (int i = 0; i < POOLS; i++)
            make_pool(i);
        for (int i = 0; i < STEPS; i++) {
            step();
            if (i % 50 == 0)
                check_figures();
        }
        for (int i = 0; i < POOLS; i++) {
            free_all_of(i);
            assert_int_equal(poolMemPoolDestroy(world.pools[i]), poolSuccess);
        }
        simcudaCompleteAll();
        assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_not_live_is_never_freed, fixture_setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests_name("whole_misuse", tests, NULL, NULL);
}
