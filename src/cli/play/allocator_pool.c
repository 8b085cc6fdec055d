// These allocators are the library itself, without and with promises. Their pool of the device is
// made the current one, so that the calls are those that programs make.
#include "cli/play/allocator.h"

#include <inttypes.h>
#include <stdlib.h>

// ----------------------------------------------------------------------------------------- growths

enum { GROWTHS_STEP = 1024 };

static _Thread_local size_t operation_played;

void sp_growths_release(struct sp_growths *growths) {
    free(growths->list);
    *growths = (struct sp_growths){0};
}

void sp_growths_note_operation(size_t operation) {
    operation_played = operation;
}

// Calls a stream by the trace's number, if it is one of the trace's.
static void translate(const struct sp_growths *growths, CUstream stream, uint64_t *id) {
    for (size_t i = 0; i < growths->trace->stream_count && stream; i++)
        if (__atomic_load_n(&growths->streams[i], __ATOMIC_RELAXED) == stream)
            *id = growths->trace->streams[i].number;
}

static void note_growth(const struct poolMemPoolGrowth *told, void *user) {
    struct sp_growths *growths = user;
    const struct sp_trace *trace = growths->trace;
    if (!trace)
        return;
    if (growths->count % GROWTHS_STEP == 0) {
        struct sp_growth *list =
            reallocarray(growths->list, growths->count + GROWTHS_STEP, sizeof *list);
        growths->failed |= !list;
        if (!list)
            return;
        growths->list = list;
    }
    struct sp_growth *growth = &growths->list[growths->count++];
    *growth = growths->playing;
    growth->operation = operation_played;
    growth->told = *told;
    growth->told.streamId = trace->streams[trace->operations[operation_played].stream].number;
    translate(growths, told->pendingStream, &growth->told.pendingStreamId);
    translate(growths, told->unfencedStream, &growth->told.unfencedStreamId);
}

// ---------------------------------------------------------------------------------------- the pool

static bool check(struct sp_stage *stage, poolError_t error) {
    return error == poolSuccess ||
           sp_stage_fail(stage, "%s: %s", poolGetErrorName(error), poolGetLastErrorDetail());
}

static bool set(struct sp_stage *stage, enum poolMemPoolAttr attribute, void *value) {
    return check(stage, poolMemPoolSetAttribute(stage->pool, attribute, value));
}

// The pool of each place is made with these properties, and with the number of the replay's device.
static const struct poolMemPoolProps props_of[] = {
#define PROPS(kind, at, what)                                                                      \
    {                                                                                              \
        .allocType = poolMemAllocationType##kind, .location.type = poolMemLocationType##at,        \
        .usage = (what)                                                                            \
    }
    [SP_TRACE_AT_DEVICE] = PROPS(Pinned, Device, 0),
    [SP_TRACE_AT_HOST] = PROPS(Pinned, Host, 0),
    [SP_TRACE_AT_NODE] = PROPS(Pinned, HostNuma, 0),
    [SP_TRACE_AT_STAGING] = PROPS(Pinned, Host, poolMemPoolUsageStaging),
    [SP_TRACE_AT_MANAGED] = PROPS(Managed, Device, 0),
#undef PROPS
};

static bool open_pool(struct sp_stage *stage, int promises) {
    struct poolMemPoolProps props = props_of[stage->place];
    if (props.location.type == poolMemLocationTypeDevice)
        props.location.id = stage->device->ordinal;
    if (stage->place == SP_TRACE_AT_DEVICE)
        props.maxSize = stage->limit;
    // The simulated driver gets no reaper: the times would depend on when its thread ran.
    int reaper = !sp_device_is_simulated(stage->device->driver);
    if (!check(stage, poolMemPoolCreate(&stage->pool, &props)))
        return false;
    if (set(stage, poolMemPoolAttrReaper, &reaper) &&
        set(stage, poolMemPoolAttrReleaseThreshold, &stage->threshold) &&
        (!stage->growths ||
         check(stage, poolMemPoolSetGrowthObserver(stage->pool, note_growth, stage->growths))) &&
        (stage->place != SP_TRACE_AT_DEVICE ||
         check(stage, poolDeviceSetMemPool(stage->device->ordinal, stage->pool))) &&
        (promises == 0 || set(stage, poolMemPoolAttrStreamPromises, &promises)))
        return true;
    poolMemPoolDestroy(stage->pool);
    return false;
}

static bool pool_open(struct sp_stage *stage) {
    return open_pool(stage, 0);
}

// A replay destroys its streams by the allocator's own call, captures none, and keeps to one
// context.
static bool promised_open(struct sp_stage *stage) {
    return open_pool(stage, poolPromiseStreamDestroy | poolPromiseNeverCapture |
                                poolPromiseOneContext | poolPromiseNoLegacyOrder);
}

