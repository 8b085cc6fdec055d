// Initialisation and devices.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "simcuda/bridge/bridge.h"
#include "simcuda/entry/attributes.h"
#include "simcuda/memory/device.h"

// Room for "0000:01:00.0", as programs are told to provide.
#define BUS_ID_LENGTH 13

CUresult cuInit(unsigned int flags) {
    SIM_CALL(cuInit, flags == 0 ? sim_engine_start() : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuDriverGetVersion(int *version) {
    SIM_BEGIN(cuDriverGetVersion);
    if (!version)
        SIM_END(cuDriverGetVersion, CUDA_ERROR_INVALID_VALUE);
    *version = (int)sim_config.api;
    SIM_END(cuDriverGetVersion, CUDA_SUCCESS);
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
    SIM_BEGIN(cuDeviceTotalMem_v2);
    CUresult result = check_device(bytes, device);
    if (result == CUDA_SUCCESS)
        *bytes = sim_config.device[device].memory;
    SIM_END(cuDeviceTotalMem_v2, result);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    SIM_BEGIN(cuDeviceGetAttribute);
    CUresult result = check_device(value, device);
    SIM_END(cuDeviceGetAttribute,
            result == CUDA_SUCCESS ? sim_device_attribute(value, (int)attribute, device) : result);
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

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    SIM_BEGIN(cuDeviceComputeCapability);
    CUresult result = minor ? check_device(major, device) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        sim_device_attribute(major, SIM_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
        sim_device_attribute(minor, SIM_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    }
    SIM_END(cuDeviceComputeCapability, result);
}

static int attribute_of(CUdevice device, enum sim_attribute attribute) {
    int value = 0;
    sim_device_attribute(&value, (int)attribute, device);
    return value;
}

static CUdevprop properties_of(CUdevice device) {
    return (CUdevprop){
        .maxThreadsPerBlock = attribute_of(device, SIM_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsDim = {attribute_of(device, SIM_ATTRIBUTE_MAX_BLOCK_DIM_X),
                          attribute_of(device, SIM_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          attribute_of(device, SIM_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .maxGridSize = {attribute_of(device, SIM_ATTRIBUTE_MAX_GRID_DIM_X),
                        attribute_of(device, SIM_ATTRIBUTE_MAX_GRID_DIM_Y),
                        attribute_of(device, SIM_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .sharedMemPerBlock = attribute_of(device, SIM_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = attribute_of(device, SIM_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = attribute_of(device, SIM_ATTRIBUTE_WARP_SIZE),
        .memPitch = attribute_of(device, SIM_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = attribute_of(device, SIM_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = attribute_of(device, SIM_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = attribute_of(device, SIM_ATTRIBUTE_TEXTURE_ALIGNMENT),
    };
}

CUresult cuDeviceGetProperties(CUdevprop *properties, CUdevice device) {
    SIM_BEGIN(cuDeviceGetProperties);
    CUresult result = check_device(properties, device);
    if (result == CUDA_SUCCESS)
        *properties = properties_of(device);
    SIM_END(cuDeviceGetProperties, result);
}

// --------------------------------------------------------------------------------- which one it is

// The identity is the same in every process, as a real device's is.
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
    SIM_BEGIN(cuDeviceGetUuid);
    CUresult result = check_device(uuid, device);
    if (result == CUDA_SUCCESS) {
        memcpy(uuid->bytes, "simulated GPU 00", sizeof uuid->bytes);
        uuid->bytes[15] = (char)device;
    }
    SIM_END(cuDeviceGetUuid, result);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    return cuDeviceGetUuid(uuid, device);
}

// Only Windows has these.
CUresult cuDeviceGetLuid(char *luid, unsigned int *nodes, CUdevice device) {
    SIM_BEGIN(cuDeviceGetLuid);
    CUresult result = nodes ? check_device(luid, device) : CUDA_ERROR_INVALID_VALUE;
    SIM_END(cuDeviceGetLuid, result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result);
}

CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device) {
    SIM_BEGIN(cuDeviceGetPCIBusId);
    CUresult result =
        length >= BUS_ID_LENGTH ? check_device(text, device) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        snprintf(text, (size_t)length, "%04x:%02x:%02x.0",
                 (unsigned)attribute_of(device, SIM_ATTRIBUTE_PCI_DOMAIN_ID) & 0xFFFF,
                 (unsigned)attribute_of(device, SIM_ATTRIBUTE_PCI_BUS_ID) & 0xFF,
                 (unsigned)attribute_of(device, SIM_ATTRIBUTE_PCI_DEVICE_ID) & 0xFF);
    SIM_END(cuDeviceGetPCIBusId, result);
}

struct place {
    unsigned domain, bus, slot, function;
};

// Reads one of "DOMAIN:BUS:DEVICE.FUNCTION", "DOMAIN:BUS:DEVICE" and "BUS:DEVICE.FUNCTION".
static bool read_place(const char *text, struct place *to) {
    int end = 0;
    *to = (struct place){0};
    sscanf(text, "%4x:%2x:%2x.%1x%n", &to->domain, &to->bus, &to->slot, &to->function, &end);
    if (end == 0)
        sscanf(text, "%4x:%2x:%2x%n", &to->domain, &to->bus, &to->slot, &end);
    if (end > 0)
        return !text[end];
    *to = (struct place){0};
    sscanf(text, "%2x:%2x.%1x%n", &to->bus, &to->slot, &to->function, &end);
    return end > 0 && !text[end];
}

static CUresult device_at(const char *text, CUdevice *device) {
    struct place place;
    if (!read_place(text, &place))
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; sim_device_exists(i); i++) {
        if (place.function != 0 ||
            (int)place.domain != attribute_of(i, SIM_ATTRIBUTE_PCI_DOMAIN_ID) ||
            (int)place.bus != attribute_of(i, SIM_ATTRIBUTE_PCI_BUS_ID) ||
            (int)place.slot != attribute_of(i, SIM_ATTRIBUTE_PCI_DEVICE_ID))
            continue;
        *device = i;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text) {
    SIM_CALL(cuDeviceGetByPCIBusId,
             device && text ? device_at(text, device) : CUDA_ERROR_INVALID_VALUE);
}

// ------------------------------------------------------------------------------------------- peers

// All links are the same.
static CUresult describe_link(int *value, CUdevice_P2PAttribute attribute, CUdevice from,
                              CUdevice to) {
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_device_exists(from) || !sim_device_exists(to) || from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        *value = sim_device_can_access(from, to);
        return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
        *value = 0;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from,
                                 CUdevice to) {
    SIM_CALL(cuDeviceGetP2PAttribute, describe_link(value, attribute, from, to));
}
