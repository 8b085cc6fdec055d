#include "base/number.h"
#include "heap/tier.h"

static struct sp_block *block_of(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sp_block, fences.link);
}

// Returns by how many days a number is away: the highest bit in which it differs from `now`.
static unsigned days_between(uint64_t number, uint64_t now) {
    unsigned days = number == now ? 0 : sp_log2_floor(number ^ now) + 1;
    return (unsigned)sp_min(days, SP_CALENDAR_DAYS - 1);
}

static unsigned day_of(const struct sp_calendar *calendar, uint64_t number) {
    return number <= calendar->now ? SP_TODAY : days_between(number, calendar->now);
}

void sp_calendar_init(struct sp_calendar *calendar) {
    calendar->now = 0;
    for (unsigned day = 0; day < SP_CALENDAR_DAYS; day++)
        sp_list_init(&calendar->days[day]);
}

void sp_calendar_add(struct sp_calendar *calendar, struct sp_block *block) {
    sp_list_push_back(&calendar->days[day_of(calendar, sp_calendar_number(block))],
                      &block->fences.link);
}

// The numbers under the days behind `last` are larger than both, and differ from the new one in the
// same highest bit as from the old one. So their blocks stay.
void sp_calendar_turn(struct sp_calendar *calendar, uint64_t now) {
    unsigned last = now > calendar->now ? days_between(now, calendar->now) : SP_CALENDAR_DAYS - 1;
    if (now == calendar->now)
        return;
    calendar->now = now;
    for (unsigned day = 1; day <= last; day++)
        sp_list_append_all(&calendar->days[SP_TODAY], &calendar->days[day]);
}

struct sp_block *sp_calendar_next_over(struct sp_calendar *calendar, unsigned *looks) {
    struct sp_list *link;
    while (*looks > 0 && (link = sp_list_first(&calendar->days[SP_TODAY]))) {
        struct sp_block *block = block_of(link);
        (*looks)--;
        if (sp_calendar_number(block) <= calendar->now)
            return block;
        sp_list_remove(link);
        sp_calendar_add(calendar, block);
    }
    return NULL;
}

// The numbers under a day are larger than `now`, and its bit is the highest in which they differ.
uint64_t sp_calendar_earliest(const struct sp_calendar *calendar) {
    unsigned day = SP_TODAY;
    while (day < SP_CALENDAR_DAYS && sp_list_empty(&calendar->days[day]))
        day++;
    if (day == SP_TODAY)
        return 0;
    return day < SP_CALENDAR_DAYS ? (calendar->now >> (day - 1) | 1) << (day - 1) : UINT64_MAX;
}
