// Slots: what a stream's slot holds for the stream, and when it can be given to another one.
//
// A slot is used again when nothing of its stream is pending: neither what it freed nor what it was
// given while that was pending, for the memory that came of it lies about in the stream's lanes. A
// context that ends has completed its work and takes the events along, so its streams are complete,
// and their slots can be used in other contexts.
//
// A slot keeps its sort: created, legacy, or a thread's own default stream. Pools leave more to
// lanes whose streams can be borrowed, and threads cache default streams by handles that all of
// them share.
//
// The marks of a slot's stream are none of this file's business: see order/mark.h.
#ifndef STREAMPOOL_ORDER_SLOT_H
#define STREAMPOOL_ORDER_SLOT_H

#include "order/progress.h"

// -------------------------------------------------------------------------------- acquired fences

// Says that the stream was given memory with these fences. The second is called with the stream's
// lock held.
void sp_slot_note_acquired(struct sp_stream *stream, const struct sp_fence_set *fences);
void sp_slot_note_acquired_locked(struct sp_stream *stream, const struct sp_fence_set *fences);

// True when nothing of the stream is pending; of a strict one, as far as synchronises have shown.
bool sp_slot_is_spent(struct sp_stream *stream);

// -------------------------------------------------------------------------------- a slot's streams

// A description says what a slot's new stream is.
struct sp_slot_description {
    struct sp_stream_name name;
    CUstream handle;
    CUcontext context;
    uint64_t context_id;
    int device;
    enum sp_stream_kind kind;
    bool identified;
    bool acts; // see order/action.h
};

enum sp_slot_sort { SP_SLOT_CREATED, SP_SLOT_LEGACY, SP_SLOT_PER_THREAD, SP_SLOT_SORTS };

enum sp_slot_sort sp_slot_sort_of_handle(CUstream handle);

// The handle of a slot's stream changes, its sort doesn't.
enum sp_slot_sort sp_slot_sort_of(const struct sp_stream *stream);

// All that follows is called with the registry's lock held.

// Returns a slot that no stream ever had, or null without host memory, or when the table is full.
// It is counted once it has been described.
struct sp_stream *sp_slot_make(const struct sp_slot_description *fresh);

// Gives the slot to a stream, which doesn't run after what the last one ran after.
void sp_slot_describe(struct sp_stream *stream, const struct sp_slot_description *fresh);

// Says that the stream's context was destroyed: its work has completed, and its events are gone.
void sp_slot_end(struct sp_stream *stream);

// ------------------------------------------------------------------------- slots to be used again

// The slots of streams that are gone, by links.unused. Those that were looked at longest ago come
// first.
struct sp_slot_list {
    struct sp_list slots;
    struct sp_list mute; // of which something is pending, and no event can tell of it
};

void sp_slot_list_init(struct sp_slot_list lists[SP_SLOT_SORTS]);

// Takes one of the first slots of which nothing is pending, or none. The others that it looks at go
// behind all that are there.
struct sp_stream *sp_slot_list_take(struct sp_slot_list *list);

#endif
