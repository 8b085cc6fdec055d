// The driver's calls that take or give a pool.
//
// Our pools have pinned memory of a device, and can't be exported. All others are the driver's.
#include "dropin/real.h"
#include "dropin/served.h"
#include "dropin/theirs.h"

#include <assert.h>

static_assert(sizeof(CUmemPoolProps) == sizeof(struct poolMemPoolProps) &&
                  offsetof(CUmemPoolProps, maxSize) == offsetof(struct poolMemPoolProps, maxSize),
              "the library's struct has the driver's layout");
static_assert(sizeof(CUmemAccessDesc) == sizeof(struct poolMemAccessDesc) &&
                  sizeof(CUmemLocation) == sizeof(struct poolMemLocation),
              "the library's structs have the driver's layout");

static bool is_device(const CUmemLocation *location, CUmemAllocationType type) {
    return location && location->type == CU_MEM_LOCATION_TYPE_DEVICE &&
           type == CU_MEM_ALLOCATION_TYPE_PINNED;
}

// Null is for the library to refuse. The first of the reserved bytes has a meaning from CUDA 13.4
// on (gpuDirectRDMACapable).
static bool can_serve(const CUmemPoolProps *props) {
    return !props || (props->handleTypes == CU_MEM_HANDLE_TYPE_NONE && !props->reserved[0] &&
                      is_device(&props->location, props->allocType));
}

// The end of a call by which the driver has given out a pool.
static CUresult note(CUresult result, CUmemoryPool *pool) {
    return result != CUDA_SUCCESS || sp_theirs_note(*pool) ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

// Begins a pool call. True: the driver is to make it.
static bool is_drivers(bool theirs, CUresult *refused) {
    return !sp_served_begin(refused) || theirs;
}

// Answers a call that is the driver's, unless it was refused.
#define HAND_OVER(refused, symbol, arguments)                                                      \
    ((refused) != CUDA_SUCCESS ? (refused) : sp_real_call(symbol, arguments))

// ------------------------------------------------------------------------------ create and destroy

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
    poolMemPool_t made = NULL;
    CUresult result;
    if (is_drivers(!can_serve(props), &result)) {
        result = HAND_OVER(result, cuMemPoolCreate, (pool, props));
        CUmemoryPool given = result == CUDA_SUCCESS ? *pool : NULL;
        result = note(result, pool);
        if (given && result != CUDA_SUCCESS)
            sp_real_call(cuMemPoolDestroy, (given));
        return result;
    }
    SP_SERVE(result,
             poolMemPoolCreate(pool ? &made : NULL, (const struct poolMemPoolProps *)props));
    if (result == CUDA_ERROR_NOT_SUPPORTED) // the library has no such pools
        return note(sp_real_call(cuMemPoolCreate, (pool, props)), pool);
    if (result == CUDA_SUCCESS)
        *pool = (CUmemoryPool)made;
    return result;
}

// The handle is forgotten first: once the pool is destroyed, another one may have it.
static CUresult destroy_theirs(CUmemoryPool pool) {
    sp_theirs_forget(pool);
    CUresult result = sp_real_call(cuMemPoolDestroy, (pool));
    if (result == CUDA_SUCCESS)
        sp_theirs_end_current(pool);
    else
        sp_theirs_note(pool); // there is room for it
    return result;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    CUresult result;
    bool theirs = sp_theirs_has(pool);
    if (is_drivers(theirs, &result)) {
        if (result == CUDA_SUCCESS && theirs)
            return destroy_theirs(pool);
        return HAND_OVER(result, cuMemPoolDestroy, (pool));
    }
    SP_SERVE(result, poolMemPoolDestroy((poolMemPool_t)pool));
    return result;
}

// -------------------------------------------------------------------------------------- attributes

// Returns the CUDA version that introduced an attribute: CUDA's are below streampool's own.
static int version_of(int attribute) {
    enum { OWN = 1000 };
    if (attribute <= CU_MEMPOOL_ATTR_USED_MEM_HIGH || attribute >= OWN)
        return 0;
    return attribute <= poolMemPoolAttrHwDecompressEnabled ? 13020 : 13040;
}

