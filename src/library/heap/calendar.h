// Calendars: free blocks of one stream by the number of their fence, so that those which complete
// are found with no look at the others.
//
// A calendar has a number `now`, which rises: all fences up to it are over. Each block stands under
// a *day*. Under today stand the blocks that are to be looked at. Under day i stand those whose
// number differs from `now` in bit i-1 and in no higher one. When `now` rises, and i-1 is the
// highest bit that changes, only blocks under the days up to i can be over. All of them go to today
// in a few stores. Blocks of today are looked at a few at a time: each is over, or is put under an
// earlier day than its last one. So a block is looked at at most as often as its number has bits,
// however often `now` rises.
//
//   a block's number may rise while it is in the calendar; so it is over no sooner than on its day
//   numbers from the last day on are not told apart
//
// The link stands in the block's fence set, which has exactly one fence. The lock of the pool that
// owns the blocks guards the calendar.
#ifndef STREAMPOOL_HEAP_CALENDAR_H
#define STREAMPOOL_HEAP_CALENDAR_H

#include "heap/block.h"

enum { SP_CALENDAR_DAYS = 32, SP_TODAY = 0 };

struct sp_calendar {
    uint64_t now;
    struct sp_list days[SP_CALENDAR_DAYS];
};

void sp_calendar_init(struct sp_calendar *calendar);

static inline uint64_t sp_calendar_number(const struct sp_block *block) {
    return block->fences.alone.sequence;
}

void sp_calendar_add(struct sp_calendar *calendar, struct sp_block *block);

static inline void sp_calendar_remove(struct sp_block *block) {
    sp_list_remove(&block->fences.link);
}

// Sets the number up to which all is over. It may be less than before.
void sp_calendar_turn(struct sp_calendar *calendar, uint64_t now);

// Returns one of today's blocks that is over, or null when none is. It looks at no more than
// `*looks` blocks and lowers the number by each.
struct sp_block *sp_calendar_next_over(struct sp_calendar *calendar, unsigned *looks);

// Returns a number that no block of the calendar falls below. It is exact to the day.
uint64_t sp_calendar_earliest(const struct sp_calendar *calendar);

// Some of today's blocks have not been looked at.
static inline bool sp_calendar_is_behind(const struct sp_calendar *calendar) {
    return !sp_list_empty(&calendar->days[SP_TODAY]);
}

#endif
