// The public header in C, in the order that SP_ALONE, SP_BEFORE_CUDA or SP_AFTER_CUDA names.
// header.cc includes this file, so that the same holds in C++. clang-format off
#if defined(SP_AFTER_CUDA)
#include <cuda.h>
#include <cuda_runtime_api.h>
#endif
#include <streampool/streampool.h>
#if defined(SP_BEFORE_CUDA)
#include <cuda.h>
#include <cuda_runtime_api.h>
#endif
// clang-format on

#include <assert.h>
#include <stdio.h>
#include <string.h>

#if STREAMPOOL_VERSION_MAJOR < 0 || STREAMPOOL_VERSION_MINOR < 0 || STREAMPOOL_VERSION_PATCH < 0
#error "the version is three numbers that the preprocessor can compare"
#endif

// The handles are the toolkit's own types: functions of ours take them with no cast.
#if !defined(SP_ALONE)
static poolError_t (*const malloc_in_runtime_stream)(void **, size_t,
                                                     cudaStream_t) = poolMallocAsync;
static poolError_t (*const record_runtime_event)(cudaEvent_t, cudaStream_t) = poolEventRecord;

static_assert(sizeof(struct poolMemPoolProps) == sizeof(struct cudaMemPoolProps),
              "same layout as CUDA's");
static_assert(sizeof(struct poolMemAccessDesc) == sizeof(struct cudaMemAccessDesc),
              "same layout as CUDA's");
#define SAME_NUMBER(ours, cudas) static_assert((int)ours == (int)cudas, #ours " has CUDA's number");
#include "cuda_numbers.h"
#endif

// Returns what doesn't hold, or null.
static const char *problem(void) {
    int version = 0;
    if (poolRuntimeGetVersion(&version) != poolSuccess)
        return "the version of the library can't be read";
    if (version != 1000 * STREAMPOOL_VERSION_MAJOR + 10 * STREAMPOOL_VERSION_MINOR)
        return "the header is of another version than the library";
    if (strcmp(poolGetErrorName(poolErrorInvalidValue), "poolErrorInvalidValue") != 0)
        return "the library names an error in another way than the header";
#if !defined(SP_ALONE)
    if (malloc_in_runtime_stream(NULL, 1, NULL) == poolSuccess ||
        record_runtime_event(NULL, NULL) == poolSuccess)
        return "a call with a null output succeeded";
#endif
    return NULL;
}

int main(void) {
    const char *found = problem();
    if (found)
        fprintf(stderr, "%s\n", found);
    return found ? 1 : 0;
}
