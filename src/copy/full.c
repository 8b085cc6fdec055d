#include "copy/full.h"

#include "base/lock.h"

enum { CONTEXTS = 64 };

// Smaller kernels aren't worth two events, but while a device is full.
enum { PIECES_LEAST = 64 };
#define BYTES_LEAST ((size_t)2 << 20)

// While a device is full, one of so many batches tries the kernel: they share what it costs if that
// is late again.
enum { AGAIN = 16 };

// An id is never given twice, so it names no context that came later.
static struct watch {
    unsigned long long context;
    bool is_full;
    unsigned passed; // batches since the last one that tried the kernel, while the device is full
    enum { NOTHING_TIMED, BEGUN, ENDED } state;
    struct sp_full_timing timing; // once it has ended
} watches[CONTEXTS];
static size_t watch_count;
static struct sp_lock lock; // guards both

// On an H200 cuMemcpyBatchAsync takes up to 1.4 µs for a small piece, and copies large ones at
// 50 GB/s. Where the bus is slower, that is too, so little is lost if a kernel counts as late that
// only the bus has kept.
static float allow(size_t pieces, size_t bytes) {
    return 1.0F + 0.0015F * (float)pieces + (float)bytes / 25e6F;
}

static void destroy_events(const struct sp_full_timing *timing) {
    if (timing->begin)
        sp_driver->cuEventDestroy(timing->begin);
    if (timing->end)
        sp_driver->cuEventDestroy(timing->end);
}

static struct watch *find_locked(unsigned long long context) {
    for (size_t i = 0; i < watch_count; i++) {
        if (watches[i].context == context)
            return &watches[i];
    }
    return NULL;
}

// The place of an older context is taken where there are too many. Its events end with it.
static struct watch *make_locked(unsigned long long context) {
    static size_t next;
    struct watch *watch =
        watch_count < CONTEXTS ? &watches[watch_count++] : &watches[next++ % CONTEXTS];
    *watch = (struct watch){.context = context};
    return watch;
}

// ---------------------------------------------------------------------------------------- looking

static void judge_locked(struct watch *watch) {
    const struct sp_full_timing *timing = &watch->timing;
    float took = 0;
    if (watch->state != ENDED)
        return;
    CUresult code = sp_driver->cuEventQuery(timing->end);
    if (code == CUDA_ERROR_NOT_READY)
        return;
    if (code == CUDA_SUCCESS &&
        sp_driver->cuEventElapsedTime(&took, timing->begin, timing->end) == CUDA_SUCCESS)
        watch->is_full = took > timing->allowed;
    destroy_events(timing);
    watch->state = NOTHING_TIMED;
}

// While a kernel is timed, another one wouldn't be, and tell nothing.
static bool tries_again_locked(struct watch *watch) {
    if (watch->state != NOTHING_TIMED || ++watch->passed < AGAIN)
        return false;
    watch->passed = 0;
    return true;
}

bool sp_full_is(unsigned long long context) {
    bool is_full = false;
    sp_lock_acquire(&lock);
    struct watch *watch = find_locked(context);
    if (watch) {
        judge_locked(watch);
        is_full = watch->is_full && !tries_again_locked(watch);
    }
    sp_lock_release(&lock);
    return is_full;
}

// ----------------------------------------------------------------------------------------- timing

static bool claim(unsigned long long context, bool is_large) {
    sp_lock_acquire(&lock);
    struct watch *watch = find_locked(context);
    if (!watch)
        watch = make_locked(context);
    bool is_claimed = watch->state == NOTHING_TIMED && (is_large || watch->is_full);
    if (is_claimed)
        watch->state = BEGUN;
    sp_lock_release(&lock);
    return is_claimed;
}

// Leaves the events for a later batch, or forgets what was begun. Another context may have taken
// the place of this one meanwhile.
static void note(const struct sp_full_timing *timing, bool has_ended) {
    sp_lock_acquire(&lock);
    struct watch *watch = find_locked(timing->context);
    if (watch) {
        watch->state = has_ended ? ENDED : NOTHING_TIMED;
        watch->timing = *timing;
    }
    sp_lock_release(&lock);
    if (!watch || !has_ended)
        destroy_events(timing);
}

static bool is_done(CUresult code) {
    return code == CUDA_SUCCESS;
}

bool sp_full_begin(struct sp_full_timing *timing, unsigned long long context, size_t pieces,
                   size_t bytes, CUstream stream) {
    if (!claim(context, pieces >= PIECES_LEAST || bytes >= BYTES_LEAST))
        return false;
    *timing = (struct sp_full_timing){.context = context, .allowed = allow(pieces, bytes)};
    bool has_begun = is_done(sp_driver->cuEventCreate(&timing->begin, CU_EVENT_DEFAULT)) &&
                     is_done(sp_driver->cuEventCreate(&timing->end, CU_EVENT_DEFAULT)) &&
                     is_done(sp_driver->cuEventRecord(timing->begin, stream));
    if (!has_begun)
        note(timing, false);
    return has_begun;
}

void sp_full_end(const struct sp_full_timing *timing, CUstream stream) {
    note(timing, is_done(sp_driver->cuEventRecord(timing->end, stream)));
}
