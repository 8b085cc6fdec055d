// Modules, libraries, and the functions in them. A module belongs to a context and ends with it; a
// library belongs to none. Both are loaded from an image (image.h), and have a function for each of
// its kernels. A library may have an image that can't be read, which is told to those who look for
// something in it.
//
// A library's kernels are its functions, whatever the context, and its module is the library
// itself: so a CUkernel may stand for a CUfunction everywhere, as the driver allows it for
// launches.
#ifndef STREAMPOOL_SIMCUDA_KERNEL_MODULE_H
#define STREAMPOOL_SIMCUDA_KERNEL_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simcuda/entry/abi.h"
#include "simcuda/image/image.h"

struct sim_context;

// Makes a module of a context, or with null a library. The image is taken over; `failure` is what
// reading it ended in. OUT_OF_MEMORY when there are too many functions.
CUresult sim_module_create(const struct sim_context *context, struct sim_image *image,
                           CUresult failure, CUmodule *result);
// INVALID_HANDLE for what is no module, NOT_PERMITTED for a library.
CUresult sim_module_unload(CUmodule handle);
CUresult sim_module_unload_library(CUlibrary handle);
void sim_module_unload_all(const struct sim_context *context);

// Returns the module, or library, of a handle; null when there is none.
const struct CUmod_st *sim_module_of(CUmodule handle);
const struct CUmod_st *sim_module_of_library(CUlibrary handle);
// Returns the handle of the function with this name, or this index; null when there is none.
CUfunction sim_module_function(const struct CUmod_st *module, const char *name);
CUfunction sim_module_function_at(const struct CUmod_st *module, size_t index);
size_t sim_module_function_count(const struct CUmod_st *module);
// Returns what was the matter with its image.
CUresult sim_module_failure(const struct CUmod_st *module);
bool sim_module_is_library(const struct CUmod_st *module);
// Returns whether its functions can be launched in a context: in its own, or it is a library.
bool sim_module_serves(const struct CUmod_st *module, const struct sim_context *context);

// Counts modules and libraries, and those that the library of the pools has loaded for itself.
uint64_t sim_module_count(void);
uint64_t sim_module_count_for_pools(void);
void sim_module_reset(void);

#endif
