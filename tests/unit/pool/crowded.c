#include "unit/pool/crowded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/crowded.h"
#include "region/owner.h"

poolMemPool_t pool;
CUstream stream;
struct sp_lane *crowded;

int crowded_setup(void **state) {
    (void)state;
    if (fixture_begin("memory=16G") != 0)
        return -1;
    pool = fixture_pool();
    stream = simulated_stream();
    crowded = fixture_lane(pool, stream);
    return 0;
}

void make_crowded(struct sp_lane *of) {
    sp_store_relaxed(&of->lock.met, SP_BIASED_CROWDED);
}

void *take(size_t size) {
    return fixture_malloc(pool, size, stream);
}

void put(void *block) {
    fixture_free(block, stream);
}

uint32_t in_fronts(void) {
    const struct sp_front *fronts = sp_load_relaxed(&crowded->fronts);
    uint32_t count = 0;
    for (int i = 0; fronts && i < SP_FRONT_COUNT; i++)
        count += sp_load_relaxed(&fronts[i].count);
    return count;
}

void *block_in_front(size_t size) {
    put(take(size));
    make_crowded(crowded);
    void *block = take(size);
    put(block);
    assert_int_equal(in_fronts(), 1);
    return block;
}

void drain(void) {
    sp_biased_lock_acquire(&crowded->lock);
    sp_crowded_drain_locked(crowded);
    sp_biased_lock_release(&crowded->lock);
}

struct sp_slab *slab_of(void *block) {
    return sp_owner_slab(sp_owner_of((uint64_t)(uintptr_t)block));
}
