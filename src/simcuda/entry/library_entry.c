#include "simcuda/entry/library_entry.h"

#include <stddef.h>
#include <string.h>

#include "simcuda/common/thread.h"

// X(name, symbol, parameters, arguments)
#define MAKERS(X)                                                                                  \
    X(cuMemAddressReserve, cuMemAddressReserve,                                                    \
      (CUdeviceptr * address, size_t size, size_t alignment, CUdeviceptr hint,                     \
       unsigned long long flags),                                                                  \
      (address, size, alignment, hint, flags))                                                     \
    X(cuMemCreate, cuMemCreate,                                                                    \
      (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop,        \
       unsigned long long flags),                                                                  \
      (handle, size, prop, flags))                                                                 \
    X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr * address, size_t size), (address, size))            \
    X(cuMemHostAlloc, cuMemHostAlloc, (void **memory, size_t size, unsigned int flags),            \
      (memory, size, flags))                                                                       \
    X(cuMemHostRegister, cuMemHostRegister_v2, (void *memory, size_t size, unsigned int flags),    \
      (memory, size, flags))                                                                       \
    X(cuMemAllocManaged, cuMemAllocManaged,                                                        \
      (CUdeviceptr * address, size_t size, unsigned int flags), (address, size, flags))            \
    X(cuEventCreate, cuEventCreate, (CUevent * event, unsigned int flags), (event, flags))         \
    X(cuModuleLoadData, cuModuleLoadData, (CUmodule * module, const void *image), (module, image))

#define DEFINE(name, symbol, parameters, arguments)                                                \
    static CUresult library_##name parameters {                                                    \
        sim_thread_self()->makes_for_library = true;                                               \
        CUresult result = symbol arguments;                                                        \
        sim_thread_self()->makes_for_library = false;                                              \
        return result;                                                                             \
    }
MAKERS(DEFINE)

void *simcudaLibraryEntry(const char *name) {
    static const struct {
        const char *name;
        void (*function)(void);
    } rows[] = {
#define ROW(name, symbol, parameters, arguments) {#name, (void (*)(void))library_##name},
        MAKERS(ROW)};
    void *function = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0)
            memcpy(&function, &rows[i].function, sizeof function);
    }
    return function;
}
