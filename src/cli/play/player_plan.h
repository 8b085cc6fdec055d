// For the files of the player: what a part does beside the trace's lines, by the play's plan.
//
// Work is put behind the blocks, and order between the streams. In a trace that has the order its
// program made, the pool learns of no other but the plan's own events and synchronises: the pieces
// of work, which are no part of that order, are ordered by the driver's own calls.
#ifndef STREAMPOOL_CLI_PLAYER_PLAN_H
#define STREAMPOOL_CLI_PLAYER_PLAN_H

#include "cli/play/part.h"

// Waits until it is time for the operation.
void sp_player_plan_keep_pace(const struct sp_player *player, size_t i);

// Puts work behind the allocation that the operation has made.
void sp_player_plan_launch(struct sp_part *part, size_t i, uint64_t pointer);

// These come before a free. The first makes the stream of a foreign free take the block over: it
// runs after the stream of the allocation, and has its own use for the block. The second waits on
// the host for the work of a block that is freed in no stream's order: a program that does so
// vouches that its work is done.
void sp_player_plan_take_over(struct sp_part *part, size_t i, uint64_t pointer);
void sp_player_plan_finish_use(struct sp_part *part, size_t i);

// Makes the events and synchronises that are due behind the operation.
void sp_player_plan_play(struct sp_part *part, size_t i);

#endif
