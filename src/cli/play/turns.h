// Turns: traces that are played one after the other on one stage, each by a player of its own.
//
// A pass has a turn for each trace, in their order. The players are open from before the first pass
// until after the last one, so the streams of all traces are there all the time, as those of a
// server are. A block that is held is held by the first player.
//
// The next turn finds in the pool all that a trace leaves there. So a turn's reserved peak is
// divided by more than its own live peak: by that of the *round* that ends with it, which has one
// turn of each trace:
//
//   pass 1:  A B C     the round of B is A B
//   pass 2:  A B C     the round of B is C A B: its own turn, and all behind its last one
#ifndef STREAMPOOL_CLI_TURNS_H
#define STREAMPOOL_CLI_TURNS_H

#include "cli/play/player.h"
#include "cli/trace/trace.h"

struct sp_turns {
    struct sp_player *players;
    size_t count; // of the players, which are open
    size_t trace; // whose turn it is
};

// Opens a player for each of the traces, which are at least one. The play has what they have in
// common: all but the trace. False, with the stage's reason; then there is nothing to close.
bool sp_turns_open(struct sp_turns *turns, const struct sp_play *play,
                   const struct sp_traces *traces);
void sp_turns_close(struct sp_turns *turns);

// Plays each trace once, and fills in a result for each. False, with the stage's reason, when the
// device can't be used any more.
bool sp_turns_run(struct sp_turns *turns, unsigned pass, struct sp_result *results);

// Makes the peaks of a pass's results those of their rounds, and numbers the turns. The results of
// the passes before stand right before them.
void sp_turns_round(const struct sp_turns *turns, unsigned pass, struct sp_result *results);

#endif
