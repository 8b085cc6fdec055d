#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inside/teardown.h"
#include "unit/order/simulated.h"

#include "process/runtime.h"

#define FOREVER ((uint64_t)1 << 62)

static CUcontext primary;

int simulated_begin(const char *settings) {
    const struct sp_driver *driver;
    simcudaConfig config;
    CUdevice device;
    char problem[256];
    simcudaConfigDefault(&config);
    if (settings && simcudaConfigParse(settings, &config, problem, sizeof problem) != CUDA_SUCCESS)
        return -1;
    if (sp_driver_load(&driver) != CUDA_SUCCESS || simcudaReset(&config) != CUDA_SUCCESS)
        return -1;
    return driver->cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
                   driver->cuDevicePrimaryCtxRetain(&primary, device) == CUDA_SUCCESS &&
                   driver->cuCtxSetCurrent(primary) == CUDA_SUCCESS
               ? 0
               : -1;
}

int simulated_setup(void **state) {
    (void)state;
    return simulated_begin(NULL);
}

int simulated_teardown(void **state) {
    (void)state;
    simcudaFailClear();
    simcudaCompleteAll();
    inside_teardown();
    uint64_t reports = simcudaReportCount(NULL);
    for (uint64_t i = 0; i < reports; i++)
        print_error("%s: %s\n", simcudaReportName(i), simcudaReportText(i));
    simcudaLive live;
    simcudaGetLive(&live);
    bool left = live.events || live.pinned || live.allocations || live.ranges || live.handles ||
                live.mappings || live.extents;
    if (left)
        print_error("left: %llu events, %llu ranges, %llu handles, %llu mappings\n",
                    (unsigned long long)live.events, (unsigned long long)live.ranges,
                    (unsigned long long)live.handles, (unsigned long long)live.mappings);
    return reports == 0 && !left ? 0 : -1;
}

CUcontext simulated_context(void) {
    return primary;
}

static CUstream make_stream(unsigned flags) {
    CUstream stream = NULL;
    assert_int_equal(sp_driver->cuStreamCreate(&stream, flags), CUDA_SUCCESS);
    return stream;
}

CUstream simulated_stream(void) {
    return make_stream(CU_STREAM_NON_BLOCKING);
}

CUstream simulated_blocking_stream(void) {
    return make_stream(CU_STREAM_DEFAULT);
}

void simulated_destroy(CUstream stream) {
    assert_int_equal(sp_driver->cuStreamDestroy(stream), CUDA_SUCCESS);
}

void simulated_work(CUstream stream) {
    const simcudaWork work = {.name = "work", .duration = FOREVER};
    assert_int_equal(simcudaEnqueue(stream, &work), CUDA_SUCCESS);
}

void simulated_finish(CUstream stream) {
    assert_int_equal(simcudaComplete(stream, simcudaPending(stream)), CUDA_SUCCESS);
}
