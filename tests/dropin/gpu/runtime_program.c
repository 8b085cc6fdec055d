// A program from CUDA's documentation of stream-ordered memory, which knows nothing of streampool.
// It prints what each call answers and what it finds, so that a run with the drop-in can be
// compared with one without it, line for line. Lines that begin with "reserved" are compared as
// "no more than CUDA's".
//
// compare.sh builds it with the shared runtime and the static one, each also with per-thread
// default streams, and with over_driver.c in the runtime's place, linked with the driver and by
// dlopen.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

static cudaStream_t first, second;
static cudaMemPool_t standard;

// ----------------------------------------------------------------------------------------- telling

static void tell(const char *what, cudaError_t answer) {
    printf("%s: %s, last error %s\n", what, cudaGetErrorName(answer),
           cudaGetErrorName(cudaGetLastError()));
}

static void must(cudaError_t answer, const char *call) {
    if (answer == cudaSuccess)
        return;
    printf("%s: %s\n", call, cudaGetErrorName(answer));
    fflush(stdout);
    _exit(1);
}

#define MUST(call) must((call), #call)

static uint64_t number(cudaMemPool_t pool, enum cudaMemPoolAttr attribute) {
    uint64_t value = 0;
    MUST(cudaMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static void tell_figures(const char *what, cudaMemPool_t pool) {
    printf("used %s: %llu, at most %llu\n", what,
           (unsigned long long)number(pool, cudaMemPoolAttrUsedMemCurrent),
           (unsigned long long)number(pool, cudaMemPoolAttrUsedMemHigh));
    printf("reserved %s: %llu\n", what,
           (unsigned long long)number(pool, cudaMemPoolAttrReservedMemCurrent));
    printf("reserved at most %s: %llu\n", what,
           (unsigned long long)number(pool, cudaMemPoolAttrReservedMemHigh));
}

static void tell_bytes(const char *what, const void *address, size_t size, cudaStream_t stream) {
    unsigned char *copy = malloc(size);
    size_t differing = 0;
    MUST(cudaMemcpyAsync(copy, address, size, cudaMemcpyDeviceToHost, stream));
    MUST(cudaStreamSynchronize(stream));
    for (size_t i = 0; i < size; i++)
        differing += copy[i] != copy[0];
    printf("bytes %s: %d, %zu differ\n", what, copy[0], differing);
    free(copy);
}

// ------------------------------------------------------------------------------------ stream order

// Work that a stream can't end before the host lets it.
static sem_t gate;

static void CUDART_CB wait_at_gate(void *unused) {
    (void)unused;
    sem_wait(&gate);
}

static void hold(cudaStream_t stream) {
    MUST(cudaLaunchHostFunc(stream, wait_at_gate, NULL));
}

static void let_go(void) {
    sem_post(&gate);
}

static void begin(void) {
    int supported = 0, types = 0;
    void *address = NULL;
    sem_init(&gate, 0, 0);
    MUST(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    MUST(cudaDeviceGetAttribute(&types, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    printf("pools supported: %d, handle types %d\n", supported, types);
    tell("allocate first of all", cudaMallocAsync(&address, KIB, 0));
    tell("free it", cudaFreeAsync(address, 0));
    MUST(cudaStreamCreate(&first));
    MUST(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
}

static void use_attributes(void) {
    static const enum cudaMemPoolAttr policies[] = {cudaMemPoolReuseFollowEventDependencies,
                                                    cudaMemPoolReuseAllowOpportunistic,
                                                    cudaMemPoolReuseAllowInternalDependencies};
    cudaMemPool_t current = NULL;
    uint64_t threshold = 0;
    MUST(cudaDeviceGetDefaultMemPool(&standard, 0));
    MUST(cudaDeviceGetMemPool(&current, 0));
    printf("the default pool is current: %d\n", current == standard);
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        int value = -1, off = 0;
        MUST(cudaMemPoolGetAttribute(standard, policies[i], &value));
        printf("policy %d: %d\n", (int)policies[i], value);
        MUST(cudaMemPoolSetAttribute(standard, policies[i], &off));
        MUST(cudaMemPoolGetAttribute(standard, policies[i], &off));
        printf("policy %d set: %d\n", (int)policies[i], off);
        MUST(cudaMemPoolSetAttribute(standard, policies[i], &value));
    }
    printf("threshold: %llu\n",
           (unsigned long long)number(standard, cudaMemPoolAttrReleaseThreshold));
    threshold = UINT64_MAX;
    MUST(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &threshold));
    printf("threshold set: %llu\n",
           (unsigned long long)number(standard, cudaMemPoolAttrReleaseThreshold));
    tell("set a figure that can't be set",
         cudaMemPoolSetAttribute(standard, cudaMemPoolAttrUsedMemCurrent, &threshold));
    tell("set an attribute that isn't one",
         cudaMemPoolSetAttribute(standard, (enum cudaMemPoolAttr)99, &threshold));
    tell("set a peak to more than 0",
         cudaMemPoolSetAttribute(standard, cudaMemPoolAttrUsedMemHigh, &threshold));
}

static void use_default_pool(void) {
    uint64_t zero = 0;
    void *small = NULL, *large = NULL;
    MUST(cudaMallocAsync(&small, 1000, first));
    MUST(cudaMallocAsync(&large, 64 * MIB, first));
    printf("aligned: %d %d\n", (uintptr_t)small % 512 == 0, (uintptr_t)large % 512 == 0);
    tell_figures("with two blocks", standard);
    MUST(cudaMemsetAsync(large, 7, 64 * MIB, first));
    tell_bytes("of the large block", large, 64 * MIB, first);
    MUST(cudaFreeAsync(small, first));
    MUST(cudaFreeAsync(large, first));
    MUST(cudaStreamSynchronize(first));
    tell_figures("after their frees", standard);
    MUST(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrUsedMemHigh, &zero));
    MUST(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrReservedMemHigh, &zero));
    MUST(cudaMemPoolTrimTo(standard, 0));
    tell_figures("after a trim", standard);
}

// The second stream may use the memory where an event orders it behind the first one's work.
static void use_two_streams(void) {
    cudaEvent_t freed;
    void *from = NULL, *to = NULL;
    MUST(cudaEventCreateWithFlags(&freed, cudaEventDisableTiming));
    MUST(cudaMallocAsync(&from, 8 * MIB, first));
    hold(first);
    MUST(cudaMemsetAsync(from, 1, 8 * MIB, first));
    MUST(cudaFreeAsync(from, first));
    MUST(cudaEventRecord(freed, first));
    tell("query the event while it is pending", cudaEventQuery(freed));
    tell("query the stream while it is pending", cudaStreamQuery(first));
    MUST(cudaStreamWaitEvent(second, freed, 0));
    MUST(cudaMallocAsync(&to, 8 * MIB, second));
    printf("the memory goes from stream to stream: %d\n", from == to);
    MUST(cudaMemsetAsync(to, 2, 8 * MIB, second));
    let_go();
    tell_bytes("of the second stream", to, 8 * MIB, second);
    MUST(cudaEventRecordWithFlags(freed, second, cudaEventRecordDefault));
    MUST(cudaEventSynchronize(freed));
    tell("query the event when it is complete", cudaEventQuery(freed));
    MUST(cudaFreeAsync(to, second));
    MUST(cudaEventDestroy(freed));
    MUST(cudaDeviceSynchronize());
    tell_figures("after two streams", standard);
}

// Memory of pending work isn't handed on, whatever its stream does.
static void use_pending_memory(void) {
    void *pending = NULL, *other = NULL;
    int off = 0, on = 1;
    MUST(cudaMemPoolSetAttribute(standard, cudaMemPoolReuseAllowInternalDependencies, &off));
    MUST(cudaMallocAsync(&pending, 8 * MIB, first));
    hold(first);
    MUST(cudaMemsetAsync(pending, 3, 8 * MIB, first));
    MUST(cudaFreeAsync(pending, first));
    MUST(cudaMallocAsync(&other, 8 * MIB, second));
    printf("pending memory is handed on: %d\n", other == pending);
    MUST(cudaMemsetAsync(other, 4, 8 * MIB, second));
    let_go();
    MUST(cudaStreamSynchronize(first));
    tell_bytes("beside pending memory", other, 8 * MIB, second);
    MUST(cudaFreeAsync(other, second));
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemPoolSetAttribute(standard, cudaMemPoolReuseAllowInternalDependencies, &on));
}

static void use_default_streams(void) {
    static const cudaStream_t streams[] = {0, cudaStreamLegacy, cudaStreamPerThread};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        void *address = NULL;
        MUST(cudaMallocAsync(&address, MIB, streams[i]));
        MUST(cudaMemsetAsync(address, (int)i, MIB, streams[i]));
        tell_bytes("of a default stream", address, MIB, streams[i]);
        tell("free on a default stream", cudaFreeAsync(address, streams[i]));
    }
}

