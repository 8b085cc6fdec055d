#include "random/capture.h"

#include "random/blocks.h"
#include "random/observing.h"
#include "support/check.h"
#include "support/device.h"

// Memory of a pool that was promised no captures must not be named in one, and where a pool was
// promised that there are none, there are none. A live block that may be named, or null; of a pool
// that allocates.
static struct block *claim_capturable(struct thread *thread) {
    struct block *block = blocks_claim(thread, LIVE);
    if (!block)
        return NULL;
    bool is_promised = (atomic_load(&block->pool->promises) & poolPromiseNoCapture) ||
                       world_promises_never_to_capture(thread->world);
    if (!is_promised && block->pool != &thread->world->given_up)
        return block;
    claim_return(&block->claim);
    return NULL;
}

static void require_refused(const struct thread *thread, const char *call, poolError_t error,
                            poolError_t expected) {
    if (error != expected)
        thread_fail(thread, "%s in a capture gives %s", call, poolGetErrorName(error));
}

static void call_in_capture(struct thread *thread, struct block *block, CUstream handle) {
    void *pointer;
    CUgraph graph;
    DRIVER(observing_begin_capture(thread, handle));
    require_refused(thread, "an allocation",
                    observing_malloc(thread, &pointer, block->size, block->pool->handle, handle),
                    poolErrorStreamCaptureUnsupported);
    require_refused(thread, "a free", observing_free(thread, block->pointer, handle),
                    poolErrorInvalidValue);
    DRIVER(observing_end_capture(thread, handle, &graph));
    DRIVER(test_driver()->cuGraphDestroy(graph));
}

// Others can't synchronise meanwhile, so this is for programs of one thread; and a blocking
// stream's capture would be felt by the legacy stream.
void capture_enter(struct thread *thread) {
    struct stream *stream = thread_claim_stream(thread);
    struct block *block = stream ? claim_capturable(thread) : NULL;
    if (block && stream->kind == STREAM_NON_BLOCKING && thread->world->plan.threads == 1 &&
        !thread->faulty) {
        thread_enter(thread, stream->context);
        call_in_capture(thread, block, stream->handle);
    }
    if (block)
        claim_return(&block->claim);
    if (stream)
        claim_return(&stream->claim);
}
