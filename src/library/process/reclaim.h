// Reclaiming: taking memory back from all pools of a device, for one of them or for the driver.
// Each function sees to those that are given up when its walk of the pools is over.
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
// work has completed, and what a reset has taken (region/segment.h). True when there was something.
bool sp_reclaim_addresses(struct sp_device *device);

// ------------------------------------------------------------------------------------- giving way
//
// Giving way: another allocation of the process has found a device full, or the host. The pools
// there give it memory that they have free.
//
// Each function does nothing where that couldn't help: where the device has clearly more than
// `bytes` left, or wouldn't have as much after it. `bytes` is what the other allocation needs, or 0
// where nobody knows. What is pending is asked of the thread's current context, if that is on the
// device, or for the host: only that one is known to be alive.

// Gives the device as much as is missing, and nothing where `bytes` is 0; or all that is free. True
// when something was given.
bool sp_reclaim_give(struct sp_device *device, size_t bytes, bool all);

// Waits on the host for the frees behind which an event stands, in streams of the current context.
// True when some have completed. No capture is harmed.
bool sp_reclaim_await_frees(struct sp_device *device, size_t bytes);

// After a synchronise of a stream (null: of a whole context): applies release thresholds, takes
// given-up pools apart.
void sp_reclaim_after_synchronize(const struct sp_stream *stream);

// True once the program has synchronised through the library.
extern _Atomic bool sp_reclaim_saw_synchronize;

#endif
