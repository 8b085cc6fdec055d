#include "random/settling.h"

#include "random/blocks.h"
#include "random/ordering.h"
#include "random/work.h"

// A block that nothing has used, claimed like a live one; null when there is none to be had.
static struct block *claim_new(struct thread *thread) {
    struct block *block = blocks_claim(thread, EMPTY);
    struct stream *stream = block ? thread_claim_stream(thread) : NULL;
    if (stream)
        blocks_get_on(thread, block, stream);
    if (stream && block->pointer)
        return block;
    if (stream)
        claim_return(&stream->claim);
    if (block)
        claim_return(&block->claim);
    return NULL;
}

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

void settling_of_block(struct thread *thread) {
    bool is_new = !numbers_once_in(&thread->numbers, 3);
    struct block *block = is_new ? claim_new(thread) : blocks_claim_live(thread);
    if (!block)
        return;
    struct stream *stream = block->last;
    if (ordering_settle(thread, stream))
        go_on_anywhere(thread, block);
    blocks_give_back(block, stream);
}
