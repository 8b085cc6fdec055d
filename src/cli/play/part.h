// For the files of the player: its parts, its streams and events, and what a plan puts between the
// trace's lines.
#ifndef STREAMPOOL_CLI_PART_H
#define STREAMPOOL_CLI_PART_H

#include "cli/play/player.h"

// A part has these for itself.
struct sp_part {
    struct sp_player *player;
    const size_t *operations; // that it plays; null: all
    size_t operation_count;
    struct sp_samples mallocs; // parts of the player's arrays
    struct sp_samples frees;
    uint64_t modelled_ns;
    uint64_t work_ns;
    uint64_t errors;
    size_t first_error_operation;
    char first_error[256];
};

// In the player's pointers. Not 0, which is what a request of 0 bytes returns.
#define SP_NOT_YET    UINT64_MAX       // its allocation has not been played
#define SP_NO_POINTER (UINT64_MAX - 1) // its allocation failed, or it is freed

static inline const struct sp_trace_operation *sp_part_operation(const struct sp_part *part,
                                                                 size_t i) {
    return &part->player->play.trace->operations[i];
}

static inline const struct sp_driver *sp_player_driver(const struct sp_player *player) {
    return sp_stage_driver(player->play.stage);
}

// Counts an error of an operation. The first one is kept in words.
void sp_part_count_error(struct sp_part *part, size_t operation, const char *what,
                         const char *error);

// These count an error where the status, of the allocator's or of the driver's, is one.
void sp_part_check(struct sp_part *part, size_t operation, const char *what, int status);
void sp_part_check_driver(struct sp_part *part, size_t operation, const char *what,
                          CUresult result);

// --------------------------------------------------------------------------- the trace's lines

// Plays the operations of a part, in their order. Lines with the same event are played in the order
// of the trace, by whatever parts.
void sp_player_lines_play(struct sp_part *part);

// Frees a block at the end of a pass, untimed.
void sp_player_lines_free_left(struct sp_part *part, uint32_t block);

// ----------------------------------------------------------------------------- streams and events
//
// A stream of the trace is one of the device, of its kind. The legacy stream is the null handle.
// A per-thread stream has the driver's handle for it where the thread that plays it is its own: in
// a part for each thread always, in one part for the first thread of the trace. For other threads'
// per-thread streams one part has blocking streams, which have the same order.
//
// Each stream has an event of the player's, for order that the trace doesn't have. The trace's own
// events are created by the line that first names them.

// Creates the streams that are not there, those that the pass before has destroyed among them, and
// destroys the trace's events that it has left. False, with the stage's reason, when it can't.
bool sp_player_streams_create(struct sp_player *player);
void sp_player_streams_destroy(struct sp_player *player);

// Creates an event where there is none.
CUresult sp_player_streams_create_event(const struct sp_player *player, CUevent *event);

// True when the part can pass the stream to a call behind this operation, which it plays.
bool sp_player_streams_can_use(const struct sp_part *part, size_t operation, uint32_t stream);

// True when the thread that opened the player can pass the stream to a call between two passes.
bool sp_player_streams_is_there(const struct sp_player *player, size_t stream);

// Between two passes. The first waits for all work by the driver's own calls, the second by the
// allocator's. False, with the stage's reason, when that fails.
bool sp_player_streams_finish(const struct sp_player *player);
bool sp_player_streams_synchronize(const struct sp_player *player);

// ---------------------------------------------------------------------------------- what is due
//
// For the files of the player: what a part does beside the trace's lines, by the play's plan.
//
// Work is put behind the blocks, and order between the streams. In a trace that has the order its
// program made, the pool learns of no other but the plan's own events and synchronises: the pieces
// of work, which are no part of that order, are ordered by the driver's own calls.

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

// ------------------------------------------------------------------------------------- the figures
//
// They are taken for a plot, between the calls that are timed. The pool is looked at by what moves
// nothing in it, and neither the device nor its clock is asked, so a replay that is drawn does what
// it would have done. Each of these does nothing where nobody asked for a plot.
void sp_sample_begin_pass(const struct sp_player *player, unsigned pass);
void sp_sample_take(struct sp_player *player, size_t operation);
void sp_sample_end_pass(const struct sp_player *player, const struct sp_result *result);

#endif
