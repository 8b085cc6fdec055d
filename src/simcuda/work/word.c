#include "simcuda/work/word.h"

#include <inttypes.h>

#include "simcuda/memory/bytes.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/stream.h"
#include "simcuda/report/report.h"
#include "simcuda/work/launch.h"

#define DURATION  1000 // ns
#define MAX_BATCH 256

static CUresult check_address(CUdeviceptr address, unsigned size) {
    return address % size == 0 && sim_bytes_exist(address, size) ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_write(CUdeviceptr address, unsigned size, unsigned flags) {
    if (flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)
        return CUDA_ERROR_INVALID_VALUE;
    return check_address(address, size);
}

static CUresult check_wait(CUdeviceptr address, unsigned size, unsigned flags) {
    unsigned condition = flags & ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH;
    if (condition > CU_STREAM_WAIT_VALUE_NOR)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_address(address, size);
    return result == CUDA_SUCCESS && flags != condition ? CUDA_ERROR_NOT_SUPPORTED : result;
}

static CUresult write_word(const struct sim_job *job, int device) {
    (void)device;
    if (sim_bytes_write(job->address, &job->value, job->size))
        return CUDA_SUCCESS;
    sim_report(simcudaReport_fault, "\"%s\" at 0x%" PRIx64, job->name, job->address);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult sim_word_write(const char *call, CUstream stream, CUdeviceptr address, uint64_t value,
                        unsigned size, unsigned flags) {
    struct sim_job job = {.name = "write of a word",
                          .duration = DURATION,
                          .effect = write_word,
                          .writes_word = true,
                          .address = address,
                          .size = size,
                          .value = value};
    CUresult result = check_write(address, size, flags);
    return result == CUDA_SUCCESS ? sim_launch(stream, call, &job) : result;
}

CUresult sim_word_wait(const char *call, CUstream stream, CUdeviceptr address, uint64_t value,
                       unsigned size, unsigned flags) {
    struct sim_job job = {.name = "wait for a word",
                          .duration = DURATION,
                          .condition = {address, value, size, flags}};
    CUresult result = check_wait(address, size, flags);
    return result == CUDA_SUCCESS ? sim_launch(stream, call, &job) : result;
}

// ----------------------------------------------------------------------------------------- batches

static unsigned size_of(const CUstreamBatchMemOpParams *operation) {
    return operation->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 ||
                   operation->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64
               ? 8
               : 4;
}

static CUresult check(const CUstreamBatchMemOpParams *operation, int version) {
    unsigned size = size_of(operation);
    switch (operation->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return check_wait(operation->waitValue.address, size, operation->waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return check_write(operation->writeValue.address, size, operation->writeValue.flags);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return operation->flushRemoteWrites.flags == 0 ? CUDA_ERROR_NOT_SUPPORTED
                                                       : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_BARRIER:
        return version > 1 && operation->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

// A barrier is a piece of work, but has nothing to do here: what a piece writes is there for all.
static CUresult add(CUstream stream, const CUstreamBatchMemOpParams *operation) {
    static const char call[] = "cuStreamBatchMemOp";
    struct sim_job barrier = {.name = "barrier", .duration = DURATION};
    unsigned size = size_of(operation);
    switch (operation->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return sim_word_wait(call, stream, operation->waitValue.address,
                             size == 4 ? operation->waitValue.value : operation->waitValue.value64,
                             size, operation->waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return sim_word_write(call, stream, operation->writeValue.address,
                              size == 4 ? operation->writeValue.value
                                        : operation->writeValue.value64,
                              size, operation->writeValue.flags);
    default:
        return sim_launch(stream, call, &barrier);
    }
}

CUresult sim_word_batch(CUstream stream, const CUstreamBatchMemOpParams *operations, unsigned count,
                        int version) {
    struct sim_queue *queue;
    CUresult result = sim_stream_queue(stream, &queue);
    if (result == CUDA_SUCCESS && (count >= MAX_BATCH || (!operations && count > 0)))
        result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = check(&operations[i], version);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = add(stream, &operations[i]);
    return result;
}
