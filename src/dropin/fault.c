#include "dropin/fault.h"
#include "dropin/real.h"

CUcontext _Atomic sp_fault_context;

static bool is_fault(CUresult result) {
    switch (result) {
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

static CUcontext current_context(void) {
    CUcontext context = NULL;
    return sp_real_call(cuCtxGetCurrent, (&context)) == CUDA_SUCCESS ? context : NULL;
}

void sp_fault_look(CUresult result) {
    CUcontext context = is_fault(result) ? current_context() : NULL;
    if (context)
        sp_store_relaxed(&sp_fault_context, context);
}

// The question harms no capture. A context without a fault has the handle of one that is gone.
CUresult sp_fault_ask(void) {
    CUcontext context = current_context();
    size_t unused;
    if (!context || context != sp_load_relaxed(&sp_fault_context))
        return CUDA_SUCCESS;
    CUresult asked = sp_real_call(cuMemGetInfo_v2, (&unused, &unused));
    if (asked == CUDA_SUCCESS)
        atomic_compare_exchange_strong(&sp_fault_context, &context, NULL);
    return is_fault(asked) ? asked : CUDA_SUCCESS;
}