// A program whose streams the legacy one orders may rely on that, which the promise rules out.
// Libraries create streams of which the trace tells no more than their kind and their end: those
// count for nothing.
static bool promised_suits(const struct sp_trace *trace, char reason[SP_UNSUITED_TEXT]) {
    const struct sp_trace_stream *legacy = NULL, *ordered = NULL; // the first of each
    for (size_t i = trace->stream_count; i-- > 0;) {
        const struct sp_trace_stream *stream = &trace->streams[i];
        if (stream->is_used && stream->kind == SP_TRACE_LEGACY)
            legacy = stream;
        else if (stream->is_used && stream->kind != SP_TRACE_NON_BLOCKING)
            ordered = stream;
    }
    if (!legacy || !ordered)
        return true;
    snprintf(reason, SP_UNSUITED_TEXT,
             "the legacy stream %" PRIu64 " orders stream %" PRIu64
             ", and the program may rely on it (poolPromiseNoLegacyOrder)",
             legacy->number, ordered->number);
    return false;
}

static bool pool_close(struct sp_stage *stage) {
    poolDeviceSynchronize();
    poolMemPoolTrimTo(stage->pool, 0);
    poolMemPoolDestroy(stage->pool);
    return true;
}

static bool pool_begin_pass(struct sp_stage *stage) {
    uint64_t reset = 0;
    sp_statistics_reset(stage->pool);
    stage->at_peak = (struct sp_statistics){.known = false};
    return set(stage, poolMemPoolAttrReservedMemHigh, &reset);
}

// Reads the gauges. The first that can't be read stays 0, and so do those behind it.
static void pool_at_peak(struct sp_stage *stage) {
    sp_statistics_read_gauges(stage->pool, &stage->at_peak);
}

static bool pool_reserved_peak(struct sp_stage *stage, uint64_t *bytes) {
    return check(stage,
                 poolMemPoolGetAttribute(stage->pool, poolMemPoolAttrReservedMemHigh, bytes));
}

static bool pool_statistics(struct sp_stage *stage, struct sp_statistics *statistics) {
    *statistics = stage->at_peak;
    return check(stage, sp_statistics_read_at_end(stage->pool, statistics));
}

static void pool_look(struct sp_stage *stage, struct sp_figures *figures) {
    uint64_t now, high;
    if (poolMemPoolGetAttribute(stage->pool, poolMemPoolAttrReservedMemCurrent, &now) ==
            poolSuccess &&
        poolMemPoolGetAttribute(stage->pool, poolMemPoolAttrReservedMemHigh, &high) == poolSuccess)
        sp_figures_note(figures, SP_FIGURE_RESERVED, now, high);
}

static void pool_look_through(struct sp_stage *stage, struct sp_figures *figures) {
    uint64_t bytes;
    if (poolMemPoolGetAttribute(stage->pool, poolMemPoolStatPendingBytes, &bytes) == poolSuccess)
        sp_figures_note(figures, SP_FIGURE_PENDING, bytes, 0);
    if (poolMemPoolGetAttribute(stage->pool, poolMemPoolStatPinnedBytes, &bytes) == poolSuccess)
        sp_figures_note(figures, SP_FIGURE_PINNED, bytes, 0);
}

static int pool_allocate(struct sp_stage *stage, uint64_t *pointer, size_t size, CUstream stream) {
    void *address = NULL;
    poolError_t error = stage->place == SP_TRACE_AT_DEVICE
                            ? poolMallocAsync(&address, size, stream)
                            : poolMallocFromPoolAsync(&address, size, stage->pool, stream);
    *pointer = (uintptr_t)address;
    return (int)error;
}

static int pool_free(struct sp_stage *stage, uint64_t pointer, size_t size,
                     const CUstream *stream) {
    void *address = (void *)(uintptr_t)pointer;
    (void)stage, (void)size;
    return (int)(stream ? poolFreeAsync(address, *stream) : poolFree(address));
}

static int pool_trim(struct sp_stage *stage, uint64_t keep) {
    return (int)poolMemPoolTrimTo(stage->pool, keep);
}

static int pool_order(struct sp_stage *stage, enum sp_trace_action action, CUstream stream,
                      CUevent event) {
    (void)stage;
    switch (action) {
#define ORDER(action, name, call)                                                                  \
    case SP_TRACE_##action:                                                                        \
        return (int)pool##call;
        SP_ORDERS(ORDER)
#undef ORDER
    case SP_TRACE_SYNCHRONIZE_DEVICE:
        return (int)poolDeviceSynchronize();
    default: // the kind of a stream
        return poolSuccess;
    }
}

static const char *pool_error_name(int status) {
    return poolGetErrorName((poolError_t)status);
}

#define POOL_CALLS                                                                                 \
    .has_places = true, .close = pool_close, .begin_pass = pool_begin_pass,                        \
    .at_peak = pool_at_peak, .reserved_peak = pool_reserved_peak, .statistics = pool_statistics,   \
    .look = pool_look, .look_through = pool_look_through, .allocate = pool_allocate,               \
    .free = pool_free, .trim = pool_trim, .order = pool_order, .error_name = pool_error_name

const struct sp_allocator sp_allocator_pool = {
    .name = "pool", .title = "streampool", .open = pool_open, POOL_CALLS};
const struct sp_allocator sp_allocator_promised = {.name = "promised",
                                                   .title = "StreamPromises",
                                                   .suits = promised_suits,
                                                   .open = promised_open,
                                                   POOL_CALLS};
