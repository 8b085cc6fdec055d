// Blocks: how their memory comes, is written and checked, moves from stream to stream, and goes.
//
// Who has claimed a block may do all this. It is used and freed on its stream, or on another that was ordered behind it
// (ordering.h); and each of its lives is written down, for the report of a failure.
#ifndef STREAMPOOL_TESTS_RANDOM_BLOCKS_H
#define STREAMPOOL_TESTS_RANDOM_BLOCKS_H

#include "random/world.h"

// A slot that is empty, or one that is not and has memory that the thread can use. Null when none is near where it looks.
enum wanted { EMPTY, LIVE };
struct block *blocks_claim(struct thread *thread, enum wanted wanted);

// An empty block gets memory on the stream, and mostly a pattern; it stays empty where its pool has none. A live one is freed
// there, behind all work that names it. Block and stream are claimed.
void blocks_malloc_on(struct thread *thread, struct block *block, struct stream *stream);
void blocks_free_on(struct thread *thread, struct block *block, const struct stream *stream);

// The operations: of any block that is to be had. The last one uses a block where it is.
void blocks_malloc(struct thread *thread);
void blocks_free(struct thread *thread);
void blocks_move(struct thread *thread);
void blocks_use(struct thread *thread);

#endif
