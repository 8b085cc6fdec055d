#include "random/ordering.h"

#include "random/choose.h"
#include "random/observing.h"
#include "random/reserved.h"
#include "support/device.h"

// Who polls gives up after so many times; other threads may add to a stream for ever.
enum { POLLS = 60 };

// ------------------------------------------------------------------------------------------ events

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
    return told ? SUCCEEDED(thread, observing_record(thread, event->handle, handle))
                : SUCCEEDED(thread, test_driver()->cuEventRecord(event->handle, handle));
}

static bool wait(struct thread *thread, const struct stream *stream, const struct event *event) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    bool told = choose_to_tell(thread);
    thread_enter(thread, stream->context);
    trace_event(thread, told ? "wait for" : "wait unseen for", event, stream);
    return told ? SUCCEEDED(thread, observing_wait(thread, handle, event->handle))
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

struct stream *ordering_claim_implied(struct thread *thread, const struct stream *from) {
    struct world *world = thread->world;
    uint64_t first = numbers_below(&thread->numbers, world->stream_count);
    for (uint64_t i = 0; i < world->stream_count; i++) {
        struct stream *stream = &world->streams[(first + i) % world->stream_count];
        if (stream == from || !thread_claim_this_stream(thread, stream))
            continue;
        if (ordering_is_implied(from, stream))
            return stream;
        claim_return(&stream->claim);
    }
    return NULL;
}

// ----------------------------------------------------------------------------------- synchronising

static bool synchronize_told(struct thread *thread, CUstream handle, bool device) {
    struct reserved before = reserved_now(thread);
    bool done = device ? SUCCEEDED(thread, poolDeviceSynchronize())
                       : SUCCEEDED(thread, observing_synchronize(thread, handle));
    if (done)
        reserved_after_synchronize(thread, before, device ? OF_CONTEXT : OF_STREAM);
    return done;
}

void ordering_synchronize_all(struct thread *thread) {
    for (unsigned i = 0; i < thread->world->context_count; i++) {
        thread_enter(thread, i);
        (void)synchronize_told(thread, NULL, true);
    }
}

void ordering_make_idle(struct thread *thread, const struct stream *stream) {
    thread_enter(thread, stream->context);
    thread_trace(thread, "synchronise unseen stream %u",
                 world_stream_number(thread->world, stream));
    (void)SUCCEEDED(thread, test_driver()->cuStreamSynchronize(thread_handle(thread, stream)));
}

bool ordering_synchronize(struct thread *thread, const struct stream *stream) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    bool told = choose_to_tell_of_synchronize(thread),
         device = numbers_once_in(&thread->numbers, 8);
    thread_enter(thread, stream->context);
    thread_trace(thread, "synchronise%s %s %u", told ? "" : " unseen",
                 device ? "the context of" : "stream", world_stream_number(thread->world, stream));
    if (told)
        return synchronize_told(thread, handle, device);
    return device ? SUCCEEDED(thread, test_driver()->cuCtxSynchronize())
                  : SUCCEEDED(thread, test_driver()->cuStreamSynchronize(handle));
}

static bool synchronize_event_told(struct thread *thread, const struct event *event) {
    struct reserved before = reserved_now(thread);
    bool done = SUCCEEDED(thread, poolEventSynchronize(event->handle));
    if (done)
        reserved_after_synchronize(thread, before, OF_EVENT);
    return done;
}

static bool synchronize_event(struct thread *thread, const struct event *event) {
    bool told = choose_to_tell_of_synchronize(thread);
    thread_trace(thread, "synchronise%s event %u", told ? "" : " unseen",
                 world_event_number(thread->world, event));
    return told ? synchronize_event_told(thread, event)
                : SUCCEEDED(thread, test_driver()->cuEventSynchronize(event->handle));
}

// ------------------------------------------------------------------------------------------ asking

static bool is_answer(const struct thread *thread, int error) {
    return error == CUDA_ERROR_NOT_READY || SUCCEEDED(thread, error);
}

static int query(struct thread *thread, const struct stream *stream, bool told) {
    CUstream handle = thread_handle_to_pass(thread, stream);
    thread_enter(thread, stream->context);
    int error =
        told ? (int)observing_query(thread, handle) : (int)test_driver()->cuStreamQuery(handle);
    bool answered = is_answer(thread, error);
    thread_trace(thread, "query%s stream %u: %s", told ? "" : " unseen",
                 world_stream_number(thread->world, stream),
                 error == 0 ? "done"
                 : answered ? "pending"
                            : "failed");
    return error;
}

void ordering_ask(struct thread *thread, const struct stream *stream) {
    if (numbers_once_in(&thread->numbers, 2))
        query(thread, stream, true);
    else
        ordering_synchronize(thread, stream);
}

static bool poll_stream(struct thread *thread, const struct stream *stream) {
    bool told = choose_to_tell(thread);
    int error = CUDA_ERROR_NOT_READY;
    for (int i = 0; i < POLLS && error == CUDA_ERROR_NOT_READY; i++)
        error = query(thread, stream, told);
    return error == 0;
}

static bool poll_event(struct thread *thread, const struct event *event) {
    bool told = choose_to_tell(thread);
    int error = CUDA_ERROR_NOT_READY;
    thread_trace(thread, "poll%s event %u", told ? "" : " unseen",
                 world_event_number(thread->world, event));
    for (int i = 0; i < POLLS && error == CUDA_ERROR_NOT_READY; i++)
        error = told ? (int)poolEventQuery(event->handle)
                     : (int)test_driver()->cuEventQuery(event->handle);
    return is_answer(thread, error) && error == 0;
}

static bool settle_by_event(struct thread *thread, const struct stream *stream) {
    struct event *event = claim_event_for(thread, stream);
    if (!event)
        return false;
    bool polls = numbers_once_in(&thread->numbers, 3);
    bool done = record(thread, event, stream) &&
                (polls ? poll_event(thread, event) : synchronize_event(thread, event));
    claim_return(&event->claim);
    return done;
}

bool ordering_settle(struct thread *thread, const struct stream *stream) {
    switch (numbers_below(&thread->numbers, 4)) {
    case 0:
        return poll_stream(thread, stream);
    case 1:
        return settle_by_event(thread, stream);
    default:
        return ordering_synchronize(thread, stream);
    }
}

// ---------------------------------------------------------------------------------- the operations

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

void ordering_query_stream(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    query(thread, stream, true);
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
    synchronize_event(thread, event);
    claim_return(&event->claim);
}
