#include "order/progress.h"

#include "base/mutant.h"

#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------------ the numbers

static _Atomic uint64_t news;

uint64_t sp_streams_news(void) {
    return atomic_load_explicit(&news, memory_order_acquire);
}

static uint64_t close_sequence(struct sp_stream *stream) {
    return atomic_fetch_add_explicit(&stream->sequence, 1, memory_order_acq_rel);
}

static void raise_to(_Atomic uint64_t *number, uint64_t sequence) {
    uint64_t known = atomic_load_explicit(number, memory_order_relaxed);
    while (known < sequence && !atomic_compare_exchange_weak_explicit(
                                   number, &known, sequence, memory_order_release, memory_order_relaxed))
        ;
}

// Two ways to learn of completion: a synchronise, and a question that might have been answered otherwise.
enum knowledge { SYNCHRONIZED, FOUND };

static void publish(struct sp_stream *stream, uint64_t sequence, enum knowledge how) {
    _Atomic uint64_t *slowest = how == SYNCHRONIZED ? &stream->synchronized : &stream->completed;
    if (sequence <= atomic_load_explicit(slowest, memory_order_relaxed))
        return;
    raise_to(&stream->completed, sequence);
    if (how == SYNCHRONIZED)
        raise_to(&stream->synchronized, sequence);
    atomic_fetch_add_explicit(&news, 1, memory_order_release);
}

static void publish_clock(const struct sp_clock *clock, enum knowledge how) {
    for (uint32_t i = 0; i < clock->count; i++)
        publish(sp_stream_at(clock->entries[i].slot), clock->entries[i].sequence, how);
}

bool sp_fence_is_complete(struct sp_fence fence) {
    const struct sp_stream *stream = sp_stream_at(fence.slot);
    return fence.sequence <=
           SP_MUTATED(PrunedByRecorded, sp_stream_covered(stream), sp_stream_completed(stream));
}

bool sp_fence_is_synchronized(struct sp_fence fence) {
    return fence.sequence <=
           atomic_load_explicit(&sp_stream_at(fence.slot)->synchronized, memory_order_acquire);
}

static CUstreamCaptureMode enter_relaxed_mode(void) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static void leave_relaxed_mode(CUstreamCaptureMode mode) {
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
}

static CUresult record(CUevent event, CUstream handle) {
    return sp_native_noted(sp_driver->cuEventRecord(event, handle), "cuEventRecord");
}

static CUresult wait(CUstream handle, CUevent event) {
    return sp_native_noted(sp_driver->cuStreamWaitEvent(handle, event, 0), "cuStreamWaitEvent");
}

// An event belongs to the stream's context, which need not be the current one.
static CUresult create_event(const struct sp_stream *stream, CUevent *event) {
    CUcontext popped;
    CUresult error = sp_native_noted(sp_driver->cuCtxPushCurrent(stream->context), "cuCtxPushCurrent");
    if (error != CUDA_SUCCESS)
        return error;
    error = sp_native_noted(sp_driver->cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    sp_driver->cuCtxPopCurrent(&popped);
    return error;
}

// -------------------------------------------------------------------------------------- marks and their
// lives

void sp_mark_keep(struct sp_mark *mark) {
    atomic_fetch_add_explicit(&mark->references, 1, memory_order_relaxed);
}

// The last reference gives the mark back to its stream, event and all: whether the event could be destroyed
// now, in a context that may be gone, is not known here. Of a stream that ended with its context the event
// is gone.
void sp_mark_release(struct sp_mark *mark) {
    if (!mark || atomic_fetch_sub_explicit(&mark->references, 1, memory_order_acq_rel) != 1)
        return;
    struct sp_stream *stream = mark->stream;
    sp_clock_clear(&mark->clock);
    sp_lock_acquire(&stream->lock);
    bool ended = stream->ended;
    if (!ended) {
        mark->next_spare = stream->spare_marks;
        stream->spare_marks = mark;
    }
    sp_lock_release(&stream->lock);
    if (ended)
        free(mark);
}

static struct sp_mark *take_spare(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    struct sp_mark *mark = stream->spare_marks;
    if (mark)
        stream->spare_marks = mark->next_spare;
    sp_lock_release(&stream->lock);
    return mark;
}

static CUresult new_mark(struct sp_stream *stream, struct sp_mark **made) {
    struct sp_mark *mark = take_spare(stream);
    if (!mark) {
        mark = calloc(1, sizeof *mark);
        if (!mark)
            return CUDA_ERROR_OUT_OF_MEMORY;
        mark->stream = stream;
        CUresult error = create_event(stream, &mark->event);
        if (error != CUDA_SUCCESS) {
            free(mark);
            return error;
        }
    }
    atomic_store_explicit(&mark->references, 1, memory_order_relaxed);
    *made = mark;
    return CUDA_SUCCESS;
}

static struct sp_mark *newest_locked(const struct sp_stream *stream) {
    struct sp_mark *newest = NULL;
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        struct sp_mark *mark = stream->marks[i];
        if (mark && (!newest || mark->sequence > newest->sequence))
            newest = mark;
    }
    return newest;
}

