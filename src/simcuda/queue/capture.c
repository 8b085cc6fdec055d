#include "simcuda/queue/capture.h"

#include "base/list.h"
#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/report/report.h"

struct sim_capture {
    size_t references; // one of each participant that is in it, one of each point
    uint64_t identity;
    bool is_open; // the origin has not ended it
    bool is_invalid;
    CUstreamCaptureMode mode;
    unsigned thread; // that began it, by its ordinal: it may have ended
    struct sim_queue *origin;
    struct sim_queue **participants; // null: left
    uint64_t *sequences;             // of each, the number of its nodes
    size_t count;
    size_t capacity;
    uint64_t nodes;
    struct sp_list link; // among the open captures
};

struct CUgraph_st {
    uint64_t nodes;
    struct sp_list link;
};

static struct sp_list open_captures = {&open_captures, &open_captures};
static struct sp_list graphs = {&graphs, &graphs};

static struct sim_capture *capture_of(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sim_capture, link);
}

static void drop(struct sim_capture *capture) {
    if (--capture->references > 0)
        return;
    sim_free(capture->participants);
    sim_free(capture->sequences);
    sim_free(capture);
}

void sim_capture_point_drop(struct sim_capture_point *point) {
    if (point->capture)
        drop(point->capture);
    sim_clock_drop(point->clock);
    *point = (struct sim_capture_point){0};
}

// ------------------------------------------------------------------------------------ participants

static void set_status(struct sim_queue *queue, CUstreamCaptureStatus status) {
    bool was = queue->capture_status != CU_STREAM_CAPTURE_STATUS_NONE;
    bool is = status != CU_STREAM_CAPTURE_STATUS_NONE;
    if (queue->context && sim_queue_is_blocking(queue))
        queue->context->blocking_captures += (int)is - (int)was;
    queue->capture_status = status;
    if (queue->status_mirror)
        atomic_store_explicit(queue->status_mirror, status, memory_order_relaxed);
}

static void join(struct sim_queue *queue, struct sim_capture *capture) {
    if (capture->count == capture->capacity) {
        capture->capacity = capture->capacity ? 2 * capture->capacity : 4;
        capture->participants =
            sim_reallocate(capture->participants, capture->capacity, sizeof(struct sim_queue *));
        capture->sequences =
            sim_reallocate(capture->sequences, capture->capacity, sizeof(uint64_t));
    }
    queue->capturing = (struct sim_capturing){.capture = capture, .participant = capture->count};
    capture->participants[capture->count] = queue;
    capture->sequences[capture->count++] = 0;
    capture->references++;
    set_status(queue, CU_STREAM_CAPTURE_STATUS_ACTIVE);
}

static void leave(struct sim_queue *queue) {
    struct sim_capture *capture = queue->capturing.capture;
    capture->participants[queue->capturing.participant] = NULL;
    sim_clock_drop(queue->capturing.clock);
    queue->capturing = (struct sim_capturing){0};
    set_status(queue, CU_STREAM_CAPTURE_STATUS_NONE);
    drop(capture);
}

