// The device under test: a loaded driver, a current context, streams, and work that a test can hold
// and let go.
//
// Everything here calls the driver itself, not the pool, and ends the test when the driver refuses:
// it is what the tests stand on, not what they test. Nothing is given back: each test is a process.
#ifndef STREAMPOOL_TESTS_SUPPORT_DEVICE_H
#define STREAMPOOL_TESTS_SUPPORT_DEVICE_H

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/driver.h"

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)
#define GIB(n) ((size_t)(n) << 30)

// "sim" is the simulated driver of this build, "gpu" the installed one, anything else a path.
// Before the first call of a driver or of the library. False when the simulated driver is not
// there.
bool test_choose_driver(const char *name);

// Loads the driver on the first call.
const struct sp_driver *test_driver(void);

int test_device_count(void);

// Makes the device's primary context the calling thread's current one.
void test_use_device(int ordinal);
void test_use_no_context(void);

// Of the current context. A blocking stream is ordered with the legacy default stream, the other is
// not.
CUstream test_stream(void);
CUstream test_blocking_stream(void);
CUevent test_event(void);
void test_finish(CUstream stream);

// What cuMemGetInfo tells of the current context's device.
size_t test_device_free_bytes(void);
size_t test_device_used_bytes(void);

// Takes the device's memory away until less than `left` bytes are free, and not much less.
void test_fill_device(size_t left);

// Writes one value to every byte in the stream's order, and finds out whether all bytes have it:
// now, which is for bytes that no queued work writes to any more.
void test_fill(void *address, unsigned char value, size_t size, CUstream stream);
bool test_is_filled(const void *address, unsigned char value, size_t size);

// The same by kernels, in the stream's order, of a small block wholly and of a large one at both
// ends, where a neighbour would reach in. A check that finds another byte is the simulated driver's
// to report: ask it by test_require_no_complaints(). The kernels are those of the current context.
// On any driver the wrong words that were found so far can be counted, once the streams are idle.
void test_load_kernels(void);
void test_unload_kernels(void);
uint64_t test_wrong_words(void);
void test_fill_block(void *address, unsigned char value, size_t size, CUstream stream);
void test_check_block(const void *address, unsigned char value, size_t size, CUstream stream);

// The same by the host itself, at once, of a block that is the host's.
void test_host_fill_block(void *address, unsigned char value, size_t size);
bool test_host_is_block(const void *address, unsigned char value, size_t size);

// Work in a stream that does not end before test_let_go(): what comes after it in the stream stays
// pending. It is a host function, so nothing of it depends on time, and other host functions of the
// process may wait behind it. The work frees the semaphore, as it may end after the hold's scope.
struct test_hold {
    sem_t *ended;
};
void test_hold(struct test_hold *hold, CUstream stream);
void test_let_go(struct test_hold *hold);

// The same by a kernel. A driver keeps a stream in which a host function waits even when it is
// destroyed, so that its handle doesn't come back; one in which a kernel runs it gives up at once.
struct test_spin {
    CUdeviceptr flag;
    CUstream other; // from which the flag is set
};
void test_spin(struct test_spin *spin, CUstream stream);
void test_stop_spinning(const struct test_spin *spin);

// A kernel that ends by itself, well after the few calls that a test makes next: whether they
// waited for it shows by an event behind it. Calls that are slow find it complete, and a test that
// only asks then sees no fault.
void test_work(CUstream stream);

// Work that fails, and the context with it. Loading the kernel may wait for work that is held.
CUfunction test_load_trap(void);
void test_trap(CUfunction trap, CUstream stream);

#endif
