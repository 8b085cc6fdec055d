#include "unit/simcuda/fixture.h"

#include "simcuda/kernel/kernels.h"

static CUmodule module;
static CUfunction kernel_fill, kernel_check, kernel_spin;

void become(const char *settings) {
    simcudaConfig config;
    CUcontext context;
    simcudaConfigDefault(&config);
    OK(simcudaConfigParse(settings, &config, NULL, 0));
    OK(simcudaReset(&config));
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    module = NULL;
}

int begin(void **state) {
    (void)state;
    become("");
    return 0;
}

int end_without_reports(void **state) {
    (void)state;
    expect_no_report();
    return 0;
}

void expect_report(const char *kind) {
    if (simcudaReportCount(NULL) != 1 || simcudaReportCount(kind) != 1)
        fail_msg("%llu reports, not one of %s; the first: %s %s",
                 (unsigned long long)simcudaReportCount(NULL), kind,
                 simcudaReportName(0) ? simcudaReportName(0) : "none",
                 simcudaReportText(0) ? simcudaReportText(0) : "");
    simcudaReportClear();
}

void expect_no_report(void) {
    if (simcudaReportCount(NULL) != 0)
        fail_msg("%s: %s", simcudaReportName(0), simcudaReportText(0));
}

CUcontext current_context(void) {
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
    return context;
}

CUstream make_stream(void) {
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    return stream;
}

CUstream make_non_blocking_stream(void) {
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

CUevent make_event(void) {
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

CUdeviceptr reserve(uint64_t size) {
    CUdeviceptr address;
    OK(cuMemAddressReserve(&address, size, 0, 0, 0));
    return address;
}

CUmemGenericAllocationHandle create_extent(uint64_t size) {
    CUmemGenericAllocationHandle handle;
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    OK(cuMemCreate(&handle, size, &prop, 0));
    return handle;
}

void allow(CUdeviceptr address, uint64_t size) {
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemSetAccess(address, size, &access, 1));
}

struct memory map_memory(uint64_t size) {
    struct memory memory = {.address = reserve(size), .size = size, .handle = create_extent(size)};
    OK(cuMemMap(memory.address, size, 0, memory.handle, 0));
    allow(memory.address, size);
    return memory;
}

void unmap_memory(struct memory memory) {
    OK(cuMemUnmap(memory.address, memory.size));
    OK(cuMemRelease(memory.handle));
    OK(cuMemAddressFree(memory.address, memory.size));
}

static void load(void) {
    if (module)
        return;
    OK(cuModuleLoadData(&module, SP_KERNELS_PTX));
    OK(cuModuleGetFunction(&kernel_fill, module, "sp_fill"));
    OK(cuModuleGetFunction(&kernel_check, module, "sp_check"));
    OK(cuModuleGetFunction(&kernel_spin, module, "sp_spin"));
}

static void launch(CUfunction function, CUstream stream, void **parameters) {
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

void fill(CUstream stream, CUdeviceptr address, uint64_t bytes, uint32_t seed) {
    void *parameters[] = {&address, &bytes, &seed};
    load();
    launch(kernel_fill, stream, parameters);
}

void check(CUstream stream, CUdeviceptr address, uint64_t bytes, uint32_t seed,
           CUdeviceptr errors) {
    void *parameters[] = {&address, &bytes, &seed, &errors};
    load();
    launch(kernel_check, stream, parameters);
}

void spin_until(CUstream stream, uint64_t nanoseconds, CUdeviceptr flag) {
    void *parameters[] = {&nanoseconds, &flag};
    load();
    launch(kernel_spin, stream, parameters);
}

void spin(CUstream stream, uint64_t nanoseconds) {
    spin_until(stream, nanoseconds, 0);
}

void touch(CUstream stream, const char *name, CUdeviceptr address, uint64_t size,
           simcudaAccessKind kind) {
    const simcudaAccess access = {address, size, kind};
    const simcudaWork work = {.name = name, .accesses = &access, .count = 1};
    OK(simcudaEnqueue(stream, &work));
}

uint32_t word_at(CUdeviceptr address) {
    uint32_t word;
    OK(simcudaPeek(&word, address, sizeof(word)));
    return word;
}
