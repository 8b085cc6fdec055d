#include "random/reserved.h"

#include <inttypes.h>

#include "base/number.h"
#include "process/runtime.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/pool.h"
#include "supply/trim.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

static bool keeps_account(const struct thread *thread) {
    return thread->world->plan.threads == 1;
}

static uint64_t round_up(const struct pool *pool, uint64_t bytes) {
    size_t rounded;
    size_t granule = sp_handle_pool(pool->handle)->device->vmm.granule;
    return sp_checked_round_up(bytes, granule, &rounded) ? rounded : UINT64_MAX;
}

// What has overflowed to the host is no part of what is reserved.
static uint64_t used_of_place(const struct pool *pool) {
    return sp_figures_used(sp_handle_pool(pool->handle));
}

static uint64_t free_for_all(const struct pool *pool, enum sp_region_kind kind) {
    return sp_handle_pool(pool->handle)->regions[kind].ready.bytes;
}

// ------------------------------------------------------------------------------------------ asking

static void raise_most(_Atomic uint64_t *most, uint64_t bytes) {
    uint64_t known = atomic_load(most);
    while (known < bytes && !atomic_compare_exchange_weak(most, &known, bytes))
        ;
}

static void require_primed(const struct thread *thread, struct pool *pool, uint64_t bytes) {
    if (free_for_all(pool, SP_REGION_LARGE) < bytes)
        thread_fail(thread, "%" PRIu64 " bytes are free of %" PRIu64 " that were primed",
                    free_for_all(pool, SP_REGION_LARGE), bytes);
    keeping_primed(&pool->keeping, bytes, test_reserved(pool->handle));
}

// What a second fault keeps from being unmapped again is the pool's. On a device that is full, what
// was given back in vain stays there.
static void require_unchanged(const struct thread *thread, const struct pool *pool,
                              struct test_figures before) {
    if (test_device_free_bytes() < before.reserved)
        before.reserved = test_reserved(pool->handle);
    if (!thread->faulty || !thread->world->plan.large)
        REQUIRE_FIGURES(pool->handle, before);
}

void reserved_prime(struct thread *thread, struct pool *pool, uint64_t bytes) {
    struct test_figures before = test_figures(pool->handle);
    uint64_t rounded = round_up(pool, bytes);
    thread_trace(thread, "prime %" PRIu64 " bytes", bytes);
    raise_most(&pool->most_primed, rounded);
    poolError_t error = poolMemPoolPrime(pool->handle, bytes);
    bool primed = error != poolErrorMemoryAllocation && SUCCEEDED(thread, error);
    if (!keeps_account(thread))
        return;
    if (primed)
        require_primed(thread, pool, rounded);
    else
        require_unchanged(thread, pool, before);
    thread_require_order(thread);
}

// A trim that a fault ended was noted by then, or not.
static void note_trim(struct pool *pool, uint64_t keep, bool trimmed) {
    const struct sp_retain *known = &sp_handle_pool(pool->handle)->retain;
    if (trimmed || known->primed <= keep)
        keeping_trimmed(&pool->keeping, keep);
}

void reserved_trim(struct thread *thread, struct pool *pool, uint64_t keep) {
    uint64_t before = test_reserved(pool->handle), kept = round_up(pool, keep);
    thread_trace(thread, "trim to %" PRIu64 " bytes", keep);
    bool trimmed = SUCCEEDED(thread, poolMemPoolTrimTo(pool->handle, keep));
    if (keeps_account(thread))
        note_trim(pool, keep, trimmed);
    if (!trimmed || thread->faulty || !keeps_account(thread))
        return;
    if (test_reserved(pool->handle) < (before < kept ? before : kept))
        thread_fail(thread, "a trim to %" PRIu64 " bytes leaves %" PRIu64, keep,
                    test_reserved(pool->handle));
}

void reserved_delay(struct thread *thread, struct pool *pool, uint64_t delay) {
    thread_trace(thread, "delay the release by %" PRIu64, delay);
    if (SUCCEEDED(thread,
                  poolMemPoolSetAttribute(pool->handle, poolMemPoolAttrReleaseDelay, &delay)) &&
        keeps_account(thread))
        keeping_delayed(&pool->keeping, delay, used_of_place(pool));
}

// ----------------------------------------------------------------------------------------- looking

void reserved_after_malloc(const struct thread *thread, struct pool *pool) {
    if (keeps_account(thread))
        keeping_used(&pool->keeping, used_of_place(pool));
}

struct reserved reserved_now(const struct thread *thread) {
    struct reserved reserved = {{0}};
    for (uint64_t i = 0; i < thread->world->plan.pools; i++)
        reserved.of[i] = test_reserved(thread->world->pools[i].handle);
    return reserved;
}

// Memory that isn't mapped goes back by whole pieces, of which one that is larger than what is to
// go stays.
static bool goes_in_part(const struct pool *pool, uint64_t releasable, uint64_t excess) {
    return sp_vmm_provider(&sp_handle_pool(pool->handle)->device->vmm)->divides ||
           excess >= releasable;
}

// A pool that has no more reserved than it needn't give up is not looked through, nor is one that
// the synchronised stream has nothing to do with. So only a synchronise of all shows what must go.
static void require_released(const struct thread *thread, struct pool *pool) {
    uint64_t reserved = test_reserved(pool->handle);
    uint64_t releasable = sp_trim_releasable(sp_handle_pool(pool->handle));
    uint64_t most = round_up(pool, keeping_most(&pool->keeping, reserved - releasable));
    if (pool->keeping.delay == 0 && reserved > most && releasable > 0 &&
        goes_in_part(pool, releasable, reserved - most))
        thread_fail(thread,
                    "a synchronise leaves %" PRIu64 " bytes and not %" PRIu64 ", of %" PRIu64
                    " that can go",
                    reserved, most, releasable);
}

static void require_kept(const struct thread *thread, const struct pool *pool, uint64_t before) {
    uint64_t least = keeping_least(&pool->keeping, used_of_place(pool));
    uint64_t reserved = test_reserved(pool->handle);
    if (reserved < (before < least ? before : least))
        thread_fail(thread,
                    "of %" PRIu64 " bytes a synchronise leaves %" PRIu64 " and not %" PRIu64,
                    before, reserved, least);
}

// With a fault the pool may keep more, and less; without address space it may keep more.
static void look_after_synchronize(const struct thread *thread, struct pool *pool, uint64_t before,
                                   enum synchronized what) {
    if (!thread->faulty)
        require_kept(thread, pool, before);
    if (!thread->faulty && !thread->lacks_space && what == OF_CONTEXT)
        require_released(thread, pool);
    keeping_synchronized(&pool->keeping, used_of_place(pool));
}

// Until it has heard of one, the library takes a stream that is idle for synchronised, so nobody
// knows where intervals end. An event's it may not hear.
void reserved_after_synchronize(const struct thread *thread, struct reserved before,
                                enum synchronized what) {
    struct world *world = thread->world;
    for (uint64_t i = 0; i < world->plan.pools && keeps_account(thread); i++) {
        struct pool *pool = &world->pools[i];
        if (world->heard)
            look_after_synchronize(thread, pool, before.of[i], what);
        else
            keeping_delayed(&pool->keeping, pool->keeping.delay, used_of_place(pool));
    }
    if (keeps_account(thread))
        world->heard = world->heard || what != OF_EVENT;
}
