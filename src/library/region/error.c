#include "region/error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <streampool/lists.h>

static _Thread_local struct {
    char detail[SP_ERROR_DETAIL];
    CUresult native;
    const char *entry_point;
} last = {"", CUDA_SUCCESS, ""};

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

poolError_t sp_error_of(CUresult error) {
    if (error == CUDA_ERROR_STUB_LIBRARY)
        return poolErrorInsufficientDriver;
    return is_ours((int)error) ? (poolError_t)error : poolErrorUnknown;
}

poolError_t sp_fail(poolError_t error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last.detail, sizeof last.detail, format, arguments);
    va_end(arguments);
    last.native = CUDA_SUCCESS;
    last.entry_point = "";
    sp_native_error_note(CUDA_SUCCESS, "");
    return error;
}

poolError_t sp_fail_driver(CUresult error, const char *what) {
    CUresult native = CUDA_SUCCESS;
    const char *entry_point = "";
    sp_native_error_last(&native, &entry_point);
    if (native != error) {
        const char *why =
            error == CUDA_ERROR_OUT_OF_MEMORY ? "out of host memory" : sp_driver_error_name(error);
        return sp_fail(sp_error_of(error), "%s: %s", what, why);
    }
    sp_fail(sp_error_of(error), "%s: %s returned %s", what, entry_point,
            sp_driver_error_name(error));
    sp_fail_of_driver(native, entry_point);
    return sp_error_of(error);
}

void sp_fail_of_driver(CUresult native, const char *entry_point) {
    last.native = native;
    last.entry_point = entry_point;
}

const char *sp_error_detail(void) {
    return last.detail;
}

void sp_error_native(CUresult *error, const char **entry_point) {
    *error = last.native;
    *entry_point = last.entry_point;
}
