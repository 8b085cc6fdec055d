#include "copy/measure.h"

#include "base/thread.h"
#include "copy/now.h"
#include "copy/settings.h"
#include "copy/stream.h"

enum { ROUNDS = 3, CANDIDATES_MOST = 4 };

size_t sp_measure_choose(const uint64_t times[], size_t count) {
    uint64_t least = UINT64_MAX;
    size_t first = 0;
    for (size_t i = 0; i < count; i++)
        least = times[i] < least ? times[i] : least;
    while (times[first] > least + least / 20)
        first++;
    return first;
}

struct measurement {
    struct sp_copy copy; // of one piece
    const struct sp_copy *whole;
    size_t begun; // copies
};

static void go_to_next_piece(struct measurement *measurement) {
    struct sp_copy *copy = &measurement->copy;
    const struct sp_copy *whole = measurement->whole;
    size_t at = measurement->begun++ % (whole->width / SP_MEASURED) * SP_MEASURED;
    copy->host = whole->host + at;
    copy->address = whole->address + at;
}

static bool time_one(struct measurement *measurement, const struct poolCopySettings *settings,
                     uint64_t *least) {
    go_to_next_piece(measurement);
    uint64_t begin = sp_time_now();
    if (sp_copy_now_with(&measurement->copy, settings) != poolSuccess ||
        !sp_is_done(sp_stream_await(measurement->copy.stream)) ||
        !sp_crew_has(settings->threads - 1))
        return false;
    uint64_t took = sp_time_now() - begin;
    *least = took < *least ? took : *least;
    return true;
}

// In turn, so that what disturbs the machine for a while disturbs each of them.
static bool time_all(struct measurement *measurement, const struct poolCopySettings candidates[],
                     size_t count, struct poolCopySettings *best) {
    uint64_t times[CANDIDATES_MOST];
    bool good = true;
    for (size_t i = 0; i < count; i++)
        times[i] = UINT64_MAX;
    for (size_t i = 0; i < ROUNDS * count && good; i++)
        good = time_one(measurement, &candidates[i % count], &times[i % count]);
    if (good)
        *best = candidates[sp_measure_choose(times, count)];
    return good;
}

static bool find_threads(struct measurement *measurement, struct poolCopySettings *best) {
    struct poolCopySettings candidates[CANDIDATES_MOST];
    size_t count = 0;
    for (unsigned int threads = 1; threads <= SP_COPY_THREADS_MOST; threads *= 2) {
        if (threads > sp_settings_processors())
            break;
        candidates[count] = *best;
        candidates[count++].threads = threads;
    }
    return time_all(measurement, candidates, count, best);
}

// Larger or smaller chunks, as many bytes of them, and where both are as fast as before, as before.
static bool find_chunk(struct measurement *measurement, const struct poolCopySettings *set,
                       struct poolCopySettings *best) {
    struct poolCopySettings candidates[] = {*best, *best, *best};
    candidates[1].chunkBytes = best->chunkBytes * 2;
    candidates[2].chunkBytes = best->chunkBytes / 2;
    if (set->depth == 0) {
        candidates[1].depth = best->depth / 2;
        candidates[2].depth = best->depth * 2;
    }
    return time_all(measurement, candidates, 3, best);
}

// Fewer chunks may be as fast in the direction of this copy, and slow in the other one: on an H200
// four of 4 MiB bring 40 GB/s to the device, as eight do, and 32 to the host, where eight bring 52.
static bool find_depth(struct measurement *measurement, struct poolCopySettings *best) {
    struct poolCopySettings candidates[] = {*best, *best};
    if (best->depth * 2 > SP_COPY_DEPTH_MOST)
        return true;
    candidates[1].depth = best->depth * 2;
    return time_all(measurement, candidates, 2, best);
}

// The first copy is that of a machine that is asleep, and gets memory for chunks.
static bool find(struct measurement *measurement, const struct poolCopySettings *set,
                 struct poolCopySettings *best) {
    uint64_t ignored = UINT64_MAX;
    return sp_is_done(sp_stream_await(measurement->copy.stream)) &&
           time_one(measurement, best, &ignored) &&
           (set->threads != 0 || find_threads(measurement, best)) &&
           (set->chunkBytes != 0 || find_chunk(measurement, set, best)) &&
           (set->depth != 0 || find_depth(measurement, best));
}

// A copy to the device that fits into its chunks doesn't wait for its stream, so nothing can be
// measured with it.
static bool waits(const struct sp_copy *copy, const struct poolCopySettings *settings) {
    return !copy->to_device || sp_transfer_chunks(settings) < copy->width;
}

void sp_measure_with(const struct sp_copy *copy) {
    if (copy->height > 1 || copy->width < SP_MEASURED_LEAST)
        return;
    struct poolCopySettings set, best = sp_settings_get();
    struct measurement measurement = {.copy = *copy, .whole = copy};
    if (!waits(copy, &best) || sp_driver_is_scheduled() || !sp_crew_has(0) ||
        !sp_settings_begin_finding(&set))
        return;
    measurement.copy.width = SP_MEASURED;
    measurement.copy.host_pitch = measurement.copy.device_pitch = SP_MEASURED;
    if (!find(&measurement, &set, &best))
        best = (struct poolCopySettings){0};
    if (set.threads != 0)
        best.threads = 0;
    if (set.depth != 0)
        best.depth = 0;
    if (set.chunkBytes != 0)
        best.chunkBytes = 0;
    sp_settings_end_finding(&best);
}
