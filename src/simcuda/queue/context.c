#include "simcuda/queue/context.h"

#include <stdlib.h>
#include <string.h>

#include "simcuda/common/shared.h"
#include "simcuda/queue/queue.h"
#include "simcuda/report/report.h"

#define MAX_CONTEXTS 4096

static struct sim_slab slab;
static struct sp_list contexts = {&contexts, &contexts};
// Kept when not alive: the handle stays the same.
static struct sim_context *primaries[SIMCUDA_MAX_DEVICES];
static bool primary_is_alive[SIMCUDA_MAX_DEVICES];
static unsigned primary_flags[SIMCUDA_MAX_DEVICES]; // while it is not alive
static _Atomic CUresult errors[SIMCUDA_MAX_DEVICES];

void sim_context_start(void) {
    if (!slab.base &&
        !sim_slab_init(&slab, SIM_SLAB_OF_CONTEXTS, sizeof(struct sim_context), MAX_CONTEXTS))
        abort();
}

struct sim_context *sim_context_find(CUcontext handle) {
    return sim_slab_find(&slab, (uintptr_t)handle);
}

bool sim_context_is_known(CUcontext handle) {
    return sim_slab_knows(&slab, (uintptr_t)handle);
}

CUresult sim_context_named(CUcontext handle, struct sim_context **context) {
    *context = sim_context_find(handle);
    if (*context)
        return CUDA_SUCCESS;
    if (handle)
        sim_report(simcudaReport_useOfDestroyedContext, "%s names a context that %s: %p",
                   sim_report_call(),
                   sim_context_is_known(handle) ? "was destroyed" : "never existed",
                   (void *)handle);
    return CUDA_ERROR_INVALID_CONTEXT;
}

CUcontext sim_context_handle(const struct sim_context *context) {
    return (CUcontext)sim_slab_handle(&slab, context);
}

struct sim_context *sim_context_next(const struct sim_context *context) {
    const struct sp_list *link = context ? &context->link : &contexts;
    return link->next == &contexts ? NULL : SP_CONTAINER_OF(link->next, struct sim_context, link);
}

uint64_t sim_context_count(void) {
    uint64_t count = 0;
    for (struct sim_context *context = sim_context_next(NULL); context;
         context = sim_context_next(context))
        count++;
    return count;
}

static void begin(struct sim_context *context, int device, unsigned flags, bool is_primary) {
    atomic_store_explicit(&context->device, device, memory_order_relaxed);
    atomic_store_explicit(&context->blocking_captures, 0, memory_order_relaxed);
    atomic_store_explicit(&context->is_primary, is_primary, memory_order_relaxed);
    context->retained = 0;
    context->recorder = NULL;
    context->departed = context->departed_blocking = NULL;
    sim_settings_begin(&context->settings, flags);
    memset(context->peers, 0, sizeof context->peers);
    sp_list_init(&context->queues);
    sp_list_push_back(&contexts, &context->link);
    uint64_t legacy_id = sim_next_identity();
    context->legacy = sim_queue_create(context, SIM_QUEUE_LEGACY, legacy_id);
    atomic_store_explicit(&context->legacy_stream_id, legacy_id, memory_order_relaxed);
    sim_slab_publish(context, sim_next_identity());
}

CUresult sim_context_error(const struct sim_context *context) {
    return errors[atomic_load_explicit(&context->device, memory_order_relaxed)];
}

void sim_context_fail(const struct sim_context *context, CUresult error) {
    errors[context->device] = error;
}

