// Turns, for a process that records a trace. A thread waits a second at most for its turn: the one
// before it may wait for the device, and the device for this one. An allocation calls an observer
// of growths in its turn; the calls that the observer makes are part of that turn, and their lines
// come before the allocation's.
#ifndef STREAMPOOL_OBSERVE_TURN_H
#define STREAMPOOL_OBSERVE_TURN_H

#include <stdbool.h>

// Returns true when the caller got its turn, which it then gives back; false also when its thread
// has the turn already.
bool sp_turn_take(void);
void sp_turn_give(void);

#endif
