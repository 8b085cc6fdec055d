// Calendars: free blocks of one stream by the number of their fence, so that those which complete
// are found with no look at the others.
//
// A calendar goes by the number up to which all is over, `now`, which rises. Each block stands
// under a *day*: today those that are to be looked at, and under day i those whose number differs
// from `now` in bit i-1 and no higher one. When `now` rises, and bit i-1 is the highest of it that
// changes, the blocks under the days up to i are the only ones that can be over, and all of them go
// to today in a few stores. Of today's a few at a time are looked at: each is over, or is put under
// a day that is nearer than its last. So a block is looked at as often as its number has bits, at
// most, however often `now` rises.
//
//   a block's number may have risen since it was put in; so it is over no sooner than on its day,
//   and maybe later numbers from the last day on are not told apart
//
// The link stands in the block's fence set, which has one fence alone. Guarded by the lock of the
// pool that owns the blocks.
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

// All up to a number is over, and no more than that: it may be less than before.
void sp_calendar_turn(struct sp_calendar *calendar, uint64_t now);

// One of today's blocks that is over, or null when none is; looks at `*looks` of them at most and
// lowers that by each.
struct sp_block *sp_calendar_next_over(struct sp_calendar *calendar, unsigned *looks);

// No block of the calendar has a lower number than this. It is exact to the day.
uint64_t sp_calendar_earliest(const struct sp_calendar *calendar);

// Some of today's have not been looked at.
static inline bool sp_calendar_is_behind(const struct sp_calendar *calendar) {
    return !sp_list_empty(&calendar->days[SP_TODAY]);
}

// Every block stands under a day that is not after its number. How many there are, or SIZE_MAX when
// one does not.
size_t sp_calendar_check(const struct sp_calendar *calendar);

#endif