// The newest mark if nothing was freed and nothing joined since; counted for the caller.
static struct sp_mark *still_current(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    struct sp_mark *mark = newest_locked(stream);
    uint64_t freed = atomic_load(&stream->freed);
    if (mark && (mark->sequence < freed || mark->clock_version != stream->clock_version))
        mark = NULL;
    if (mark)
        sp_mark_keep(mark);
    sp_lock_release(&stream->lock);
    return mark;
}

static bool has_nothing_to_mark(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->clock, sp_fence_is_synchronized);
    uint64_t freed = atomic_load(&stream->freed);
    bool nothing =
        (freed < stream->first || freed <= sp_stream_completed(stream)) && stream->clock.count == 0;
    sp_lock_release(&stream->lock);
    return nothing;
}

// The entry for a mark to be kept in: an empty one, else the one with the oldest mark, which a newer one
// covers.
static struct sp_mark **entry_locked(struct sp_stream *stream) {
    struct sp_mark **oldest = &stream->marks[0];
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        if (!stream->marks[i])
            return &stream->marks[i];
        if (stream->marks[i]->sequence < (*oldest)->sequence)
            oldest = &stream->marks[i];
    }
    return oldest;
}

static void publish_mark(struct sp_stream *stream, struct sp_mark *mark) {
    sp_mark_keep(mark);
    sp_lock_acquire(&stream->lock);
    struct sp_mark **entry = entry_locked(stream);
    struct sp_mark *covered = *entry;
    *entry = mark;
    sp_lock_release(&stream->lock);
    raise_to(&stream->recorded, mark->sequence);
    sp_mark_release(covered);
}

// What no clock may say: see the mutant LegacyInClock.
static void mutate_clock_by_legacy(const struct sp_stream *stream, struct sp_clock *clock) {
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++) {
        const struct sp_stream *legacy = sp_stream_at(slot);
        if (atomic_load(&stream->kind) == SP_STREAM_BLOCKING &&
            atomic_load(&legacy->kind) == SP_STREAM_LEGACY &&
            sp_stream_is_of(legacy, stream->context, stream->context_id))
            sp_clock_raise(clock, (struct sp_fence){slot, atomic_load(&legacy->sequence)});
    }
}

// The stream's clock as it is now, for a record that is about to be made. Without host memory the mark
// knows of the stream's own frees only.
static CUevent snapshot(struct sp_stream *stream, struct sp_mark *mark) {
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->clock, sp_fence_is_synchronized);
    sp_clock_copy(&mark->clock, &stream->clock);
    if (SP_IS_MUTANT(LegacyInClock))
        mutate_clock_by_legacy(stream, &mark->clock);
    mark->clock_version = stream->clock_version;
    CUevent chain = stream->chain;
    sp_lock_release(&stream->lock);
    return chain;
}

// An event that didn't wait for the chain of an anonymous stream would say nothing of the frees of earlier
// streams with its handle.
static CUresult record_mark(struct sp_stream *stream, struct sp_mark *mark) {
    CUevent chain = snapshot(stream, mark);
    mark->sequence = SP_MUTATED(ClosedLate, 0, close_sequence(stream));
    CUstreamCaptureMode mode = enter_relaxed_mode();
    bool chained = chain && !SP_IS_MUTANT(MarkWithoutChain);
    CUresult error = chained ? wait(stream->handle, chain) : CUDA_SUCCESS;
    if (error == CUDA_SUCCESS)
        error = record(mark->event, stream->handle);
    leave_relaxed_mode(mode);
    mark->sequence = SP_MUTATED(ClosedLate, close_sequence(stream), mark->sequence);
    return error;
}

