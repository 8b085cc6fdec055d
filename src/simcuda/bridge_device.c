// Initialisation, devices, finding entry points, names of errors.
#include <stdio.h>
#include <string.h>

#include "driver/table.h"
#include "simcuda/bridge.h"
#include "simcuda/device.h"
#include "simcuda/fault.h"

CUresult cuInit(unsigned int flags) {
    SIM_BEGIN(cuInit);
    SIM_END(cuInit, flags == 0 ? sim_engine_start() : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDriverGetVersion(int *version) {
    SIM_BEGIN(cuDriverGetVersion);
    if (!version)
        SIM_END(cuDriverGetVersion, CUDA_ERROR_INVALID_VALUE);
    *version = (int)sim_config.api;
    SIM_END(cuDriverGetVersion, CUDA_SUCCESS);
}

// A pure function of its argument: no lock, and allowed anywhere.
CUresult cuGetErrorName(CUresult error, const char **name) {
    sim_call_count_add(SIM_ENTRY_cuGetErrorName);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    switch (error) {
#define SIM_ERROR_NAME(code, number)                                                               \
    case code:                                                                                     \
        *name = #code;                                                                             \
        return CUDA_SUCCESS;
        SP_DRIVER_ERRORS(SIM_ERROR_NAME)
#undef SIM_ERROR_NAME
    }
    *name = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

// Likewise.
CUresult cuGetErrorString(CUresult error, const char **text) {
    return cuGetErrorName(error, text);
}

CUresult cuDeviceGetCount(int *count) {
    SIM_BEGIN(cuDeviceGetCount);
    if (!count)
        SIM_END(cuDeviceGetCount, CUDA_ERROR_INVALID_VALUE);
    *count = (int)sim_config.devices;
    SIM_END(cuDeviceGetCount, CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    SIM_BEGIN(cuDeviceGet);
    if (!device)
        SIM_END(cuDeviceGet, CUDA_ERROR_INVALID_VALUE);
    if (!sim_device_exists(ordinal))
        SIM_END(cuDeviceGet, CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    SIM_END(cuDeviceGet, CUDA_SUCCESS);
}

static CUresult check_device(const void *result, CUdevice device) {
    if (!result)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_device_exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
    SIM_BEGIN(cuDeviceGetName);
    CUresult result = length > 0 ? check_device(name, device) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(name, (size_t)length, "Simulated GPU");
    SIM_END(cuDeviceGetName, result);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    SIM_BEGIN(cuDeviceTotalMem);
    CUresult result = check_device(bytes, device);
    if (result == CUDA_SUCCESS)
        *bytes = sim_config.device[device].memory;
    SIM_END(cuDeviceTotalMem, result);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    SIM_BEGIN(cuDeviceGetAttribute);
    CUresult result = check_device(value, device);
    SIM_END(cuDeviceGetAttribute,
            result == CUDA_SUCCESS ? sim_device_attribute(value, attribute, device) : result);
}

// A device is no peer of itself.
CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
    SIM_BEGIN(cuDeviceCanAccessPeer);
    CUresult result = check_device(can, device);
    if (result == CUDA_SUCCESS)
        result = check_device(can, peer);
    if (result == CUDA_SUCCESS)
        *can = device != peer && sim_device_can_access(device, peer);
    SIM_END(cuDeviceCanAccessPeer, result);
}

// ---------------------------------------------------------------------------- finding entry points

static CUresult find_function(const char *name, void **function, int version,
                              CUdriverProcAddressQueryResult *status) {
    if (!name || !function)
        return CUDA_ERROR_INVALID_VALUE;
    *function = NULL;
    *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    int asked = version < (int)sim_config.api ? version : (int)sim_config.api;
    enum sim_entry entry = sim_entry_find(name, asked);
    if (entry == SIM_ENTRY_COUNT || sim_entries[entry].version > (int)sim_config.api)
        return CUDA_ERROR_NOT_FOUND;
    *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (sim_entries[entry].version > version)
        return CUDA_ERROR_NOT_FOUND;
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    memcpy(function, &sim_entries[entry].function, sizeof(*function));
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    CUdriverProcAddressQueryResult status;
    (void)flags;
    SIM_BEGIN(cuGetProcAddress);
    SIM_END(cuGetProcAddress, find_function(name, function, version, &status));
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
    CUdriverProcAddressQueryResult unwanted;
    (void)flags;
    SIM_BEGIN(cuGetProcAddress_v2);
    SIM_END(cuGetProcAddress_v2,
            find_function(name, function, version, status ? status : &unwanted));
}
