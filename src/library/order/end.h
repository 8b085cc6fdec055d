// The end of a stream: when its slot can be given to another, and what goes with its context.
//
// A slot is used again when nothing of its stream is pending: neither what it freed nor what it was
// given while that was pending, for the memory that came of it lies about in the stream's lanes. A
// context that ends has completed its work and takes the events along, so its streams are complete,
// and their slots can be used in other contexts.
#ifndef STREAMPOOL_ORDER_END_H
#define STREAMPOOL_ORDER_END_H

#include "order/progress.h"

// Marks what the stream freed, and destroys it. `stream` is the one behind the handle, or null when
// that is capturing.
CUresult sp_end_stream(struct sp_stream *stream, CUstream handle);

// The stream was given memory with these fences.
void sp_slot_note_acquired(struct sp_stream *stream, const struct sp_fence_set *fences);

// Nothing of the stream is pending; of a strict one, as far as synchronises have shown.
bool sp_slot_is_spent(struct sp_stream *stream);

// Forgets marks and clock of a slot that is to be used again. With the registry's lock held.
void sp_slot_forget(struct sp_stream *stream);

// The stream's context was destroyed: its work has completed, its events are gone. With the
// registry's lock held.
void sp_slot_end(struct sp_stream *stream);

// The slot is given to a stream of another context than before. With the registry's lock held.
void sp_slot_begin(struct sp_stream *stream);

// For tests: destroys the stream's events.
void sp_stream_destroy_events(struct sp_stream *stream);

#endif
