#include "simcuda/work/event.h"

#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/report/report.h"
#include "simcuda/work/work.h"

#define MAX_EVENTS ((size_t)1 << 18)

static struct sim_slab slab;
static uint64_t count_of_library;

CUresult sim_event_create(struct sim_context *context, unsigned flags, CUevent *handle) {
    if (flags & ~7u)
        return CUDA_ERROR_INVALID_VALUE;
    if (!slab.base &&
        !sim_slab_init(&slab, SIM_SLAB_OF_EVENTS, sizeof(struct sim_event), MAX_EVENTS))
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_event *event = sim_slab_take(&slab);
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->context = context;
    event->flags = flags;
    event->is_of_library = sim_is_for_library();
    count_of_library += event->is_of_library;
    event->record = NULL;
    event->point = (struct sim_capture_point){0};
    sim_slab_publish(event, sim_next_identity());
    *handle = (CUevent)sim_slab_handle(&slab, event);
    return CUDA_SUCCESS;
}

CUresult sim_event_find(CUevent handle, struct sim_event **event) {
    *event = slab.base ? sim_slab_find(&slab, (uintptr_t)handle) : NULL;
    if (!*event) {
        bool is_known = slab.base && sim_slab_knows(&slab, (uintptr_t)handle);
        sim_report(simcudaReport_useOfDestroyedEvent, "%s names an event that %s: %p",
                   sim_report_call(), is_known ? "was destroyed" : "never existed", (void *)handle);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return sim_context_error((*event)->context);
}

static void forget_record(struct sim_event *event) {
    sim_item_drop(event->record);
    event->record = NULL;
    sim_capture_point_drop(&event->point);
}

// A record that takes no time and wakes nobody is no action that a question of its stream looks at.
static bool is_plain(const struct sim_event *event) {
    return event->flags & CU_EVENT_DISABLE_TIMING && !(event->flags & CU_EVENT_BLOCKING_SYNC);
}

// The event may be destroyed while a full queue makes the record wait.
static CUresult record_as(struct sim_event *event, struct sim_queue *queue,
                          struct sim_item **dependencies, size_t count) {
    uint64_t identity = atomic_load(&event->element.identity);
    struct sim_job job = {.name = "event", .is_quiet = is_plain(event)};
    struct sim_item *item;
    sim_queue_hold(queue);
    CUresult result = sim_work_add(queue, &job, dependencies, count, &item);
    sim_queue_drop(queue);
    if (result != CUDA_SUCCESS)
        return result;
    if (atomic_load(&event->element.identity) != identity) {
        sim_item_drop(item);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    forget_record(event);
    event->record = item;
    return CUDA_SUCCESS;
}

CUresult sim_event_record(struct sim_event *event, struct sim_queue *queue) {
    bool captured;
    if (event->context != queue->context)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = sim_capture_work(queue, "cuEventRecord", &captured);
    if (result != CUDA_SUCCESS)
        return result;
    if (!captured)
        return record_as(event, queue, NULL, 0);
    result = sim_capture_record(queue, &event->point);
    if (result == CUDA_SUCCESS) {
        sim_item_drop(event->record);
        event->record = NULL;
    }
    return result;
}

CUresult sim_event_record_context(struct sim_event *event, struct sim_context *context) {
    struct sim_item **items = NULL;
    size_t count = 0;
    size_t capacity = 0;
    if (event->context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = sim_capture_check_context(context, "cuCtxRecordEvent");
    if (result != CUDA_SUCCESS)
        return result;
    if (!context->recorder)
        context->recorder = sim_queue_create(context, SIM_QUEUE_NON_BLOCKING, sim_next_identity());
    SP_LIST_FOR_EACH(link, &context->queues) {
        struct sim_item *last = SP_CONTAINER_OF(link, struct sim_queue, link)->last;
        if (!last)
            continue;
        SIM_RESERVE_ONE(items, count, capacity);
        items[count++] = last;
        sim_item_hold(last);
    }
    sim_clock_merge(&context->recorder->clock, context->departed);
    result = record_as(event, context->recorder, items, count);
    for (size_t i = 0; i < count; i++)
        sim_item_drop(items[i]);
    sim_free(items);
    return result;
}

CUresult sim_event_stream_wait(struct sim_event *event, struct sim_queue *queue) {
    bool captured;
    CUresult result = sim_capture_wait(queue, &event->point, event->record != NULL, &captured);
    if (result != CUDA_SUCCESS || captured || !event->record)
        return result;
    struct sim_item *record = event->record;
    sim_item_hold(record);
    sim_queue_hold(queue);
    result = sim_work_order_after(queue, record);
    sim_queue_drop(queue);
    sim_item_drop(record);
    return result;
}

CUresult sim_event_query(struct sim_event *event) {
    if (event->point.capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    CUresult result = sim_capture_check_unsafe("cuEventQuery");
    if (result != CUDA_SUCCESS || !event->record)
        return result;
    struct sim_context *context = event->context;
    if (!sim_work_poll(event->record))
        return CUDA_ERROR_NOT_READY;
    return sim_context_error(context);
}

CUresult sim_event_synchronize(struct sim_event *event) {
    if (event->point.capture)
        return CUDA_ERROR_CAPTURED_EVENT;
    CUresult result = sim_capture_check_unsafe("cuEventSynchronize");
    if (result != CUDA_SUCCESS || !event->record)
        return result;
    struct sim_context *context = event->context;
    sim_work_wait(event->record);
    return sim_context_error(context);
}

static CUresult check_time(struct sim_event *event) {
    if (event->flags & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    if (event->point.capture) // another error than cuEventQuery gives: seen on an H200
        return CUDA_ERROR_INVALID_VALUE;
    return event->record ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_event_elapsed(struct sim_event *start, struct sim_event *end, float *milliseconds) {
    CUresult result = check_time(start);
    if (result == CUDA_SUCCESS)
        result = check_time(end);
    if (result == CUDA_SUCCESS && start->context != end->context)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result != CUDA_SUCCESS)
        return result;
    bool is_complete = sim_work_poll(start->record);
    if (!sim_work_poll(end->record) || !is_complete)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)((double)(int64_t)(end->record->end - start->record->end) / 1e6);
    return CUDA_SUCCESS;
}

void sim_event_destroy(struct sim_event *event) {
    forget_record(event);
    count_of_library -= event->is_of_library;
    sim_slab_give(&slab, event);
}

void sim_event_destroy_all(const struct sim_context *context) {
    for (size_t i = 0; i < slab.used; i++) {
        struct sim_event *event = sim_slab_at(&slab, i);
        if (event && (!context || event->context == context))
            sim_event_destroy(event);
    }
}

uint64_t sim_event_count(void) {
    return slab.live;
}

uint64_t sim_event_count_of_library(void) {
    return count_of_library;
}

void sim_event_reset(void) {
    if (!slab.base)
        return;
    sim_event_destroy_all(NULL);
    sim_slab_clear(&slab);
}
