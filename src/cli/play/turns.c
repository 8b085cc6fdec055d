#include "cli/play/turns.h"

#include <stdlib.h>

bool sp_turns_open(struct sp_turns *turns, const struct sp_play *play,
                   const struct sp_traces *traces) {
    *turns = (struct sp_turns){.players = calloc(traces->count, sizeof *turns->players)};
    if (!turns->players)
        return sp_stage_fail(play->stage, "out of host memory");
    for (; turns->count < traces->count; turns->count++) {
        struct sp_play own = *play;
        turns->trace = turns->count;
        own.trace = &traces->list[turns->count];
        own.held_by_other = turns->count > 0;
        if (sp_player_open(&turns->players[turns->count], &own))
            continue;
        sp_turns_close(turns);
        return false;
    }
    return true;
}

void sp_turns_close(struct sp_turns *turns) {
    for (; turns->count > 0; turns->count--)
        sp_player_close(&turns->players[turns->count - 1]);
    free(turns->players);
    turns->players = NULL;
}

bool sp_turns_run(struct sp_turns *turns, unsigned pass, struct sp_result *results) {
    for (size_t i = 0; i < turns->count; i++) {
        struct sp_player *player = &turns->players[i];
        turns->trace = i;
        sp_progress_next(player->play.progress, player->play.trace->name);
        if (!sp_player_run(player, pass, &results[i]))
            return false;
    }
    return true;
}

static void raise(uint64_t *peak, uint64_t bytes) {
    if (*peak < bytes)
        *peak = bytes;
}

void sp_turns_round(const struct sp_turns *turns, unsigned pass, struct sp_result *results) {
    for (size_t i = 0; i < turns->count; i++) {
        struct sp_result *result = &results[i];
        size_t others = pass > 1 ? turns->count - 1 : i; // turns before it in its round
        result->turn = (unsigned)i + 1;
        result->turn_live_peak_bytes = result->live_peak_bytes;
        result->turn_reserved_peak_bytes = result->reserved_peak_bytes;
        for (const struct sp_result *other = result - others; other < result; other++) {
            raise(&result->live_peak_bytes, other->turn_live_peak_bytes);
            raise(&result->reserved_peak_bytes, other->turn_reserved_peak_bytes);
        }
    }
}