static void invalidate(struct sim_capture *capture, const char *call) {
    if (capture->is_invalid)
        return;
    capture->is_invalid = true;
    char stream[SIM_WHO_LENGTH];
    struct sim_who origin = sim_queue_who(capture->origin);
    sim_report(simcudaReport_captureUnsafeCall,
               "%s is not allowed while %s captures, and ends the capture as invalid", call,
               sim_who_stream(&origin, stream));
    for (size_t i = 0; i < capture->count; i++) {
        if (capture->participants[i])
            set_status(capture->participants[i], CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    }
}

static void close_capture(struct sim_capture *capture) {
    capture->references++;
    capture->is_open = false;
    sp_list_remove(&capture->link);
    for (size_t i = 0; i < capture->count; i++) {
        if (capture->participants[i])
            leave(capture->participants[i]);
    }
    drop(capture);
}

// A capture can't go on without its origin.
void sim_capture_leave(struct sim_queue *queue) {
    struct sim_capture *capture = queue->capturing.capture;
    if (!capture)
        return;
    invalidate(capture, "destroying one of its streams");
    if (capture->origin == queue)
        close_capture(capture);
    else
        leave(queue);
}

// ----------------------------------------------------------------------------------- begin and end

CUresult sim_capture_begin(struct sim_queue *queue, CUstreamCaptureMode mode) {
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (queue->kind == SIM_QUEUE_LEGACY)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (queue->capturing.capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    struct sim_capture *capture = sim_allocate(sizeof(*capture));
    capture->identity = sim_next_identity();
    capture->is_open = true;
    capture->mode = mode;
    capture->thread = sim_thread_self()->ordinal;
    capture->origin = queue;
    sp_list_push_back(&open_captures, &capture->link);
    join(queue, capture);
    return CUDA_SUCCESS;
}

static bool is_joined(const struct sim_capture *capture) {
    const struct sim_capturing *origin = &capture->origin->capturing;
    for (size_t i = 0; i < capture->count; i++) {
        if (i != origin->participant && sim_clock_at(origin->clock, i) < capture->sequences[i])
            return false;
    }
    return true;
}

static CUgraph make_graph(uint64_t nodes) {
    CUgraph graph = sim_allocate(sizeof(*graph));
    graph->nodes = nodes;
    sp_list_push_back(&graphs, &graph->link);
    return graph;
}

CUresult sim_capture_end(struct sim_queue *queue, CUgraph *graph) {
    struct sim_capture *capture = queue->capturing.capture;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != queue)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        capture->thread != sim_thread_self()->ordinal)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    CUresult result = CUDA_SUCCESS;
    if (capture->is_invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graph = result == CUDA_SUCCESS ? make_graph(capture->nodes) : NULL;
    close_capture(capture);
    return result;
}

CUresult sim_graph_destroy(CUgraph graph) {
    SP_LIST_FOR_EACH(link, &graphs) {
        if (SP_CONTAINER_OF(link, struct CUgraph_st, link) != graph)
            continue;
        sp_list_remove(link);
        sim_free(graph);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

uint64_t sim_graph_count(void) {
    uint64_t count = 0;
    SP_LIST_FOR_EACH(link, &graphs)
        count++;
    return count;
}

// -------------------------------------------------------------------------------------------- work

// A legacy stream's work would have to be ordered with work that is only captured.
static CUresult check_implicit(struct sim_queue *queue, const char *call) {
    if (queue->kind != SIM_QUEUE_LEGACY || queue->context->blocking_captures == 0)
        return CUDA_SUCCESS;
    SP_LIST_FOR_EACH(link, &queue->context->queues) {
        struct sim_queue *other = SP_CONTAINER_OF(link, struct sim_queue, link);
        if (sim_queue_is_blocking(other) && other->capturing.capture)
            invalidate(other->capturing.capture, call);
    }
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

static void add_node(struct sim_queue *queue) {
    struct sim_capture *capture = queue->capturing.capture;
    capture->nodes++;
    queue->capturing.sequence = ++capture->sequences[queue->capturing.participant];
}

CUresult sim_capture_work(struct sim_queue *queue, const char *call, bool *captured) {
    const struct sim_capture *capture = queue->capturing.capture;
    *captured = capture != NULL;
    if (!capture)
        return check_implicit(queue, call);
    if (capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    add_node(queue);
    return CUDA_SUCCESS;
}

CUresult sim_capture_record(struct sim_queue *queue, struct sim_capture_point *point) {
    const struct sim_capturing *capturing = &queue->capturing;
    if (capturing->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    sim_capture_point_drop(point);
    capturing->capture->references++;
    *point = (struct sim_capture_point){capturing->capture, capturing->participant,
                                        capturing->sequence, sim_clock_share(capturing->clock)};
    return CUDA_SUCCESS;
}

static CUresult wait_for_outside(struct sim_queue *queue, bool is_recorded) {
    if (queue->capturing.capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (!is_recorded)
        return CUDA_SUCCESS;
    invalidate(queue->capturing.capture, "a wait for an event of outside the capture");
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

CUresult sim_capture_wait(struct sim_queue *queue, const struct sim_capture_point *point,
                          bool is_recorded, bool *captured) {
    struct sim_capture *own = queue->capturing.capture;
    *captured = own || point->capture;
    if (!*captured)
        return check_implicit(queue, "cuStreamWaitEvent");
    if (!point->capture)
        return wait_for_outside(queue, is_recorded);
    if (!point->capture->is_open)
        return CUDA_ERROR_CAPTURED_EVENT;
    if (point->capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (own && own != point->capture) {
        invalidate(own, "a wait for an event of another capture");
        invalidate(point->capture, "a wait of a stream of another capture");
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (queue->kind == SIM_QUEUE_LEGACY)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!own)
        join(queue, point->capture);
    sim_clock_raise(&queue->capturing.clock, point->participant, point->sequence);
    sim_clock_merge(&queue->capturing.clock, point->clock);
    return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------- wrong calls

// Returns whether an open capture forbids unsafe calls to this thread: one that it began itself,
// unless relaxed, and in the global mode one that any thread began in the global mode. A thread in
// the relaxed mode is forbidden nothing.
static bool forbids(const struct sim_capture *capture, const struct sim_thread *thread) {
    if (thread->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (capture->thread == thread->ordinal)
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return thread->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sim_capture_check_unsafe(const char *call) {
    const struct sim_thread *thread = sim_thread_self();
    CUresult result = CUDA_SUCCESS;
    SP_LIST_FOR_EACH(link, &open_captures) {
        if (!forbids(capture_of(link), thread))
            continue;
        invalidate(capture_of(link), call);
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

CUresult sim_capture_check_queue(struct sim_queue *queue, const char *call) {
    struct sim_capture *capture = queue->capturing.capture;
    if (!capture) {
        CUresult result = check_implicit(queue, call);
        return result == CUDA_SUCCESS ? sim_capture_check_unsafe(call) : result;
    }
    if (capture->is_invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    invalidate(capture, call);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult sim_capture_check_identity(struct sim_queue *queue, const char *call) {
    struct sim_capture *capture = queue->capturing.capture;
    if (!capture)
        return check_implicit(queue, call);
    invalidate(capture, call);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult sim_capture_check_context(const struct sim_context *context, const char *call) {
    CUresult result = CUDA_SUCCESS;
    SP_LIST_FOR_EACH(link, &context->queues) {
        struct sim_capture *capture =
            SP_CONTAINER_OF(link, struct sim_queue, link)->capturing.capture;
        if (!capture)
            continue;
        invalidate(capture, call);
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result == CUDA_SUCCESS ? sim_capture_check_unsafe(call) : result;
}

CUresult sim_capture_status(const struct sim_queue *queue, CUstreamCaptureStatus *status) {
    if (queue->kind == SIM_QUEUE_LEGACY && queue->context->blocking_captures > 0)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = queue->capture_status;
    return CUDA_SUCCESS;
}

uint64_t sim_capture_identity(const struct sim_queue *queue) {
    return queue->capturing.capture->identity;
}

// No event and no queue holds a capture any more.
void sim_capture_reset(void) {
    SP_LIST_FOR_EACH_SAFE(link, &graphs)
        sim_graph_destroy(SP_CONTAINER_OF(link, struct CUgraph_st, link));
}
