#include "cli/play/part.h"

// A pool is looked through as often as this in a pass at most, for that takes as long as it has
// free blocks. Its columns are fewer.
enum { LOOKS_MAX = 4000 };

static bool is_looked_through(const struct sp_trace *trace, size_t operation) {
    return operation % (1 + trace->operation_count / LOOKS_MAX) == 0 ||
           operation == trace->live_peak_operation;
}

void sp_sample_begin_pass(const struct sp_player *player, unsigned pass) {
    if (player->play.series)
        sp_series_begin_pass(player->play.series, pass);
}

void sp_sample_take(struct sp_player *player, size_t operation) {
    const struct sp_play *play = &player->play;
    struct sp_figures figures = {0};
    if (!play->series)
        return;
    sp_figures_note(&figures, SP_FIGURE_LIVE, player->live_bytes, player->live_peak_bytes);
    play->allocator->look(play->stage, &figures);
    if (play->allocator->look_through && is_looked_through(play->trace, operation))
        play->allocator->look_through(play->stage, &figures);
    sp_series_add(play->series, operation, &figures);
}

// An allocator that tells nothing is known by its peak, which is that of when most was alive.
void sp_sample_end_pass(const struct sp_player *player, const struct sp_result *result) {
    const struct sp_play *play = &player->play;
    const struct sp_trace *trace = play->trace;
    if (play->series && trace->operation_count > 0 &&
        !play->series->lines[SP_FIGURE_RESERVED].is_whole)
        sp_series_add_peak(play->series, SP_FIGURE_RESERVED, result->reserved_peak_bytes);
}
