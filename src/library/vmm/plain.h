// Plain memory: what a device without virtual memory management has in place of extents.
//
// It is got by cuMemAlloc, in one piece for each view, at an address that the driver chooses. So no
// piece is ever moved, extended, mapped a second time or cut. The address is a multiple of the page
// map's page: where the driver gives another one, the piece is got with a page more.
//
// The memory is that of a context, and ends with it. Then the driver may give the addresses again,
// while the page map still holds those that are in use. A piece that would lie there is set aside
// until another one was got, and given back.
//
// cuMemFree waits for all work of the device; cuMemAlloc may. A capture forbids both, so they are
// made in the relaxed mode.
//
//   base <= address of the view, and the view's end <= base + what was got
#ifndef STREAMPOOL_VMM_PLAIN_H
#define STREAMPOOL_VMM_PLAIN_H

#include "driver/driver.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The unit of plain memory.
#define SP_PLAIN_GRANULE ((size_t)2 << 20)

struct sp_plain {
    CUdeviceptr base; // as the driver gave it; 0: nothing
    CUcontext context;
    uint64_t context_id; // the caller's
    bool lost;           // set by the caller: it has ended with its context
};

// Gets `size` bytes (a multiple of the page map's page) in the context that `plain` names, and has
// the page map hold them.
struct sp_outcome sp_plain_get(struct sp_plain *plain, size_t size, CUdeviceptr *address);

// Gives all of it back, which waits for the device, unless it is lost. After a failure everything
// is as it was.
struct sp_outcome sp_plain_give(struct sp_plain *plain, CUdeviceptr address, size_t size);

#endif
