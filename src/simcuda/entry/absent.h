// Calls of the driver that are not simulated: every function that drivers export and no table here
// has is exported, too. So a program that is linked with one starts, and a call of it returns
// CUDA_ERROR_NOT_SUPPORTED. The first call of each is told in a line on standard error.
//
// The build writes a source with these functions, from the list of all names that drivers export
// and from the tables (CMakeLists.txt).
#ifndef STREAMPOOL_SIMCUDA_ENTRY_ABSENT_H
#define STREAMPOOL_SIMCUDA_ENTRY_ABSENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include "simcuda/entry/entry.h"

extern const struct sim_entry_info sim_absent[];
extern const size_t sim_absent_count;

static inline CUresult sim_absent_refuse(const char *name, atomic_flag *is_told) {
    if (!atomic_flag_test_and_set(is_told))
        fprintf(stderr, "simulated driver: %s is not simulated: CUDA_ERROR_NOT_SUPPORTED\n", name);
    return CUDA_ERROR_NOT_SUPPORTED;
}

// Defines one. Where the arguments lie doesn't matter to a function that looks at none.
#define SIM_ABSENT_FUNCTION(name)                                                                  \
    SIM_EXPORT CUresult name(void);                                                                \
    CUresult name(void) {                                                                          \
        static atomic_flag is_told = ATOMIC_FLAG_INIT;                                             \
        return sim_absent_refuse(#name, &is_told);                                                 \
    }
#define SIM_ABSENT_ROW(name) {#name, 0, (void (*)(void))name},

// Finds the function of a name as cuGetProcAddress is asked for it, without what tells forms apart.
// Null where drivers have none. Needs no lock.
const struct sim_entry_info *sim_absent_find(const char *name);

// Tells that a program asks for a table of functions that only NVIDIA's own libraries know. The
// first one ends such a library's start, so no other is told.
void sim_absent_tell_table(const CUuuid *identity);

#endif
