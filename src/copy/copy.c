// The public calls. Each sees to it that the process may use the driver, and acts while the
// stream's context is current.
#include "beside/capture.h"
#include "beside/process.h"
#include "beside/refuse.h"
#include "copy/batch.h"
#include "copy/completion.h"
#include "copy/staging.h"
#include "copy/way.h"

#include "base/thread.h"

#include <stdint.h>

#define DRIVER(call, ...) sp_outcome_of_driver(sp_driver->call(__VA_ARGS__), #call)

// ---------------------------------------------------------------------------- the stream's context

// Acts while the stream's context is current. `device` receives its ordinal.
static poolError_t in_context_of(CUstream stream, int *device, poolError_t (*act)(void *request),
                                 void *request) {
    CUcontext context = NULL, current = NULL;
    struct sp_outcome outcome = DRIVER(cuStreamGetCtx, stream, &context);
    if (sp_is_done(outcome))
        outcome = DRIVER(cuCtxGetCurrent, &current);
    if (sp_is_done(outcome) && context != current)
        outcome = DRIVER(cuCtxPushCurrent, context);
    if (!sp_is_done(outcome))
        return sp_refuse_outcome(outcome, "copying");
    outcome = DRIVER(cuCtxGetDevice, device);
    poolError_t error = sp_is_done(outcome) ? act(request) : sp_refuse_outcome(outcome, "copying");
    if (context != current)
        sp_driver->cuCtxPopCurrent(&context);
    return error;
}

struct request {
    struct sp_copy *copy;
    struct sp_completion *completion; // null: the call waits
    poolCopyCompletion_t *handle;
};

static poolError_t make_here(void *data) {
    const struct request *request = data;
    poolError_t error = sp_way_check(request->copy);
    return error == poolSuccess ? sp_way_give(request->copy, request->completion, request->handle)
                                : error;
}

// With a place for a completion the copy is made at once.
static poolError_t make(struct sp_copy *copy, poolCopyCompletion_t *handle) {
    SP_UNCANCELLED;
    poolError_t error = sp_process_find();
    struct sp_completion *completion = NULL;
    if (error != poolSuccess)
        return error;
    if (handle && !(completion = sp_completion_make()))
        return sp_refuse(poolErrorMemoryAllocation, "the host has no memory for a completion");
    if (copy->width > 0 && copy->height > 0) {
        struct request request = {copy, completion, handle};
        poolError_t before = poolPeekAtLastError();
        CUstreamCaptureMode mode = sp_capture_relax();
        error = in_context_of(copy->stream, &copy->device, make_here, &request);
        sp_capture_restore(mode);
        if (error == poolSuccess) // perhaps by another way than the first
            sp_refuse_nothing(before);
    } else if (handle) {
        *handle = sp_completion_of_nothing(completion);
    }
    if (error != poolSuccess && completion)
        sp_completion_unmake(completion);
    return error;
}

// ------------------------------------------------------------------------------------------- calls

static struct sp_copy to_device(void *dst, size_t dpitch, const void *src, size_t spitch,
                                size_t width, size_t height, CUstream stream) {
    return (struct sp_copy){.to_device = true,
                            .host = (char *)(uintptr_t)src,
                            .address = (CUdeviceptr)(uintptr_t)dst,
                            .width = width,
                            .height = height,
                            .host_pitch = spitch,
                            .device_pitch = dpitch,
                            .stream = stream};
}

static struct sp_copy to_host(void *dst, size_t dpitch, const void *src, size_t spitch,
                              size_t width, size_t height, CUstream stream) {
    return (struct sp_copy){.to_device = false,
                            .host = dst,
                            .address = (CUdeviceptr)(uintptr_t)src,
                            .width = width,
                            .height = height,
                            .host_pitch = dpitch,
                            .device_pitch = spitch,
                            .stream = stream};
}

poolError_t poolCopyToDeviceAsync(void *dst, const void *src, size_t bytes, CUstream stream) {
    struct sp_copy copy = to_device(dst, bytes, src, bytes, bytes, 1, stream);
    return make(&copy, NULL);
}

