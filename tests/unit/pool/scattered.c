#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/collect.h"
#include "region/settle.h"
#include "unit/pool/scattered.h"

poolMemPool_t pool;
CUstream a;
CUstream b;
void *blocks[HALVES];

int setup(void **state) {
    int failed = fixture_setup(state);
    pool = fixture_pool_of_at_most(POOL);
    a = simulated_stream();
    b = simulated_stream();
    return failed;
}

void fill_with(size_t size) {
    for (size_t i = 0; i < EXTENTS; i++)
        blocks[i * (EXTENT / size)] = fixture_malloc(pool, EXTENT, a);
    assert_int_equal(fixture_reserved(pool), POOL);
    if (size == EXTENT)
        return;
    for (size_t i = 0; i < EXTENTS; i++)
        fixture_free(blocks[2 * i], a);
    fixture_synchronize(a);
    sp_collect_all(fixture_inside(pool));
    for (size_t i = 0; i < HALVES; i++)
        blocks[i] = fixture_malloc(pool, HALF, a);
    for (size_t i = 1; i < HALVES; i++) // where they lie is their order
        assert_ptr_equal(blocks[i], (char *)blocks[i - 1] + HALF);
}

void drop(size_t index, CUstream stream) {
    fixture_free(blocks[index], stream);
    blocks[index] = NULL;
}

void drop_every_other(CUstream stream) {
    for (size_t i = 0; i < EXTENTS; i += 2)
        drop(i, stream);
}

void collect(void) {
    sp_collect_all(fixture_inside(pool));
}

void settle(void) {
    struct sp_pool *inside = fixture_inside(pool);
    collect();
    sp_lock_acquire(&inside->lock);
    sp_settle_all(inside);
    sp_lock_release(&inside->lock);
}

uint64_t remaps(void) {
    return fixture_attribute(pool, poolMemPoolStatRemaps);
}

uint64_t mapping_calls(void) {
    return simcudaCallCount("cuMemMap") + simcudaCallCount("cuMemUnmap") +
           simcudaCallCount("cuMemCreate") + simcudaCallCount("cuMemSetAccess") +
           simcudaCallCount("cuMemRelease");
}

void refuse(size_t size, CUstream stream, unsigned flags) {
    void *pointer = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, size, pool, stream, flags),
                     poolErrorMemoryAllocation);
    fixture_check(pool);
}

bool lies_in_a_stitched_view(const void *pointer) {
    SP_LIST_FOR_EACH(link, &fixture_inside(pool)->kept.views) {
        const struct sp_stitch *stitch = SP_CONTAINER_OF(link, struct sp_stitch, by_use);
        if ((uintptr_t)pointer - stitch->segment.chain.address < stitch->segment.chain.size)
            return true;
    }
    return false;
}

void limit_kept(uint32_t views, size_t mappings) {
    struct sp_pool *inside = fixture_inside(pool);
    sp_lock_acquire(&inside->lock);
    sp_loan_limit_kept(inside, views, mappings);
    sp_lock_release(&inside->lock);
}

struct sp_outcome bury(void) {
    size_t buried;
    return sp_bury_all(fixture_inside(pool), &buried);
}

void leave_tails_wholes_and_a_front(void) {
    fill_with(HALF);
    for (size_t i = 1; i < 12; i++) {
        if (i != 6)
            drop(i, a);
    }
    drop(14, a);
}
