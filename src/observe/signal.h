// A signal that asks for the summary: SIGUSR1, where STREAMPOOL_STATS_SIGNAL has it so.
//
// Its handler only wakes a thread, which writes. Signals that come while it writes have it write
// once more. A handler that the program had before stays, and then no signal asks; one that the
// program sets later takes the place of ours. A forked child has no such thread: there the signal
// does nothing.
#ifndef STREAMPOOL_OBSERVE_SIGNAL_H
#define STREAMPOOL_OBSERVE_SIGNAL_H

#include <stdbool.h>

// Begins to listen. Where that can't be done, a line in the log says why.
void sp_signal_begin(void);

// Ends it, and waits a second at most for what is being written. False when that takes longer.
bool sp_signal_end(void);

#endif
