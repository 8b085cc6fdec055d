// sp_work puts pieces of work on the device's streams, and has the clock that the device runs by.
//
// On a GPU a piece of work is a kernel that spins for a time, and the clock is the host's. On the
// simulated driver it is a named piece of work with a duration, which touches the bytes of its
// block, so that a block that is handed out too early is a reported race; and the clock is the
// driver's virtual one, which nothing but driver calls and sp_work_wait_until() moves. So there
// everything depends on the calls alone.
//
// The caller owns the struct; any number of threads may use it at a time.
#ifndef STREAMPOOL_CLI_WORK_H
#define STREAMPOOL_CLI_WORK_H

#include "cli/program/device.h"

#include <stdint.h>
#include <streampool/simcuda.h>

struct sp_work {
    const struct sp_driver *driver;
    // On a GPU:
    CUmodule module;
    CUfunction spin;
    // On the simulated driver, whose library it is:
    void *library;
    int (*enqueue)(CUstream stream, const simcudaWork *work);
    uint64_t (*now)(void);
    void (*advance)(uint64_t nanoseconds);
    uint64_t (*report_count)(const char *kind);
    const char *(*report_text)(uint64_t index);
};

// Prepares the device, whose context is current, for pieces of work. False when that fails;
// standard error says why.
bool sp_work_open(struct sp_work *work, const struct sp_device *device);
void sp_work_close(struct sp_work *work);

// Returns the time by the device's clock, in ns.
uint64_t sp_work_now(const struct sp_work *work);

// Waits until the device's clock has reached a time.
void sp_work_wait_until(const struct sp_work *work, uint64_t time);

// Puts a piece of work of this length on a stream: one that uses the `size` bytes at `pointer`. May
// block while the stream's queue is full.
CUresult sp_work_launch(const struct sp_work *work, CUstream stream, uint64_t nanoseconds,
                        uint64_t pointer, uint64_t size);

// Returns the text of the simulated driver's first report; null when there is none so far, and on a
// GPU.
const char *sp_work_problem(const struct sp_work *work);

#endif
