// The driver's calls that take or give a pool.
//
// Our pools have pinned or managed memory of a device or of the host, and can't be exported. All
// others are the driver's: also those that the library hasn't got with this driver.
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

// The library refuses by itself what is wrong with a kind that it knows.
static bool is_known_kind(const CUmemPoolProps *props) {
    return ((int)props->allocType == poolMemAllocationTypePinned ||
            (int)props->allocType == poolMemAllocationTypeManaged) &&
           (int)props->location.type <= poolMemLocationTypeHostNumaCurrent;
}

// Nothing else is exported by any driver.
static bool can_be_exported(const CUmemPoolProps *props) {
    return props->handleTypes != CU_MEM_HANDLE_TYPE_NONE &&
           props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
           (props->location.type == CU_MEM_LOCATION_TYPE_DEVICE ||
            props->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA);
}

// The first of the reserved bytes has a meaning from CUDA 13.4 on (gpuDirectRDMACapable).
static bool can_serve(const CUmemPoolProps *props) {
    return !props || (is_known_kind(props) && !can_be_exported(props) && props->reserved[0] == 0);
}

// The end of a call by which the driver has given out a pool.
static CUresult note(CUresult result, CUmemoryPool *pool) {
    return result != CUDA_SUCCESS || sp_theirs_note(*pool) ? result : CUDA_ERROR_OUT_OF_MEMORY;
}

// The end of a call by which the library may have given out a pool.
static CUresult give(CUresult result, CUmemoryPool *pool, poolMemPool_t given) {
    if (result == CUDA_SUCCESS)
        *pool = (CUmemoryPool)given;
    return result;
}

static const struct poolMemLocation *our_location(const CUmemLocation *location) {
    return (const struct poolMemLocation *)location;
}

// Begins a pool call. True: the driver is to make it.
static bool is_drivers(bool theirs, CUresult *refused) {
    return !sp_served_begin(refused) || theirs;
}

// Answers a call that is the driver's, unless it was refused.
#define HAND_OVER(refused, symbol, arguments)                                                      \
    ((refused) != CUDA_SUCCESS ? (refused) : sp_real_call(symbol, arguments))

// ------------------------------------------------------------------------------ create and destroy

static CUresult create_theirs(CUmemoryPool *pool, const CUmemPoolProps *props) {
    CUresult result = sp_real_call(cuMemPoolCreate, (pool, props));
    if (result != CUDA_SUCCESS || sp_theirs_note(*pool))
        return result;
    sp_real_call(cuMemPoolDestroy, (*pool));
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
    poolMemPool_t made = NULL;
    CUresult result;
    if (is_drivers(!can_serve(props), &result))
        return result != CUDA_SUCCESS ? result : create_theirs(pool, props);
    SP_SERVE(result,
             poolMemPoolCreate(pool ? &made : NULL, (const struct poolMemPoolProps *)props));
    return result == CUDA_ERROR_NOT_SUPPORTED ? create_theirs(pool, props)
                                              : give(result, pool, made);
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
                                          our_location(location)));
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

// -------------------------------------------------------------------------------- pools of a place

// Where the library has no pools of a place, the driver may have.
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    poolMemPool_t found = NULL;
    CUresult result;
    if (is_drivers(false, &result))
        return note(HAND_OVER(result, cuDeviceGetDefaultMemPool, (pool, device)), pool);
    SP_SERVE(result, poolDeviceGetDefaultMemPool(pool ? &found : NULL, device));
    return result == CUDA_ERROR_NOT_SUPPORTED
               ? note(sp_real_call(cuDeviceGetDefaultMemPool, (pool, device)), pool)
               : give(result, pool, found);
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
                                CUmemAllocationType type) {
    poolMemPool_t found = NULL;
    CUresult result;
    if (is_drivers(false, &result))
        return note(HAND_OVER(result, cuMemGetDefaultMemPool, (pool, location, type)), pool);
    SP_SERVE(result, poolMemGetDefaultMemPool(pool ? &found : NULL, our_location(location),
                                              (enum poolMemAllocationType)type));
    return result == CUDA_ERROR_NOT_SUPPORTED
               ? note(sp_real_call(cuMemGetDefaultMemPool, (pool, location, type)), pool)
               : give(result, pool, found);
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
    CUmemoryPool theirs = sp_theirs_current_of(device);
    if (theirs)
        return give_current(pool, theirs);
    SP_SERVE(result, poolDeviceGetMemPool(pool ? &found : NULL, device));
    return result == CUDA_ERROR_NOT_SUPPORTED
               ? note(sp_real_call(cuDeviceGetMemPool, (pool, device)), pool)
               : give(result, pool, found);
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type) {
    poolMemPool_t found = NULL;
    CUresult result;
    if (is_drivers(false, &result))
        return note(HAND_OVER(result, cuMemGetMemPool, (pool, location, type)), pool);
    CUmemoryPool theirs = location ? sp_theirs_current(*location, type) : NULL;
    if (theirs)
        return give_current(pool, theirs);
    SP_SERVE(result, poolMemGetMemPool(pool ? &found : NULL, our_location(location),
                                       (enum poolMemAllocationType)type));
    return result == CUDA_ERROR_NOT_SUPPORTED
               ? note(sp_real_call(cuMemGetMemPool, (pool, location, type)), pool)
               : give(result, pool, found);
}

// A pool of managed memory that prefers the device becomes the current one of such memory there.
// The driver has just been given its own.
static CUmemAllocationType type_of_current(CUdevice device, CUmemoryPool pool, bool theirs) {
    int type = poolMemAllocationTypePinned;
    CUmemoryPool pinned = pool;
    if (!theirs)
        poolMemPoolGetAttribute((poolMemPool_t)pool, poolMemPoolAttrAllocationType, &type);
    else if (sp_real_call(cuDeviceGetMemPool, (&pinned, device)) == CUDA_SUCCESS && pinned != pool)
        type = poolMemAllocationTypeManaged;
    return (CUmemAllocationType)type;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    CUresult result;
    bool theirs = sp_theirs_has(pool);
    if (is_drivers(theirs, &result))
        result = HAND_OVER(result, cuDeviceSetMemPool, (device, pool));
    else
        SP_SERVE(result, poolDeviceSetMemPool(device, (poolMemPool_t)pool));
    if (result == CUDA_SUCCESS && sp_served_is_on())
        sp_theirs_make_current((CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device},
                               type_of_current(device, pool, theirs), theirs ? pool : NULL);
    return result;
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool) {
    CUresult result;
    bool theirs = sp_theirs_has(pool);
    if (is_drivers(theirs, &result))
        result = HAND_OVER(result, cuMemSetMemPool, (location, type, pool));
    else
        SP_SERVE(result, poolMemSetMemPool(our_location(location), (enum poolMemAllocationType)type,
                                           (poolMemPool_t)pool));
    if (result == CUDA_SUCCESS && sp_served_is_on())
        sp_theirs_make_current(*location, type, theirs ? pool : NULL);
    return result;
}
