#include "simcuda/queue/stream.h"

#include <inttypes.h>
#include <stdlib.h>

#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/report/report.h"

#define MAX_STREAMS 65536

_Thread_local bool sim_null_stream_is_own;

static struct sim_slab slab;
static uint64_t last_number; // of the streams that the program created

// Threads look into the slab with no lock, so it is there before any can.
void sim_stream_start(void) {
    if (!slab.base &&
        !sim_slab_init(&slab, SIM_SLAB_OF_STREAMS, sizeof(struct sim_stream), MAX_STREAMS))
        abort();
}

struct sim_stream *sim_stream_find(CUstream handle) {
    return sim_slab_find(&slab, (uintptr_t)handle);
}

CUresult sim_stream_create(struct sim_context *context, unsigned flags, CUstream *handle) {
    struct sim_stream *stream = sim_slab_take(&slab);
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint64_t identity = sim_next_identity();
    enum sim_queue_kind kind =
        flags & CU_STREAM_NON_BLOCKING ? SIM_QUEUE_NON_BLOCKING : SIM_QUEUE_BLOCKING;
    stream->queue = sim_queue_create(context, kind, identity);
    stream->queue->number = stream->number = ++last_number;
    stream->queue->status_mirror = &stream->capture_status;
    atomic_store_explicit(&stream->context, context, memory_order_relaxed);
    atomic_store_explicit(&stream->flags, flags, memory_order_relaxed);
    atomic_store_explicit(&stream->capture_status, CU_STREAM_CAPTURE_STATUS_NONE,
                          memory_order_relaxed);
    sim_slab_publish(stream, identity);
    *handle = (CUstream)sim_slab_handle(&slab, stream);
    return CUDA_SUCCESS;
}

void sim_stream_retire(struct sim_queue *queue) {
    sim_capture_leave(queue);
    sim_queue_retire(queue);
}

void sim_stream_destroy(struct sim_stream *stream) {
    struct sim_queue *queue = stream->queue;
    sim_slab_give(&slab, stream);
    sim_stream_retire(queue);
}

void sim_stream_end_thread(const struct sim_thread *thread) {
    for (size_t i = 0; i < thread->default_stream_count; i++)
        sim_stream_retire(thread->default_streams[i]);
}

struct sim_stream *sim_stream_next(const struct sim_stream *stream) {
    size_t i = stream ? (size_t)((const char *)stream - slab.base) / slab.stride + 1 : 0;
    struct sim_stream *next = NULL;
    for (; !next && i < slab.used; i++)
        next = sim_slab_at(&slab, i);
    return next;
}

void sim_stream_destroy_all(struct sim_context *context) {
    for (size_t i = 0; i < slab.used; i++) {
        struct sim_stream *stream = sim_slab_at(&slab, i);
        if (stream && atomic_load_explicit(&stream->context, memory_order_relaxed) == context)
            sim_stream_destroy(stream);
    }
}

uint64_t sim_stream_count(void) {
    return slab.live;
}

static struct sim_queue *per_thread(struct sim_thread *thread, struct sim_context *context) {
    struct sim_queue **place = NULL;
    for (size_t i = 0; i < thread->default_stream_count; i++) {
        struct sim_queue *queue = thread->default_streams[i];
        if (queue->context == context)
            return queue;
        if (!queue->context)
            place = &thread->default_streams[i];
    }
    if (place) {
        sim_stream_retire(*place); // of a context that is gone
    } else {
        SIM_RESERVE_ONE(thread->default_streams, thread->default_stream_count,
                        thread->default_stream_capacity);
        place = &thread->default_streams[thread->default_stream_count++];
    }
    *place = sim_queue_create(context, SIM_QUEUE_PER_THREAD, sim_next_identity());
    (*place)->number = thread->ordinal;
    return *place;
}

static bool is_own(CUstream handle) {
    return handle == CU_STREAM_PER_THREAD || (!handle && sim_null_stream_is_own);
}

static CUresult default_queue(CUstream handle, struct sim_queue **queue) {
    struct sim_thread *thread = sim_thread_self();
    struct sim_context *context;
    CUresult result = sim_context_current(thread, &context);
    if (result == CUDA_SUCCESS)
        *queue = is_own(handle) ? per_thread(thread, context) : context->legacy;
    return result;
}

// The handle may be that of a stream which was destroyed, whose element has not been taken again.
static void report_destroyed(CUstream handle) {
    if (sim_slab_knows(&slab, (uintptr_t)handle)) {
        const struct sim_stream *stream =
            (const void *)(slab.base + ((uintptr_t)handle - slab.first_handle));
        sim_report(simcudaReport_useOfDestroyedStream,
                   "%s names stream %" PRIu64 ", which was destroyed", sim_report_call(),
                   stream->number);
        return;
    }
    sim_report(simcudaReport_useOfDestroyedStream, "%s names a stream that never existed: %p",
               sim_report_call(), (void *)handle);
}

CUresult sim_stream_queue(CUstream handle, struct sim_queue **queue) {
    if (sim_stream_is_default(handle)) {
        CUresult result = default_queue(handle, queue);
        return result == CUDA_SUCCESS ? sim_context_error((*queue)->context) : result;
    }
    struct sim_stream *stream = sim_stream_find(handle);
    if (!stream) {
        report_destroyed(handle);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *queue = stream->queue;
    return sim_context_error(stream->queue->context);
}

struct sim_queue *sim_stream_look(CUstream handle) {
    struct sim_queue *queue = NULL;
    const struct sim_stream *stream = sim_stream_find(handle);
    if (!stream && !sim_stream_is_default(handle))
        return NULL;
    return sim_stream_queue(handle, &queue) == CUDA_SUCCESS ? queue : NULL;
}

void sim_stream_reset(void) {
    last_number = 0;
    sim_slab_clear(&slab);
}