CUresult sp_stream_mark(struct sp_stream *stream, struct sp_mark **mark) {
    *mark = still_current(stream);
    if (*mark || has_nothing_to_mark(stream))
        return CUDA_SUCCESS;
    CUresult error = new_mark(stream, mark);
    if (error != CUDA_SUCCESS)
        return error;
    error = record_mark(stream, *mark);
    if (error == CUDA_SUCCESS) {
        publish_mark(stream, *mark);
        return CUDA_SUCCESS;
    }
    sp_mark_release(*mark);
    *mark = NULL;
    return error;
}

CUresult sp_stream_record(struct sp_stream *stream) {
    struct sp_mark *mark = NULL;
    CUresult error = sp_stream_mark(stream, &mark);
    sp_mark_release(mark);
    return error;
}

struct sp_mark *sp_stream_mark_covering(struct sp_stream *stream, uint64_t sequence) {
    struct sp_mark *found = NULL;
    sp_lock_acquire(&stream->lock);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        struct sp_mark *mark = stream->marks[i];
        bool behind = mark && (mark->sequence >= sequence || SP_IS_MUTANT(StaleMark));
        if (behind && (!found || mark->sequence < found->sequence))
            found = mark;
    }
    if (found)
        sp_mark_keep(found);
    sp_lock_release(&stream->lock);
    return found;
}

// ------------------------------------------------------------------------------------------ the chain

// The chain of an anonymous stream: see the top of stream.h. The first caller makes the event.
static CUresult chain_event(struct sp_stream *stream, CUevent *event) {
    sp_lock_acquire(&stream->lock);
    *event = stream->chain;
    sp_lock_release(&stream->lock);
    if (*event)
        return CUDA_SUCCESS;
    CUevent made = NULL;
    CUresult error = create_event(stream, &made);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    if (!stream->chain)
        stream->chain = made;
    *event = stream->chain;
    sp_lock_release(&stream->lock);
    if (*event != made)
        sp_driver->cuEventDestroy(made);
    return CUDA_SUCCESS;
}

// A name under which there ever was a non-blocking stream counts as one: a fence doesn't say which stream
// it was.
static CUresult look_at_kind(struct sp_stream *stream) {
    unsigned int flags = 0;
    if (atomic_load_explicit(&stream->kind, memory_order_relaxed) != SP_STREAM_BLOCKING)
        return CUDA_SUCCESS;
    CUresult error = sp_native_noted(sp_driver->cuStreamGetFlags(stream->handle, &flags), "cuStreamGetFlags");
    if (error == CUDA_SUCCESS && flags & CU_STREAM_NON_BLOCKING)
        atomic_store(&stream->kind, SP_STREAM_NON_BLOCKING);
    return error;
}

static CUresult extend_chain(struct sp_stream *stream, uint64_t *closed) {
    CUevent event = NULL;
    CUresult error = look_at_kind(stream);
    if (error == CUDA_SUCCESS)
        error = chain_event(stream, &event);
    if (error != CUDA_SUCCESS)
        return error;
    *closed = close_sequence(stream);
    CUstreamCaptureMode mode = enter_relaxed_mode();
    error = wait(stream->handle, event);
    if (error == CUDA_SUCCESS && !SP_IS_MUTANT(FreeUnrecorded))
        error = record(event, stream->handle);
    leave_relaxed_mode(mode);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    if (stream->chain_sequence < *closed)
        stream->chain_sequence = *closed;
    sp_lock_release(&stream->lock);
    raise_to(&stream->recorded, *closed);
    return CUDA_SUCCESS;
}

CUresult sp_stream_free_point(struct sp_stream *stream, uint64_t *sequence) {
    CUresult error = CUDA_SUCCESS;
    if (stream->identified)
        *sequence =
            atomic_load_explicit(&stream->sequence, memory_order_acquire) - SP_MUTATED(OffByOne, 1, 0);
    else
        error = extend_chain(stream, sequence);
    if (error == CUDA_SUCCESS && atomic_load_explicit(&stream->freed, memory_order_relaxed) < *sequence)
        raise_to(&stream->freed, *sequence);
    return error;
}

