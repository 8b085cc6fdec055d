#include "region/open.h"

#include "order/borrow.h"
#include "region/device.h"

bool sp_open_is_promised(const struct sp_pool *pool) {
    enum { OPEN = poolPromiseStreamDestroy | poolPromiseNeverCapture };
    return (sp_pool_promises(pool) & OPEN) == OPEN;
}

bool sp_open_is_possible(const struct sp_pool *pool) {
    return sp_open_is_promised(pool) || sp_borrow_is_allowed();
}

// A pool that goes by synchronises alone learns of no other thing.
bool sp_open_may_borrow(const struct sp_pool *pool, const struct sp_stream *stream) {
    bool is_known = !stream->is_default && sp_load_relaxed(&stream->known_as) != 0;
    return (sp_open_is_promised(pool) || (is_known && sp_borrow_is_allowed())) &&
           sp_borrow_is_possible(stream) && !sp_pool_is_deterministic(pool);
}

// Where nothing is promised, a lane is open as long as no other stream has used the pool. Among
// several, an event behind the free itself lets others have the memory sooner, and to record on
// another's stream blocks the caller while that stream's queue is full.
bool sp_open_may_be(const struct sp_pool *pool, const struct sp_stream *stream) {
    return sp_open_may_borrow(pool, stream) &&
           (sp_open_is_promised(pool) || sp_load_relaxed(&pool->lanes.count) <= 1);
}
