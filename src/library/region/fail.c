#include "region/fail.h"

#include "base/atomic.h"

#include <stdarg.h>
#include <stdbool.h>
#include <streampool/lists.h>

static _Thread_local struct {
    poolError_t unread; // of the last failure, until the program reads it
    CUresult native;
} last = {poolSuccess, CUDA_SUCCESS};

static bool is_ours(int code) {
    switch (code) {
#define IS_OURS(name, number, text) case number:
        STREAMPOOL_ERRORS(IS_OURS)
#undef IS_OURS
        return true;
    default:
        return false;
    }
}

_Atomic bool sp_fail_had_fault;

bool sp_fail_is_fault(CUresult error) {
    switch (error) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
        return true;
    default:
        return false;
    }
}

poolError_t sp_fail_code(CUresult error) {
    if (error == CUDA_ERROR_STUB_LIBRARY)
        return poolErrorInsufficientDriver;
    return is_ours((int)error) ? (poolError_t)error : poolErrorUnknown;
}

poolError_t sp_fail(poolError_t error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    sp_detail_write(format, arguments);
    va_end(arguments);
    if (error != poolErrorNotReady) // an answer, which no program takes for a failure
        last.unread = error;
    last.native = CUDA_SUCCESS;
    return error;
}

// Returns the driver's code that a failure is told as, its own or ours.
static CUresult code_of(struct sp_outcome outcome) {
    switch (outcome.cause) {
    case SP_DRIVER_FAILED:
        return outcome.code;
    case SP_NO_HOST_MEMORY:
    case SP_BEYOND_LIMIT:
    case SP_FORBIDDEN:
        return CUDA_ERROR_OUT_OF_MEMORY;
    case SP_NOT_SUPPORTED:
        return CUDA_ERROR_NOT_SUPPORTED;
    case SP_NO_CONTEXT:
        return CUDA_ERROR_INVALID_CONTEXT;
    case SP_CAPTURES:
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    default:
        return CUDA_ERROR_UNKNOWN;
    }
}

poolError_t sp_fail_outcome(struct sp_outcome outcome, const char *what) {
    CUresult code = code_of(outcome);
    if (sp_fail_is_fault(code))
        sp_store_relaxed(&sp_fail_had_fault, true);
    const char *name = sp_driver_error_name(code);
    if (outcome.cause == SP_DRIVER_FAILED)
        sp_fail(sp_fail_code(code), "%s: %s returned %s", what, outcome.entry_point, name);
    else
        sp_fail(sp_fail_code(code), "%s: %s", what,
                outcome.cause == SP_NO_HOST_MEMORY ? "out of host memory" : name);
    sp_fail_of_driver(outcome);
    return sp_fail_code(code);
}

void sp_fail_of_driver(struct sp_outcome outcome) {
    last.native = outcome.code;
    sp_detail_set_entry_point(outcome.entry_point ? outcome.entry_point : "");
}

poolError_t sp_fail_unread(void) {
    return last.unread;
}

void sp_fail_set_unread(poolError_t error) {
    last.unread = error;
}

const char *sp_fail_detail(void) {
    return sp_detail_read();
}

void sp_fail_native(CUresult *error, const char **entry_point) {
    *error = last.native;
    *entry_point = sp_detail_entry_point();
}
