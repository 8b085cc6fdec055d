// A unit test on the simulated driver: each test begins with a fresh device and a current context,
// and ends with nothing of the library left, no report and no leak.
//
// Work takes a thousand years, unless something waits for it or simulated_finish() is called, and a
// record behind it is pending as long. All else completes at once.
#ifndef STREAMPOOL_TESTS_UNIT_SIMULATED_H
#define STREAMPOOL_TESTS_UNIT_SIMULATED_H

#include <stdbool.h>

#include <streampool/simcuda.h>

#include "driver/driver.h"

// For cmocka. The setting is that of simcudaConfigParse; null is one device of 16 GiB.
int simulated_begin(const char *settings);
int simulated_setup(void **state);
int simulated_teardown(void **state);

CUcontext simulated_context(void);

CUstream simulated_stream(void);
CUstream simulated_blocking_stream(void);
void simulated_destroy(CUstream stream);

// Work that stays pending, and its end. The device has done it then; the host has not learnt of it.
void simulated_work(CUstream stream);
void simulated_finish(CUstream stream);

#endif
