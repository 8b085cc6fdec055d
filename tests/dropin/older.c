// The simulated driver as an older one: it has the entry points of driver/table.h, each in the form
// that stands there, and no others. So there are no calls for pools but the oldest, no forms for
// another null stream, and no second form of any name. Of a pointer it tells one attribute.
#include "driver/table.h"

#include <stddef.h>
#include <string.h>

#include "driver/abi.h"
#include "simcuda/bridge/bridge.h"
#include "simcuda/memory/pointer.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);
EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                                    CUdriverProcAddressQueryResult *status);

#define DECLARE(name, symbol, version, need, parameters) CUresult symbol parameters;
SP_DRIVER_TABLE(DECLARE)

static const struct row {
    const char *name;
    int version;
    void (*function)(void);
} rows[] = {
#define ROW(name, symbol, version, need, parameters) {#name, version, (void (*)(void))symbol},
    SP_DRIVER_TABLE(ROW)
    // clang-format off
    {"cuGetProcAddress", 12000, (void (*)(void))cuGetProcAddress_v2},
    {"cuGetProcAddress", 11030, (void (*)(void))cuGetProcAddress},
    // clang-format on
};

// Returns the first row of the name that is not newer than `version`, or else the last one.
static const struct row *find(const char *name, int version) {
    const struct row *found = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].name, name) == 0 && (!found || found->version > version))
            found = &rows[i];
    }
    return found;
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
    CUdriverProcAddressQueryResult unwanted;
    int level = 0;
    (void)flags;
    status = status ? status : &unwanted;
    if (!name || !function)
        return CUDA_ERROR_INVALID_VALUE;
    cuDriverGetVersion(&level);
    const struct row *row = find(name, version < level ? version : level);
    *function = NULL;
    *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!row || row->version > level)
        return CUDA_ERROR_NOT_FOUND;
    *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (row->version > version)
        return CUDA_ERROR_NOT_FOUND;
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    memcpy(function, &row->function, sizeof *function);
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    SIM_BEGIN(cuPointerGetAttribute);
    if (attribute != CU_POINTER_ATTRIBUTE_BUFFER_ID)
        SIM_END(cuPointerGetAttribute, value ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE);
    SIM_END(cuPointerGetAttribute, sim_pointer_attribute(attribute, address, value));
}