poolError_t poolCopyToHostAsync(void *dst, const void *src, size_t bytes, CUstream stream) {
    struct sp_copy copy = to_host(dst, bytes, src, bytes, bytes, 1, stream);
    return make(&copy, NULL);
}

poolError_t poolCopyToDevice2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                    size_t width, size_t height, CUstream stream) {
    struct sp_copy copy = to_device(dst, dpitch, src, spitch, width, height, stream);
    return make(&copy, NULL);
}

poolError_t poolCopyToHost2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                  size_t width, size_t height, CUstream stream) {
    struct sp_copy copy = to_host(dst, dpitch, src, spitch, width, height, stream);
    return make(&copy, NULL);
}

static poolError_t make_at_once(struct sp_copy *copy, poolCopyCompletion_t *completion) {
    return completion ? make(copy, completion)
                      : sp_refuse(poolErrorInvalidValue, "completion is null");
}

poolError_t poolCopyToDeviceAsyncWithCompletion(void *dst, const void *src, size_t bytes,
                                                CUstream stream, poolCopyCompletion_t *completion) {
    struct sp_copy copy = to_device(dst, bytes, src, bytes, bytes, 1, stream);
    return make_at_once(&copy, completion);
}

poolError_t poolCopyToHostAsyncWithCompletion(void *dst, const void *src, size_t bytes,
                                              CUstream stream, poolCopyCompletion_t *completion) {
    struct sp_copy copy = to_host(dst, bytes, src, bytes, bytes, 1, stream);
    return make_at_once(&copy, completion);
}

poolError_t poolCopyToDevice2DAsyncWithCompletion(void *dst, size_t dpitch, const void *src,
                                                  size_t spitch, size_t width, size_t height,
                                                  CUstream stream,
                                                  poolCopyCompletion_t *completion) {
    struct sp_copy copy = to_device(dst, dpitch, src, spitch, width, height, stream);
    return make_at_once(&copy, completion);
}

poolError_t poolCopyToHost2DAsyncWithCompletion(void *dst, size_t dpitch, const void *src,
                                                size_t spitch, size_t width, size_t height,
                                                CUstream stream, poolCopyCompletion_t *completion) {
    struct sp_copy copy = to_host(dst, dpitch, src, spitch, width, height, stream);
    return make_at_once(&copy, completion);
}

// ----------------------------------------------------------------------------------------- batches

static poolError_t make_batch_here(void *data) {
    struct sp_batch *batch = data;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    struct sp_outcome outcome = DRIVER(cuStreamIsCapturing, batch->stream, &status);
    if (!sp_is_done(outcome))
        return sp_refuse_outcome(outcome, "copying a batch");
    batch->captures = status != CU_STREAM_CAPTURE_STATUS_NONE;
    return sp_batch_copy(batch);
}

poolError_t poolCopyBatchAsync(void *const dsts[], const void *const srcs[], const size_t sizes[],
                               size_t n, CUstream stream) {
    SP_UNCANCELLED;
    struct sp_batch batch = {dsts, srcs, sizes, n, stream, 0, false};
    poolError_t error = sp_process_find();
    if (error != poolSuccess || n == 0)
        return error;
    if (!dsts || !srcs || !sizes)
        return sp_refuse(poolErrorInvalidValue, "%s is null",
                         !dsts   ? "dsts"
                         : !srcs ? "srcs"
                                 : "sizes");
    CUstreamCaptureMode mode = sp_capture_relax();
    error = in_context_of(stream, &batch.device, make_batch_here, &batch);
    sp_capture_restore(mode);
    return error;
}

// ------------------------------------------------------------------------------------------- files

static struct sp_copy of_file(bool to_device, int fd, uint64_t offset, const void *device,
                              size_t bytes, CUstream stream) {
    return (struct sp_copy){.to_device = to_device,
                            .is_of_file = true,
                            .fd = fd,
                            .file_offset = offset,
                            .address = (CUdeviceptr)(uintptr_t)device,
                            .width = bytes,
                            .height = 1,
                            .host_pitch = bytes,
                            .device_pitch = bytes,
                            .stream = stream};
}

