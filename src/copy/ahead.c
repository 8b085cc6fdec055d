#include "copy/ahead.h"

#include "base/atomic.h"
#include "base/thread.h"
#include "beside/refuse.h"
#include "copy/now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The stream gets some commands for each part, so parts are larger the larger a copy is.
#define CHUNK_MOST ((size_t)32 << 20)

#define DRIVER(call, ...) sp_outcome_of_driver(sp_driver->call(__VA_ARGS__), #call)

// ------------------------------------------------------------------------------- what the stream
// gets

bool sp_ahead_is_possible(int device) {
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
        outcome = sp_transfer_give_part(copy, job, part);
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

// ----------------------------------------------------------------------------------- what it comes
// to

static void end_ahead(struct sp_ahead *ahead) {
    if (ahead->file.is_own)
        sp_copy_file_close(&ahead->file);
    free(ahead);
}

static bool finish(struct sp_job *job) {
    struct sp_ahead *ahead = SP_CONTAINER_OF(job, struct sp_ahead, job);
    ahead->is_done = true;
    return ahead->is_dropped;
}

static void release(struct sp_job *job) {
    end_ahead(SP_CONTAINER_OF(job, struct sp_ahead, job));
}

bool sp_ahead_await(struct sp_ahead *ahead, uint64_t until) {
    sp_crew_lock();
    while (!ahead->is_done && sp_time_now() < until)
        sp_crew_wait_locked(until);
    bool is_done = ahead->is_done;
    sp_crew_unlock();
    return is_done;
}

bool sp_ahead_is_done(struct sp_ahead *ahead) {
    return sp_ahead_await(ahead, 0);
}

poolError_t sp_ahead_problem(struct sp_ahead *ahead) {
    sp_crew_lock();
    poolError_t stopped_by = ahead->stopped_by;
    struct sp_copy_file_problem problem = ahead->job.problem;
    sp_crew_unlock();
    return stopped_by == poolSuccess ? sp_transfer_refuse_problem(ahead->job.to_device, problem)
                                     : sp_refuse(stopped_by, "an error has ended the copy");
}

static void stop(struct sp_ahead *ahead, poolError_t error) {
    sp_crew_lock();
    if (!ahead->is_done) {
        sp_crew_stop_locked(&ahead->job);
        ahead->stopped_by = error;
        ahead->is_done = true;
    }
    sp_crew_unlock();
}

// True for a copy of the context that nobody asks about. One that is being stopped isn't found.
static bool is_forgotten(const struct sp_job *job, const void *context) {
    const struct sp_ahead *ahead = SP_CONTAINER_OF(job, struct sp_ahead, job);
    return job->finish == finish && ahead->is_dropped && ahead->context == context;
}

void sp_ahead_fail(struct sp_ahead *ahead, poolError_t error) {
    struct sp_job *forgotten;
    stop(ahead, error);
    sp_crew_lock();
    while ((forgotten = sp_crew_find_locked(is_forgotten, ahead->context))) {
        sp_crew_stop_locked(forgotten);
        sp_crew_unlock();
        release(forgotten);
        sp_crew_lock();
    }
    sp_crew_unlock();
}

static bool has_failed(const struct sp_ahead *ahead) {
    CUresult code = sp_driver->cuEventQuery(ahead->event);
    return code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_READY;
}

// Nobody asks about the copy from now on.
void sp_ahead_drop(struct sp_ahead *ahead) {
    if (!sp_ahead_is_done(ahead) && has_failed(ahead))
        sp_ahead_fail(ahead, poolErrorUnknown);
    sp_driver->cuEventDestroy(ahead->event);
    sp_crew_lock();
    ahead->is_dropped = true;
    bool is_done = ahead->is_done;
    sp_crew_unlock();
    if (is_done)
        end_ahead(ahead);
}

// ---------------------------------------------------------------------------------------- making
// it

static size_t chunk_of(const struct sp_copy *copy, size_t least) {
    size_t chunk = sp_transfer_round_up(copy->width * copy->height / SP_TRANSFER_PARTS, least);
    return chunk < least ? least : chunk < CHUNK_MOST ? chunk : CHUNK_MOST;
}

// The crew has the job before the stream has anything of it: where the stream's queue is full, only
// what the host does makes room there.
static poolError_t give_ahead(const struct sp_copy *copy, struct sp_ahead *ahead) {
    struct poolCopySettings settings = sp_settings_get();
    struct sp_job *job = &ahead->job;
    poolError_t error =
        sp_transfer_begin(copy, chunk_of(copy, settings.chunkBytes), settings.depth, job);
    ahead->is_done = error != poolSuccess; // nothing is to be done
    if (error != poolSuccess)
        return error;
    job->file = copy->is_of_file ? &ahead->file : NULL;
    job->helpers = settings.threads;
    job->is_watched = true;
    job->finish = finish;
    job->release = release;
    sp_crew_add(job);
    struct sp_outcome outcome = issue_all_ahead(copy, job);
    if (sp_is_done(outcome))
        outcome = DRIVER(cuEventRecord, ahead->event, copy->stream);
    if (!sp_is_done(outcome))
        stop(ahead, poolErrorUnknown); // before the block is another copy's
    error = sp_transfer_end(copy, job->block, outcome);
    if (error != poolSuccess)
        stop(ahead, error);
    return error;
}

poolError_t sp_copy_ahead(const struct sp_copy *copy, struct sp_ahead **ahead) {
    *ahead = NULL;
    struct sp_ahead *made = calloc(1, sizeof *made);
    if (!made || !sp_crew_hire(sp_settings_get().threads)) {
        free(made);
        return sp_copy_now(copy);
    }
    if (copy->is_of_file &&
        !sp_copy_file_open_own(&made->file, copy->fd, copy->to_device, copy->file_offset)) {
        free(made);
        return sp_refuse(poolErrorOperatingSystem, "opening a file once more: %s", strerror(errno));
    }
    struct sp_outcome outcome = DRIVER(cuCtxGetCurrent, &made->context);
    if (sp_is_done(outcome))
        outcome = DRIVER(cuEventCreate, &made->event, CU_EVENT_DISABLE_TIMING);
    if (!sp_is_done(outcome)) {
        end_ahead(made);
        return sp_refuse_outcome(outcome, "copying");
    }
    poolError_t error = give_ahead(copy, made);
    if (error == poolSuccess)
        *ahead = made;
    else
        sp_ahead_drop(made);
    return error == poolSuccess ? error : sp_copy_now(copy);
}
