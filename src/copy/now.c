#include "copy/now.h"

#include "base/atomic.h"
#include "base/thread.h"
#include "beside/refuse.h"
#include "copy/staging.h"
#include "copy/stream.h"

#include <sched.h>

// Parts are no smaller than this: to give one to the device takes as long as its bytes take on the
// bus.
#define CHUNK_LEAST ((size_t)256 << 10)

// The caller copies so little faster alone than with threads that it has to wake.
#define ALONE_MOST ((size_t)256 << 10)

#define DRIVER(call, ...) sp_outcome_of_driver(sp_driver->call(__VA_ARGS__), #call)

struct now {
    const struct sp_copy *copy;
    struct sp_job job;
    struct sp_copy_file file;
    bool leaves_slices;  // to the crew's threads
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
    struct sp_outcome outcome = sp_transfer_give_part(now->copy, &now->job, part);
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

// True where the device is at a part that is waited for.
static bool is_device_awaited(const struct now *now) {
    return by_device(now) < now->issued && is_waited_for(now, by_device(now));
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
    if (now->job.helpers == 0 || !is_device_awaited(now) ||
        sp_driver->cuEventQuery(now->events[part % now->job.depth]) != CUDA_SUCCESS)
        return false;
    note_device(now);
    return true;
}

// Others are to go on: the device, or threads that are at the last slices of a part. The device is
// waited for first, since the chunk that it leaves brings threads to work. The caller looks for a
// moment before it sleeps.
static struct sp_outcome await_others(struct now *now) {
    uint64_t time = sp_time_now();
    if (now->idle_since == 0)
        now->idle_since = time;
    if (now->job.helpers > 0 && time - now->idle_since < SP_CREW_AWAKE) {
        sched_yield();
        return sp_outcome_done();
    }
    if (is_device_awaited(now))
        return await_device(now);
    size_t parts = now->copy->to_device ? now->issued : by_host(now);
    if (!sp_crew_await(&now->job, (uint32_t)parts) && now->leaves_slices)
        sp_crew_help(&now->job); // all threads are at other copies, or have ended
    return sp_outcome_done();
}

// The caller copies, too. But a slice of a file may take milliseconds, in which nobody gives the
// device a part or sees that it has left a chunk.
static bool work(struct now *now) {
    return !now->leaves_slices && sp_crew_work(&now->job);
}

// Makes a step: to issue keeps the device at work, to look and to copy bring the next part.
static struct sp_outcome step(struct now *now) {
    if (may_issue(now)) {
        now->idle_since = 0;
        return issue(now);
    }
    if (look_at_device(now) || work(now)) {
        now->idle_since = 0;
        return sp_outcome_done();
    }
    return await_others(now);
}

static bool has_problem(struct sp_job *job) {
    return job->file && sp_crew_problem(job).code != 0;
}

static struct sp_outcome run_with_crew(struct now *now) {
    struct sp_outcome outcome = sp_outcome_done();
    struct sp_job *job = &now->job;
    sp_crew_add(job);
    while (sp_is_done(outcome) && !is_finished(now) && !has_problem(job))
        outcome = step(now);
    sp_crew_remove(job);
    for (size_t i = 0; i < job->depth; i++) {
        if (now->events[i])
            sp_driver->cuEventDestroy(now->events[i]);
    }
    return outcome;
}

static size_t chunk_now(const struct sp_copy *copy, size_t most) {
    size_t share = sp_transfer_round_up(
        (copy->width * copy->height + SP_TRANSFER_PARTS - 1) / SP_TRANSFER_PARTS, CHUNK_LEAST);
    return copy->is_of_file || most < share ? most : share;
}

static poolError_t run(const struct sp_copy *copy, const struct poolCopySettings *settings,
                       unsigned int threads) {
    struct now now = {.copy = copy};
    poolError_t error =
        sp_transfer_begin(copy, chunk_now(copy, settings->chunkBytes), settings->depth, &now.job);
    if (error != poolSuccess)
        return error;
    now.job.helpers = threads;
    if (copy->is_of_file) {
        sp_copy_file_open(&now.file, copy->fd, copy->to_device, copy->file_offset);
        now.job.file = &now.file;
        now.leaves_slices = now.job.shape.parts > 1 && threads > 0 && sp_crew_hire(threads + 1);
        now.job.helpers += now.leaves_slices;
    }
    struct sp_outcome outcome = run_with_crew(&now);
    error = sp_transfer_end(copy, now.job.block, outcome);
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
    struct sp_outcome outcome = sp_transfer_give_part(copy, job, 0);
    if (copy->to_device || !sp_is_done(outcome))
        return outcome;
    outcome = sp_stream_await(copy->stream);
    if (sp_is_done(outcome))
        sp_crew_do_alone(job);
    return outcome;
}

static poolError_t run_alone(const struct sp_copy *copy) {
    struct sp_job job = sp_transfer_job(copy, ALONE_MOST);
    size_t bytes = job.chunk_bytes;
    job.depth = 1;
    poolError_t error =
        copy->to_device ? sp_staging_take(copy->device, bytes, &job.block)
                        : sp_staging_take_ordered(copy->device, bytes, copy->stream, &job.block);
    if (error != poolSuccess)
        return error;
    job.chunks = job.block;
    return sp_transfer_end(copy, job.block, copy_alone(copy, &job));
}

// A thread that the scheduler of a simulated driver doesn't know would make its runs differ.
poolError_t sp_copy_now_with(const struct sp_copy *copy, const struct poolCopySettings *settings) {
    unsigned int threads = sp_driver_is_scheduled() ? 0 : settings->threads - 1;
    if (copy->width * copy->height <= ALONE_MOST && !copy->is_of_file)
        return run_alone(copy);
    if (!sp_crew_hire(threads) && threads == 0)
        return sp_refuse(poolErrorMemoryAllocation, "the host has no memory for a copy");
    return run(copy, settings, threads);
}

poolError_t sp_copy_now(const struct sp_copy *copy) {
    const struct poolCopySettings settings = sp_settings_get();
    return sp_copy_now_with(copy, &settings);
}
