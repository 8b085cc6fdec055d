#include "region/in_flight.h"

#include "region/lane.h"

// Each counts allocations that were served, and nothing else.
static const enum sp_statistic served[] = {
    SP_STATISTIC_ReuseSameStream,    SP_STATISTIC_ReuseComplete,    SP_STATISTIC_ReuseOrdered,
    SP_STATISTIC_ReuseFoundComplete, SP_STATISTIC_ReuseMadeOrdered, SP_STATISTIC_Growths,
    SP_STATISTIC_OtherRegion,        SP_STATISTIC_Remaps,
};

static struct sp_stillness count(struct sp_pool *pool) {
    struct sp_stillness stillness = {.put = sp_load_acquire(&pool->in_flight.put)};
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH_OF(const struct sp_lane, lane, link, &pool->lanes.list) {
        for (const struct sp_lane *s = lane; s; s = sp_load_acquire(&s->next_shelf)) {
            stillness.used += sp_load_relaxed(&s->used);
            stillness.served += sp_load_relaxed(&s->hits);
        }
    }
    sp_lock_release(&pool->lock);
    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++)
        stillness.served += sp_load_relaxed(&pool->statistics[served[i]]);
    return stillness;
}

// Takes of the thread itself are told apart where it has a struct of its own; else they count as
// another's, and there is one more look.
struct sp_stillness sp_in_flight_begin_look(struct sp_pool *pool) {
    struct sp_stillness begin = count(pool);
    if (sp_this_thread->number != 0) {
        sp_this_thread->watches = &pool->in_flight;
        sp_this_thread->taken = 0;
    }
    return begin;
}

// The look has taken the lock of each list since, or has seen by its hint that there is nothing in
// it: so what has left a list before counts as taken.
bool sp_in_flight_end_look(struct sp_pool *pool, const struct sp_stillness *begin) {
    bool own = sp_this_thread->watches == &pool->in_flight;
    uint64_t taken = sp_load_relaxed(&pool->in_flight.taken) - (own ? sp_this_thread->taken : 0);
    if (own)
        sp_this_thread->watches = NULL;
    struct sp_stillness end = count(pool);
    return taken == begin->put && end.used == begin->used && end.served == begin->served;
}

bool sp_in_flight_is_any(const struct sp_pool *pool) {
    uint64_t put = sp_load_acquire(&pool->in_flight.put);
    return sp_load_relaxed(&pool->in_flight.taken) != put;
}

void sp_in_flight_await(const struct sp_pool *pool, unsigned *pauses) {
    while (*pauses > 0 && sp_in_flight_is_any(pool))
        sp_lock_pause(SP_IN_FLIGHT_PAUSES - (*pauses)--);
}