CUresult sp_stream_before_reuse(struct sp_stream *stream) {
    if (stream->identified || SP_IS_MUTANT(ChainNotAwaited))
        return CUDA_SUCCESS;
    CUresult error = look_at_kind(stream);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    CUevent event = stream->chain_sequence > sp_stream_completed(stream) ? stream->chain : NULL;
    sp_lock_release(&stream->lock);
    if (!event)
        return CUDA_SUCCESS;
    CUstreamCaptureMode mode = enter_relaxed_mode();
    error = wait(stream->handle, event);
    leave_relaxed_mode(mode);
    return error;
}

// ------------------------------------------------------------------------------------ learning of order

static void join(struct sp_stream *stream, struct sp_fence fence, const struct sp_clock *clock) {
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->clock, sp_fence_is_synchronized);
    sp_clock_raise(&stream->clock, fence);
    if (clock && !SP_IS_MUTANT(ClockJoinLeftOut))
        sp_clock_join(&stream->clock, clock);
    stream->clock_version++;
    sp_lock_release(&stream->lock);
}

// What an anonymous stream is ordered behind is not true of a later stream with its handle, but for what
// stands before the last record of its chain, which that one will wait for.
static CUresult cover_join(struct sp_stream *stream) {
    uint64_t closed;
    return stream->identified || SP_IS_MUTANT(ChainUncovered) ? CUDA_SUCCESS : extend_chain(stream, &closed);
}

CUresult sp_stream_wait_mark(struct sp_stream *stream, struct sp_mark *mark) {
    struct sp_fence fence = {mark->stream->slot, mark->sequence};
    if (mark->stream == stream)
        return CUDA_SUCCESS;
    if (SP_IS_MUTANT(JoinedEarly))
        join(stream, fence, &mark->clock);
    CUstreamCaptureMode mode = enter_relaxed_mode();
    CUresult error = SP_MUTATED(EventTrusted, CUDA_SUCCESS, wait(stream->handle, mark->event));
    leave_relaxed_mode(mode);
    if (error == CUDA_SUCCESS)
        error = cover_join(stream);
    if (SP_IS_MUTANT(SnapshotLate))
        fence.sequence = atomic_load(&mark->stream->sequence) - 1;
    if (error == CUDA_SUCCESS || SP_IS_MUTANT(FailedWaitPublishes))
        join(stream, fence, SP_MUTATED(SnapshotLate, &mark->stream->clock, &mark->clock));
    return error;
}

// The chain covers every free that there was when it was recorded last, of whichever stream with the handle.
static CUresult wait_for_chain(struct sp_stream *stream, struct sp_stream *owner, uint64_t sequence) {
    sp_lock_acquire(&owner->lock);
    CUevent chain = owner->chain_sequence >= sequence ? owner->chain : NULL;
    uint64_t covered = owner->chain_sequence;
    sp_lock_release(&owner->lock);
    if (!chain)
        return CUDA_ERROR_NOT_FOUND;
    CUstreamCaptureMode mode = enter_relaxed_mode();
    CUresult error = wait(stream->handle, chain);
    leave_relaxed_mode(mode);
    if (error == CUDA_SUCCESS)
        error = cover_join(stream);
    if (error == CUDA_SUCCESS)
        join(stream, (struct sp_fence){owner->slot, covered}, NULL);
    return error;
}

CUresult sp_stream_wait_fence(struct sp_stream *stream, struct sp_fence fence) {
    struct sp_stream *owner = sp_stream_at(fence.slot);
    struct sp_mark *mark = sp_stream_mark_covering(owner, fence.sequence);
    if (!mark && SP_IS_MUTANT(UnfencedSeen))
        return CUDA_SUCCESS;
    if (!mark)
        return sp_fence_is_complete(fence) ? CUDA_SUCCESS : wait_for_chain(stream, owner, fence.sequence);
    CUresult error = sp_stream_wait_mark(stream, mark);
    sp_mark_release(mark);
    return error;
}

