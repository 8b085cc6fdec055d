// Giving way: another allocation of the process has found a device full. The device's pools give it
// memory that they have free.
//
// Each function does nothing where that couldn't help: where the device has clearly more than
// `bytes` left, or wouldn't have as much after it. `bytes` is what the other allocation needs, or 0
// where nobody knows. What is pending is asked of the thread's current context, if that is on the
// device: only that one is known to be alive.
#ifndef STREAMPOOL_PROCESS_GIVE_WAY_H
#define STREAMPOOL_PROCESS_GIVE_WAY_H

#include "region/device.h"

// Gives the device as much as is missing, and nothing where `bytes` is 0. True when something was
// given.
bool sp_give_way_enough(struct sp_device *device, size_t bytes);

// Gives the device all that is free. True when something was given.
bool sp_give_way_all(struct sp_device *device, size_t bytes);

// Waits on the host for the frees behind which an event stands, in streams of the current context.
// True when some have completed. No capture is harmed.
bool sp_give_way_await_frees(struct sp_device *device, size_t bytes);

#endif
