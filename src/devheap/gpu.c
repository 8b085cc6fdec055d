// The machine of a GPU: a pool of streampool, and the driver.
//
// Every call of the driver is made with the heap's context current, and in the relaxed capture
// mode: so a capture elsewhere in the process stays valid.
#include "devheap/fail.h"
#include "devheap/image.h"
#include "devheap/machine.h"

#include "driver/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <streampool/lists.h>

struct gpu {
    struct sp_heap_machine machine;
    const struct sp_driver *driver;
    poolMemPool_t pool;
    CUcontext context;
    CUmodule module;
    CUfunction kernel[SP_HEAP_KERNEL_COUNT];
};

// A call restores this.
struct entered {
    const struct gpu *gpu;
    CUstreamCaptureMode mode;
};

static poolError_t error_of(CUresult result) {
    switch ((int)result) {
#define SP_HEAP_CASE(name, number, text) case number:
        STREAMPOOL_ERRORS(SP_HEAP_CASE)
#undef SP_HEAP_CASE
        return (poolError_t)result;
    default:
        return poolErrorUnknown;
    }
}

static poolError_t told(CUresult result, const char *entry_point) {
    if (result == CUDA_SUCCESS)
        return poolSuccess;
    return sp_heap_fail(error_of(result), "%s returned %s", entry_point,
                        sp_driver_error_name(result));
}

static struct gpu *gpu_of(struct sp_heap_machine *machine) {
    return (struct gpu *)machine;
}

static poolError_t enter(const struct gpu *gpu, struct entered *entered) {
    CUresult result = gpu->driver->cuCtxPushCurrent(gpu->context);
    if (result != CUDA_SUCCESS)
        return told(result, "cuCtxPushCurrent");
    *entered = (struct entered){gpu, CU_STREAM_CAPTURE_MODE_RELAXED};
    gpu->driver->cuThreadExchangeStreamCaptureMode(&entered->mode);
    return poolSuccess;
}

static poolError_t leave(struct entered *entered, poolError_t error) {
    CUcontext context;
    entered->gpu->driver->cuThreadExchangeStreamCaptureMode(&entered->mode);
    entered->gpu->driver->cuCtxPopCurrent(&context);
    return error;
}

