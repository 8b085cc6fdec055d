#include "copy/transfer.h"

#include "base/atomic.h"
#include "base/thread.h"
#include "beside/refuse.h"
#include "copy/staging.h"
#include "copy/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

// A copy has so many parts or more, so that the host and the device soon work at the same time.
enum { PARTS = 8 };

// At once, parts are no smaller than this: to give one to the device takes as long as its bytes
// take on the bus. Ahead, the stream gets some commands for each, and they are larger the larger a
// copy is.
#define CHUNK_LEAST      ((size_t)256 << 10)
#define CHUNK_AHEAD_MOST ((size_t)32 << 20)

// The caller copies so little faster alone than with threads that it has to wake.
#define ALONE_MOST ((size_t)256 << 10)

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

// Gives the stream the device's copy of a part.
static struct sp_outcome copy_part(const struct sp_copy *copy, const struct sp_job *job,
                                   size_t number) {
    struct sp_piece part = sp_shape_part(&job->shape, number);
    char *chunk = job->chunks + number % job->depth * job->chunk_bytes;
    if (part.height == 1 || copy->device_pitch == part.width)
        return copy_bytes(copy, copy->address + part.device, chunk, part.width * part.height);
    return copy->device_pitch > SP_TRANSFER_PITCH_MOST ? copy_row_by_row(copy, &part, chunk)
                                                       : copy_rows(copy, &part, chunk);
}

// ------------------------------------------------------------------------------------------ chunks

static size_t round_up(size_t number, size_t unit) {
    return (number + unit - 1) / unit * unit;
}

static size_t depth_of(size_t depth, size_t chunk_bytes) {
    return depth * chunk_bytes > CHUNKS_MOST ? CHUNKS_MOST / chunk_bytes : depth;
}

size_t sp_transfer_chunks(const struct poolCopySettings *settings) {
    return depth_of(settings->depth, settings->chunkBytes) * settings->chunkBytes;
}

