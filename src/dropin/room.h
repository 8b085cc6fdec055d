// Room on a full device, or a full host: an allocation of the driver's that finds none has our
// pools there give up what they have free, as the driver's own pools do, and is made again:
//
//     struct sp_room room = {SP_ROOM_OF_DEVICE(SP_ROOM_HERE), .bytes = size};
//     do
//         result = sp_real_call(cuMemAlloc_v2, (address, size));
//     while (sp_room_made(&room, result));
#ifndef STREAMPOOL_DROPIN_ROOM_H
#define STREAMPOOL_DROPIN_ROOM_H

#include "driver/abi.h"

#include <stdbool.h>

// Devices that are looked for where they are needed: that of the current context, and that of the
// request's stream.
enum { SP_ROOM_HERE = -1, SP_ROOM_OF_STREAM = -2 };

#define SP_ROOM_OF_DEVICE(number)                                                                  \
    { CU_MEM_LOCATION_TYPE_DEVICE, number }

struct sp_room {
    CUmemLocation place;
    CUstream stream;
    size_t bytes;     // that the request needs; 0: unknown
    bool never_waits; // the request is one that doesn't wait for work
    bool or_host;     // the host may be what is full, too
    int step;         // of what can be done for it
};

// To be called after each attempt. True when that has found the place full, and our pools have
// given something back: then it is to be made again.
bool sp_room_made(struct sp_room *room, CUresult result);

#endif