// Closes every stream of a context and notes the numbers in `closed`, by slot; 0 for other streams.
static void close_context(CUcontext context, uint64_t id, uint64_t *closed, uint32_t count) {
    for (uint32_t slot = 0; slot < count; slot++) {
        if (sp_stream_is_of(sp_stream_at(slot), context, id))
            closed[slot] = close_sequence(sp_stream_at(slot));
    }
}

static CUresult record_and_wait_context(struct sp_stream *stream, CUevent event) {
    CUstreamCaptureMode mode = enter_relaxed_mode();
    CUresult error = sp_native_noted(sp_driver->cuCtxRecordEvent(stream->context, event), "cuCtxRecordEvent");
    if (error == CUDA_SUCCESS && !SP_IS_MUTANT(ContextFenceTrusted))
        error = wait(stream->handle, event);
    leave_relaxed_mode(mode);
    return error;
}

CUresult sp_stream_wait_context(struct sp_stream *stream) {
    CUevent event = NULL;
    if (!sp_driver->cuCtxRecordEvent)
        return CUDA_ERROR_NOT_SUPPORTED;
    uint32_t count = sp_stream_count();
    uint64_t *closed = calloc(count, sizeof *closed);
    CUresult error = closed ? create_event(stream, &event) : CUDA_ERROR_OUT_OF_MEMORY;
    if (error != CUDA_SUCCESS) {
        free(closed);
        return error;
    }
    if (!SP_IS_MUTANT(ContextClosedLate))
        close_context(stream->context, stream->context_id, closed, count);
    error = record_and_wait_context(stream, event);
    if (SP_IS_MUTANT(ContextClosedLate))
        close_context(stream->context, stream->context_id, closed, count);
    for (uint32_t slot = 0; slot < count && error == CUDA_SUCCESS; slot++) {
        if (closed[slot] > 0 && slot != stream->slot)
            join(stream, (struct sp_fence){slot, closed[slot]}, NULL);
    }
    sp_driver->cuEventDestroy(event);
    free(closed);
    return error;
}

void sp_stream_copy_clock(struct sp_stream *stream, struct sp_clock *clock) {
    sp_lock_acquire(&stream->lock);
    sp_clock_copy(clock, &stream->clock);
    sp_lock_release(&stream->lock);
}

// ---------------------------------------------------------------------------- learning what has completed

static void drop_mark(struct sp_stream *stream, const struct sp_mark *mark) {
    struct sp_mark *dropped = NULL;
    sp_lock_acquire(&stream->lock);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        if (stream->marks[i] == mark) {
            dropped = stream->marks[i];
            stream->marks[i] = NULL;
        }
    }
    sp_lock_release(&stream->lock);
    sp_mark_release(dropped);
}

static CUresult query(CUevent event, bool *complete) {
    CUresult error = sp_driver->cuEventQuery(event);
    *complete = error == CUDA_SUCCESS;
    return error == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : sp_native_noted(error, "cuEventQuery");
}

static CUresult ask_mark(struct sp_mark *mark, enum knowledge how) {
    bool complete = false;
    CUresult error = query(mark->event, &complete);
    if (!complete)
        return error;
    publish_clock(SP_MUTATED(CurrentClockPublished, &mark->stream->clock, &mark->clock), how);
    publish(mark->stream, mark->sequence, how);
    return CUDA_SUCCESS;
}

static CUresult poll_mark(struct sp_stream *stream, struct sp_mark *mark) {
    CUresult error = CUDA_SUCCESS;
    if (mark->sequence > sp_stream_completed(stream))
        error = ask_mark(mark, FOUND);
    if (mark->sequence <= sp_stream_completed(stream))
        drop_mark(stream, mark);
    return error;
}

static CUresult poll_chain(struct sp_stream *stream, CUevent chain, uint64_t sequence) {
    bool complete = false;
    if (!chain || sequence <= sp_stream_completed(stream))
        return CUDA_SUCCESS;
    CUresult error = query(chain, &complete);
    if (complete)
        publish(stream, sequence, FOUND);
    return error;
}