CUresult sim_context_create(int device, unsigned flags, struct sim_context **context) {
    if (errors[device] != CUDA_SUCCESS)
        return errors[device];
    *context = sim_slab_take(&slab);
    if (!*context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    begin(*context, device, flags, false);
    return CUDA_SUCCESS;
}

struct sim_context *sim_context_primary(int device) {
    return primary_is_alive[device] ? primaries[device] : NULL;
}

unsigned sim_context_primary_flags(int device) {
    const struct sim_context *context = sim_context_primary(device);
    return context ? context->settings.flags : primary_flags[device];
}

void sim_context_set_primary_flags(int device, unsigned flags) {
    struct sim_context *context = sim_context_primary(device);
    primary_flags[device] = flags;
    if (context)
        context->settings.flags = flags;
}

CUresult sim_context_retain_primary(int device, struct sim_context **context) {
    if (!primaries[device])
        primaries[device] = sim_slab_take(&slab);
    if (!primaries[device])
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!primary_is_alive[device] && errors[device] != CUDA_SUCCESS)
        return errors[device];
    if (!primary_is_alive[device])
        begin(primaries[device], device, primary_flags[device], true);
    primary_is_alive[device] = true;
    primaries[device]->retained++;
    *context = primaries[device];
    return CUDA_SUCCESS;
}

// A queue that a thread still holds as its default stream stays, without a context.
static void drop_queues(struct sim_context *context) {
    SP_LIST_FOR_EACH_SAFE(link, &context->queues) {
        sp_list_remove(link);
        SP_CONTAINER_OF(link, struct sim_queue, link)->context = NULL;
    }
    sim_queue_retire(context->legacy);
    context->legacy = NULL;
    if (context->recorder)
        sim_queue_retire(context->recorder);
    sim_clock_drop(context->departed);
    sim_clock_drop(context->departed_blocking);
}

void sim_context_remove(struct sim_context *context) {
    drop_queues(context);
    sp_list_remove(&context->link);
    if (!context->is_primary) {
        sim_slab_give(&slab, context);
        return;
    }
    sim_slab_publish(context, 0);
    primary_is_alive[context->device] = false;
}

// ----------------------------------------------------------------------------------------- current

static struct sim_context_reference reference_to(struct sim_context *context) {
    return (struct sim_context_reference){context, context ? sim_context_identity(context) : 0};
}

CUresult sim_context_push(struct sim_thread *thread, struct sim_context *context) {
    if (thread->depth == SIM_CONTEXT_STACK)
        return CUDA_ERROR_OUT_OF_MEMORY;
    thread->stack[thread->depth++] = reference_to(context);
    return CUDA_SUCCESS;
}

CUcontext sim_context_current_handle(const struct sim_thread *thread) {
    if (thread->depth == 0)
        return NULL;
    return sim_context_handle(thread->stack[thread->depth - 1].context);
}

CUresult sim_context_pop(struct sim_thread *thread, CUcontext *context) {
    if (thread->depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context)
        *context = sim_context_current_handle(thread);
    thread->depth--;
    return CUDA_SUCCESS;
}

// Null empties the place on the stack.
CUresult sim_context_set_current(struct sim_thread *thread, struct sim_context *context) {
    thread->depth -= thread->depth > 0;
    return context ? sim_context_push(thread, context) : CUDA_SUCCESS;
}

CUresult sim_context_current(const struct sim_thread *thread, struct sim_context **context) {
    if (thread->depth == 0 || !thread->stack[thread->depth - 1].context)
        return CUDA_ERROR_INVALID_CONTEXT;
    const struct sim_context_reference *top = &thread->stack[thread->depth - 1];
    uint64_t identity = sim_context_identity(top->context);
    if (identity == 0 || (identity != top->identity && !top->context->is_primary))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *context = top->context;
    return CUDA_SUCCESS;
}

CUresult sim_context_current_healthy(struct sim_context **context) {
    CUresult result = sim_context_current(sim_thread_self(), context);
    return result == CUDA_SUCCESS ? sim_context_error(*context) : result;
}

void sim_context_reset(void) {
    for (size_t i = 0; i < SIMCUDA_MAX_DEVICES; i++) {
        primaries[i] = NULL;
        errors[i] = CUDA_SUCCESS;
        primary_flags[i] = 0;
    }
    sim_slab_clear(&slab);
}