// A program may tell the driver's age by what it answers.
static bool is_known(CUmemPool_attribute attribute) {
    int needed = version_of((int)attribute), version = 0;
    return needed == 0 ||
           (sp_real_call(cuDriverGetVersion, (&version)) == CUDA_SUCCESS && version >= needed);
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    CUresult result;
    if (is_drivers(sp_theirs_has(pool), &result))
        return HAND_OVER(result, cuMemPoolSetAttribute, (pool, attribute, value));
    SP_SERVE(result,
             poolMemPoolSetAttribute((poolMemPool_t)pool, (enum poolMemPoolAttr)attribute, value));
    return result;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    CUresult result;
    if (is_drivers(sp_theirs_has(pool), &result))
        return HAND_OVER(result, cuMemPoolGetAttribute, (pool, attribute, value));
    if (!is_known(attribute))
        return CUDA_ERROR_INVALID_VALUE;
    SP_SERVE(result,
             poolMemPoolGetAttribute((poolMemPool_t)pool, (enum poolMemPoolAttr)attribute, value));
    return result;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *descriptors, size_t count) {
    CUresult result;
    if (is_drivers(sp_theirs_has(pool), &result))
        return HAND_OVER(result, cuMemPoolSetAccess, (pool, descriptors, count));
    SP_SERVE(result, poolMemPoolSetAccess((poolMemPool_t)pool,
                                          (const struct poolMemAccessDesc *)descriptors, count));
    return result;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location) {
    enum poolMemAccessFlags access = poolMemAccessFlagsProtNone;
    CUresult result;
    if (is_drivers(sp_theirs_has(pool), &result))
        return HAND_OVER(result, cuMemPoolGetAccess, (flags, pool, location));
    SP_SERVE(result, poolMemPoolGetAccess(flags ? &access : NULL, (poolMemPool_t)pool,
                                          (const struct poolMemLocation *)location));
    if (result == CUDA_SUCCESS)
        *flags = (CUmemAccess_flags)access;
    return result;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    CUresult result;
    if (is_drivers(sp_theirs_has(pool), &result))
        return HAND_OVER(result, cuMemPoolTrimTo, (pool, keep));
    SP_SERVE(result, poolMemPoolTrimTo((poolMemPool_t)pool, keep));
    return result;
}

// ----------------------------------------------------------------------------------------- sharing

// No pool of ours was made to be exported, which is an invalid value to the driver too.
CUresult cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
    CUresult result;
    return is_drivers(sp_theirs_has(pool), &result)
               ? HAND_OVER(result, cuMemPoolExportToShareableHandle, (handle, pool, type, flags))
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
    return note(sp_real_call(cuMemPoolImportFromShareableHandle, (pool, handle, type, flags)),
                pool);
}

CUresult cuMemPoolExportPointer(struct CUmemPoolPtrExportData_st *data, CUdeviceptr address) {
    return sp_served_is_on() && sp_interpose_has_address(address)
               ? CUDA_ERROR_INVALID_VALUE
               : sp_real_call(cuMemPoolExportPointer, (data, address));
}

CUresult cuMemPoolImportPointer(CUdeviceptr *address, CUmemoryPool pool,
                                struct CUmemPoolPtrExportData_st *data) {
    CUresult result;
    return is_drivers(sp_theirs_has(pool), &result)
               ? HAND_OVER(result, cuMemPoolImportPointer, (address, pool, data))
               : CUDA_ERROR_INVALID_VALUE;
}

// ------------------------------------------------------------------------------- pools of a device

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    poolMemPool_t found = NULL;
    CUresult result;
    if (is_drivers(false, &result))
        return note(HAND_OVER(result, cuDeviceGetDefaultMemPool, (pool, device)), pool);
    SP_SERVE(result, poolDeviceGetDefaultMemPool(pool ? &found : NULL, device));
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        return note(sp_real_call(cuDeviceGetDefaultMemPool, (pool, device)), pool);
    if (result == CUDA_SUCCESS)
        *pool = (CUmemoryPool)found;
    return result;
}

static CUresult give_current(CUmemoryPool *pool, CUmemoryPool current) {
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    *pool = current;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) {
    poolMemPool_t found = NULL;
    CUresult result;
    if (is_drivers(false, &result))
        return note(HAND_OVER(result, cuDeviceGetMemPool, (pool, device)), pool);
    CUmemoryPool theirs = sp_theirs_current(device);
    if (theirs)
        return give_current(pool, theirs);
    SP_SERVE(result, poolDeviceGetMemPool(pool ? &found : NULL, device));
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        return note(sp_real_call(cuDeviceGetMemPool, (pool, device)), pool);
    if (result == CUDA_SUCCESS)
        *pool = (CUmemoryPool)found;
    return result;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    CUresult result;
    bool theirs = sp_theirs_has(pool);
    if (is_drivers(theirs, &result))
        result = HAND_OVER(result, cuDeviceSetMemPool, (device, pool));
    else
        SP_SERVE(result, poolDeviceSetMemPool(device, (poolMemPool_t)pool));
    if (result == CUDA_SUCCESS && sp_served_is_on())
        sp_theirs_make_current(device, theirs ? pool : NULL);
    return result;
}

// CUDA 13 names a device by its location. Other places have pools of the driver's alone.
CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
                                CUmemAllocationType type) {
    CUresult result;
    if (is_drivers(!is_device(location, type), &result))
        return note(HAND_OVER(result, cuMemGetDefaultMemPool, (pool, location, type)), pool);
    return cuDeviceGetDefaultMemPool(pool, location->id);
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type) {
    CUresult result;
    if (is_drivers(!is_device(location, type), &result))
        return note(HAND_OVER(result, cuMemGetMemPool, (pool, location, type)), pool);
    return cuDeviceGetMemPool(pool, location->id);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool) {
    CUresult result;
    if (is_drivers(!is_device(location, type), &result)) {
        bool foreign = sp_served_is_on() && !sp_theirs_has(pool);
        return foreign ? CUDA_ERROR_INVALID_VALUE
                       : HAND_OVER(result, cuMemSetMemPool, (location, type, pool));
    }
    return cuDeviceSetMemPool(location->id, pool);
}
