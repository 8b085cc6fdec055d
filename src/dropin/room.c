#include "dropin/room.h"
#include "dropin/real.h"
#include "dropin/served.h"
#include "dropin/theirs.h"

// The pools are asked for one share after the other. For the last one they wait.
enum { STEPS = SP_INTERPOSE_SHARES };

static const CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};

static bool find_device(struct sp_room *room) {
    if (room->place.type != CU_MEM_LOCATION_TYPE_DEVICE || room->place.id >= 0)
        return true;
    return room->place.id == SP_ROOM_OF_STREAM
               ? sp_theirs_find_device(room->stream, &room->place.id)
               : sp_real_call(cuCtxGetDevice, (&room->place.id)) == CUDA_SUCCESS;
}

static bool give(struct sp_room *room) {
    bool gave = false;
    while (!gave && room->step < STEPS - room->never_waits)
        gave = sp_interpose_give(room->place, room->bytes, (enum sp_interpose_share)room->step++);
    return gave;
}

bool sp_room_made(struct sp_room *room, CUresult result) {
    if (result != CUDA_ERROR_OUT_OF_MEMORY || !sp_served_is_on() || !find_device(room))
        return false;
    bool gave = give(room);
    if (gave || !room->or_host)
        return gave;
    *room = (struct sp_room){.place = host, .bytes = room->bytes};
    return give(room);
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
    return (struct sp_room){.place = SP_ROOM_OF_DEVICE(SP_ROOM_HERE), .bytes = bytes};
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

// The call waits for no work.
static struct sp_room of_handle(const CUmemAllocationProp *prop, size_t bytes) {
    struct sp_room room = of_size(bytes);
    room.place = prop ? prop->location : room.place;
    room.never_waits = true;
    return room;
}

static struct sp_room of_managed(size_t bytes) {
    struct sp_room room = of_size(bytes);
    room.or_host = true;
    return room;
}

static struct sp_room of_host(size_t bytes) {
    return (struct sp_room){.place = host, .bytes = bytes};
}

// Nobody says that to register memory waits for work, as to allocate pinned memory may.
static struct sp_room of_registered(size_t bytes) {
    return (struct sp_room){.place = host, .bytes = bytes, .never_waits = true};
}

MAKE_ROOM(cuMemAlloc_v2, (CUdeviceptr * address, size_t size), (address, size), of_size(size))
MAKE_ROOM(cuMemAllocManaged, (CUdeviceptr * address, size_t size, unsigned int flags),
          (address, size, flags), of_managed(size))
MAKE_ROOM(cuMemHostAlloc, (void **memory, size_t size, unsigned int flags), (memory, size, flags),
          of_host(size))
MAKE_ROOM(cuMemAllocHost_v2, (void **memory, size_t size), (memory, size), of_host(size))
MAKE_ROOM(cuMemHostRegister_v2, (void *memory, size_t size, unsigned int flags),
          (memory, size, flags), of_registered(size))
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
