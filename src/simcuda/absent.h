// Calls of the driver that are not simulated: every function that drivers export and no table here
// has is exported, too. So a program that is linked with one starts, and a call of it returns
// CUDA_ERROR_NOT_SUPPORTED. The first call of each is told in a line on standard error.
//
// The build makes the list of all names that drivers export but for those of the tables.
#ifndef STREAMPOOL_SIMCUDA_ABSENT_H
#define STREAMPOOL_SIMCUDA_ABSENT_H

#include "simcuda/entry.h"

// Finds the function of a name as cuGetProcAddress is asked for it, without what tells forms apart.
// Null where drivers have none. Needs no lock.
const struct sim_entry_info *sim_absent_find(const char *name);

// Tells that a program asks for a table of functions that only NVIDIA's own libraries know. The
// first one ends such a library's start, so no other is told.
void sim_absent_tell_table(const CUuuid *identity);

#endif
