// A library with cuFile's ABI, for tests: it reads and writes the simulated device's memory in no
// order with any stream, as a disk does, and at a test's word it refuses, fails, or moves less.
#ifndef STREAMPOOL_TESTS_COPY_FAKE_CUFILE_H
#define STREAMPOOL_TESTS_COPY_FAKE_CUFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct fake_cufile {
    // What the test wants; 0: all is well.
    int opening;               // the code that opening the driver returns
    int refusal;               // the code that registering a file returns
    unsigned fails_at;         // this read or write fails, counted from 1,
    bool fails_on;             // and all behind it,
    int failure;               // with this errno, or with a code of cuFile's if it is 0
    size_t most;               // bytes that one call moves
    const unsigned *held_back; // a word that is 0 as long as nothing may be read or written
    // What has been seen.
    atomic_uint opened, registered, deregistered, reads, writes;
    atomic_size_t bytes;
    atomic_bool has_ended; // as the process has
    atomic_int fd;         // that was registered last
    atomic_uint mistakes;  // calls that are none of cuFile's, or come too early
};

extern struct fake_cufile fake_cufile;

#endif
