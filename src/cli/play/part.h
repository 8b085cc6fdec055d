// For the files of the player: its parts, and its streams and events.
#ifndef STREAMPOOL_CLI_PART_H
#define STREAMPOOL_CLI_PART_H

#include "cli/play/player.h"

// A part has these for itself.
struct sp_part {
    struct sp_player *player;
    const size_t *operations; // that it plays; null: all
    size_t operation_count;
    size_t at; // the operation that it plays, or has played last
    uint64_t modelled_ns;
    uint64_t work_ns;
    uint64_t errors;
    size_t first_error_operation;
    char first_error[256];
};

// In the player's pointers. Not 0, which is what a request of 0 bytes returns.
#define SP_NOT_YET    UINT64_MAX       // its allocation has not been played
#define SP_NO_POINTER (UINT64_MAX - 1) // its allocation failed, or it is freed

static inline const struct sp_trace_operation *sp_part_line(const struct sp_part *part) {
    return &part->player->play.trace->operations[part->at];
}

// The stage of memory of a place, or null where the allocator has none.
static inline struct sp_stage *sp_player_stage(const struct sp_player *player, unsigned place) {
    struct sp_stage *stage = &player->play.stage[place];
    return place == SP_TRACE_AT_DEVICE || stage->pool ? stage : NULL;
}

static inline const struct sp_driver *sp_player_driver(const struct sp_player *player) {
    return sp_stage_driver(player->play.stage);
}

static inline int sp_player_order(const struct sp_player *player, enum sp_trace_action action,
                                  CUstream stream, CUevent event) {
    return player->play.allocator->order(player->play.stage, action, stream, event);
}

// Plays the operations of a part, in their order, with what the plan has beside them. Lines with
// the same event are played in the order of the trace, by whatever parts.
void sp_part_play(struct sp_part *part);

// Counts an error of the part's operation where the status is one. The first is kept in words.
void sp_part_check_driver(struct sp_part *part, const char *what, CUresult result);

// Makes the allocator's free: on a stream, by its index, or with SP_TRACE_NO_STREAM in no stream's
// order. The second one is for a block that is alive, untimed.
int sp_player_free(const struct sp_player *player, uint64_t pointer, uint64_t size,
                   uint32_t stream);
void sp_part_free(struct sp_part *part, uint32_t block, uint32_t stream);

// Creates an event where there is none.
CUresult sp_player_create_event(const struct sp_player *player, CUevent *event);

// True when the thread of the trace, as it is played, can pass the stream to a call.
static inline bool sp_player_is_of(const struct sp_player *player, uint32_t stream,
                                   uint32_t thread) {
    const struct sp_trace_stream *named = &player->play.trace->streams[stream];
    return named->kind != SP_TRACE_PER_THREAD || player->part_count == 1 || named->thread == thread;
}

#endif
