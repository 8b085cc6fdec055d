#include "dropin/served.h"
#include "dropin/real.h"
#include "dropin/report.h"
#include "dropin/resolver.h"

_Atomic bool sp_served_on;
static _Atomic bool refused_for_good;

// The library finds the driver by itself, and must not find us. It does so at its first call, which
// a program that uses both may make before any of ours.
__attribute__((constructor)) static void give_resolver(void) {
    sp_interpose_set_find(sp_resolver_find);
}

// The library would initialise a driver that the program has not, which then must answer as it does
// without us.
static CUresult ask_initialized(void) {
    CUcontext context;
    CUresult asked = sp_real_call(cuCtxGetCurrent, (&context));
    return asked == CUDA_ERROR_NOT_INITIALIZED || asked == CUDA_ERROR_DEINITIALIZED ? asked
                                                                                    : CUDA_SUCCESS;
}

static bool start(CUresult *refused) {
    *refused = ask_initialized();
    if (*refused != CUDA_SUCCESS)
        return false;
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

bool sp_served_begin(CUresult *refused) {
    *refused = CUDA_SUCCESS;
    if (sp_served_is_on())
        return true;
    return !sp_load_acquire(&refused_for_good) && start(refused);
}

// A code of the driver's that the library has no name for is kept as the native error.
CUresult sp_served_code(poolError_t error) {
    int native = CUDA_SUCCESS;
    if (error == poolErrorUnknown)
        poolGetLastNativeError(&native, NULL);
    return native != CUDA_SUCCESS ? (CUresult)native : (CUresult)error;
}

bool sp_served_is_capture(CUresult result) {
    return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
           result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}
