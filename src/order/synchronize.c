#include "order/synchronize.h"

#include "base/mutant.h"
#include "order/context.h"
#include "order/learn.h"
#include "order/poll.h"

#include <stdlib.h>

// Marks that are known to be complete have nothing more to tell.
static void drop_complete_marks(struct sp_stream *stream) {
    sp_stream_drop_marks(stream, sp_stream_completed(stream));
}

// What a synchronise or a query of the stream itself has shown. Of an anonymous stream it says nothing about
// the work of an earlier one with the same handle; the chain does.
static void publish_seen(struct sp_stream *stream, uint64_t sequence, const struct sp_clock *clock,
                         enum sp_knowledge how) {
    if (!stream->identified) {
        sp_stream_poll(stream);
        return;
    }
    sp_clock_publish(clock, how);
    sp_stream_publish(stream, sequence, how);
    drop_complete_marks(stream);
}

CUresult sp_stream_synchronize(struct sp_stream *stream, CUstream handle) {
    struct sp_clock clock = {0, 0, NULL};
    sp_stream_copy_clock(stream, &clock);
    uint64_t sequence = SP_MUTATED(SynchronizeClosedLate, 0, sp_stream_close_sequence(stream));
    CUresult error = sp_native_noted(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
    sequence = SP_MUTATED(SynchronizeClosedLate, sp_stream_close_sequence(stream), sequence);
    if (error == CUDA_SUCCESS || SP_IS_MUTANT(FailedSynchronizePublishes))
        publish_seen(stream, sequence, &clock, SP_SYNCHRONIZED);
    sp_clock_clear(&clock);
    return error;
}

CUresult sp_stream_query(struct sp_stream *stream, CUstream handle) {
    struct sp_clock clock = {0, 0, NULL};
    sp_stream_copy_clock(stream, &clock);
    uint64_t sequence = sp_stream_close_sequence(stream);
    CUresult error = sp_driver->cuStreamQuery(handle);
    if (error == CUDA_SUCCESS || SP_IS_MUTANT(QueryPublishes))
        publish_seen(stream, sequence, &clock, SP_FOUND);
    sp_clock_clear(&clock);
    return sp_native_noted(error, "cuStreamQuery");
}

static void publish_context(const uint64_t *closed, uint32_t count) {
    for (uint32_t slot = 0; slot < count; slot++) {
        if (closed[slot] == 0)
            continue;
        sp_stream_publish(sp_stream_at(slot), closed[slot], SP_SYNCHRONIZED);
        drop_complete_marks(sp_stream_at(slot));
    }
}

// A context's synchronise covers all of its streams, those destroyed since included.
CUresult sp_context_synchronize(void) {
    CUcontext context = NULL;
    uint64_t id;
    CUresult error = sp_context_current(&context, &id);
    if (error != CUDA_SUCCESS)
        return error;
    uint32_t count = sp_stream_count();
    uint64_t *closed = calloc(count ? count : 1, sizeof *closed);
    if (closed)
        sp_streams_close_sequences(context, id, closed, count);
    error = sp_native_noted(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
    if (error == CUDA_SUCCESS && closed)
        publish_context(closed, count);
    free(closed);
    return error;
}
