// Blocks: how their memory comes, is written and checked, moves from stream to stream, and goes.
//
// Who has claimed a block may do all this. It is used and freed on its stream, or on another that
// was ordered behind it (ordering.h); and each of its lives is written down, for the report of a
// failure.
#ifndef STREAMPOOL_TESTS_RANDOM_BLOCKS_H
#define STREAMPOOL_TESTS_RANDOM_BLOCKS_H

#include "random/world.h"

// A slot that is empty, or one that is not and has memory that the thread can use. Null when none
// is near where it looks.
enum wanted { EMPTY, LIVE };
struct block *blocks_claim(struct thread *thread, enum wanted wanted);

// A live block, and its stream shared; null when it isn't to be had. And both are returned.
struct block *blocks_claim_live(struct thread *thread);
void blocks_give_back(struct block *block, struct stream *stream);

// An empty block gets memory on the stream; it stays empty where its pool has none. The second
// function mostly uses it, too, there or where that needs no order made. Block and stream are
// claimed.
void blocks_get_on(struct thread *thread, struct block *block, struct stream *stream);
void blocks_malloc_on(struct thread *thread, struct block *block, struct stream *stream);

// A live block is freed there, behind all work that names it. Block and stream are claimed.
void blocks_free_on(struct thread *thread, struct block *block, const struct stream *stream);

// The operations: of any block that is to be had. The last one uses a block where it is.
void blocks_malloc(struct thread *thread);
void blocks_free(struct thread *thread);
// The same of the block in this slot, where there is one that is to be had.
void blocks_free_at(struct thread *thread, uint64_t index);
void blocks_move(struct thread *thread);
void blocks_use(struct thread *thread);
// By the host itself.
void blocks_touch(struct thread *thread);

#endif
