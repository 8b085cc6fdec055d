// The process: the driver is loaded, and a device is opened at its first use.
//
// The runtime is started by the first call that needs it, and never stopped: at exit the driver
// takes its memory back by itself, and code that runs then must not touch it. A forked child finds
// the runtime unusable.
#ifndef STREAMPOOL_PROCESS_RUNTIME_H
#define STREAMPOOL_PROCESS_RUNTIME_H

#include "region/device.h"

extern _Atomic bool sp_runtime_started;

// True once the runtime is started, in a process that nobody observes. Never in a forked child.
extern _Atomic bool sp_runtime_plain;
static inline bool sp_runtime_is_plain(void) {
    return sp_load_acquire(&sp_runtime_plain);
}

// Loads the driver, counts the devices, begins to observe if the options ask for it.
poolError_t sp_runtime_start(void);

// Gives the driver's version, and starts nothing. Fails where no driver tells one.
poolError_t sp_runtime_driver_version(int *version);

// To be called first by every API call that needs the driver.
static inline poolError_t sp_runtime_enter(void) {
    return SP_LIKELY(sp_runtime_is_plain()) ? poolSuccess : sp_runtime_start();
}

// An open device. poolErrorInvalidValue for an ordinal that there isn't.
poolError_t sp_runtime_open(int ordinal, struct sp_device **device);

// Any open place. poolErrorInvalidValue where there is none, poolErrorNotSupported where the driver
// has no memory for it.
poolError_t sp_runtime_open_place(const struct sp_place *place, struct sp_device **device);

#endif
