// Tells if `streampool run` wants a report of this process. Where it doesn't, nothing is counted,
// and each place that would count costs one branch.
//
// A look-up may come before any initialiser of this library has run. So the first question reads
// the environment, from which nothing is kept.
#ifndef STREAMPOOL_DROPIN_WANTED_H
#define STREAMPOOL_DROPIN_WANTED_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stddef.h>

enum sp_wanted { SP_WANTED_UNKNOWN, SP_WANTED_NO, SP_WANTED_YES };

extern _Atomic int sp_wanted_state;
bool sp_wanted_ask(void);

static inline bool sp_wanted_is(void) {
    return __builtin_expect(sp_load_relaxed(&sp_wanted_state) != SP_WANTED_NO, 0) &&
           sp_wanted_ask();
}

// Appends a line to the file of reports, with one write. Nothing happens, and nobody hears of it,
// where that fails: the program has nothing to do with it.
void sp_wanted_write(const char *line, size_t length);

#endif
