// A stream writes a word of memory, or waits until one is as it should be (cuStreamWriteValue,
// cuStreamWaitValue and their batches).
//
// The words are no part of the race check. A wait gives order: what comes after it runs after who
// wrote the word.
#ifndef STREAMPOOL_SIMCUDA_WORK_WORD_H
#define STREAMPOOL_SIMCUDA_WORK_WORD_H

#include <stdint.h>

#include "driver/abi.h"
#include "simcuda/entry/abi.h"

// These add one operation on a word of `size` bytes, 4 or 8, to a stream. INVALID_VALUE for an
// address that is no multiple of the size or where no memory is, and for unknown flags;
// NOT_SUPPORTED for a flush of remote writes, which an H200 doesn't have.
CUresult sim_word_write(const char *call, CUstream stream, CUdeviceptr address, uint64_t value,
                        unsigned size, unsigned flags);
CUresult sim_word_wait(const char *call, CUstream stream, CUdeviceptr address, uint64_t value,
                       unsigned size, unsigned flags);

// Adds operations in their order, or none where one of them is refused. The first version of the
// call knows no barriers.
CUresult sim_word_batch(CUstream stream, const CUstreamBatchMemOpParams *operations, unsigned count,
                        int version);

#endif
