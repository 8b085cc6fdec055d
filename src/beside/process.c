#include "beside/process.h"

#include "beside/refuse.h"

poolError_t sp_process_find(void) {
    struct poolPointerAttributes ignored;
    const struct sp_driver *driver = NULL;
    poolError_t error = poolPointerGetAttributes(&ignored, NULL);
    if (error != poolSuccess)
        return error;
    CUresult loaded = sp_driver_load(&driver);
    if (loaded == CUDA_ERROR_NOT_FOUND || loaded == CUDA_ERROR_NOT_SUPPORTED)
        return sp_refuse(poolErrorInsufficientDriver, "%s", sp_driver_problem());
    struct sp_outcome outcome = sp_outcome_of_driver(loaded, "cuInit");
    return sp_is_done(outcome) ? poolSuccess : sp_refuse_outcome(outcome, "loading the driver");
}
