// error NAME: the errors that a program sees under the drop-in.
#include "dropin/require.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

// ------------------------------------------------------------------------------------------ faults

static CUcontext context;
static CUstream stream;
static CUevent event;
static CUmemoryPool pool;
static CUdeviceptr address;
static CUdeviceptr more;

static void prepare(void) {
    context = start();
    stream = new_stream();
    pool = default_pool(0);
    address = allocate(MIB, stream);
    REQUIRE_DONE(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
}

static void fail_context(CUcontext failing, CUresult error) {
    int (*fail)(CUcontext, int);
    find_control(&fail, "simcudaContextFail");
    REQUIRE(fail(failing, (int)error) == 0);
}

static void require_memory_calls(CUresult expected) {
    REQUIRE_CODE(cu.cuMemAllocAsync(&more, MIB, stream), expected);
    REQUIRE_CODE(cu.cuMemAllocAsync(&more, 64 * MIB, NULL), expected);
    REQUIRE_CODE(cu.cuMemAllocAsync_ptsz(&more, MIB, NULL), expected);
    REQUIRE_CODE(cu.cuMemAllocFromPoolAsync(&more, MIB, pool, stream), expected);
    REQUIRE_CODE(cu.cuMemAllocFromPoolAsync_ptsz(&more, MIB, pool, NULL), expected);
    REQUIRE_CODE(cu.cuMemFreeAsync(address, stream), expected);
    REQUIRE_CODE(cu.cuMemFreeAsync_ptsz(address, NULL), expected);
    REQUIRE_CODE(cu.cuMemFree_v2(address), expected);
    REQUIRE_CODE(cu.cuMemAlloc_v2(&more, MIB), expected);
}

static void require_calls_of_order(CUresult expected) {
    REQUIRE_CODE(cu.cuStreamSynchronize(stream), expected);
    REQUIRE_CODE(cu.cuStreamSynchronize(NULL), expected);
    REQUIRE_CODE(cu.cuStreamQuery(stream), expected);
    REQUIRE_CODE(cu.cuStreamQuery_ptsz(NULL), expected);
    REQUIRE_CODE(cu.cuStreamWaitEvent(stream, event, 0), expected);
    REQUIRE_CODE(cu.cuEventRecord(event, stream), expected);
    REQUIRE_CODE(cu.cuEventRecordWithFlags(event, stream, 0), expected);
    REQUIRE_CODE(cu.cuEventQuery(event), expected);
    REQUIRE_CODE(cu.cuEventSynchronize(event), expected);
    REQUIRE_CODE(cu.cuCtxSynchronize(), expected);
    REQUIRE_CODE(cu.cuCtxSynchronize_v2(context), expected);
}

static void require_pointer_calls(CUresult expected) {
    unsigned int set = 1;
    uint64_t value;
    char handle[64];
    void *values[] = {&value};
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_BUFFER_ID;
    REQUIRE_CODE(cu.cuPointerGetAttribute(&value, attribute, address), expected);
    REQUIRE_CODE(cu.cuPointerGetAttributes(1, &attribute, values, address), expected);
    REQUIRE_CODE(cu.cuPointerSetAttribute(&set, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address),
                 expected);
    REQUIRE_CODE(cu.cuMemGetAddressRange_v2(NULL, NULL, address), expected);
    REQUIRE_CODE(cu.cuIpcGetMemHandle((struct CUipcMemHandle_st *)(void *)handle, address),
                 expected);
}

// One call tells of the fault, and from there on all do.
static void require_fault_everywhere(CUresult fault) {
    prepare();
    fail_context(context, fault);
    require_calls_of_order(fault);
    require_memory_calls(fault);
    require_pointer_calls(fault);
    require_calls_of_order(fault);
    REQUIRE_CODE(cu.cuEventDestroy_v2(event), fault);
    REQUIRE_CODE(cu.cuStreamDestroy_v2(stream), fault);
}

static void a_fault_is_told_by_every_call(void) {
    require_fault_everywhere(CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void every_kind_of_fault_stays(void) {
    static const CUresult faults[] = {CUDA_ERROR_ECC_UNCORRECTABLE,
                                      CUDA_ERROR_NVLINK_UNCORRECTABLE,
                                      CUDA_ERROR_CONTAINED,
                                      CUDA_ERROR_LAUNCH_TIMEOUT,
                                      CUDA_ERROR_ASSERT,
                                      CUDA_ERROR_HARDWARE_STACK_ERROR,
                                      CUDA_ERROR_ILLEGAL_INSTRUCTION,
                                      CUDA_ERROR_MISALIGNED_ADDRESS,
                                      CUDA_ERROR_INVALID_ADDRESS_SPACE,
                                      CUDA_ERROR_INVALID_PC,
                                      CUDA_ERROR_LAUNCH_FAILED,
                                      CUDA_ERROR_TENSOR_MEMORY_LEAK};
    prepare();
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        fail_context(context, faults[i]);
        require_calls_of_order(faults[i]);
        require_memory_calls(faults[i]);
    }
}

// The fault is found by a call that is told of it, whichever that is.
static void the_first_to_hear_of_a_fault_may_be_a_query(void) {
    prepare();
    fail_context(context, CUDA_ERROR_LAUNCH_FAILED);
    REQUIRE_CODE(cu.cuEventQuery(event), CUDA_ERROR_LAUNCH_FAILED);
    require_memory_calls(CUDA_ERROR_LAUNCH_FAILED);
}

// An error that passes is no fault.
static void other_errors_pass(void) {
    prepare();
    REQUIRE_CODE(cu.cuStreamWaitEvent(stream, NULL, 0), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE_CODE(cu.cuMemAllocAsync(&more, (size_t)1 << 50, stream), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_CODE(cu.cuMemFreeAsync(1, stream), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_DONE(cu.cuMemAllocAsync(&more, MIB, stream));
    REQUIRE_DONE(cu.cuMemFreeAsync(more, stream));
}

// A program may tell the driver's age by the attributes that it answers. Ours beyond CUDA's are
// always there.
static void require_attributes(const char *settings, int last) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        simulate(settings);
        prepare();
        for (int i = 1; i <= 20; i++) {
            uint64_t value = 0;
            CUmemPool_attribute attribute = (CUmemPool_attribute)i;
            CUresult expected = i <= last ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
            REQUIRE_CODE(cu.cuMemPoolGetAttribute(pool, attribute, &value), expected);
            REQUIRE(i != 15 || expected != CUDA_SUCCESS || (int)value == -1);
        }
        pool_figure(pool, (CUmemPool_attribute)1000);
        exit(0);
    }
    int status = 1;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

static void attributes_come_with_their_driver(void) {
    require_attributes("api=11040", 8);
    require_attributes("api=13010", 8);
    require_attributes("api=13020", 14);
    require_attributes("api=13030", 14);
    require_attributes("api=13040", 15);
    require_attributes("api=14000", 15);
}

// Another device has no part in it.
static void a_fault_ends_at_its_device(void) {
    CUcontext other = NULL;
    simulate("devices=2");
    prepare();
    REQUIRE_DONE(cu.cuDevicePrimaryCtxRetain(&other, 1));
    fail_context(context, CUDA_ERROR_ILLEGAL_ADDRESS);
    require_calls_of_order(CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE_DONE(cu.cuCtxSetCurrent(other));
    REQUIRE_DONE(cu.cuMemFreeAsync(allocate(MIB, NULL), NULL));
    REQUIRE_DONE(cu.cuCtxSetCurrent(context));
    require_memory_calls(CUDA_ERROR_ILLEGAL_ADDRESS);
}

// The context is gone then, and none can be made.
static void a_reset_mends_no_fault(void) {
    CUcontext fresh = NULL;
    prepare();
    fail_context(context, CUDA_ERROR_ILLEGAL_ADDRESS);
    require_calls_of_order(CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE_DONE(cu.cuDevicePrimaryCtxReset(0));
    REQUIRE_CODE(cu.cuDevicePrimaryCtxRetain(&fresh, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    REQUIRE_CODE(cu.cuMemAllocAsync(&more, MIB, NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    REQUIRE_CODE(cu.cuMemAlloc_v2(&more, MIB), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    REQUIRE_CODE(cu.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
}

// ------------------------------------------------------------------------------- without a context

static void require_default_stream_calls(CUresult expected) {
    REQUIRE_CODE(cu.cuMemAllocAsync(&more, MIB, NULL), expected);
    REQUIRE_CODE(cu.cuMemAllocAsync_ptsz(&more, MIB, NULL), expected);
    REQUIRE_CODE(cu.cuMemAllocFromPoolAsync(&more, MIB, pool, NULL), expected);
    REQUIRE_CODE(cu.cuMemFreeAsync(address, NULL), expected);
    REQUIRE_CODE(cu.cuStreamSynchronize(NULL), expected);
    REQUIRE_CODE(cu.cuStreamSynchronize_ptsz(NULL), expected);
    REQUIRE_CODE(cu.cuStreamQuery(NULL), expected);
    REQUIRE_CODE(cu.cuCtxSynchronize(), expected);
    REQUIRE_CODE(cu.cuMemAlloc_v2(&more, MIB), expected);
}

static void *call_without_context(void *unused) {
    CUcontext current = NULL;
    (void)unused;
    require_default_stream_calls(CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE_CODE(cu.cuStreamWaitEvent(NULL, event, 0), CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE_CODE(cu.cuEventRecord(event, NULL), CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE_DONE(cu.cuCtxGetCurrent(&current));
    REQUIRE(!current);
    return NULL;
}

// The runtime makes a context then, and calls again.
static void a_thread_without_a_context_is_told_so(void) {
    pthread_t thread;
    prepare();
    REQUIRE(pthread_create(&thread, NULL, call_without_context, NULL) == 0);
    pthread_join(thread, NULL);
    require_default_stream_calls(CUDA_SUCCESS);
}

// Its streams and events are gone.
static void a_context_that_was_reset_is_told_of(void) {
    prepare();
    REQUIRE_DONE(cu.cuDevicePrimaryCtxReset(0));
    require_default_stream_calls(CUDA_ERROR_CONTEXT_IS_DESTROYED);
    REQUIRE_CODE(cu.cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE_CODE(cu.cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
    REQUIRE_DONE(cu.cuDevicePrimaryCtxRetain(&context, 0));
    REQUIRE_DONE(cu.cuCtxSetCurrent(context));
    require_default_stream_calls(CUDA_SUCCESS);
}

// Before CUDA 12.0 the library finds out by other calls.
static void a_reset_is_told_of_where_streams_have_no_ids(void) {
    simulate("api=11020");
    a_context_that_was_reset_is_told_of();
}

// clang-format off
#define ROWS(X) \
    X(a_fault_is_told_by_every_call) \
    X(every_kind_of_fault_stays) \
    X(the_first_to_hear_of_a_fault_may_be_a_query) \
    X(other_errors_pass) \
    X(attributes_come_with_their_driver) \
    X(a_fault_ends_at_its_device) \
    X(a_reset_mends_no_fault) \
    X(a_thread_without_a_context_is_told_so) \
    X(a_context_that_was_reset_is_told_of) \
    X(a_reset_is_told_of_where_streams_have_no_ids)
// clang-format on

MAIN(ROWS)
