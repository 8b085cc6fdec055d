#include "random/settling.h"

#include "random/blocks.h"
#include "random/ordering.h"
#include "random/work.h"

// All work that names the block is complete, so no order need be kept.
static void go_on_anywhere(struct thread *thread, struct block *block) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    block->last = stream;
    if (block->used)
        work_check(thread, block, stream);
    if (numbers_once_in(&thread->numbers, 6))
        blocks_free_on(thread, block, stream);
    else
        work_fill(thread, block, stream);
    claim_return(&stream->claim);
}

static void settle(struct thread *thread, struct block *block, const struct stream *stream) {
    if (ordering_settle(thread, stream))
        go_on_anywhere(thread, block);
}

void settling_of_stream(struct thread *thread, struct stream *stream) {
    struct block *block = blocks_claim(thread, EMPTY);
    if (!block)
        return;
    blocks_get_on(thread, block, stream);
    if (block->pointer)
        settle(thread, block, stream);
    claim_return(&block->claim);
}

static void settle_new(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    if (!stream)
        return;
    settling_of_stream(thread, stream);
    claim_return(&stream->claim);
}

static void settle_live(struct thread *thread) {
    struct block *block = blocks_claim_live(thread);
    if (!block)
        return;
    struct stream *stream = block->last;
    settle(thread, block, stream);
    blocks_give_back(block, stream);
}

void settling_of_block(struct thread *thread) {
    if (numbers_once_in(&thread->numbers, 3))
        settle_live(thread);
    else
        settle_new(thread);
}
