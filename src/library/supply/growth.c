#include "supply/growth.h"

#include "base/number.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/lane.h"
#include "region/refine.h"

static uint64_t granule_of(const struct sp_pool *pool) {
    return pool->device->vmm.granule;
}

static bool is_bounded(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->attributes.growth_beyond_use) != UINT64_MAX;
}

// To map much takes longer than to look at all lanes.
static uint64_t used_with(struct sp_pool *pool, uint64_t size) {
    uint64_t used = size > SP_EXTENT_OWN_MAX ? sp_figures_used(pool) : sp_figures_used_lately(pool);
    return used + size;
}

// Returns the most that the program is known to need at once, if `size` bytes more are in use now.
// Where growth is bounded, what threads count too much is left out.
static uint64_t known_need(struct sp_pool *pool, uint64_t size) {
    uint64_t now = used_with(pool, size);
    uint64_t high =
        is_bounded(pool) ? sp_figures_at_once(pool) : sp_load_relaxed(&pool->figures.used_high);
    return sp_max(now, high);
}

// Returns how many bytes the pool may grow by to hold what it needs and so much `more`, or no more
// than GrowthBeyondUse allows. Memory is mapped in granules, so a small pool has its slack anyway.
static uint64_t room_for(const struct sp_pool *pool, uint64_t need, uint64_t more) {
    uint64_t percent = sp_load_relaxed(&pool->attributes.growth_beyond_use);
    uint64_t share, allowed = UINT64_MAX - need;
    if (percent != UINT64_MAX && !__builtin_mul_overflow(need, percent, &share))
        allowed = sp_max(share / 100, SP_SLACK_MIN);
    return sp_excess(need + sp_min(more, allowed), sp_load_relaxed(&pool->reserved));
}

uint64_t sp_growth_room(struct sp_pool *pool, uint64_t size) {
    if (!is_bounded(pool))
        return UINT64_MAX;
    sp_atomic_raise(&pool->figures.grown_for, used_with(pool, size));
    return room_for(pool, known_need(pool, size), UINT64_MAX);
}

bool sp_growth_is_due(struct sp_pool *pool, uint64_t size) {
    uint64_t need = known_need(pool, size);
    return size <= room_for(pool, need, sp_max(need / SP_SLACK_SHARE, SP_SLACK_MIN));
}

// ------------------------------------------------------------------------------- what is foreseen

// A period is as long as a part of the program so far: what has risen for long goes on for long.
static uint64_t period_at(uint64_t misses) {
    return sp_max(misses / SP_RISE_PERIOD, SP_RISE_PERIOD_MIN);
}

// A pool that nobody has looked at has not risen yet, whatever was in use before it was shared. The
// program may reset the most that was in use: then it rises from there once more.
static struct sp_rise_point look_at_rise(struct sp_pool *pool, struct sp_rise *rise) {
    struct sp_rise_point now = {.used_high = sp_load_relaxed(&pool->figures.used_high)};
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH_OF(const struct sp_lane, lane, link, &pool->lanes.list)
        now.misses += sp_load_relaxed(&lane->misses);
    *rise = pool->rise;
    uint64_t period = period_at(now.misses), passed = now.misses - rise->last.misses;
    bool is_over = rise->last.used_high == 0 || passed >= 2 * period;
    if (is_over || passed >= period) {
        rise->before = is_over ? now : rise->last;
        rise->last = now;
    }
    if (rise->same.used_high != now.used_high)
        rise->same = now;
    pool->rise = *rise;
    sp_lock_release(&pool->lock);
    return now;
}

static bool is_looked_at(const struct sp_pool *pool) {
    return sp_pool_is_shared(pool) && !sp_pool_has_very_many_lanes(pool);
}

bool sp_growth_is_foreseen(struct sp_pool *pool, uint64_t size) {
    struct sp_rise rise;
    if (!is_looked_at(pool))
        return false;
    uint64_t need = known_need(pool, size);
    struct sp_rise_point now = look_at_rise(pool, &rise);
    uint64_t rises_by = sp_excess(now.used_high, rise.before.used_high);
    uint64_t more = rises_by / SP_RISE_DENOMINATOR * SP_RISE_NUMERATOR;
    return size <= room_for(pool, need, sp_min(more, need / SP_RISE_SHARE));
}

void sp_growth_note(struct sp_pool *pool, uint64_t size) {
    _Atomic bool *ask_each_miss = &pool->lanes.ask_each_miss;
    struct sp_rise rise;
    if (is_looked_at(pool) && sp_pool_may_ask(pool) && pool->limit == SIZE_MAX &&
        !sp_load_relaxed(ask_each_miss) && !sp_growth_is_due(pool, size)) {
        struct sp_rise_point now = look_at_rise(pool, &rise);
        if (now.misses - rise.same.misses >= period_at(now.misses)) // the need rests
            sp_store_relaxed(ask_each_miss, true);
    }
}