// Makes one call of the driver, and returns from the function with what it says.
#define RETURN_DRIVER(machine, name, ...)                                                          \
    struct entered entered;                                                                        \
    poolError_t refused = enter(gpu_of(machine), &entered);                                        \
    if (refused != poolSuccess)                                                                    \
        return refused;                                                                            \
    return leave(&entered, told(gpu_of(machine)->driver->name(__VA_ARGS__), #name))

static poolError_t take(struct sp_heap_machine *machine, uint64_t *address, size_t bytes,
                        CUstream stream) {
    struct entered entered;
    void *memory;
    poolError_t error = enter(gpu_of(machine), &entered);
    if (error != poolSuccess)
        return error;
    error = leave(&entered, poolMallocFromPoolAsync(&memory, bytes, gpu_of(machine)->pool, stream));
    if (error == poolSuccess)
        *address = (uint64_t)(uintptr_t)memory;
    return error;
}

static poolError_t give_behind(struct sp_heap_machine *machine, uint64_t address,
                               const CUstream streams[], size_t count) {
    struct entered entered;
    poolError_t error = enter(gpu_of(machine), &entered);
    if (error != poolSuccess)
        return error;
    return leave(&entered, poolFreeAsyncAfter((void *)(uintptr_t)address, streams, count));
}

static poolError_t give(struct sp_heap_machine *machine, uint64_t address, CUstream stream) {
    return give_behind(machine, address, &stream, 1);
}

static poolError_t give_now(struct sp_heap_machine *machine, uint64_t address) {
    (void)machine;
    return poolFree((void *)(uintptr_t)address);
}

// Every context may use the memory, at its address: flags 1 and 2.
static poolError_t pin(struct sp_heap_machine *machine, void **memory, size_t bytes) {
    RETURN_DRIVER(machine, cuMemHostAlloc, memory, bytes, 1 | 2);
}

static void unpin(struct sp_heap_machine *machine, void *memory) {
    struct entered entered;
    if (enter(gpu_of(machine), &entered) == poolSuccess)
        leave(&entered, told(gpu_of(machine)->driver->cuMemFreeHost(memory), "cuMemFreeHost"));
}

static unsigned threads_of(enum sp_heap_kernel kernel) {
    static const unsigned threads[] = {
#define SP_HEAP_THREADS(name, count) count,
        SP_HEAP_KERNELS(SP_HEAP_THREADS)
#undef SP_HEAP_THREADS
    };
    return threads[kernel];
}

static poolError_t launch(struct sp_heap_machine *machine, enum sp_heap_kernel kernel,
                          uint32_t blocks, CUstream stream, const void *given) {
    void *parameters[] = {(void *)(uintptr_t)given};
    RETURN_DRIVER(machine, cuLaunchKernel, gpu_of(machine)->kernel[kernel], blocks, 1, 1,
                  threads_of(kernel), 1, 1, 0, stream, parameters, NULL);
}

static poolError_t create(struct sp_heap_machine *machine, CUevent *event) {
    RETURN_DRIVER(machine, cuEventCreate, event, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
}

static void destroy(struct sp_heap_machine *machine, CUevent event) {
    struct entered entered;
    if (enter(gpu_of(machine), &entered) == poolSuccess)
        leave(&entered, told(gpu_of(machine)->driver->cuEventDestroy(event), "cuEventDestroy"));
}

static poolError_t record(struct sp_heap_machine *machine, CUevent event, CUstream stream) {
    RETURN_DRIVER(machine, cuEventRecord, event, stream);
}

static poolError_t wait(struct sp_heap_machine *machine, CUstream stream, CUevent event) {
    RETURN_DRIVER(machine, cuStreamWaitEvent, stream, event, 0);
}

static poolError_t query(struct sp_heap_machine *machine, CUevent event) {
    RETURN_DRIVER(machine, cuEventQuery, event);
}

static poolError_t synchronize(struct sp_heap_machine *machine, CUevent event) {
    RETURN_DRIVER(machine, cuEventSynchronize, event);
}

// Without cuStreamGetId a stream is known by its handle, which one that is made later may get.
static poolError_t identify_entered(const struct gpu *gpu, CUstream stream, uint64_t *number) {
    CUstreamCaptureStatus status;
    CUresult result = gpu->driver->cuStreamIsCapturing(stream, &status);
    if (result != CUDA_SUCCESS)
        return told(result, "cuStreamIsCapturing");
    if (status != CU_STREAM_CAPTURE_STATUS_NONE)
        return sp_heap_fail(poolErrorStreamCaptureUnsupported,
                            "the stream captures, and a heap's calls can't be captured");
    unsigned long long id = (unsigned long long)(uintptr_t)stream;
    if (gpu->driver->cuStreamGetId != NULL)
        result = gpu->driver->cuStreamGetId(stream, &id);
    *number = id;
    return told(result, "cuStreamGetId");
}

static poolError_t identify(struct sp_heap_machine *machine, CUstream stream, uint64_t *number) {
    struct entered entered;
    poolError_t error = enter(gpu_of(machine), &entered);
    if (error != poolSuccess)
        return error;
    return leave(&entered, identify_entered(gpu_of(machine), stream, number));
}

static poolError_t end_entered(struct gpu *gpu) {
    poolError_t error = poolSuccess;
    if (gpu->module != NULL)
        error = told(gpu->driver->cuModuleUnload(gpu->module), "cuModuleUnload");
    if (gpu->machine.own != NULL) // the pool learns of it
        error = sp_heap_fail_first(error, poolStreamDestroy(gpu->machine.own));
    return error;
}

static poolError_t end(struct sp_heap_machine *machine) {
    struct gpu *gpu = gpu_of(machine);
    struct entered entered;
    poolError_t error = enter(gpu, &entered);
    if (error == poolSuccess)
        error = leave(&entered, end_entered(gpu));
    free(gpu);
    return error;
}

static poolError_t load(struct gpu *gpu) {
    static const char *const names[] = {
#define SP_HEAP_NAME(name, threads) "sp_heap_kernel_" #name,
        SP_HEAP_KERNELS(SP_HEAP_NAME)
#undef SP_HEAP_NAME
    };
    CUresult result = gpu->driver->cuModuleLoadData(&gpu->module, sp_heap_image);
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_INVALID_PTX ||
        result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
        return sp_heap_fail(poolErrorNotSupported,
                            "the device or its driver is too old for the heap's kernels: "
                            "cuModuleLoadData returned %s",
                            sp_driver_error_name(result));
    if (result != CUDA_SUCCESS)
        return told(result, "cuModuleLoadData");
    for (int i = 0; i < SP_HEAP_KERNEL_COUNT && result == CUDA_SUCCESS; i++)
        result = gpu->driver->cuModuleGetFunction(&gpu->kernel[i], gpu->module, names[i]);
    return told(result, "cuModuleGetFunction");
}

// The context must be on the device that has the pool's memory.
static poolError_t check_device(struct gpu *gpu) {
    struct poolPointerAttributes attributes;
    void *memory;
    CUdevice device;
    poolError_t error = poolMallocFromPoolAsync(&memory, 1, gpu->pool, gpu->machine.own);
    if (error != poolSuccess)
        return error;
    poolPointerGetAttributes(&attributes, memory);
    error = poolFreeAsync(memory, gpu->machine.own);
    if (error == poolSuccess)
        error = told(gpu->driver->cuCtxGetDevice(&device), "cuCtxGetDevice");
    if (error == poolSuccess && device != attributes.device)
        return sp_heap_fail(poolErrorInvalidDevice,
                            "the pool is on device %d, and the current context on device %d",
                            attributes.device, device);
    return error;
}

static poolError_t open_entered(struct gpu *gpu) {
    poolError_t error = told(gpu->driver->cuStreamCreate(&gpu->machine.own, CU_STREAM_NON_BLOCKING),
                             "cuStreamCreate");
    if (error == poolSuccess)
        error = check_device(gpu);
    return error == poolSuccess ? load(gpu) : error;
}

static poolError_t find_driver(const struct sp_driver **driver, CUcontext *context) {
    CUresult result = sp_driver_load(driver);
    if (result != CUDA_SUCCESS)
        return sp_heap_fail(poolErrorInsufficientDriver, "%s", sp_driver_problem());
    result = (*driver)->cuCtxGetCurrent(context);
    if (result != CUDA_SUCCESS)
        return told(result, "cuCtxGetCurrent");
    if (*context == NULL)
        return sp_heap_fail(poolErrorDeviceUninitialized, "no context is current");
    return poolSuccess;
}

static const struct sp_heap_machine calls = {
    .take = take,
    .give = give,
    .give_behind = give_behind,
    .give_now = give_now,
    .pin = pin,
    .unpin = unpin,
    .launch = launch,
    .create = create,
    .destroy = destroy,
    .record = record,
    .wait = wait,
    .query = query,
    .synchronize = synchronize,
    .identify = identify,
    .end = end,
};

poolError_t sp_heap_machine_make(struct sp_heap_machine **machine, poolMemPool_t pool) {
    const struct sp_driver *driver;
    CUcontext context;
    struct entered entered;
    poolError_t error = find_driver(&driver, &context);
    if (error != poolSuccess)
        return error;
    struct gpu *gpu = calloc(1, sizeof *gpu);
    if (gpu == NULL)
        return sp_heap_fail(poolErrorMemoryAllocation, "out of host memory");
    *gpu = (struct gpu){.machine = calls, .driver = driver, .pool = pool, .context = context};
    error = enter(gpu, &entered);
    if (error == poolSuccess)
        error = leave(&entered, open_entered(gpu));
    if (error == poolSuccess) {
        *machine = &gpu->machine;
        return poolSuccess;
    }
    char detail[512];
    snprintf(detail, sizeof detail, "%s", poolGetLastErrorDetail());
    end(&gpu->machine);
    return sp_heap_fail(error, "%s", detail);
}
