// For the files of the player: lines of the trace that neither allocate nor free.
#ifndef STREAMPOOL_CLI_PLAYER_LINES_H
#define STREAMPOOL_CLI_PLAYER_LINES_H

#include "cli/play/part.h"

// Plays line i. Lines with the same event are played in the order of the trace, by whatever
// parts.
void sp_player_lines_play(struct sp_part *part, size_t i);

#endif
