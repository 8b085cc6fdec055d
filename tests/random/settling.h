// Settling: the host finds that a stream has done all it was given, and from then on a block of
// that stream is anybody's.
//
// "Allocate, synchronise, use anywhere": nothing need have used the block before, so all that
// orders its next use is what the host has found.
#ifndef STREAMPOOL_TESTS_RANDOM_SETTLING_H
#define STREAMPOOL_TESTS_RANDOM_SETTLING_H

#include "random/world.h"

// A new block of this stream, which is claimed.
void settling_of_stream(struct thread *thread, struct stream *stream);

// The operation: of a new block, or of any live one that is to be had.
void settling_of_block(struct thread *thread);

#endif
