// Calls of the simulated driver, which the tests are linked with and the library loads.
#include "device.h"

#include <streampool/simcuda.h>

#include <cstdio>
#include <exception>

extern "C" {
int cuInit(unsigned int flags);
int cuDevicePrimaryCtxRetain(CUcontext *context, int device);
int cuCtxSetCurrent(CUcontext context);
int cuStreamCreate(CUstream *stream, unsigned int flags);
int cuStreamBeginCapture_v2(CUstream stream, int mode);
int cuStreamEndCapture(CUstream stream, void **graph);
int cuGraphDestroy(void *graph);
int cuEventCreate(CUevent *event, unsigned int flags);
}

namespace test {

static void check_driver(int result, const char *call) {
    if (result != 0)
        throw std::runtime_error(std::string(call) + " returned " + std::to_string(result));
}

static void open_device() {
    simcudaConfig config;
    simcudaConfigDefault(&config);
    config.completion = simcudaCompletionLatest;
    check_driver(simcudaReset(&config), "simcudaReset");
    CUcontext context = nullptr;
    check_driver(cuInit(0), "cuInit");
    check_driver(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    check_driver(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

static bool passes(const named &test) {
    try {
        test.run();
        if (simcudaReportCount(nullptr) == 0)
            return true;
        std::fprintf(stderr, "%s: %s: %s\n", test.name, simcudaReportName(0), simcudaReportText(0));
        simcudaReportClear();
    } catch (const std::exception &reason) {
        std::fprintf(stderr, "%s: %s\n", test.name, reason.what());
    }
    return false;
}

int run(std::initializer_list<named> tests) {
    open_device();
    int failed = 0;
    for (const named &test : tests)
        failed += passes(test) ? 0 : 1;
    std::printf("%d of %zu tests failed\n", failed, tests.size());
    return failed == 0 ? 0 : 1;
}

CUstream stream() {
    const unsigned int non_blocking = 1;
    CUstream made = nullptr;
    check_driver(cuStreamCreate(&made, non_blocking), "cuStreamCreate");
    return made;
}

CUevent event() {
    const unsigned int no_timing = 2;
    CUevent made = nullptr;
    check_driver(cuEventCreate(&made, no_timing), "cuEventCreate");
    return made;
}

void add_work(CUstream stream) {
    const simcudaWork work = {"work of a test", 1, nullptr, 0};
    check_driver(simcudaEnqueue(stream, &work), "simcudaEnqueue");
}

void finish_work() {
    simcudaCompleteAll();
}

refused_entry::refused_entry(const char *entry, int result) {
    check_driver(simcudaFailCall(entry, 1, simcudaFaultOnwards, result), "simcudaFailCall");
}

refused_entry::~refused_entry() {
    simcudaFailClear();
}

capture::capture(CUstream stream) : stream_(stream) {
    const int thread_local_mode = 1;
    check_driver(cuStreamBeginCapture_v2(stream, thread_local_mode), "cuStreamBeginCapture");
}

capture::~capture() {
    void *graph = nullptr;
    if (cuStreamEndCapture(stream_, &graph) == 0)
        cuGraphDestroy(graph);
}

CUstream thread_stream() {
    return reinterpret_cast<CUstream>(uintptr_t{2});
}

poolMemPool_t make_pool() {
    poolMemPoolProps properties = {};
    properties.allocType = poolMemAllocationTypePinned;
    properties.location.type = poolMemLocationTypeDevice;
    poolMemPool_t pool = nullptr;
    if (poolMemPoolCreate(&pool, &properties) != poolSuccess)
        throw std::runtime_error(poolGetLastErrorDetail());
    return pool;
}

uint64_t used(poolMemPool_t pool) {
    uint64_t bytes = 0;
    if (poolMemPoolGetAttribute(pool, poolMemPoolAttrUsedMemCurrent, &bytes) != poolSuccess)
        throw std::runtime_error(poolGetLastErrorDetail());
    return bytes;
}

} // namespace test
