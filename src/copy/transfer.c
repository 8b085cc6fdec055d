#include "copy/transfer.h"

#include "beside/refuse.h"
#include "copy/staging.h"

#include <inttypes.h>
#include <string.h>

// A disk is asked for so much at a time.
#define SLICE_OF_FILE ((size_t)1 << 20)

// So large a copy to the host would leave nothing else in the host's caches.
#define STREAMED_LEAST ((size_t)32 << 20)

// The bytes of all chunks of a copy. They are at least two of the largest.
#define CHUNKS_MOST ((size_t)128 << 20)

// The two words, of which each has a line of the cache.
enum { WORDS = 128 };

// Files are read around the page cache into memory that is aligned to this.
enum { ALIGNMENT = 4096 };

#define DRIVER(call, ...) sp_outcome_of_driver(sp_driver->call(__VA_ARGS__), #call)

// ------------------------------------------------------------------------------- the device's part

static struct sp_outcome copy_rows(const struct sp_copy *copy, const struct sp_piece *part,
                                   char *chunk) {
    bool in = copy->to_device;
    const CUDA_MEMCPY2D rows = {
        .srcMemoryType = in ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
        .srcHost = chunk,
        .srcDevice = copy->address + part->device,
        .srcPitch = in ? part->width : copy->device_pitch,
        .dstMemoryType = in ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST,
        .dstHost = chunk,
        .dstDevice = copy->address + part->device,
        .dstPitch = in ? copy->device_pitch : part->width,
        .WidthInBytes = part->width,
        .Height = part->height,
    };
    return DRIVER(cuMemcpy2DAsync, &rows, copy->stream);
}

static struct sp_outcome copy_bytes(const struct sp_copy *copy, CUdeviceptr address, char *chunk,
                                    size_t bytes) {
    return copy->to_device ? DRIVER(cuMemcpyHtoDAsync, address, chunk, bytes, copy->stream)
                           : DRIVER(cuMemcpyDtoHAsync, chunk, address, bytes, copy->stream);
}

static struct sp_outcome copy_row_by_row(const struct sp_copy *copy, const struct sp_piece *part,
                                         char *chunk) {
    struct sp_outcome outcome = sp_outcome_done();
    for (size_t row = 0; row < part->height && sp_is_done(outcome); row++)
        outcome = copy_bytes(copy, copy->address + part->device + row * copy->device_pitch,
                             chunk + row * part->width, part->width);
    return outcome;
}

struct sp_outcome sp_transfer_give_part(const struct sp_copy *copy, const struct sp_job *job,
                                        size_t number) {
    struct sp_piece part = sp_shape_part(&job->shape, number);
    char *chunk = job->chunks + number % job->depth * job->chunk_bytes;
    if (part.height == 1 || copy->device_pitch == part.width)
        return copy_bytes(copy, copy->address + part.device, chunk, part.width * part.height);
    return copy->device_pitch > SP_TRANSFER_PITCH_MOST ? copy_row_by_row(copy, &part, chunk)
                                                       : copy_rows(copy, &part, chunk);
}

// ------------------------------------------------------------------------------------------ chunks

static size_t depth_of(size_t depth, size_t chunk_bytes) {
    return depth * chunk_bytes > CHUNKS_MOST ? CHUNKS_MOST / chunk_bytes : depth;
}

size_t sp_transfer_chunks(const struct poolCopySettings *settings) {
    return depth_of(settings->depth, settings->chunkBytes) * settings->chunkBytes;
}

struct sp_job sp_transfer_job(const struct sp_copy *copy, size_t chunk_bytes) {
    struct sp_job job = {.shape = sp_shape_of(copy->width, copy->height, copy->host_pitch,
                                              copy->device_pitch, chunk_bytes),
                         .to_device = copy->to_device,
                         .is_streamed = copy->width * copy->height >= STREAMED_LEAST,
                         .host = copy->host};
    if (copy->is_of_file)
        job.shape.slice_least = SLICE_OF_FILE;
    job.chunk_bytes = job.shape.parts == 1 ? sp_shape_bytes(&job.shape) : chunk_bytes;
    return job;
}

// The block has the chunks, from the first address that is aligned, and behind them the words.
poolError_t sp_transfer_begin(const struct sp_copy *copy, size_t chunk_bytes, size_t depth,
                              struct sp_job *job) {
    *job = sp_transfer_job(copy, chunk_bytes);
    sp_list_init(&job->link);
    depth = depth_of(depth, chunk_bytes);
    job->depth = job->shape.parts < depth ? job->shape.parts : depth;
    size_t bytes = sp_transfer_round_up(job->depth * job->chunk_bytes, WORDS);
    poolError_t error = sp_staging_take(copy->device, ALIGNMENT + bytes + WORDS, &job->block);
    if (error != poolSuccess)
        return error;
    job->chunks = (char *)sp_transfer_round_up((uintptr_t)job->block, ALIGNMENT);
    memset(job->chunks + bytes, 0, WORDS);
    job->by_device = (_Atomic uint32_t *)(void *)(job->chunks + bytes);
    job->by_host = (_Atomic uint32_t *)(void *)(job->chunks + bytes + WORDS / 2);
    return poolSuccess;
}

poolError_t sp_transfer_end(const struct sp_copy *copy, void *block, struct sp_outcome outcome) {
    poolError_t error = sp_staging_give(block, copy->stream);
    if (sp_is_done(outcome))
        return error;
    return sp_refuse_outcome(outcome,
                             copy->to_device ? "copying to the device" : "copying to the host");
}

poolError_t sp_transfer_refuse_problem(bool reads, struct sp_copy_file_problem problem) {
    const char *what = reads ? "reading" : "writing";
    if (problem.code == SP_COPY_FILE_ENDS)
        return sp_refuse(poolErrorInvalidValue, "reading a file: it ends at byte %" PRIu64,
                         problem.at);
    return problem.code == 0
               ? poolSuccess
               : sp_refuse(poolErrorOperatingSystem, "%s a file at byte %" PRIu64 ": %s", what,
                           problem.at, strerror(problem.code));
}
