#include "dropin/served.h"
#include "dropin/captures.h"
#include "dropin/driver_file.h"
#include "dropin/real.h"
#include "dropin/report.h"

_Atomic bool sp_served_on;
static _Atomic bool refused_for_good;

// The library finds the driver by itself, and must not find us. It does so at its first call, which
// a program that uses both may make before any of ours.
__attribute__((constructor)) static void give_resolver(void) {
    sp_interpose_set_driver(sp_driver_file_name(), sp_driver_file_find);
}

// The library would initialise a driver that the program has not, which then must answer as it does
// without us.
static CUresult ask_initialized(void) {
    CUcontext context;
    CUresult asked = sp_real_call(cuCtxGetCurrent, (&context));
    return asked == CUDA_ERROR_NOT_INITIALIZED || asked == CUDA_ERROR_DEINITIALIZED ? asked
                                                                                    : CUDA_SUCCESS;
}

// If a process has two drop-ins, the one behind serves: that has the driver.
static bool start(CUresult *refused) {
    if (sp_real_is_forwarder()) {
        sp_store_release(&refused_for_good, true);
        return false;
    }
    *refused = ask_initialized();
    if (*refused != CUDA_SUCCESS)
        return false;
    sp_captures_promise();
    uint64_t began = sp_time_now();
    poolError_t error = sp_interpose_start();
    sp_tally_count(SP_TALLY_start_time, sp_time_now() - began);
    if (error == poolErrorInitializationError) // in a forked child, where the driver says so too
        *refused = CUDA_ERROR_NOT_INITIALIZED;
    else
        sp_store_release(error == poolSuccess ? &sp_served_on : &refused_for_good, true);
    if (*refused == CUDA_SUCCESS)
        sp_report_start(sp_served_code(error));
    return error == poolSuccess;
}

bool sp_served_is_refused(void) {
    return sp_load_acquire(&refused_for_good);
}

bool sp_served_try(CUresult *refused) {
    return !sp_load_acquire(&refused_for_good) && start(refused);
}

CUresult sp_served_context(void) {
    CUdevice device;
    return sp_real_call(cuCtxGetDevice, (&device));
}

// The library doesn't tell a context that is gone from none. The driver does.
static CUresult ask_context(void) {
    CUresult asked = sp_served_context();
    return asked != CUDA_SUCCESS ? asked : CUDA_ERROR_INVALID_CONTEXT;
}

// A code of the driver's that the library has no name for is kept as the native error.
CUresult sp_served_failure(poolError_t error) {
    int native = CUDA_SUCCESS;
    if (error == poolErrorUnknown)
        poolGetLastNativeError(&native, NULL);
    CUresult code = native != CUDA_SUCCESS ? (CUresult)native : (CUresult)error;
    return code == CUDA_ERROR_INVALID_CONTEXT ? ask_context() : code;
}

bool sp_served_is_capture(CUresult result) {
    return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
           result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}
