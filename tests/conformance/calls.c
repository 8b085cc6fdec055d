// Rows of calls that an ordinary program makes of the driver: errors, events, streams, contexts,
// modules and launches.
#include <stdint.h>
#include <string.h>

#include "conformance/rows.h"
#include "conformance/wider.h"
#include "simcuda/kernel/kernels.h"
#include "support/check.h"
#include "support/device.h"

static CUevent timing_event(void) {
    CUevent event = NULL;
    DRIVER(test_driver()->cuEventCreate(&event, CU_EVENT_DEFAULT));
    return event;
}

// ------------------------------------------------------------------------------- errors and events

void row_each_error_has_a_sentence(void) {
    const char *text = NULL;
    DRIVER(wider()->cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
    REQUIRE(text && strlen(text) > 5);
    ANSWERS(wider()->cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!text);
}

void row_events_tell_the_time_between_them(void) {
    CUstream stream = test_stream();
    CUevent first = timing_event(), second = timing_event();
    float milliseconds = -1;
    DRIVER(test_driver()->cuEventRecord(first, stream));
    test_work(stream);
    DRIVER(test_driver()->cuEventRecord(second, stream));
    test_finish(stream);
    DRIVER(test_driver()->cuEventElapsedTime(&milliseconds, first, second));
    REQUIRE(milliseconds > 0);
    DRIVER(test_driver()->cuEventElapsedTime(&milliseconds, second, second));
    REQUIRE(milliseconds == 0);
}

void row_a_pending_event_tells_no_time(void) {
    CUstream stream = test_stream();
    CUevent first = timing_event(), second = timing_event();
    struct test_hold hold;
    float milliseconds;
    DRIVER(test_driver()->cuEventRecord(first, stream));
    test_hold(&hold, stream);
    DRIVER(test_driver()->cuEventRecord(second, stream));
    ANSWERS(test_driver()->cuEventElapsedTime(&milliseconds, first, second), CUDA_ERROR_NOT_READY);
    test_let_go(&hold);
    test_finish(stream);
}

void row_an_event_without_time_or_record_tells_none(void) {
    CUstream stream = test_stream();
    CUevent timed = timing_event(), untimed = test_event(), unused = timing_event();
    float milliseconds;
    DRIVER(test_driver()->cuEventRecord(timed, stream));
    DRIVER(test_driver()->cuEventRecord(untimed, stream));
    test_finish(stream);
    ANSWERS(test_driver()->cuEventElapsedTime(&milliseconds, timed, untimed),
            CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(test_driver()->cuEventElapsedTime(&milliseconds, timed, unused),
            CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(test_driver()->cuEventElapsedTime(NULL, timed, timed), CUDA_ERROR_INVALID_HANDLE);
}

// ---------------------------------------------------------------------------- streams and contexts

void row_a_streams_priority_is_brought_into_the_range(void) {
    int least = 1, greatest = 1, priority = 1;
    CUstream stream = NULL;
    DRIVER(wider()->cuCtxGetStreamPriorityRange(&least, &greatest));
    REQUIRE(least == 0 && greatest < 0);
    DRIVER(wider()->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest - 10));
    DRIVER(wider()->cuStreamGetPriority(stream, &priority));
    REQUIRE(priority == greatest);
    DRIVER(wider()->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 10));
    DRIVER(wider()->cuStreamGetPriority(stream, &priority));
    REQUIRE(priority == 0);
}

static int called;
static CUresult status_of_call = CUDA_ERROR_UNKNOWN;

static void note_call(CUstream stream, CUresult status, void *data) {
    (void)stream;
    called += *(int *)data;
    status_of_call = status;
}

void row_a_callback_runs_behind_the_work_before_it(void) {
    CUstream stream = test_stream();
    struct test_hold hold;
    int data = 3;
    test_hold(&hold, stream);
    DRIVER(wider()->cuStreamAddCallback(stream, note_call, &data, 0));
    REQUIRE(called == 0);
    test_let_go(&hold);
    test_finish(stream);
    REQUIRE(called == 3 && status_of_call == CUDA_SUCCESS);
    ANSWERS(wider()->cuStreamAddCallback(stream, NULL, &data, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuStreamAddCallback(stream, note_call, &data, 1), CUDA_ERROR_INVALID_VALUE);
}

void row_a_null_stream_of_the_per_thread_forms_is_the_threads_own(void) {
    struct test_hold hold;
    CUevent event = test_event();
    test_hold(&hold, CU_STREAM_PER_THREAD);
    ANSWERS(wider()->cuStreamQuery_ptsz(NULL), CUDA_ERROR_NOT_READY);
    DRIVER(wider()->cuEventRecord_ptsz(event, NULL));
    ANSWERS(test_driver()->cuEventQuery(event), CUDA_ERROR_NOT_READY);
    test_let_go(&hold);
    DRIVER(wider()->cuStreamSynchronize_ptsz(NULL));
    ANSWERS(test_driver()->cuEventQuery(event), CUDA_SUCCESS);
}

void row_contexts_tell_flags_version_and_limits(void) {
    unsigned int flags = 99, version = 0;
    size_t limit = 0;
    CUcontext context = NULL;
    DRIVER(wider()->cuCtxGetFlags(&flags));
    DRIVER(test_driver()->cuCtxGetCurrent(&context));
    DRIVER(wider()->cuCtxGetApiVersion(context, &version));
    REQUIRE(version >= 3020);
    DRIVER(wider()->cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    REQUIRE(limit >= 1024);
    DRIVER(wider()->cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    DRIVER(wider()->cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    REQUIRE(limit >= 4096);
    ANSWERS(wider()->cuCtxGetLimit(&limit, (CUlimit)99), CUDA_ERROR_INVALID_VALUE);
}

void row_a_device_is_named_by_its_place_on_the_bus(void) {
    char id[32] = "";
    CUdevice device = -1;
    DRIVER(wider()->cuDeviceGetPCIBusId(id, sizeof id, 0));
    REQUIRE(strlen(id) == 12 && id[4] == ':' && id[7] == ':' && id[10] == '.');
    DRIVER(wider()->cuDeviceGetByPCIBusId(&device, id));
    REQUIRE(device == 0);
    ANSWERS(wider()->cuDeviceGetByPCIBusId(&device, "0000:ff:1f.7"), CUDA_ERROR_INVALID_DEVICE);
}

// ------------------------------------------------------------------------------- modules, launches

static CUfunction fill_of(CUmodule module) {
    CUfunction function = NULL;
    DRIVER(test_driver()->cuModuleGetFunction(&function, module, "sp_fill"));
    return function;
}

static CUmodule module_of_kernels(void) {
    CUmodule module = NULL;
    DRIVER(wider()->cuModuleLoadDataEx(&module, SP_KERNELS_PTX, 0, NULL, NULL));
    return module;
}

void row_an_image_that_is_none_is_refused(void) {
    CUmodule module = NULL;
    CUfunction function = NULL;
    ANSWERS(test_driver()->cuModuleLoadData(&module, "this is no image"), CUDA_ERROR_INVALID_IMAGE);
    ANSWERS(test_driver()->cuModuleGetFunction(&function, module_of_kernels(), "no_such_kernel"),
            CUDA_ERROR_NOT_FOUND);
}

void row_a_launch_beyond_the_devices_limits_is_invalid(void) {
    const struct sp_driver *driver = test_driver();
    CUfunction fill = fill_of(module_of_kernels());
    CUstream stream = test_stream();
    CUdeviceptr memory;
    uint64_t bytes = 4096;
    uint32_t seed = 1;
    DRIVER(driver->cuMemAlloc(&memory, bytes));
    void *parameters[] = {&memory, &bytes, &seed};
    ANSWERS(driver->cuLaunchKernel(fill, 1, 1, 1, 1025, 1, 1, 0, stream, parameters, NULL),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(driver->cuLaunchKernel(fill, 1, 65536, 1, 32, 1, 1, 0, stream, parameters, NULL),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(driver->cuLaunchKernel(fill, 0, 1, 1, 32, 1, 1, 0, stream, parameters, NULL),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(driver->cuLaunchKernel(fill, 1, 1, 1, 1, 1, 65, 0, stream, parameters, NULL),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(driver->cuLaunchKernel(fill, 65536, 1, 1, 32, 1, 1, 0, stream, parameters, NULL),
            CUDA_SUCCESS);
    test_finish(stream);
}

void row_parameters_may_come_in_one_buffer(void) {
    CUfunction fill = fill_of(module_of_kernels());
    CUstream stream = test_stream();
    uint32_t first = 0;
    struct {
        uint64_t address, bytes;
        uint32_t seed;
    } buffer = {.bytes = 4096, .seed = 77};
    size_t size = 20;
    DRIVER(test_driver()->cuMemAlloc((CUdeviceptr *)&buffer.address, 4096));
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    DRIVER(test_driver()->cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, stream, NULL, extra));
    test_finish(stream);
    DRIVER(test_driver()->cuMemcpyDtoH(&first, buffer.address, sizeof first));
    REQUIRE_EQUAL(first, 77);
}

void row_a_kernels_parameters_are_told(void) {
    CUfunction fill = fill_of(module_of_kernels());
    size_t offset = 0, size = 0;
    WIDER_NEEDS(cuFuncGetParamInfo);
    DRIVER(wider()->cuFuncGetParamInfo(fill, 2, &offset, &size));
    REQUIRE(offset == 16 && size == 4);
    ANSWERS(wider()->cuFuncGetParamInfo(fill, 3, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

void row_a_library_gives_kernels_that_launch(void) {
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUfunction function = NULL;
    CUstream stream = test_stream();
    CUdeviceptr memory;
    uint64_t bytes = 4096;
    uint32_t seed = 5, first = 0;
    DRIVER(test_driver()->cuMemAlloc(&memory, bytes));
    DRIVER(wider()->cuLibraryLoadData(&library, SP_KERNELS_PTX, NULL, NULL, 0, NULL, NULL, 0));
    DRIVER(wider()->cuLibraryGetKernel(&kernel, library, "sp_fill"));
    ANSWERS(wider()->cuLibraryGetKernel(&kernel, library, "none"), CUDA_ERROR_NOT_FOUND);
    DRIVER(wider()->cuLibraryGetKernel(&kernel, library, "sp_fill"));
    DRIVER(wider()->cuKernelGetFunction(&function, kernel));
    void *parameters[] = {&memory, &bytes, &seed};
    DRIVER(test_driver()->cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, stream,
                                         parameters, NULL));
    test_finish(stream);
    DRIVER(test_driver()->cuMemcpyDtoH(&first, memory, sizeof first));
    REQUIRE_EQUAL(first, 5);
    DRIVER(wider()->cuLibraryUnload(library));
}
