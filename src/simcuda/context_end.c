#include "simcuda/context_end.h"

#include "simcuda/kernel/module.h"
#include "simcuda/memory/allocation.h"
#include "simcuda/memory/peer.h"
#include "simcuda/memory/pinned.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/queue/stream.h"
#include "simcuda/work/event.h"
#include "simcuda/work/question.h"

static struct sim_queue *queue_of(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sim_queue, link);
}

// The queues are last: when a stream is destroyed, its queue notes in the context what it did.
static void end(struct sim_context *context) {
    sim_stream_destroy_all(context);
    sim_event_destroy_all(context);
    sim_module_unload_all(context);
    sim_peer_forget(context);
    sim_allocation_free_all(context);
    sim_pinned_free_all(context);
    SP_LIST_FOR_EACH(link, &context->queues)
        sim_capture_leave(queue_of(link));
    sim_context_remove(context);
}

static bool has_work(const struct sim_context *context) {
    SP_LIST_FOR_EACH(link, &context->queues) {
        if (queue_of(link)->count > 0)
            return true;
    }
    return false;
}

// While this waits another thread may add work, or be quicker to destroy it: then it returns false.
static bool wait(struct sim_context *context) {
    uint64_t identity = sim_context_identity(context);
    do {
        sim_question_wait_context(context);
    } while (sim_context_identity(context) == identity && has_work(context));
    return sim_context_identity(context) == identity;
}

void sim_context_destroy(struct sim_context *context) {
    if (wait(context))
        end(context);
}

CUresult sim_context_release_primary(int device) {
    struct sim_context *context = sim_context_primary(device);
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    // While the last one waits another thread may retain it.
    bool is_alive = context->retained > 1 || wait(context);
    if (is_alive && --context->retained == 0)
        end(context);
    return CUDA_SUCCESS;
}

static void retire_default_streams(struct sim_context *context) {
    SP_LIST_FOR_EACH_SAFE(link, &context->queues) {
        struct sim_queue *queue = queue_of(link);
        if (queue->kind == SIM_QUEUE_PER_THREAD && !queue->retired)
            sim_stream_retire(queue);
    }
}

void sim_context_destroy_all(void) {
    struct sim_context *context;
    while ((context = sim_context_next(NULL)) != NULL) {
        retire_default_streams(context);
        end(context);
    }
}