poolError_t poolFileToDeviceAsync(void *dst, int fd, uint64_t offset, size_t bytes,
                                  CUstream stream) {
    struct sp_copy copy = of_file(true, fd, offset, dst, bytes, stream);
    return make(&copy, NULL);
}

poolError_t poolDeviceToFileAsync(int fd, uint64_t offset, const void *src, size_t bytes,
                                  CUstream stream) {
    struct sp_copy copy = of_file(false, fd, offset, src, bytes, stream);
    return make(&copy, NULL);
}

poolError_t poolFileToDeviceAsyncWithCompletion(void *dst, int fd, uint64_t offset, size_t bytes,
                                                CUstream stream, poolCopyCompletion_t *completion) {
    struct sp_copy copy = of_file(true, fd, offset, dst, bytes, stream);
    return make_at_once(&copy, completion);
}

poolError_t poolDeviceToFileAsyncWithCompletion(int fd, uint64_t offset, const void *src,
                                                size_t bytes, CUstream stream,
                                                poolCopyCompletion_t *completion) {
    struct sp_copy copy = of_file(false, fd, offset, src, bytes, stream);
    return make_at_once(&copy, completion);
}

// ------------------------------------------------------------------------------------- completions

static poolError_t ask(poolCopyCompletion_t handle,
                       poolError_t (*question)(struct sp_completion *completion)) {
    SP_UNCANCELLED;
    poolError_t error = sp_process_find();
    struct sp_completion *found = error == poolSuccess ? sp_completion_find(handle) : NULL;
    if (error != poolSuccess)
        return error;
    if (!found)
        return sp_refuse(poolErrorInvalidValue, "%p is no completion, or was destroyed",
                         (void *)handle);
    CUstreamCaptureMode mode = sp_capture_relax();
    error = question(found);
    sp_completion_leave(found);
    sp_capture_restore(mode);
    return error;
}

poolError_t poolCopyCompletionQuery(poolCopyCompletion_t completion) {
    return ask(completion, sp_completion_query);
}

poolError_t poolCopyCompletionSynchronize(poolCopyCompletion_t completion) {
    return ask(completion, sp_completion_synchronize);
}

poolError_t poolCopyCompletionDestroy(poolCopyCompletion_t completion) {
    SP_UNCANCELLED;
    poolError_t error = sp_process_find();
    if (error != poolSuccess || !completion)
        return error;
    CUstreamCaptureMode mode = sp_capture_relax();
    bool was_there = sp_completion_destroy(completion);
    sp_capture_restore(mode);
    if (was_there)
        return poolSuccess;
    return sp_refuse(poolErrorInvalidValue, "%p is no completion, or was destroyed",
                     (void *)completion);
}

// --------------------------------------------------------------------------- settings and the pool

poolError_t poolCopyGetPool(poolMemPool_t *pool) {
    SP_UNCANCELLED;
    poolError_t error = sp_process_find();
    if (error == poolSuccess && !pool)
        return sp_refuse(poolErrorInvalidValue, "pool is null");
    return error == poolSuccess ? sp_staging_pool(pool) : error;
}

poolError_t poolCopyGetSettings(struct poolCopySettings *settings) {
    if (!settings)
        return sp_refuse(poolErrorInvalidValue, "settings is null");
    *settings = sp_settings_get();
    return poolSuccess;
}

poolError_t poolCopySetSettings(const struct poolCopySettings *settings) {
    const char *problem = settings ? sp_settings_problem(settings) : "settings is null";
    if (problem)
        return sp_refuse(poolErrorInvalidValue, "%s", problem);
    sp_settings_set(settings);
    return poolSuccess;
}

poolError_t poolCopySetSettingsFile(const char *path) {
    SP_UNCANCELLED;
    return sp_settings_remember(path);
}
