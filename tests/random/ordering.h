// The order of streams: events recorded and waited for, the legacy stream, queries and
// synchronises.
//
// The library is told of most of it, and of some it isn't (choose.h): then there is an order that
// it doesn't know, and it must do without.
#ifndef STREAMPOOL_TESTS_RANDOM_ORDERING_H
#define STREAMPOOL_TESTS_RANDOM_ORDERING_H

#include "random/world.h"

// Any event, which may be another context's; null when it isn't to be had.
struct event *ordering_claim_event(struct thread *thread);

// Whatever `to` is given from now on runs after what `from` has been given. False when no event is
// to be had.
bool ordering_make(struct thread *thread, const struct stream *from, const struct stream *to);

// Ordered without an event, as soon as `to` is given work.
bool ordering_is_implied(const struct stream *from, const struct stream *to);

// A stream of which that is so, and which the thread may use, shared; null when there is none to be
// had.
struct stream *ordering_claim_implied(struct thread *thread, const struct stream *from);

// Waits for the stream, sometimes for all of its context. False when a fault kept it from that.
bool ordering_synchronize(struct thread *thread, const struct stream *stream);

// The host waits for all work of all contexts, and the library learns of it.
void ordering_synchronize_all(struct thread *thread);

// Waits for the stream behind the library's back.
void ordering_make_idle(struct thread *thread, const struct stream *stream);

// Asks the library about the stream, by a query or a synchronise.
void ordering_ask(struct thread *thread, const struct stream *stream);

// By whichever way there is the host finds that all is done that the stream was given. False when
// it doesn't.
bool ordering_settle(struct thread *thread, const struct stream *stream);

// The operations: of any stream and event that are to be had.
void ordering_record_event(struct thread *thread);
void ordering_wait_event(struct thread *thread);
void ordering_query_stream(struct thread *thread);
void ordering_query_event(struct thread *thread);
void ordering_synchronize_stream(struct thread *thread);
void ordering_synchronize_event(struct thread *thread);

#endif