static CUresult poll(struct sp_stream *stream) {
    struct sp_mark *marks[SP_STREAM_MARKS];
    sp_lock_acquire(&stream->lock);
    memcpy(marks, stream->marks, sizeof marks);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        if (marks[i])
            sp_mark_keep(marks[i]);
    }
    CUevent chain = stream->chain;
    uint64_t chain_sequence = stream->chain_sequence;
    sp_lock_release(&stream->lock);
    CUresult first = poll_chain(stream, chain, chain_sequence);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        if (!marks[i])
            continue;
        CUresult error = poll_mark(stream, marks[i]);
        first = first == CUDA_SUCCESS ? error : first;
        sp_mark_release(marks[i]);
    }
    return first;
}

CUresult sp_stream_poll(struct sp_stream *stream) {
    if (atomic_load_explicit(&stream->recorded, memory_order_acquire) <= sp_stream_completed(stream))
        return CUDA_SUCCESS;
    CUstreamCaptureMode mode = enter_relaxed_mode();
    CUresult error = poll(stream);
    leave_relaxed_mode(mode);
    return error;
}

static CUresult ask_relaxed(struct sp_mark *mark, enum knowledge how) {
    CUstreamCaptureMode mode = enter_relaxed_mode();
    CUresult error = ask_mark(mark, how);
    leave_relaxed_mode(mode);
    return error;
}

CUresult sp_mark_confirm(struct sp_mark *mark) {
    return ask_relaxed(mark, SYNCHRONIZED);
}

CUresult sp_mark_ask(struct sp_mark *mark) {
    return ask_relaxed(mark, FOUND);
}

bool sp_stream_is_of_current_context(const struct sp_stream *stream) {
    CUcontext context = NULL;
    uint64_t id;
    return sp_context_current(&context, &id) == CUDA_SUCCESS && sp_stream_is_of(stream, context, id);
}

static CUresult poll_context(CUcontext context, uint64_t id) {
    CUresult first = CUDA_SUCCESS;
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (!sp_stream_is_of(stream, context, id))
            continue;
        CUresult error = sp_stream_poll(stream);
        first = first == CUDA_SUCCESS ? error : first;
    }
    return first;
}

CUresult sp_streams_poll_context_of(const struct sp_stream *stream) {
    return poll_context(stream->context, stream->context_id);
}

CUresult sp_streams_poll_current_context(void) {
    CUcontext context = NULL;
    uint64_t id;
    CUresult error = sp_context_current(&context, &id);
    return error == CUDA_SUCCESS && context ? poll_context(context, id) : error;
}

// ------------------------------------------------------------------------------------------ synchronising

static void drop_marks(struct sp_stream *stream, uint64_t until) {
    struct sp_mark *dropped[SP_STREAM_MARKS] = {NULL};
    sp_lock_acquire(&stream->lock);
    for (int i = 0; i < SP_STREAM_MARKS; i++) {
        if (stream->marks[i] && stream->marks[i]->sequence <= until) {
            dropped[i] = stream->marks[i];
            stream->marks[i] = NULL;
        }
    }
    sp_lock_release(&stream->lock);
    for (int i = 0; i < SP_STREAM_MARKS; i++)
        sp_mark_release(dropped[i]);
}

// Marks that are known to be complete have nothing more to tell.
static void drop_complete_marks(struct sp_stream *stream) {
    drop_marks(stream, sp_stream_completed(stream));
}

// What a synchronise or a query of the stream itself has shown. Of an anonymous stream it says nothing about
// the work of an earlier one with the same handle; the chain does.
static void publish_seen(struct sp_stream *stream, uint64_t sequence, const struct sp_clock *clock,
                         enum knowledge how) {
    if (!stream->identified) {
        sp_stream_poll(stream);
        return;
    }
    publish_clock(clock, how);
    publish(stream, sequence, how);
    drop_complete_marks(stream);
}

