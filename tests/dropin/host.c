// host pinned|managed: a program that knows CUDA's pools of memory of the host, and nothing of
// streampool. It prints what each call answers and what it finds, but for what differs with CUDA's
// own pools (docs/dropin.md): place.c has ours. With those, on an H200 (driver 580.159.04), all
// else was as expected/host_*.txt say. A call that the driver lacks isn't made.
#include "dropin/ways.h"

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PINNED = 1, MANAGED = 2 };             // types of memory
enum { NONE, DEVICE, HOST, NODE, THIS_NODE }; // kinds of locations
enum { KIB = 1024, MIB = 1024 * KIB, NOT_TOLD = 0x7777, SKIPPED = 77 };

static CUstream first, second;
static int devices;

static void must(CUresult result, const char *call) {
    if (result == CUDA_SUCCESS)
        return;
    printf("%s: %d\n", call, (int)result);
    exit(1);
}

#define MUST(call) must((call), #call)

static void begin(void) {
    CUcontext context;
    find_calls("dlsym", NULL);
    MUST(cu.cuInit(0));
    MUST(cu.cuDeviceGetCount(&devices));
    MUST(cu.cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cu.cuCtxSetCurrent(context));
    MUST(cu.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    MUST(cu.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
}

static CUmemLocation at(int kind, int id) {
    return (CUmemLocation){(CUmemLocationType)kind, id};
}

static CUmemPoolProps props_of(int type, int kind, int id) {
    return (CUmemPoolProps){.allocType = (CUmemAllocationType)type, .location = at(kind, id)};
}

static CUmemoryPool pool_of(int type, int kind, int id) {
    const CUmemPoolProps props = props_of(type, kind, id);
    CUmemoryPool pool = NULL;
    MUST(cu.cuMemPoolCreate(&pool, &props));
    return pool;
}

// ------------------------------------------------------------------------------------ making pools

static const struct {
    const char *name;
    int type, kind, id;
    int handles;
    size_t limit;
    unsigned short usage;
} made[] = {
    {"the host", PINNED, HOST, 0, 0, 0, 0},
    {"the host with a number", PINNED, HOST, 5, 0, 0, 0},
    {"the host with a negative one", PINNED, HOST, -1, 0, 0, 0},
    {"the host, to be exported", PINNED, HOST, 0, 1, 0, 0},
    {"the host, of 64 MiB", PINNED, HOST, 0, 0, 64 * MIB, 0},
    {"the host, of 2^60 bytes", PINNED, HOST, 0, 0, (size_t)1 << 60, 0},
    {"the host, with a use", PINNED, HOST, 0, 0, 0, 2},
    {"node 0", PINNED, NODE, 0, 0, 0, 0},
    {"node 1", PINNED, NODE, 1, 0, 0, 0},
    {"node -1", PINNED, NODE, -1, 0, 0, 0},
    {"node 99", PINNED, NODE, 99, 0, 0, 0},
    {"node 0, of 64 MiB", PINNED, NODE, 0, 0, 64 * MIB, 0},
    {"node 0, to be exported", PINNED, NODE, 0, 1, 0, 0},
    {"this node", PINNED, THIS_NODE, 0, 0, 0, 0},
    {"no place", PINNED, NONE, 0, 0, 0, 0},
    {"a device, with a use", PINNED, DEVICE, 0, 0, 0, 2},
    {"no type", 3, HOST, 0, 0, 0, 0},
    {"no place", MANAGED, NONE, 0, 0, 0, 0},
    {"no place with a number", MANAGED, NONE, 3, 0, 0, 0},
    {"device 0", MANAGED, DEVICE, 0, 0, 0, 0},
    {"device 9", MANAGED, DEVICE, 9, 0, 0, 0},
    {"the host", MANAGED, HOST, 0, 0, 0, 0},
    {"node 0", MANAGED, NODE, 0, 0, 0, 0},
    {"node 99", MANAGED, NODE, 99, 0, 0, 0},
    {"this node", MANAGED, THIS_NODE, 0, 0, 0, 0},
    {"no place, to be exported", MANAGED, NONE, 0, 1, 0, 0},
    {"device 0, of 64 MiB", MANAGED, DEVICE, 0, 0, 64 * MIB, 0},
    {"device 0, with a use", MANAGED, DEVICE, 0, 0, 0, 2},
};

static void make_pools(bool managed) {
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        CUmemPoolProps props = props_of(made[i].type, made[i].kind, made[i].id);
        CUmemoryPool pool = NULL;
        props.handleTypes = (CUmemAllocationHandleType)made[i].handles;
        props.maxSize = made[i].limit;
        props.usage = made[i].usage;
        if ((made[i].type == MANAGED) != managed)
            continue;
        CUresult result = cu.cuMemPoolCreate(&pool, &props);
        printf("make a pool of %s: %d\n", made[i].name, (int)result);
        if (result == CUDA_SUCCESS)
            MUST(cu.cuMemPoolDestroy(pool));
    }
}

// ----------------------------------------------------------------------------- the pools of places

// clang-format off
static const struct place { int kind, id; } places[] = {
    {DEVICE, 0}, {DEVICE, 1}, {HOST, 0}, {HOST, 3}, {HOST, -1}, {NODE, 0},
    {NODE, 1}, {NODE, 99}, {NODE, -1}, {NONE, 0}, {THIS_NODE, 0}, {6, 0},
};
// clang-format on
enum { PLACES = sizeof places / sizeof places[0] };

static CUmemoryPool current_at(CUmemLocation place, int type) {
    CUmemoryPool pool = NULL;
    cu.cuMemGetMemPool(&pool, &place, (CUmemAllocationType)type);
    return pool;
}

// Of a place with a pool also which earlier place has the same.
static void tell_defaults(int type) {
    CUmemoryPool found[PLACES], of_device = NULL;
    MUST(cu.cuDeviceGetDefaultMemPool(&of_device, 0));
    for (int i = 0; i < PLACES; i++) {
        CUmemLocation place = at(places[i].kind, places[i].id);
        CUmemoryPool current = NULL;
        int same = 0;
        found[i] = NULL;
        CUresult result = cu.cuMemGetDefaultMemPool(&found[i], &place, (CUmemAllocationType)type);
        CUresult answer = cu.cuMemGetMemPool(&current, &place, (CUmemAllocationType)type);
        printf("the pool of (%d, %d) for type %d: %d, the current one: %d", (int)place.type,
               place.id, type, (int)result, (int)answer);
        if (result == CUDA_SUCCESS) {
            while (found[same] != found[i])
                same++;
            printf("%s, first seen at (%d, %d)%s", current == found[i] ? ", the same" : "",
                   places[same].kind, places[same].id,
                   found[i] == of_device ? ", the device's" : "");
        }
        putchar('\n');
    }
}

static void set_everywhere(const char *name, CUmemoryPool pool) {
    for (int type = PINNED; type <= MANAGED; type++) {
        for (int i = 0; i < PLACES; i++) {
            CUmemLocation place = at(places[i].kind, places[i].id);
            CUmemoryPool before = current_at(place, type);
            CUresult result = cu.cuMemSetMemPool(&place, (CUmemAllocationType)type, pool);
            if (result != CUDA_SUCCESS && current_at(place, type) == before)
                continue;
            printf("have %s at (%d, %d) for type %d: %d, it is there: %d\n", name, (int)place.type,
                   place.id, type, (int)result, current_at(place, type) == pool);
            if (result == CUDA_SUCCESS)
                MUST(cu.cuMemSetMemPool(&place, (CUmemAllocationType)type, before));
        }
    }
}

static void tell_null_arguments(int type) {
    CUmemLocation host = at(HOST, 0);
    CUmemoryPool pool = NULL;
    CUmemAllocationType of = (CUmemAllocationType)type;
    printf("null arguments: %d %d %d %d %d %d\n", (int)cu.cuMemGetDefaultMemPool(NULL, &host, of),
           (int)cu.cuMemGetDefaultMemPool(&pool, NULL, of),
           (int)cu.cuMemGetMemPool(NULL, &host, of), (int)cu.cuMemGetMemPool(&pool, NULL, of),
           (int)cu.cuMemSetMemPool(&host, of, NULL), (int)cu.cuMemSetMemPool(NULL, of, pool));
}

// The host's default pool is current again when the current one is destroyed: with CUDA's pools, as
// long as no other place has had another one.
static void destroy_current_of_host(void) {
    CUmemLocation place = at(HOST, 0);
    CUmemoryPool standard = current_at(place, PINNED), pool = pool_of(PINNED, HOST, 0);
    MUST(cu.cuMemSetMemPool(&place, CU_MEM_ALLOCATION_TYPE_PINNED, pool));
    MUST(cu.cuMemPoolDestroy(pool));
    printf("the default pool is current again: %d\n", current_at(place, PINNED) == standard);
}

static void destroy_default(int type, int kind) {
    CUmemLocation place = at(kind, 0);
    CUmemoryPool standard = NULL;
    MUST(cu.cuMemGetDefaultMemPool(&standard, &place, (CUmemAllocationType)type));
    printf("destroy the default pool: %d\n", (int)cu.cuMemPoolDestroy(standard));
}

static void use_places(bool managed) {
    int type = managed ? MANAGED : PINNED, kind = managed ? NONE : HOST;
    CUmemoryPool of_device = NULL, pool;
    if (!cu.cuMemGetDefaultMemPool || !cu.cuMemGetMemPool || !cu.cuMemSetMemPool) {
        printf("the driver has no calls for pools of places\n");
        return;
    }
    if (!managed)
        destroy_current_of_host();
    tell_defaults(type);
    tell_null_arguments(type);
    set_everywhere("its own", pool = pool_of(type, kind, 0));
    printf("have it on device 0: %d\n", (int)cu.cuDeviceSetMemPool(0, pool));
    MUST(cu.cuMemPoolDestroy(pool));
    if (managed) {
        set_everywhere("one of device 0", pool = pool_of(type, DEVICE, 0));
        MUST(cu.cuDeviceGetMemPool(&of_device, 0));
        printf("have it on device 0: %d\n", (int)cu.cuDeviceSetMemPool(0, pool));
        printf("it is there: %d\n", current_at(at(DEVICE, 0), MANAGED) == pool);
        MUST(cu.cuDeviceGetMemPool(&pool, 0));
        printf("the device's pool is as before: %d\n", pool == of_device);
    } else {
        tell_defaults(0);
        tell_defaults(3);
        MUST(cu.cuDeviceGetDefaultMemPool(&of_device, 0));
        set_everywhere("the device's", of_device);
        const CUmemPoolProps node = props_of(PINNED, NODE, 0);
        if (cu.cuMemPoolCreate(&pool, &node) == CUDA_SUCCESS) {
            set_everywhere("one of node 0", pool);
            MUST(cu.cuMemPoolDestroy(pool));
        }
    }
    destroy_default(type, kind);
}

// ------------------------------------------------------------------------------------------ access

static void tell_access(CUmemoryPool pool) {
    static const struct place asked[] = {{DEVICE, 0}, {DEVICE, 1},    {HOST, 0}, {NODE, 0},
                                         {NODE, 1},   {THIS_NODE, 0}, {NONE, 0}};
    printf("access:");
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        CUmemLocation place = at(asked[i].kind, asked[i].id);
        CUmemAccess_flags flags = (CUmemAccess_flags)NOT_TOLD;
        CUresult result = cu.cuMemPoolGetAccess(&flags, pool, &place);
        printf(" (%d, %d) %d", (int)place.type, place.id, (int)result);
        if (result == CUDA_SUCCESS)
            printf(" %d", (int)flags);
    }
    putchar('\n');
}

