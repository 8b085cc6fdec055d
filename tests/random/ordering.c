#include "random/ordering.h"

#include "random/choose.h"
#include "random/reserved.h"
#include "support/device.h"

// -------------------------------------------------------------------------------------------------- events

struct event *ordering_claim_event(struct thread *thread) {
    struct event *event = &thread->world->events[numbers_below(&thread->numbers, EVENTS)];
    return claim_alone(&event->claim) ? event : NULL;
}

// One that can be recorded in the stream.
static struct event *claim_event_for(struct thread *thread, const struct stream *stream) {
    struct event *event = ordering_claim_event(thread);
    if (!event || event->context == stream->context)
        return event;
    claim_return(&event->claim);
    return NULL;
}

static void trace_event(const struct thread *thread, const char *verb, const struct event *event,
                        const struct stream *stream) {
    thread_trace(thread, "%s event %u on stream %u", verb, world_event_number(thread->world, event),
                 world_stream_number(thread->world, stream));
}

static bool record(struct thread *thread, const struct event *event, const struct stream *stream) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    bool told = choose_to_tell(thread);
    thread_enter(thread, stream->context);
    trace_event(thread, told ? "record" : "record unseen", event, stream);
    return told ? SUCCEEDED(thread, poolEventRecord(event->handle, handle))
                : SUCCEEDED(thread, test_driver()->cuEventRecord(event->handle, handle));
}

static bool wait(struct thread *thread, const struct stream *stream, const struct event *event) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    bool told = choose_to_tell(thread);
    thread_enter(thread, stream->context);
    trace_event(thread, told ? "wait for" : "wait unseen for", event, stream);
    return told ? SUCCEEDED(thread, poolStreamWaitEvent(handle, event->handle, 0))
                : SUCCEEDED(thread, test_driver()->cuStreamWaitEvent(handle, event->handle, 0));
}

bool ordering_make(struct thread *thread, const struct stream *from, const struct stream *to) {
    if (from == to)
        return true;
    struct event *event = claim_event_for(thread, from);
    if (!event)
        return false;
    bool ordered = record(thread, event, from) && wait(thread, to, event);
    claim_return(&event->claim);
    return ordered;
}

bool ordering_is_implied(const struct stream *from, const struct stream *to) {
    bool blocking = from->kind != STREAM_NON_BLOCKING && to->kind != STREAM_NON_BLOCKING;
    return blocking && from->context == to->context &&
           (from->kind == STREAM_LEGACY || to->kind == STREAM_LEGACY);
}

// ------------------------------------------------------------------------------------------- synchronising

static bool synchronize_told(struct thread *thread, CUstream handle, bool device) {
    struct reserved before = reserved_now(thread);
    bool done = device ? SUCCEEDED(thread, poolDeviceSynchronize())
                       : SUCCEEDED(thread, poolStreamSynchronize(handle));
    if (done)
        reserved_after_synchronize(thread, before, device ? OF_CONTEXT : OF_STREAM);
    return done;
}

bool ordering_synchronize(struct thread *thread, const struct stream *stream) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    bool told = choose_to_tell(thread), device = numbers_once_in(&thread->numbers, 8);
    thread_enter(thread, stream->context);
    thread_trace(thread, "synchronise%s %s %u", told ? "" : " unseen", device ? "the context of" : "stream",
                 world_stream_number(thread->world, stream));
    if (told)
        return synchronize_told(thread, handle, device);
    return device ? SUCCEEDED(thread, test_driver()->cuCtxSynchronize())
                  : SUCCEEDED(thread, test_driver()->cuStreamSynchronize(handle));
}

// ------------------------------------------------------------------------------------------ the operations

void ordering_record_event(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    struct event *event = stream ? claim_event_for(thread, stream) : NULL;
    if (event) {
        record(thread, event, stream);
        claim_return(&event->claim);
    }
    if (stream)
        claim_return(&stream->claim);
}

void ordering_wait_event(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    struct event *event = stream ? ordering_claim_event(thread) : NULL;
    if (event) {
        wait(thread, stream, event);
        claim_return(&event->claim);
    }
    if (stream)
        claim_return(&stream->claim);
}

static bool is_answer(const struct thread *thread, int error) {
    return error == CUDA_ERROR_NOT_READY || SUCCEEDED(thread, error);
}

void ordering_query_stream(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    thread_enter(thread, stream->context);
    bool done = is_answer(thread, (int)poolStreamQuery(thread_handle_to_pass(thread, stream)));
    thread_trace(thread, "stream %u: %s", world_stream_number(thread->world, stream),
                 done ? "answered" : "failed");
    claim_return(&stream->claim);
}

void ordering_query_event(struct thread *thread) {
    struct event *event = ordering_claim_event(thread);
    if (!event)
        return;
    is_answer(thread, (int)poolEventQuery(event->handle));
    claim_return(&event->claim);
}

void ordering_synchronize_stream(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    ordering_synchronize(thread, stream);
    claim_return(&stream->claim);
}

void ordering_synchronize_event(struct thread *thread) {
    struct event *event = ordering_claim_event(thread);
    if (!event)
        return;
    struct reserved before = reserved_now(thread);
    if (SUCCEEDED(thread, poolEventSynchronize(event->handle)))
        reserved_after_synchronize(thread, before, OF_EVENT);
    claim_return(&event->claim);
}
