#include "dropin/room.h"
#include "dropin/real.h"
#include "dropin/served.h"
#include "dropin/theirs.h"

// The pools are asked for one share after the other. For the last one they wait.
enum { STEPS = SP_INTERPOSE_SHARES };

static bool find_device(struct sp_room *room) {
    if (room->device >= 0)
        return true;
    return room->device == SP_ROOM_OF_STREAM
               ? sp_theirs_find_device(room->stream, &room->device)
               : sp_real_call(cuCtxGetDevice, (&room->device)) == CUDA_SUCCESS;
}

bool sp_room_made(struct sp_room *room, CUresult result) {
    if (result != CUDA_ERROR_OUT_OF_MEMORY || !sp_served_is_on() || !find_device(room))
        return false;
    bool gave = false;
    while (!gave && room->step < STEPS - room->never_waits)
        gave = sp_interpose_give(room->device, room->bytes, (enum sp_interpose_share)room->step++);
    return gave;
}

// Defines a call: the driver's, made again as long as there is room to be had for it.
#define MAKE_ROOM(symbol, parameters, arguments, request)                                          \
    CUresult symbol parameters {                                                                   \
        struct sp_room room = request;                                                             \
        CUresult result;                                                                           \
        do                                                                                         \
            result = sp_real_call(symbol, arguments);                                              \
        while (sp_room_made(&room, result));                                                       \
        return result;                                                                             \
    }

static struct sp_room of_size(size_t bytes) {
    return (struct sp_room){.device = SP_ROOM_HERE, .bytes = bytes};
}

// The driver adds to each row what its layout takes.
static struct sp_room of_rows(size_t width, size_t height) {
    size_t least;
    return of_size(__builtin_mul_overflow(width, height, &least) ? SIZE_MAX : least);
}

// Nobody but the driver knows what an array takes.
static struct sp_room of_unknown_size(void) {
    return of_size(0);
}

// Memory of the host has nothing to do with our pools. The call waits for no work.
static struct sp_room of_handle(const CUmemAllocationProp *prop, size_t bytes) {
    bool is_of_device = prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    return (struct sp_room){.device = is_of_device ? prop->location.id : SP_ROOM_HERE,
                            .bytes = bytes,
                            .step = is_of_device ? 0 : STEPS,
                            .never_waits = true};
}

MAKE_ROOM(cuMemAlloc_v2, (CUdeviceptr * address, size_t size), (address, size), of_size(size))
MAKE_ROOM(cuMemAllocManaged, (CUdeviceptr * address, size_t size, unsigned int flags),
          (address, size, flags), of_size(size))
MAKE_ROOM(cuMemAllocPitch_v2,
          (CUdeviceptr * address, size_t *pitch, size_t width, size_t height, unsigned int element),
          (address, pitch, width, height, element), of_rows(width, height))
MAKE_ROOM(cuMemCreate,
          (CUmemGenericAllocationHandle * handle, size_t size, const CUmemAllocationProp *prop,
           unsigned long long flags),
          (handle, size, prop, flags), of_handle(prop, size))
MAKE_ROOM(cuArrayCreate_v2, (CUarray * array, const struct CUDA_ARRAY_DESCRIPTOR_st *shape),
          (array, shape), of_unknown_size())
MAKE_ROOM(cuArray3DCreate_v2, (CUarray * array, const struct CUDA_ARRAY3D_DESCRIPTOR_st *shape),
          (array, shape), of_unknown_size())
MAKE_ROOM(cuMipmappedArrayCreate,
          (CUmipmappedArray * array, const struct CUDA_ARRAY3D_DESCRIPTOR_st *shape,
           unsigned int levels),
          (array, shape, levels), of_unknown_size())