static struct sp_job job_of(const struct sp_copy *copy, size_t chunk_bytes) {
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

// Takes chunks for a copy, and describes the host's part of it. The block has the chunks, from the
// first address that is aligned, and behind them the words.
static poolError_t begin(const struct sp_copy *copy, size_t chunk_bytes, size_t depth,
                         struct sp_job *job) {
    *job = job_of(copy, chunk_bytes);
    sp_list_init(&job->link);
    depth = depth_of(depth, chunk_bytes);
    job->depth = job->shape.parts < depth ? job->shape.parts : depth;
    size_t bytes = round_up(job->depth * job->chunk_bytes, WORDS);
    poolError_t error = sp_staging_take(copy->device, ALIGNMENT + bytes + WORDS, &job->block);
    if (error != poolSuccess)
        return error;
    job->chunks = (char *)round_up((uintptr_t)job->block, ALIGNMENT);
    memset(job->chunks + bytes, 0, WORDS);
    job->by_device = (_Atomic uint32_t *)(void *)(job->chunks + bytes);
    job->by_host = (_Atomic uint32_t *)(void *)(job->chunks + bytes + WORDS / 2);
    return poolSuccess;
}

// Gives the chunks back. What failed first is what the program is told.
static poolError_t end(const struct sp_copy *copy, void *block, struct sp_outcome outcome) {
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

// ----------------------------------------------------------------------------------------- at once

struct now {
    const struct sp_copy *copy;
    struct sp_job job;
    struct sp_copy_file file;
    size_t issued;       // parts that the stream was given
    uint64_t idle_since; // 0: the caller has just done something
    CUevent events[SP_COPY_DEPTH_MOST];
};

static size_t by_host(const struct now *now) {
    return sp_load_acquire(now->job.by_host);
}

static size_t by_device(const struct now *now) {
    return sp_load_relaxed(now->job.by_device);
}

static bool is_finished(const struct now *now) {
    return (now->copy->to_device ? now->issued : by_host(now)) == now->job.shape.parts;
}

static bool may_issue(const struct now *now) {
    size_t most = by_host(now) + (now->copy->to_device ? 0 : now->job.depth);
    return now->issued < most && now->issued < now->job.shape.parts;
}

// The host waits for a part that it empties, or whose chunk it fills again.
static bool is_waited_for(const struct now *now, size_t part) {
    return !now->copy->to_device || part + now->job.depth < now->job.shape.parts;
}

static struct sp_outcome issue(struct now *now) {
    size_t part = now->issued++;
    CUevent *event = &now->events[part % now->job.depth];
    struct sp_outcome outcome = copy_part(now->copy, &now->job, part);
    if (!is_waited_for(now, part))
        return outcome;
    if (sp_is_done(outcome) && !*event)
        outcome = DRIVER(cuEventCreate, event, CU_EVENT_DISABLE_TIMING);
    return sp_is_done(outcome) ? DRIVER(cuEventRecord, *event, now->copy->stream) : outcome;
}

static void note_device(struct now *now) {
    sp_store_release(now->job.by_device, (uint32_t)by_device(now) + 1);
    sp_crew_go_on();
}

// Waits until the device has done one more part.
static struct sp_outcome await_device(struct now *now) {
    struct sp_outcome outcome =
        DRIVER(cuEventSynchronize, now->events[by_device(now) % now->job.depth]);
    note_device(now);
    return outcome;
}

// Looks if the device has done one more part, where threads may be waiting for that.
static bool look_at_device(struct now *now) {
    size_t part = by_device(now);
    if (now->job.helpers == 0 || part >= now->issued || !is_waited_for(now, part) ||
        sp_driver->cuEventQuery(now->events[part % now->job.depth]) != CUDA_SUCCESS)
        return false;
    note_device(now);
    return true;
}

// Others are to go on: threads that are at the last slices of a part that can be issued then, or
// the device. The caller looks for a moment before it sleeps.
static struct sp_outcome await_others(struct now *now) {
    bool in = now->copy->to_device;
    uint64_t time = sp_time_now();
    if (now->idle_since == 0)
        now->idle_since = time;
    if (now->job.helpers > 0 && time - now->idle_since < SP_CREW_AWAKE) {
        sched_yield();
        return sp_outcome_done();
    }
    if (!in && by_device(now) < now->issued)
        return await_device(now);
    if (sp_crew_await(&now->job, in ? (uint32_t)now->issued : (uint32_t)by_host(now)))
        return sp_outcome_done();
    return in && by_device(now) < now->issued ? await_device(now) : sp_outcome_done();
}

// Makes a step: to issue keeps the device at work, to look and to copy bring the next part.
static struct sp_outcome step(struct now *now) {
    if (may_issue(now)) {
        now->idle_since = 0;
        return issue(now);
    }
    if (look_at_device(now) || sp_crew_work(&now->job)) {
        now->idle_since = 0;
        return sp_outcome_done();
    }
    return await_others(now);
}

static struct sp_outcome run_with_crew(struct now *now) {
    struct sp_outcome outcome = sp_outcome_done();
    struct sp_job *job = &now->job;
    sp_crew_add(job);
    while (sp_is_done(outcome) && !is_finished(now) && sp_crew_problem(job).code == 0)
        outcome = step(now);
    sp_crew_remove(job);
    for (size_t i = 0; i < job->depth; i++) {
        if (now->events[i])
            sp_driver->cuEventDestroy(now->events[i]);
    }
    return outcome;
}

static size_t chunk_now(const struct sp_copy *copy, size_t most) {
    size_t share = round_up((copy->width * copy->height + PARTS - 1) / PARTS, CHUNK_LEAST);
    return copy->is_of_file || most < share ? most : share;
}

static poolError_t run(const struct sp_copy *copy, const struct poolCopySettings *settings,
                       unsigned int threads) {
    struct now now = {.copy = copy};
    poolError_t error =
        begin(copy, chunk_now(copy, settings->chunkBytes), settings->depth, &now.job);
    if (error != poolSuccess)
        return error;
    now.job.helpers = threads;
    if (copy->is_of_file) {
        sp_copy_file_open(&now.file, copy->fd, copy->to_device, copy->file_offset);
        now.job.file = &now.file;
    }
    struct sp_outcome outcome = run_with_crew(&now);
    error = end(copy, now.job.block, outcome);
    if (error == poolSuccess)
        error = sp_transfer_refuse_problem(copy->to_device, now.job.problem);
    if (now.job.file)
        sp_copy_file_close(now.job.file);
    return error;
}

// The caller copies a single part.
static struct sp_outcome copy_alone(const struct sp_copy *copy, struct sp_job *job) {
    if (copy->to_device)
        sp_crew_do_alone(job);
    struct sp_outcome outcome = copy_part(copy, job, 0);
    if (copy->to_device || !sp_is_done(outcome))
        return outcome;
    outcome = sp_stream_await(copy->stream);
    if (sp_is_done(outcome))
        sp_crew_do_alone(job);
    return outcome;
}

static poolError_t run_alone(const struct sp_copy *copy) {
    struct sp_job job = job_of(copy, ALONE_MOST);
    size_t bytes = job.chunk_bytes;
    job.depth = 1;
    poolError_t error =
        copy->to_device ? sp_staging_take(copy->device, bytes, &job.block)
                        : sp_staging_take_ordered(copy->device, bytes, copy->stream, &job.block);
    if (error != poolSuccess)
        return error;
    job.chunks = job.block;
    return end(copy, job.block, copy_alone(copy, &job));
}

// A thread that the scheduler of a simulated driver doesn't know would make its runs differ.
poolError_t sp_transfer_now_with(const struct sp_copy *copy,
                                 const struct poolCopySettings *settings) {
    unsigned int threads = sp_driver_is_scheduled() ? 0 : settings->threads - 1;
    if (copy->width * copy->height <= ALONE_MOST && !copy->is_of_file)
        return run_alone(copy);
    if (!sp_crew_hire(threads) && threads == 0)
        return sp_refuse(poolErrorMemoryAllocation, "the host has no memory for a copy");
    return run(copy, settings, threads);
}

poolError_t sp_transfer_now(const struct sp_copy *copy) {
    const struct poolCopySettings settings = sp_settings_get();
    return sp_transfer_now_with(copy, &settings);
}

// ------------------------------------------------------------------------------------------- ahead

bool sp_transfer_can_be_ahead(int device) {
    int can = 0;
    return sp_driver->cuStreamWaitValue32 && sp_driver->cuStreamWriteValue32 &&
           !sp_driver_is_scheduled() &&
           sp_driver->cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS,
                                           device) == CUDA_SUCCESS &&
           can != 0;
}

static CUdeviceptr address_of(const _Atomic uint32_t *word) {
    return (CUdeviceptr)(uintptr_t)word;
}

// The stream waits until the host has done so many parts.
static struct sp_outcome wait_for_host(const struct sp_copy *copy, const struct sp_job *job,
                                       size_t parts) {
    return DRIVER(cuStreamWaitValue32, copy->stream, address_of(job->by_host), (uint32_t)parts,
                  CU_STREAM_WAIT_VALUE_GEQ);
}

static struct sp_outcome tell_host(const struct sp_copy *copy, const struct sp_job *job,
                                   size_t parts) {
    return DRIVER(cuStreamWriteValue32, copy->stream, address_of(job->by_device), (uint32_t)parts,
                  0);
}

// A part's chunk is free for the device once the host has done the part before in it.
static struct sp_outcome issue_ahead(const struct sp_copy *copy, const struct sp_job *job,
                                     size_t part) {
    bool again = part + job->depth < job->shape.parts; // the chunk is used again
    struct sp_outcome outcome = sp_outcome_done();
    if (copy->to_device)
        outcome = wait_for_host(copy, job, part + 1);
    else if (part >= job->depth)
        outcome = wait_for_host(copy, job, part - job->depth + 1);
    if (sp_is_done(outcome))
        outcome = copy_part(copy, job, part);
    return sp_is_done(outcome) && (again || !copy->to_device) ? tell_host(copy, job, part + 1)
                                                              : outcome;
}

static struct sp_outcome issue_all_ahead(const struct sp_copy *copy, const struct sp_job *job) {
    struct sp_outcome outcome = sp_outcome_done();
    for (size_t part = 0; part < job->shape.parts && sp_is_done(outcome); part++)
        outcome = issue_ahead(copy, job, part);
    if (sp_is_done(outcome) && !copy->to_device)
        outcome = wait_for_host(copy, job, job->shape.parts);
    return outcome;
}

static void end_transfer(struct sp_transfer *transfer) {
    if (transfer->file.is_own)
        sp_copy_file_close(&transfer->file);
    free(transfer);
}

static bool finish(struct sp_job *job) {
    struct sp_transfer *transfer = SP_CONTAINER_OF(job, struct sp_transfer, job);
    transfer->is_done = true;
    return transfer->is_dropped;
}

static void release(struct sp_job *job) {
    end_transfer(SP_CONTAINER_OF(job, struct sp_transfer, job));
}

bool sp_transfer_await(struct sp_transfer *transfer, uint64_t until) {
    sp_crew_lock();
    while (!transfer->is_done && sp_time_now() < until)
        sp_crew_wait_locked(until);
    bool is_done = transfer->is_done;
    sp_crew_unlock();
    return is_done;
}

bool sp_transfer_is_done(struct sp_transfer *transfer) {
    return sp_transfer_await(transfer, 0);
}

poolError_t sp_transfer_problem(struct sp_transfer *transfer) {
    sp_crew_lock();
    poolError_t stopped_by = transfer->stopped_by;
    struct sp_copy_file_problem problem = transfer->job.problem;
    sp_crew_unlock();
    return stopped_by == poolSuccess ? sp_transfer_refuse_problem(transfer->job.to_device, problem)
                                     : sp_refuse(stopped_by, "an error has ended the copy");
}

void sp_transfer_stop(struct sp_transfer *transfer, poolError_t error) {
    sp_crew_lock();
    if (!transfer->is_done) {
        sp_crew_stop_locked(&transfer->job);
        transfer->stopped_by = error;
        transfer->is_done = true;
    }
    sp_crew_unlock();
}

void sp_transfer_drop(struct sp_transfer *transfer) {
    sp_driver->cuEventDestroy(transfer->event);
    sp_crew_lock();
    transfer->is_dropped = true;
    bool is_done = transfer->is_done;
    sp_crew_unlock();
    if (is_done)
        end_transfer(transfer);
}

static size_t chunk_ahead(const struct sp_copy *copy, size_t least) {
    size_t chunk = round_up(copy->width * copy->height / PARTS, least);
    return chunk < least ? least : chunk < CHUNK_AHEAD_MOST ? chunk : CHUNK_AHEAD_MOST;
}

// The crew has the job before the stream has anything of it: where the stream's queue is full, only
// what the host does makes room there.
static poolError_t give_ahead(const struct sp_copy *copy, struct sp_transfer *transfer) {
    struct poolCopySettings settings = sp_settings_get();
    struct sp_job *job = &transfer->job;
    poolError_t error = begin(copy, chunk_ahead(copy, settings.chunkBytes), settings.depth, job);
    transfer->is_done = error != poolSuccess; // nothing is to be done
    if (error != poolSuccess)
        return error;
    job->file = copy->is_of_file ? &transfer->file : NULL;
    job->helpers = settings.threads;
    job->is_watched = true;
    job->finish = finish;
    job->release = release;
    sp_crew_add(job);
    struct sp_outcome outcome = issue_all_ahead(copy, job);
    if (sp_is_done(outcome))
        outcome = DRIVER(cuEventRecord, transfer->event, copy->stream);
    if (!sp_is_done(outcome))
        sp_transfer_stop(transfer, poolErrorUnknown); // before the block is another copy's
    error = end(copy, job->block, outcome);
    if (error != poolSuccess)
        sp_transfer_stop(transfer, error);
    return error;
}

poolError_t sp_transfer_ahead(const struct sp_copy *copy, struct sp_transfer **transfer) {
    *transfer = NULL;
    struct sp_transfer *made = calloc(1, sizeof *made);
    if (!made || !sp_crew_hire(sp_settings_get().threads)) {
        free(made);
        return sp_transfer_now(copy);
    }
    if (copy->is_of_file &&
        !sp_copy_file_open_own(&made->file, copy->fd, copy->to_device, copy->file_offset)) {
        free(made);
        return sp_refuse(poolErrorOperatingSystem, "opening a file once more: %s", strerror(errno));
    }
    struct sp_outcome outcome = DRIVER(cuEventCreate, &made->event, CU_EVENT_DISABLE_TIMING);
    if (!sp_is_done(outcome)) {
        end_transfer(made);
        return sp_refuse_outcome(outcome, "copying");
    }
    poolError_t error = give_ahead(copy, made);
    if (error == poolSuccess)
        *transfer = made;
    else
        sp_transfer_drop(made);
    return error == poolSuccess ? error : sp_transfer_now(copy);
}
