// What the tests of the simulated driver have in common: a driver in a known state, and short names
// for the steps that every scenario is made of. A failing step fails the test where the step
// stands.
#ifndef STREAMPOOL_TESTS_SIMCUDA_FIXTURE_H
#define STREAMPOOL_TESTS_SIMCUDA_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <streampool/simcuda.h>

#include "simcuda/entry/entry.h"

#define GRANULE ((uint64_t)2 << 20)
#define US      ((uint64_t)1000)
#define MS      ((uint64_t)1000000)

#define OK(call)           assert_int_equal((call), CUDA_SUCCESS)
#define FAILS(call, error) assert_int_equal((call), (error))

// The default configuration with these settings; device 0's primary context is retained and
// current.
void become(const char *settings);
// Setup of a test: become("").
int begin(void **state);
// Teardown of a test that provokes no report.
int end_without_reports(void **state);

// Exactly one report, of this kind; it is cleared.
void expect_report(const char *kind);
void expect_no_report(void);

CUcontext current_context(void);
CUstream make_stream(void); // blocking
CUstream make_non_blocking_stream(void);
CUevent make_event(void);

// Device memory: a range with one extent mapped, read and write for device 0.
struct memory {
    CUdeviceptr address;
    uint64_t size;
    CUmemGenericAllocationHandle handle;
};

CUdeviceptr reserve(uint64_t size);
CUmemGenericAllocationHandle create_extent(uint64_t size);
void allow(CUdeviceptr address, uint64_t size);
struct memory map_memory(uint64_t size);
void unmap_memory(struct memory memory);

// The kernels of simcuda/kernel/kernels.h.
void fill(CUstream stream, CUdeviceptr address, uint64_t bytes, uint32_t seed);
void check(CUstream stream, CUdeviceptr address, uint64_t bytes, uint32_t seed, CUdeviceptr errors);
void spin(CUstream stream, uint64_t nanoseconds);
void spin_until(CUstream stream, uint64_t nanoseconds, CUdeviceptr flag);

// Work that names bytes and does nothing.
void touch(CUstream stream, const char *name, CUdeviceptr address, uint64_t size,
           simcudaAccessKind kind);

uint32_t word_at(CUdeviceptr address);

#endif