// ------------------------------------------------------------------------------------- how much

// Returns the size of extents that befits a pool of so many bytes. A call costs about the same for
// a large extent as for a small one, but only whole free extents can be mapped again elsewhere; so
// an extent is a small part of the pool, rounded up.
static uint64_t extent_of_pool(const struct sp_pool *pool, uint64_t bytes) {
    uint64_t part = bytes / SP_EXTENTS_OF_POOL;
    uint64_t size = SP_EXTENT_MIN;
    if (sp_pool_is_shared(pool))
        return sp_min(sp_max(size, sp_round_up(part, granule_of(pool))), SP_EXTENT_MAX);
    while (size < part && size < SP_EXTENT_MAX)
        size *= 2;
    return size;
}

// A growth maps a unit where less is needed. The segments of the fixed region have one extent each
// and grow by nothing else. Pages grow with what they hold, so that a program with few small blocks
// holds few. The large region grows by a whole extent as long as the pool may have one that it
// doesn't need yet, else by as much as it may have. A request that is large enough for an extent of
// its own gets just that. Where there are many pools, none may have more than its share of a
// quarter of the device before it needs it: a few thousand would fill the device otherwise.
uint64_t sp_growth_amount(struct sp_pool *pool, enum sp_region_kind kind, uint64_t need) {
    uint64_t room = sp_figures_below_limit(pool);
    uint64_t granule = granule_of(pool), unit = 0;
    if (kind == SP_REGION_PAGES) {
        unit = pool->regions[kind].mapped / SP_PAGES_SHARE;
        unit = sp_min(sp_round_up(unit, granule), SP_GROWTH_UNIT);
        unit = sp_max(granule, unit);
    } else if (kind == SP_REGION_LARGE && need < SP_EXTENT_OWN_MIN) {
        uint32_t pools = sp_load_relaxed(&pool->device->holders_in_use);
        uint64_t fair =
            pools < SP_MANY_POOLS ? UINT64_MAX : pool->device->vmm.total_memory / 4 / pools;
        unit = extent_of_pool(pool, sp_load_relaxed(&pool->reserved));
        while (unit > granule && (!sp_growth_is_due(pool, unit) || unit > fair))
            unit /= 2;
        unit = sp_round_up(unit, granule);
    }
    uint64_t bounded = sp_round_down(sp_growth_room(pool, need), granule);
    uint64_t amount = sp_max(need, sp_min(unit, bounded));
    if (!sp_vmm_provider(&pool->device->vmm)->divides && kind != SP_REGION_FIXED) {
        uint64_t step = SP_PLAIN_GRANULE; // an eighth of the power of two that is in it
        while (step * 16 <= amount)
            step *= 2;
        amount = sp_round_up(amount, step);
    }
    return amount > room ? sp_round_down(room, granule) : amount;
}

// The pages of slabs lie in small extents: a stream that frees a small block holds all of one.
// An extent of the large region has the size that befits the pool, or that of a part of the amount,
// whichever is more. It is the whole amount where that is no larger than extents are anyway, and
// where it is more than all that the pool has: the pool mostly consists of it from then on. Not so
// memory for requests to come, for they will divide it, and what is mapped beyond a small need.
uint64_t sp_growth_extent(const struct sp_pool *pool, enum sp_region_kind kind, uint64_t amount,
                          uint64_t need, bool ahead) {
    uint64_t reserved = sp_load_relaxed(&pool->reserved), granule = granule_of(pool);
    uint64_t own_max = sp_pool_is_shared(pool) ? SP_EXTENT_OWN_MAX_SHARED : SP_EXTENT_OWN_MAX;
    bool is_of_its_own = amount >= SP_EXTENT_OWN_MIN && amount <= own_max;
    uint64_t size = amount, most = SP_EXTENT_MAX;
    if (!sp_vmm_provider(&pool->device->vmm)->divides || kind == SP_REGION_FIXED)
        return amount;
    if (kind == SP_REGION_PAGES)
        return sp_max(SP_EXTENT_MIN, granule);
    if (!is_of_its_own && (amount < reserved || ahead))
        size = sp_max(extent_of_pool(pool, reserved + amount),
                      sp_round_up(amount / SP_EXTENTS_OF_REQUEST, granule));
    if (ahead)
        most = SP_EXTENT_AHEAD_MAX;
    else if (need < SP_EXTENT_OWN_MIN)
        most = sp_refine_size(need);
    return sp_min(size, sp_round_up(most, granule));
}
