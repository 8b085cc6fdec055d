#include "copy/way.h"

#include "beside/refuse.h"
#include "copy/cufile.h"
#include "copy/measure.h"
#include "copy/memory.h"
#include "copy/now.h"

#include <stdint.h>

// Up to so many bytes the driver's own copy of pageable memory is the fastest, on an H200. To the
// device it doesn't wait for the stream then; and a call "at once" fills a chunk before it returns.
#define SMALL_IN  ((size_t)256 << 10)
#define SMALL_OUT ((size_t)16 << 10)

#define DRIVER(call, ...) sp_outcome_of_driver(sp_driver->call(__VA_ARGS__), #call)

// ----------------------------------------------------------------------------------- what is asked

// The bytes from the first one to the last one of rows; 0 where there are more than addresses.
static size_t span(size_t width, size_t height, size_t pitch) {
    size_t rows = 0, bytes = 0;
    if (__builtin_mul_overflow(pitch, height - 1, &rows) ||
        __builtin_add_overflow(rows, width, &bytes) || bytes > PTRDIFF_MAX)
        return 0;
    return bytes;
}

static size_t host_span(const struct sp_copy *copy) {
    return span(copy->width, copy->height, copy->host_pitch);
}

static const void *device_memory(const struct sp_copy *copy) {
    return (const void *)(uintptr_t)copy->address;
}

static poolError_t check_file(const struct sp_copy *copy) {
    return sp_transfer_refuse_problem(
        copy->to_device,
        sp_copy_file_check(copy->fd, copy->to_device, copy->file_offset, copy->width));
}

poolError_t sp_way_check(const struct sp_copy *copy) {
    size_t of_device = span(copy->width, copy->height, copy->device_pitch);
    const char *from = copy->to_device ? "dst" : "src";
    if ((!copy->host && !copy->is_of_file) || copy->address == 0)
        return sp_refuse(poolErrorInvalidValue, "%s is null",
                         (copy->address == 0) == copy->to_device ? "dst" : "src");
    if (copy->height > 1 && (copy->host_pitch < copy->width || copy->device_pitch < copy->width))
        return sp_refuse(poolErrorInvalidValue, "a pitch is less than the %zu bytes of a row",
                         copy->width);
    if (host_span(copy) == 0 || of_device == 0)
        return sp_refuse(poolErrorInvalidValue, "%zu rows of %zu bytes are more than there can be",
                         copy->height, copy->width);
    if (!sp_memory_is_known(device_memory(copy), of_device))
        return sp_refuse(poolErrorInvalidValue,
                         "%s, %p, or the last of its %zu bytes, is no memory of a device", from,
                         device_memory(copy), of_device);
    return copy->is_of_file ? check_file(copy) : poolSuccess;
}

// ----------------------------------------------------------------------------------- the four ways

static struct sp_outcome give_driver_rows(const struct sp_copy *copy, CUdeviceptr host) {
    bool in = copy->to_device;
    const CUDA_MEMCPY2D rows = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = in ? host : copy->address,
        .srcPitch = in ? copy->host_pitch : copy->device_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = in ? copy->address : host,
        .dstPitch = in ? copy->device_pitch : copy->host_pitch,
        .WidthInBytes = copy->width,
        .Height = copy->height,
    };
    return DRIVER(cuMemcpy2DAsync, &rows, copy->stream);
}

static struct sp_outcome give_driver_row_by_row(const struct sp_copy *copy, CUdeviceptr host) {
    CUdeviceptr address = copy->address;
    struct sp_outcome outcome = sp_outcome_done();
    for (size_t row = 0; row < copy->height && sp_is_done(outcome); row++) {
        outcome = DRIVER(cuMemcpyAsync, copy->to_device ? address : host,
                         copy->to_device ? host : address, copy->width, copy->stream);
        host += copy->host_pitch;
        address += copy->device_pitch;
    }
    return outcome;
}

// The driver copies. It sees by itself what memory the host's is.
static poolError_t give_driver(const struct sp_copy *copy) {
    CUdeviceptr host = (CUdeviceptr)(uintptr_t)copy->host;
    bool at_once = copy->height > 1 && copy->host_pitch <= SP_TRANSFER_PITCH_MOST &&
                   copy->device_pitch <= SP_TRANSFER_PITCH_MOST;
    struct sp_outcome outcome =
        at_once ? give_driver_rows(copy, host) : give_driver_row_by_row(copy, host);
    return sp_is_done(outcome) ? poolSuccess : sp_refuse_outcome(outcome, "copying");
}

