// The check of calendars.
#ifndef STREAMPOOL_TESTS_INSIDE_CALENDAR_H
#define STREAMPOOL_TESTS_INSIDE_CALENDAR_H

#include "heap/tier.h"

// Returns how many blocks there are, or SIZE_MAX when one stands under a day that is after its
// number, or is in no tier that has this calendar.
size_t inside_calendar_check(const struct sp_calendar *calendar);

#endif
