// The least that remapping and growing can cost: the driver's calls alone.
#ifndef STREAMPOOL_BENCH_FLOOR_H
#define STREAMPOOL_BENCH_FLOOR_H

#include "driver/driver.h"

// Maps so many extents of at least `size` bytes side by side into a reserved range and gives them
// access, in as few calls as that takes, and says how long these took. The extents are memory of
// its own that is mapped elsewhere already, as a pool's is. Returns 0 or the driver's error.
int floor_measure(const struct sp_driver *driver, size_t count, size_t size, double *microseconds);

// Creates one extent of at least `size` bytes, maps it into a reserved range and gives it access,
// and says how long these three calls took. Returns 0 or the driver's error.
int floor_measure_growth(const struct sp_driver *driver, size_t size, double *microseconds);

#endif