static void set_access(CUmemoryPool pool, int kind, int id, int flags) {
    const CUmemAccessDesc access = {at(kind, id), (CUmemAccess_flags)flags};
    printf("give (%d, %d) access %d: %d\n", kind, id, flags,
           (int)cu.cuMemPoolSetAccess(pool, &access, 1));
}

static void use_access(CUmemoryPool pool) {
    set_access(pool, DEVICE, 0, 1);
    set_access(pool, DEVICE, 1, 3);
    set_access(pool, HOST, 0, 3);
    set_access(pool, HOST, 0, 1);
    set_access(pool, HOST, 0, 0);
    set_access(pool, NODE, 0, 3);
    set_access(pool, NODE, 0, 0);
    set_access(pool, NODE, 99, 3);
    set_access(pool, THIS_NODE, 0, 3);
    tell_access(pool);
}

// ---------------------------------------------------------------------------------------- pointers

static const char *word_of(uint64_t value, CUdeviceptr address) {
    return value == address ? "the address" : value ? "another" : "0";
}

static void tell_pointer(CUdeviceptr address, CUmemoryPool pool) {
    static const struct {
        const char *name;
        CUpointer_attribute attribute;
        enum { NUMBER, ADDRESS, POOL, ANY } is;
    } rows[] = {
        {"type", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, NUMBER},
        {"managed", CU_POINTER_ATTRIBUTE_IS_MANAGED, NUMBER},
        {"device", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, NUMBER},
        {"for the host", CU_POINTER_ATTRIBUTE_HOST_POINTER, ADDRESS},
        {"for the device", CU_POINTER_ATTRIBUTE_DEVICE_POINTER, ADDRESS},
        {"pool", CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, POOL},
        {"size", CU_POINTER_ATTRIBUTE_RANGE_SIZE, NUMBER},
        {"mapped", CU_POINTER_ATTRIBUTE_MAPPED, NUMBER},
        {"handles", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, NUMBER},
        {"context", CU_POINTER_ATTRIBUTE_CONTEXT, NUMBER},
        {"access", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, NUMBER},
        {"number", CU_POINTER_ATTRIBUTE_BUFFER_ID, ANY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t value = 0, other = 0;
        CUpointer_attribute attribute = rows[i].attribute;
        void *values[] = {&other};
        CUresult result = cu.cuPointerGetAttribute(&value, attribute, address);
        printf("%s%s: %d ", i == 0 ? "" : ", ", rows[i].name, (int)result);
        if (rows[i].is == NUMBER)
            printf("%llu", (unsigned long long)value);
        else
            printf("%s", rows[i].is == ADDRESS ? word_of(value, address)
                         : rows[i].is == POOL  ? word_of(value, (uintptr_t)pool)
                                               : word_of(value != 0, 0));
        MUST(cu.cuPointerGetAttributes(1, &attribute, values, address));
        if (other != value)
            printf(" (by the other call %llu)", (unsigned long long)other);
    }
    putchar('\n');
}

static void tell_range(CUdeviceptr address, CUdeviceptr base) {
    CUdeviceptr found = 0, of_device = 0;
    size_t size = 0;
    unsigned int flags = 0;
    CUresult result = cu.cuMemGetAddressRange_v2(&found, &size, address);
    printf("range: %d", (int)result);
    if (result == CUDA_SUCCESS)
        printf(" %s, %zu bytes", word_of(found, base), size);
    printf("; flags of cuMemHostAlloc: %d, its address on the device: %d\n",
           (int)cu.cuMemHostGetFlags(&flags, (void *)(uintptr_t)base),
           (int)cu.cuMemHostGetDevicePointer_v2(&of_device, (void *)(uintptr_t)base, 0));
}

// ------------------------------------------------------------------------------------- one's bytes

static sigjmp_buf back;

static void go_back(int signal) {
    siglongjmp(back, signal);
}

static void touch(CUdeviceptr address) {
    volatile char *byte = (volatile char *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
    if (sigsetjmp(back, 1) != 0) {
        printf("the host can't touch it\n");
        return;
    }
    *byte = 7;
    printf("the host reads %d\n", *byte);
}

static void set_bytes(CUdeviceptr address) {
    CUresult result = cu.cuMemsetD8Async(address, 9, 1000, first);
    printf("the device sets it: %d\n", (int)result);
    MUST(cu.cuStreamSynchronize(first));
    if (result == CUDA_SUCCESS && sigsetjmp(back, 1) == 0)
        printf("the host reads %d\n", *(volatile char *)(uintptr_t)(address + 999)); // NOLINT
}

// ------------------------------------------------------------------------------------------ a pool

static void tell_attributes(CUmemoryPool pool) {
    for (int attribute = 1; attribute <= 8; attribute++) {
        uint64_t value = 0;
        CUresult result = cu.cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, &value);
        printf("attribute %d: %d %llu\n", attribute, (int)result, (unsigned long long)value);
    }
}

static void tell_used(const char *what, CUmemoryPool pool) {
    uint64_t used = 0;
    MUST(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    printf("used %s: %llu\n", what, (unsigned long long)used);
}

static void use_streams(CUmemoryPool pool) {
    CUdeviceptr address = 0, other = 0;
    MUST(cu.cuMemAllocFromPoolAsync(&address, MIB, pool, second));
    MUST(cu.cuMemFreeAsync(address, first));
    MUST(cu.cuMemAllocFromPoolAsync(&other, MIB, pool, first));
    printf("a stream has again what it has freed: %d\n", other == address);
    MUST(cu.cuMemFreeAsync(other, first));
    printf("free it again: %d\n", (int)cu.cuMemFreeAsync(other, first));
    MUST(cu.cuMemAllocFromPoolAsync_ptsz(&address, 100, pool, NULL));
    printf("free it as memory of cuMemHostAlloc: %d\n",
           (int)cu.cuMemFreeHost((void *)(uintptr_t)address)); // NOLINT(performance-no-int-to-ptr)
    MUST(cu.cuMemFreeAsync_ptsz(address, NULL));
    printf("2^50 bytes: %d\n",
           (int)cu.cuMemAllocFromPoolAsync(&address, (size_t)1 << 50, pool, first));
}

// CUDA's pools count such a block as used for ever.
static void free_at_once(CUmemoryPool pool) {
    CUdeviceptr address = 0;
    printf("on the legacy stream: %d\n",
           (int)cu.cuMemAllocFromPoolAsync(&address, 100, pool, NULL));
    printf("free it at once: %d\n", (int)cu.cuMemFree_v2(address));
}

static void use_pool(const char *name, CUmemoryPool pool) {
    CUdeviceptr small = 0, address = 0;
    int file = -1;
    printf("\n%s\n", name);
    tell_attributes(pool);
    tell_access(pool);
    MUST(cu.cuMemAllocFromPoolAsync(&small, 1, pool, first));
    MUST(cu.cuMemAllocFromPoolAsync(&address, 1000, pool, first));
    tell_used("by two blocks", pool);
    tell_pointer(address + 999, pool);
    tell_range(address + 999, address);
    touch(address);
    set_bytes(address);
    set_access(pool, DEVICE, 0, 3);
    tell_access(pool);
    tell_pointer(address + 999, pool);
    tell_range(address + 999, address);
    set_bytes(address);
    touch(address);
    use_access(pool);
    set_access(pool, DEVICE, 0, 0);
    tell_access(pool);
    use_streams(pool);
    MUST(cu.cuMemFreeAsync(small, first));
    MUST(cu.cuMemFreeAsync(address, first));
    tell_used("behind the frees", pool);
    free_at_once(pool);
    MUST(cu.cuStreamSynchronize(first));
    printf("trim: %d\n", (int)cu.cuMemPoolTrimTo(pool, 0));
    printf("export: %d\n", (int)cu.cuMemPoolExportToShareableHandle(
                               &file, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    MUST(cu.cuMemPoolDestroy(pool));
}

static void tell_device(void) {
    static const struct {
        const char *name;
        int attribute;
    } rows[] = {{"memory of nodes is mapped", 141},
                {"pools of nodes", 142},
                {"pools of the host", 144},
                {"memory of the host is mapped", 145}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int value = 0;
        CUresult result = cu.cuDeviceGetAttribute(&value, (CUdevice_attribute)rows[i].attribute, 0);
        printf("%s: %d %d\n", rows[i].name, (int)result, value);
    }
}

static void use_pinned(void) {
    CUmemPoolProps node = props_of(PINNED, NODE, 0);
    CUmemoryPool pool;
    tell_device();
    make_pools(false);
    use_places(false);
    use_pool("the host", pool_of(PINNED, HOST, 0));
    if (cu.cuMemPoolCreate(&pool, &node) == CUDA_SUCCESS)
        use_pool("node 0", pool);
}

static void use_managed(void) {
    make_pools(true);
    use_places(true);
    use_pool("no place", pool_of(MANAGED, NONE, 0));
    use_pool("device 0", pool_of(MANAGED, DEVICE, 0));
    use_pool("the host, managed", pool_of(MANAGED, HOST, 0));
}

int main(int count, char **arguments) {
    struct sigaction action = {.sa_handler = go_back};
    if (count < 2)
        return 2;
    sigaction(SIGSEGV, &action, NULL);
    begin();
    if (strcmp(arguments[1], "managed") == 0)
        use_managed();
    else
        use_pinned();
    return 0;
}
