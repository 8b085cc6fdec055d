// Memory of the host for staging: huge pages of the process's own, which threads touch together,
// and which are then registered with the driver.
//
// The driver's own ways take two to ten times as long, for they have the kernel find page by page,
// in one thread. In return the memory is where the kernel puts it, so it can't be mapped at an
// address of ours: it is plain memory (vmm/view.h). Its provider is sp_vmm_staged.
#ifndef STREAMPOOL_VMM_STAGED_H
#define STREAMPOOL_VMM_STAGED_H

#include "driver/outcome.h"
#include "vmm/place.h"

// Finds out whether there can be such memory at the place, the host or a node of it:
// CUDA_ERROR_INVALID_VALUE where there can't.
struct sp_outcome sp_staged_check(const struct sp_place *place);

#endif
