// The recorder writes the program's calls as a trace: what `streampool replay` reads, in the format
// of docs/replay.md.
//
// A line is held back until 64 KiB are together, an allocation fails, or the recorder ends. A file
// that takes no more ends it early. One lock guards all; lines of several threads don't mix.
#ifndef STREAMPOOL_OBSERVE_RECORDER_H
#define STREAMPOOL_OBSERVE_RECORDER_H

#include "base/atomic.h"
#include "process/observe_table.h"

// Opens the file, and writes the header. Without a file the functions below do nothing.
void sp_recorder_begin(const char *name);

// Ends the trace. False, and some lines are missing, when the recorder's lock isn't had in a
// second.
bool sp_recorder_end(void);

// True while lines are written.
extern _Atomic bool sp_recorder_on;
static inline bool sp_recorder_is_on(void) {
    return sp_load_relaxed(&sp_recorder_on);
}

// Returns the number that traces have for a stream: the driver's own id, or, where the driver has
// none, a number that is given to no two streams. The first use writes which kind of stream it is.
uint64_t sp_recorder_number(const struct sp_observe_stream *stream);

// Writes that the stream with this slot and this number was destroyed: whatever has the slot next
// gets a number of its own.
void sp_recorder_end_stream(uint32_t slot, uint64_t number);

// Writes a line of the calling thread. `place` is that of observe_table.h.
void sp_recorder_write(enum sp_observe_action action, const char *place, uint64_t pointer,
                       uint64_t size, uint64_t stream);

#endif
