// What comes and goes while the program runs: streams, events, promises and a context, each
// replaced where it stands.
//
// Blocks live longer than the stream that they were used on: another takes them over, in order. A
// context takes its work along, and its blocks are anybody's.
#ifndef STREAMPOOL_TESTS_RANDOM_RENEWAL_H
#define STREAMPOOL_TESTS_RANDOM_RENEWAL_H

#include "random/world.h"

// With whatever is pending on the old stream, which often has the new one's handle.
void renewal_of_stream(struct thread *thread);
void renewal_of_event(struct thread *thread);

// What was promised is taken back, and then there are streams that the library doesn't see
// destroyed; or it is promised again.
void renewal_of_promises(struct thread *thread);

// Of the second context, which there must be.
void renewal_of_context(struct thread *thread);

#endif
