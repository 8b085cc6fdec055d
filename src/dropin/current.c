#include "dropin/current.h"
#include "dropin/real.h"

_Atomic uint64_t sp_current_round = 1;
_Thread_local __attribute__((tls_model("initial-exec"))) uint64_t sp_current_round_of_thread;

CUcontext sp_current_context(void) {
    CUcontext context = NULL;
    return sp_real_call(cuCtxGetCurrent, (&context)) == CUDA_SUCCESS ? context : NULL;
}

// The number comes first: a context that ends meanwhile has the thread ask again.
CUresult sp_current_ask(void) {
    uint64_t round = sp_load_acquire(&sp_current_round);
    CUdevice device;
    CUresult result = sp_real_call(cuCtxGetDevice, (&device));
    sp_current_round_of_thread = result == CUDA_SUCCESS ? round : 0;
    return result;
}

void sp_current_forget(void) {
    sp_current_round_of_thread = 0;
}

void sp_current_forget_all(void) {
    atomic_fetch_add(&sp_current_round, 1);
}

// ------------------------------------------------------------------------- the calls that set it

CUresult cuCtxSetCurrent(CUcontext context) {
    sp_current_forget();
    return sp_real_call(cuCtxSetCurrent, (context));
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    sp_current_forget();
    return sp_real_call(cuCtxPopCurrent_v2, (context));
}

// The form of before CUDA 4.0.
CUresult cuCtxPopCurrent(CUcontext *context) {
    sp_current_forget();
    return sp_real_call(cuCtxPopCurrent, (context));
}
