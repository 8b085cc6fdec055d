// These allocators are the library itself, without and with promises. Their pool is made the
// device's current pool, so that the calls are those that programs make.
#include "cli/play/allocator.h"

#include <inttypes.h>

static bool fail(struct sp_stage *stage, poolError_t error) {
    return sp_stage_fail(stage, "%s: %s", poolGetErrorName(error), poolGetLastErrorDetail());
}

static bool open_pool(struct sp_stage *stage, int promises) {
    struct poolMemPoolProps props = {
        .allocType = poolMemAllocationTypePinned,
        .location = {.type = poolMemLocationTypeDevice, .id = stage->device->ordinal},
        .maxSize = stage->limit,
    };
    // The simulated driver gets no reaper: the times would depend on when its thread ran.
    int reaper = !sp_device_is_simulated(stage->device->driver);
    poolError_t error = poolMemPoolCreate(&stage->pool, &props);
    if (error != poolSuccess)
        return fail(stage, error);
    error = poolMemPoolSetAttribute(stage->pool, poolMemPoolAttrReaper, &reaper);
    if (error == poolSuccess)
        error = poolMemPoolSetAttribute(stage->pool, poolMemPoolAttrReleaseThreshold,
                                        &stage->threshold);
    if (error == poolSuccess && stage->growths)
        error = sp_growths_observe(stage->growths, stage->pool);
    if (error == poolSuccess)
        error = poolDeviceSetMemPool(stage->device->ordinal, stage->pool);
    if (error == poolSuccess && promises != 0)
        error = poolMemPoolSetAttribute(stage->pool, poolMemPoolAttrStreamPromises, &promises);
    if (error == poolSuccess)
        return true;
    fail(stage, error);
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
static bool promised_suits(const struct sp_trace *trace, char *reason, size_t capacity) {
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
    snprintf(reason, capacity,
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
    poolError_t error =
        poolMemPoolSetAttribute(stage->pool, poolMemPoolAttrReservedMemHigh, &reset);
    sp_statistics_reset(stage->pool);
    stage->at_peak = (struct sp_statistics){.known = false};
    return error == poolSuccess || fail(stage, error);
}

// Reads the gauges. The first that can't be read stays 0, and so do those behind it.
static void pool_at_peak(struct sp_stage *stage) {
    sp_statistics_read_gauges(stage->pool, &stage->at_peak);
}

static bool pool_reserved_peak(struct sp_stage *stage, uint64_t *bytes) {
    poolError_t error = poolMemPoolGetAttribute(stage->pool, poolMemPoolAttrReservedMemHigh, bytes);
    return error == poolSuccess || fail(stage, error);
}

static bool pool_statistics(struct sp_stage *stage, struct sp_statistics *statistics) {
    *statistics = stage->at_peak;
    poolError_t error = sp_statistics_read_at_end(stage->pool, statistics);
    return error == poolSuccess || fail(stage, error);
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
    (void)stage;
    void *address = NULL;
    poolError_t error = poolMallocAsync(&address, size, stream);
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
    .close = pool_close, .begin_pass = pool_begin_pass, .at_peak = pool_at_peak,                   \
    .reserved_peak = pool_reserved_peak, .statistics = pool_statistics, .look = pool_look,         \
    .look_through = pool_look_through, .allocate = pool_allocate, .free = pool_free,               \
    .trim = pool_trim, .order = pool_order, .error_name = pool_error_name

const struct sp_allocator sp_allocator_pool = {
    .name = "pool", .title = "streampool", .open = pool_open, POOL_CALLS};
const struct sp_allocator sp_allocator_promised = {.name = "promised",
                                                   .title = "StreamPromises",
                                                   .suits = promised_suits,
                                                   .open = promised_open,
                                                   POOL_CALLS};
