// What is measured: the pool and CUDA's own, behind one table of functions, each with a pool made for the
// purpose.
#ifndef STREAMPOOL_BENCH_SUBJECT_H
#define STREAMPOOL_BENCH_SUBJECT_H

#include "driver/driver.h"

#include <stdbool.h>
#include <stdint.h>

// What a pool has mapped a second time so far, as far as it counts that.
struct remapped {
    uint64_t calls; // mallocs that did
    uint64_t extents;
    uint64_t bytes;
    bool has_extents; // and bytes
};

// What a pool holds so that it can remap, and what it did in the reaper, as far as it says.
struct held {
    uint64_t mappings; // of views that are kept
    uint64_t address_space;
    uint64_t reaper_time; // nanoseconds so far
};

// One of the two at work. All functions return 0 or the error's number. A subject may be copied while it is
// closed; a pool that could not be opened is closed by close() all the same.
struct subject {
    const char *name;
    const struct sp_driver *driver;
    void *pool;
    uint64_t limit; // bytes that the next pool to be opened may reserve; 0: all that the device has
    int (*open)(struct subject *subject, uint64_t threshold);
    int (*close)(struct subject *subject);
    int (*allocate)(const struct subject *subject, void **pointer, size_t size, CUstream stream);
    int (*release)(const struct subject *subject, void *pointer, CUstream stream);
    int (*synchronize)(const struct subject *subject, CUstream stream);
    int (*record)(const struct subject *subject, CUevent event, CUstream stream);
    int (*wait)(const struct subject *subject, CUstream stream, CUevent event);
    int (*set_policy)(const struct subject *subject, int policy, int on); // by the number that both have
    int (*reserved)(const struct subject *subject, uint64_t *bytes);
    int (*reserved_high)(const struct subject *subject, uint64_t *bytes);
    struct remapped (*remapped)(const struct subject *subject);
    struct held (*held)(const struct subject *subject);
};

enum { SUBJECT_OURS, SUBJECT_CUDAS, SUBJECT_COUNT };

// Fills both; returns how many this driver has: 1 when it has no pools of its own.
int subjects_init(struct subject subjects[SUBJECT_COUNT], const struct sp_driver *driver);

#endif