static poolError_t give_straight(const struct sp_copy *copy, struct sp_completion *completion,
                                 poolCopyCompletion_t *handle) {
    CUevent event = NULL;
    if (!completion)
        return give_driver(copy);
    struct sp_outcome outcome = DRIVER(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    if (!sp_is_done(outcome))
        return sp_refuse_outcome(outcome, "copying");
    poolError_t error = give_driver(copy);
    if (error == poolSuccess)
        outcome = DRIVER(cuEventRecord, event, copy->stream);
    if (error == poolSuccess && sp_is_done(outcome)) {
        *handle = sp_completion_of_event(completion, event);
        return poolSuccess;
    }
    sp_driver->cuEventDestroy(event);
    if (error != poolSuccess)
        return error;
    outcome = DRIVER(cuStreamSynchronize, copy->stream); // the copy is under way
    if (sp_is_done(outcome))
        *handle = sp_completion_of_nothing(completion);
    return sp_is_done(outcome) ? poolSuccess : sp_refuse_outcome(outcome, "copying");
}

static bool is_small(const struct sp_copy *copy) {
    size_t most = copy->to_device ? SMALL_IN : SMALL_OUT;
    return copy->width * copy->height <= most && !copy->is_of_file;
}

// Chunks take what cuFile leaves, which may be all, and find out what is wrong there.
static poolError_t give_file(const struct sp_copy *copy) {
    size_t done = 0;
    struct sp_copy left = *copy;
    poolError_t error = sp_cufile_copy(copy, &done);
    if (error != poolSuccess || done == copy->width)
        return error;
    left.file_offset += done;
    left.address += done;
    left.width = left.host_pitch = left.device_pitch = copy->width - done;
    return sp_copy_now(&left);
}

static poolError_t give_now(const struct sp_copy *copy) {
    if (copy->is_of_file)
        return give_file(copy);
    sp_measure_with(copy);
    return sp_copy_now(copy);
}

static poolError_t give_staged(const struct sp_copy *copy, struct sp_completion *completion,
                               poolCopyCompletion_t *handle) {
    struct sp_ahead *ahead = NULL;
    if (!completion)
        return give_now(copy);
    bool is_ahead = sp_ahead_is_possible(copy->device) && !(copy->to_device && is_small(copy));
    poolError_t error = is_ahead ? sp_copy_ahead(copy, &ahead) : sp_copy_now(copy);
    if (error == poolSuccess)
        *handle = ahead ? sp_completion_of_ahead(completion, ahead)
                        : sp_completion_of_nothing(completion);
    return error;
}

poolError_t sp_way_give(const struct sp_copy *copy, struct sp_completion *completion,
                        poolCopyCompletion_t *handle) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    struct sp_outcome outcome = DRIVER(cuStreamIsCapturing, copy->stream, &status);
    if (!sp_is_done(outcome))
        return sp_refuse_outcome(outcome, "copying");
    bool captures = status != CU_STREAM_CAPTURE_STATUS_NONE;
    if (is_small(copy) && !completion && !captures) {
        poolError_t error = give_driver(copy);
        if (error != poolErrorInvalidValue)
            return error; // else a part of the memory is pinned, or it lies in several pieces
    }
    bool is_direct = !copy->is_of_file && sp_memory_is_direct(copy->host, host_span(copy));
    if (captures && (!is_direct || completion))
        return sp_refuse(poolErrorStreamCaptureUnsupported,
                         copy->is_of_file ? "the stream captures, and a file can't be captured"
                         : completion ? "the stream captures, and a completion can't be captured"
                                      : "the stream captures, and the host's memory isn't pinned");
    if (!is_direct && !copy->is_of_file && sp_memory_is_of_device(copy->host))
        return sp_refuse(poolErrorInvalidValue,
                         "%s, %p, is memory of a device that doesn't have %zu bytes there",
                         copy->to_device ? "src" : "dst", (void *)copy->host, host_span(copy));
    return is_direct ? give_straight(copy, completion, handle)
                     : give_staged(copy, completion, handle);
}