// ------------------------------------------------------------------------------------------- pools

static struct cudaMemPoolProps props_of(enum cudaMemLocationType place) {
    struct cudaMemPoolProps props = {0};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = place;
    return props;
}

static void use_own_pool(void) {
    struct cudaMemPoolProps props = props_of(cudaMemLocationTypeDevice);
    struct cudaMemLocation here = props.location;
    struct cudaMemAccessDesc access = {here, cudaMemAccessFlagsProtReadWrite};
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    cudaMemPool_t pool = NULL, current = NULL;
    void *address = NULL;
    props.maxSize = 64 * MIB;
    MUST(cudaMemPoolCreate(&pool, &props));
    MUST(cudaMemPoolSetAccess(pool, &access, 1));
    MUST(cudaMemPoolGetAccess(&flags, pool, &here));
    printf("access: %d\n", (int)flags);
    access.location.id = 99;
    tell("give a device that there is not access", cudaMemPoolSetAccess(pool, &access, 1));
    MUST(cudaMallocFromPoolAsync(&address, MIB, pool, first));
    tell_figures("in the own pool", pool);
    tell("allocate more than it may hold",
         cudaMallocFromPoolAsync(&(void *){NULL}, 128 * MIB, pool, first));
    tell("free by cudaFree", cudaFree(address));
    MUST(cudaDeviceSetMemPool(0, pool));
    MUST(cudaDeviceGetMemPool(&current, 0));
    printf("the own pool is current: %d\n", current == pool);
    MUST(cudaMallocAsync(&address, MIB, second));
    tell("destroy it while an allocation is live", cudaMemPoolDestroy(pool));
    MUST(cudaDeviceGetMemPool(&current, 0));
    printf("the default pool is current again: %d\n", current == standard);
    MUST(cudaMemsetAsync(address, 9, MIB, second));
    tell_bytes("of a pool that was destroyed", address, MIB, second);
    tell("free behind the destroy", cudaFreeAsync(address, second));
    tell("destroy the default pool", cudaMemPoolDestroy(standard));
#if CUDART_VERSION >= 13000
    MUST(cudaMemGetDefaultMemPool(&current, &here, cudaMemAllocationTypePinned));
    printf("the default pool by its location: %d\n", current == standard);
    MUST(cudaMemGetMemPool(&current, &here, cudaMemAllocationTypePinned));
    printf("the current pool by its location: %d\n", current == standard);
#endif
}