CUresult sp_stream_synchronize(struct sp_stream *stream, CUstream handle) {
    struct sp_clock clock = {0, 0, NULL};
    sp_stream_copy_clock(stream, &clock);
    uint64_t sequence = SP_MUTATED(SynchronizeClosedLate, 0, close_sequence(stream));
    CUresult error = sp_native_noted(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
    sequence = SP_MUTATED(SynchronizeClosedLate, close_sequence(stream), sequence);
    if (error == CUDA_SUCCESS || SP_IS_MUTANT(FailedSynchronizePublishes))
        publish_seen(stream, sequence, &clock, SYNCHRONIZED);
    sp_clock_clear(&clock);
    return error;
}

CUresult sp_stream_query(struct sp_stream *stream, CUstream handle) {
    struct sp_clock clock = {0, 0, NULL};
    sp_stream_copy_clock(stream, &clock);
    uint64_t sequence = close_sequence(stream);
    CUresult error = sp_driver->cuStreamQuery(handle);
    if (error == CUDA_SUCCESS || SP_IS_MUTANT(QueryPublishes))
        publish_seen(stream, sequence, &clock, FOUND);
    sp_clock_clear(&clock);
    return sp_native_noted(error, "cuStreamQuery");
}

static void publish_context(const uint64_t *closed, uint32_t count) {
    for (uint32_t slot = 0; slot < count; slot++) {
        if (closed[slot] == 0)
            continue;
        publish(sp_stream_at(slot), closed[slot], SYNCHRONIZED);
        drop_complete_marks(sp_stream_at(slot));
    }
}

// A context's synchronise covers all of its streams, those destroyed since included.
CUresult sp_context_synchronize(void) {
    CUcontext context = NULL;
    uint64_t id;
    CUresult error = sp_context_current(&context, &id);
    if (error != CUDA_SUCCESS)
        return error;
    uint32_t count = sp_stream_count();
    uint64_t *closed = calloc(count ? count : 1, sizeof *closed);
    if (closed)
        close_context(context, id, closed, count);
    error = sp_native_noted(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
    if (error == CUDA_SUCCESS && closed)
        publish_context(closed, count);
    free(closed);
    return error;
}

// ------------------------------------------------------------------------------------------ the end

void sp_stream_note_acquired(struct sp_stream *stream, const struct sp_fence_set *fences) {
    if (sp_fence_set_empty(fences) || SP_IS_MUTANT(AcquiredForgotten))
        return;
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->acquired, sp_fence_is_complete);
    for (uint32_t i = 0; i < fences->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(fences, i);
        if (fence.slot != stream->slot && !sp_fence_is_complete(fence) &&
            !sp_clock_raise(&stream->acquired, fence))
            stream->acquired_more = true;
    }
    sp_lock_release(&stream->lock);
}

bool sp_stream_is_spent(struct sp_stream *stream) {
    if (atomic_load(&stream->freed) > sp_stream_completed(stream))
        return false;
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->acquired, sp_fence_is_complete);
    bool spent = stream->acquired.count == 0 && !stream->acquired_more;
    sp_lock_release(&stream->lock);
    return spent;
}

static void free_spares(struct sp_mark *spare) {
    while (spare) {
        struct sp_mark *next = spare->next_spare;
        free(spare);
        spare = next;
    }
}

// Marks that others still hold keep an event that nobody may touch: their number is complete, so nobody
// will. The slot is never used again. Called with the registry's lock held.
void sp_stream_end_with_context(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    bool ended = stream->ended;
    struct sp_mark *spare = stream->spare_marks;
    stream->ended = true;
    stream->spare_marks = NULL;
    stream->chain = NULL;
    sp_clock_clear(&stream->clock);
    sp_clock_clear(&stream->acquired);
    sp_lock_release(&stream->lock);
    free_spares(spare);
    if (ended)
        return;
    publish(stream, close_sequence(stream), SYNCHRONIZED);
    drop_marks(stream, UINT64_MAX);
}

// Its spare events serve the next stream, which is of the same context. A mark that isn't complete says
// what the old stream ran after, and the new one doesn't. Called with the registry's lock held.
void sp_stream_forget(struct sp_stream *stream) {
    drop_marks(stream, UINT64_MAX);
    sp_lock_acquire(&stream->lock);
    sp_clock_clear(&stream->clock);
    sp_lock_release(&stream->lock);
}

void sp_stream_destroy_events(struct sp_stream *stream) {
    for (int i = 0; i < SP_STREAM_MARKS; i++)
        sp_mark_release(stream->marks[i]);
    while (stream->spare_marks) {
        struct sp_mark *mark = stream->spare_marks;
        stream->spare_marks = mark->next_spare;
        sp_driver->cuEventDestroy(mark->event);
        free(mark);
    }
    if (stream->chain)
        sp_driver->cuEventDestroy(stream->chain);
    sp_clock_clear(&stream->clock);
    sp_clock_clear(&stream->acquired);
}
