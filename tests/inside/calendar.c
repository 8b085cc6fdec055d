#include "inside/calendar.h"

#include "base/number.h"
#include "heap/tier.h"

// Returns the latest day that a block with a number may stand under.
static unsigned last_day_of(uint64_t number, uint64_t now) {
    if (number <= now)
        return SP_BUCKET_OVER;
    return (unsigned)sp_min(sp_log2_floor(number ^ now) + 1, SP_CALENDAR_BUCKETS - 1);
}

static bool check_block(const struct sp_calendar *calendar, const struct sp_block *block,
                        unsigned day) {
    const struct sp_list *link = &block->fences.link;
    return block->tier && block->tier->calendar == calendar && link->next->prev == link &&
           (day == SP_BUCKET_OVER || day <= last_day_of(sp_calendar_number(block), calendar->now));
}

size_t inside_calendar_check(const struct sp_calendar *calendar) {
    size_t count = 0;
    for (unsigned day = 0; day < SP_CALENDAR_BUCKETS; day++) {
        SP_LIST_FOR_EACH(link, &calendar->buckets[day]) {
            if (!check_block(calendar, SP_CONTAINER_OF(link, struct sp_block, fences.link), day))
                return SIZE_MAX;
            count++;
        }
    }
    return count;
}