static void use_host_pool(void) {
    struct cudaMemPoolProps props = props_of(cudaMemLocationTypeHost);
    struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 0},
                                       cudaMemAccessFlagsProtReadWrite};
    cudaMemPool_t pool = NULL;
    unsigned char *address = NULL;
    cudaError_t made = cudaMemPoolCreate(&pool, &props);
    tell("make a host pool", made);
    if (made != cudaSuccess)
        return;
    tell("give the device access to it", cudaMemPoolSetAccess(pool, &access, 1));
    MUST(cudaMallocFromPoolAsync((void **)&address, MIB, pool, first));
    MUST(cudaMemsetAsync(address, 5, MIB, first));
    MUST(cudaStreamSynchronize(first));
    printf("bytes of host memory: %d\n", address[MIB - 1]);
    tell_figures("in the host pool", pool);
    tell("free host memory", cudaFreeAsync(address, first));
    tell("destroy the host pool", cudaMemPoolDestroy(pool));
}

static void use_exportable_pool(void) {
    struct cudaMemPoolProps props = props_of(cudaMemLocationTypeDevice);
    struct cudaMemPoolPtrExportData exported;
    cudaMemPool_t pool = NULL, imported = NULL;
    void *address = NULL;
    int descriptor = -1;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    MUST(cudaMemPoolCreate(&pool, &props));
    MUST(cudaMallocFromPoolAsync(&address, MIB, pool, first));
    tell("export the pool", cudaMemPoolExportToShareableHandle(
                                &descriptor, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    printf("a descriptor came: %d\n", descriptor >= 0);
    tell("export an address", cudaMemPoolExportPointer(&exported, address));
    tell("import the pool",
         cudaMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)descriptor,
                                              cudaMemHandleTypePosixFileDescriptor, 0));
    close(descriptor);
    if (imported)
        tell("allocate from the imported pool",
             cudaMallocFromPoolAsync(&(void *){NULL}, MIB, imported, first));
    tell("export the default pool",
         cudaMemPoolExportToShareableHandle(&descriptor, standard,
                                            cudaMemHandleTypePosixFileDescriptor, 0));
    MUST(cudaMallocAsync(&address, MIB, first));
    tell("export an address of the default pool", cudaMemPoolExportPointer(&exported, address));
    MUST(cudaFreeAsync(address, first));
    if (imported)
        tell("destroy the imported pool", cudaMemPoolDestroy(imported));
    tell("destroy the exportable pool", cudaMemPoolDestroy(pool));
}

