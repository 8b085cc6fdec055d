// Reclaiming: taking memory back from all pools of a device, for one of them or for the driver.
//
// Each walks the pools, and sees to those that are given up when the walk is over.
#ifndef STREAMPOOL_PROCESS_RECLAIM_H
#define STREAMPOOL_PROCESS_RECLAIM_H

#include "region/device.h"

// Takes given-up pools apart, and gives caches of the others back until `bytes` are free on the
// device, if that can be reached, and then `more`, or all that there are. True when something of
// the caches was given back. `context` is one of the device that is alive, or null: then it can't
// be known what is free there.
bool sp_reclaim_until(struct sp_device *device, CUcontext context, size_t bytes, size_t more);

// Tells whether the device would have `bytes` if all caches were given back; true where that can't
// be known. `context` as above.
bool sp_reclaim_could_have(struct sp_device *device, CUcontext context, size_t bytes);

// Gives addresses back that the device's pools have no memory at any more: buries zombies whose
// work has completed, and what a reset has taken (supply/loss.h). True when there was something.
bool sp_reclaim_addresses(struct sp_device *device);

// After a synchronise of a stream (null: of a whole context): applies release thresholds, takes
// given-up pools apart.
void sp_reclaim_after_synchronize(const struct sp_stream *stream);

// Tells whether the program synchronises through the library at all.
extern _Atomic bool sp_reclaim_heard_synchronize;
static inline bool sp_reclaim_hears_synchronizes(void) {
    return sp_load_relaxed(&sp_reclaim_heard_synchronize);
}

#endif
