#include "tell/explain.h"

#include "base/cancel.h"
#include "base/log.h"
#include "base/options.h"
#include "tell/growth_text.h"
#include "tell/watch.h"

// The pool whose growth the thread is telling.
static _Thread_local struct sp_pool *telling;

static enum poolGrowthKind kind_of(enum sp_region_kind kind) {
    static const enum poolGrowthKind kinds[SP_REGION_COUNT] = {
        [SP_REGION_LARGE] = poolGrowthLarge,
        [SP_REGION_PAGES] = poolGrowthPages,
        [SP_REGION_FIXED] = poolGrowthFixed,
    };
    return kinds[kind];
}

// Where there are very many lanes, a request looks at some of them before it grows.
static bool is_cut_short(const struct sp_request *request) {
    return request->cut_short || request->left_some ||
           (sp_pool_has_very_many_lanes(request->pool) && !request->thorough);
}

void sp_explain_complete(const struct sp_request *request, bool asked_driver) {
    struct poolMemPoolGrowth *growth = request->watched;
    growth->structSize = sizeof *growth;
    growth->pool = sp_load_relaxed(&request->pool->handle);
    growth->stream = sp_stream_handle_now(request->lane->stream);
    growth->kind = kind_of(request->kind);
    growth->wanted = request->size;
    growth->askedDriver = asked_driver;
    growth->mayWait = sp_request_allows(request, poolMemPoolReuseAllowInternalDependencies);
    growth->cutShort = is_cut_short(request);
    growth->afterTrim = !sp_is_done(request->growth);
    growth->afterWaits = request->bound == SP_BOUND_PASSED;
    if (request->kind != SP_REGION_LARGE)
        growth->remap = poolGrowthRemapWrongKind;
}

static void log_growth(const struct poolMemPoolGrowth *growth) {
    struct sp_text text = {.length = 0};
    sp_growth_text(&text, growth);
    sp_log_write("%s", text.buffer);
}

static void call_observer(struct sp_pool *pool, const struct poolMemPoolGrowth *growth) {
    SP_UNCANCELLED;
    telling = pool;
    sp_lock_acquire(&pool->watch.telling);
    if (pool->watch.observer)
        pool->watch.observer(growth, pool->watch.user);
    sp_lock_release(&pool->watch.telling);
    telling = NULL;
}

void sp_explain_growth(struct sp_pool *pool, const struct poolMemPoolGrowth *growth) {
    if (telling)
        return;
    if (sp_options()->explain_growth)
        log_growth(growth);
    call_observer(pool, growth);
}

bool sp_explain_set(struct sp_pool *pool, poolMemPoolGrowthObserver observer, void *user) {
    if (telling && telling != pool)
        return false;
    if (!telling)
        sp_lock_acquire(&pool->watch.telling);
    sp_watch_set_locked(pool, observer, user);
    if (!telling)
        sp_lock_release(&pool->watch.telling);
    return true;
}
