// For the files of the player: its streams and events.
//
// A stream of the trace is one of the device, of its kind. The legacy stream is the null handle.
// A per-thread stream has the driver's handle for it where the thread that plays it is its own: in
// a part for each thread always, in one part for the first thread of the trace. For other threads'
// per-thread streams one part has blocking streams, which have the same order.
//
// Each stream has an event of the player's, for order that the trace doesn't have. The trace's own
// events are created by the line that first names them.
#ifndef STREAMPOOL_CLI_PLAYER_STREAMS_H
#define STREAMPOOL_CLI_PLAYER_STREAMS_H

#include "cli/play/part.h"

// Makes the arrays. False without host memory; they are released either way.
bool sp_player_streams_open(struct sp_player *player);
void sp_player_streams_release(struct sp_player *player);

// Creates the streams that are not there, those that the pass before has destroyed among them, and
// destroys the trace's events that it has left. False, with the stage's reason, when it can't.
bool sp_player_streams_create(struct sp_player *player);
void sp_player_streams_destroy(struct sp_player *player);

// Plays the line that destroys a stream.
void sp_player_streams_end(struct sp_part *part, size_t operation);

// True when the part can pass the stream to a call behind this operation, which it plays.
bool sp_player_streams_can_use(const struct sp_part *part, size_t operation, uint32_t stream);

// True when the thread that opened the player can pass the stream to a call between two passes.
bool sp_player_streams_is_there(const struct sp_player *player, size_t stream);

// Between two passes. The first waits for all work by the driver's own calls, the second by the
// allocator's. False, with the stage's reason, when that fails.
bool sp_player_streams_finish(const struct sp_player *player);
bool sp_player_streams_synchronize(const struct sp_player *player);

#endif