// ---------------------------------------------------------------------------------------- pointers

static void tell_driver_attributes(CUdeviceptr address, CUdeviceptr start) {
    CUresult (*get)(void *, CUpointer_attribute, CUdeviceptr);
    CUresult (*set)(const void *, CUpointer_attribute, CUdeviceptr);
    CUresult (*range)(CUdeviceptr *, size_t *, CUdeviceptr);
    enum cudaDriverEntryPointQueryResult status;
    CUmemoryPool pool = NULL;
    CUdeviceptr base = 0;
    unsigned int number = 0, on = 1;
    size_t size = 0;
    unsigned long long id = 0;
    MUST(cudaGetDriverEntryPointByVersion("cuPointerGetAttribute", (void **)&get, 12000,
                                          cudaEnableDefault, &status));
    MUST(cudaGetDriverEntryPointByVersion("cuPointerSetAttribute", (void **)&set, 12000,
                                          cudaEnableDefault, &status));
    MUST(cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", (void **)&range, 12000,
                                          cudaEnableDefault, &status));
    printf("pool handle: %d, it is the default pool's: %d\n",
           (int)get(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address),
           pool == (CUmemoryPool)standard);
    printf("range: %d, ", (int)range(&base, &size, address));
    printf("from the start: %d, size %zu\n", base == start, size);
    printf("range start: %d, ", (int)get(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address));
    printf("it is the block's: %d\n", base == start);
    printf("range size: %d, ", (int)get(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address));
    printf("%zu\n", size);
    printf("buffer id: %d\n", (int)get(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
    printf("sync memops set: %d\n", (int)set(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, start));
    printf("sync memops: %d, ", (int)get(&number, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    printf("%u\n", number);
    printf("handle types: %d, ", (int)get(&id, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, address));
    printf("%llu\n", id);
    printf("access flags: %d, ", (int)get(&number, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address));
    printf("%u\n", number);
    number = 0;
    printf("legacy IPC: %d, ",
           (int)get(&number, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address));
    printf("%u\n", number & 1);
    number = 0;
    printf("mapped: %d, ", (int)get(&number, CU_POINTER_ATTRIBUTE_MAPPED, address));
    printf("%u\n", number & 1);
    number = 0;
    printf("memory type: %d, ", (int)get(&number, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    printf("%u\n", number);
    number = 0;
    printf("managed: %d, ", (int)get(&number, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    printf("%u\n", number & 1);
    number = 0;
    printf("device: %d, ", (int)get(&number, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address));
    printf("%u\n", number);
    printf("mapping size: %d\n", (int)get(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, address));
}

static void tell_attributes(const char *what, const void *address) {
    struct cudaPointerAttributes found = {0};
    cudaError_t answer = cudaPointerGetAttributes(&found, address);
    printf("%s: %s, type %d, device %d, its device address: %d, its host address: %d\n", what,
           cudaGetErrorName(answer), (int)found.type, found.device, found.devicePointer == address,
           found.hostPointer == address);
}

static void use_pointers(void) {
    char *address = NULL;
    cudaIpcMemHandle_t handle;
    MUST(cudaMallocAsync((void **)&address, 100000, first));
    MUST(cudaStreamSynchronize(first));
    tell_attributes("the start", address);
    tell_attributes("the inside", address + 99999);
    tell_driver_attributes((CUdeviceptr)address + 5000, (CUdeviceptr)address);
    tell("an IPC handle", cudaIpcGetMemHandle(&handle, address));
    MUST(cudaFreeAsync(address, first));
    MUST(cudaMalloc((void **)&address, 100000));
    tell_attributes("memory of cudaMalloc", address);
    tell("free it in order", cudaFreeAsync(address, first));
    MUST(cudaStreamSynchronize(first));
}

// ------------------------------------------------------------------------------------------ errors

static void use_errors(void) {
    void *address = NULL;
    tell("allocate to nowhere", cudaMallocAsync(NULL, KIB, first));
    tell("allocate nothing", cudaMallocAsync(&address, 0, first));
    printf("nothing is null: %d\n", address == NULL);
    tell("free null", cudaFreeAsync(NULL, first));
    tell("allocate more than there is", cudaMallocAsync(&address, (size_t)1 << 50, first));
    tell("ask for the last error", cudaPeekAtLastError());
    tell("free what isn't memory", cudaFreeAsync((void *)0x1000, first));
    tell("free the host's memory", cudaFreeAsync(&address, first));
    MUST(cudaMallocAsync(&address, MIB, first));
    tell("free the inside", cudaFreeAsync((char *)address + 512, first));
    tell("free", cudaFreeAsync(address, first));
    MUST(cudaStreamSynchronize(first));
    tell("the default pool of no device", cudaDeviceGetDefaultMemPool(&standard, 99));
    MUST(cudaDeviceGetDefaultMemPool(&standard, 0));
    tell("make a pool of nothing", cudaMemPoolCreate(&(cudaMemPool_t){NULL}, NULL));
    struct cudaMemPoolProps props = props_of(cudaMemLocationTypeDevice);
    props.location.id = 99;
    tell("make a pool of no device", cudaMemPoolCreate(&(cudaMemPool_t){NULL}, &props));
    tell("trim no pool", cudaMemPoolTrimTo(NULL, 0));
}

// ----------------------------------------------------------------------------------------- capture

static void use_capture(void) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    enum cudaStreamCaptureStatus status;
    void *before = NULL, *inside = NULL, *beside = NULL;
    unsigned char *result;
    MUST(cudaMallocHost((void **)&result, MIB));
    MUST(cudaMallocAsync(&before, MIB, second));
    MUST(cudaStreamSynchronize(second));
    MUST(cudaStreamBeginCapture(second, cudaStreamCaptureModeRelaxed));
    tell("allocate in a capture", cudaMallocAsync(&inside, MIB, second));
    MUST(cudaMemsetAsync(inside, 6, MIB, second));
    MUST(cudaMemcpyAsync(result, inside, MIB, cudaMemcpyDeviceToHost, second));
    tell("free in the capture", cudaFreeAsync(inside, second));
    tell("allocate beside the capture", cudaMallocAsync(&beside, MIB, first));
    tell("free beside the capture", cudaFreeAsync(beside, first));
    MUST(cudaStreamIsCapturing(second, &status));
    printf("it captures: %d\n", (int)status);
    MUST(cudaStreamEndCapture(second, &graph));
    MUST(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < 3; i++)
        MUST(cudaGraphLaunch(executable, second));
    MUST(cudaStreamSynchronize(second));
    printf("bytes of the graph: %d %d\n", result[0], result[MIB - 1]);
    MUST(cudaGraphExecDestroy(executable));
    MUST(cudaGraphDestroy(graph));
    tell("free behind the capture", cudaFreeAsync(before, second));
    MUST(cudaStreamSynchronize(second));
    MUST(cudaFreeHost(result));
    MUST(cudaDeviceGraphMemTrim(0));
}

// -------------------------------------------------------------------------------- threads, a reset

static void *allocate_in_thread(void *unused) {
    void *address = NULL;
    (void)unused;
    tell("allocate in a fresh thread", cudaMallocAsync(&address, MIB, 0));
    MUST(cudaMemsetAsync(address, 8, MIB, 0));
    tell("free in it", cudaFreeAsync(address, 0));
    MUST(cudaStreamSynchronize(0));
    return NULL;
}

static void use_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate_in_thread, NULL) != 0)
        exit(1);
    pthread_join(thread, NULL);
}

static void use_reset(void) {
    void *left = NULL, *address = NULL;
    cudaMemPool_t again = NULL;
    MUST(cudaMallocAsync(&left, MIB, first));
    MUST(cudaMemsetAsync(left, 4, MIB, first));
    MUST(cudaStreamDestroy(second));
    tell("reset the device", cudaDeviceReset());
    MUST(cudaStreamCreate(&first));
    MUST(cudaDeviceGetDefaultMemPool(&again, 0));
    printf("the default pool is as before: %d\n", again == standard);
    tell("allocate behind the reset", cudaMallocAsync(&address, MIB, first));
    MUST(cudaMemsetAsync(address, 9, MIB, first));
    tell_bytes("behind the reset", address, MIB, first);
    tell("free behind the reset", cudaFreeAsync(address, first));
    tell("free what was left", cudaFreeAsync(left, first));
    tell("synchronise behind the reset", cudaDeviceSynchronize());
}

static void end(void) {
    MUST(cudaMemPoolTrimTo(standard, 0));
    MUST(cudaDeviceSynchronize());
    tell_figures("at the end", standard);
    tell("destroy the stream", cudaStreamDestroy(first));
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    begin();
    use_attributes();
    use_default_pool();
    use_two_streams();
    use_pending_memory();
    use_default_streams();
    use_own_pool();
    use_host_pool();
    use_exportable_pool();
    use_pointers();
    use_errors();
    use_capture();
    use_thread();
    use_reset();
    end();
    return 0;
}
