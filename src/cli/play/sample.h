// For the files of the player: takes the figures of a replay for a plot, between the calls that are
// timed. The pool is looked at by what moves nothing in it, and neither the device nor its clock is
// asked, so a replay that is drawn does what it would have done.
#ifndef STREAMPOOL_CLI_SAMPLE_H
#define STREAMPOOL_CLI_SAMPLE_H

#include "cli/play/part.h"

// Each of them does nothing where nobody asked for a plot.
void sp_sample_begin_pass(const struct sp_player *player, unsigned pass);
void sp_sample_take(struct sp_player *player, size_t operation);
void sp_sample_end_pass(const struct sp_player *player, const struct sp_result *result);

#endif
