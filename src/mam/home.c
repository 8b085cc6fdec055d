#include "mam/home.h"

#include "beside/capture.h"

#include <streampool/streampool.h>

enum { HOMES = 256 }; // devices that a process can have

static struct sp_home homes[HOMES];

// ------------------------------------------------------------------------------------- the context

static uint64_t id_of(CUcontext context) {
    unsigned long long id = 0;
    if (!sp_driver->cuCtxGetId || sp_driver->cuCtxGetId(context, &id) != CUDA_SUCCESS)
        return 0;
    return id;
}

// A context that was reset and made again has the same handle and another id.
static bool is_gone(const struct sp_home *home) {
    return home->context_id != 0 && id_of(home->context) != home->context_id;
}

// A context stays retained, once, until the process ends: on a device without virtual memory
// management live blocks would end with it.
static struct sp_outcome retain_locked(struct sp_home *home) {
    CUcontext context = NULL;
    struct sp_outcome outcome = sp_outcome_of_driver(
        sp_driver->cuDevicePrimaryCtxRetain(&context, home->device), "cuDevicePrimaryCtxRetain");
    if (!sp_is_done(outcome))
        return outcome;
    uint64_t id = id_of(context);
    if (id != 0 && id == home->context_id)
        sp_driver->cuDevicePrimaryCtxRelease(home->device);
    home->context = context;
    home->context_id = id;
    return sp_outcome_done();
}

// -------------------------------------------------------------------------------------- the stream

static struct sp_outcome in_context(CUcontext context, struct sp_outcome (*act)(void *data),
                                    void *data) {
    CUstreamCaptureMode mode = sp_capture_relax();
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
    if (sp_is_done(outcome)) {
        outcome = act(data);
        sp_driver->cuCtxPopCurrent(&context);
    }
    sp_capture_restore(mode);
    return outcome;
}

static struct sp_outcome create_stream(void *stream) {
    return sp_outcome_of_driver(sp_driver->cuStreamCreate(stream, CU_STREAM_NON_BLOCKING),
                                "cuStreamCreate");
}

static struct sp_outcome make_stream_locked(struct sp_home *home) {
    CUstream stream = NULL;
    struct sp_outcome outcome = retain_locked(home);
    if (sp_is_done(outcome))
        outcome = in_context(home->context, create_stream, &stream);
    if (sp_is_done(outcome))
        sp_store_release(&home->stream, stream);
    return outcome;
}

static struct sp_outcome open_locked(struct sp_home *home, int ordinal) {
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuDeviceGet(&home->device, ordinal), "cuDeviceGet");
    if (sp_is_done(outcome) && (home->managers == 0 || is_gone(home)))
        outcome = make_stream_locked(home);
    home->managers += sp_is_done(outcome);
    return outcome;
}

// The pool that the caller has made has loaded the same driver.
static struct sp_outcome load_driver(void) {
    const struct sp_driver *driver = NULL;
    struct sp_outcome outcome = sp_outcome_of_driver(sp_driver_load(&driver), "cuInit");
    if (sp_is_done(outcome) && !driver->cuStreamCreate)
        return sp_outcome_of(SP_NOT_SUPPORTED);
    return outcome;
}

struct sp_outcome sp_home_open(int ordinal, struct sp_home **home) {
    struct sp_outcome outcome = ordinal < HOMES ? load_driver() : sp_outcome_of(SP_NOT_SUPPORTED);
    if (!sp_is_done(outcome))
        return outcome;
    *home = &homes[ordinal];
    sp_lock_acquire(&(*home)->lock);
    outcome = open_locked(*home, ordinal);
    sp_lock_release(&(*home)->lock);
    return outcome;
}

void sp_home_settle(struct sp_home *home) {
    CUstreamCaptureMode mode = sp_capture_relax();
    sp_lock_acquire(&home->lock);
    poolStreamSynchronize(sp_load_relaxed(&home->stream));
    sp_lock_release(&home->lock);
    sp_capture_restore(mode);
}

static void close_locked(struct sp_home *home) {
    if (!is_gone(home))
        poolStreamDestroy(sp_load_relaxed(&home->stream));
    sp_store_relaxed(&home->stream, NULL);
    home->context = NULL;
}

void sp_home_close(struct sp_home *home) {
    CUstreamCaptureMode mode = sp_capture_relax();
    sp_lock_acquire(&home->lock);
    if (--home->managers == 0)
        close_locked(home);
    sp_lock_release(&home->lock);
    sp_capture_restore(mode);
}

bool sp_home_is_gone(struct sp_home *home) {
    sp_lock_acquire(&home->lock);
    bool gone = is_gone(home);
    sp_lock_release(&home->lock);
    return gone;
}

// ------------------------------------------------------------------------------------- the memory

static struct sp_outcome ask_memory(void *data) {
    struct sp_home_memory *memory = data;
    return sp_outcome_of_driver(sp_driver->cuMemGetInfo(&memory->available, &memory->total),
                                "cuMemGetInfo");
}

struct sp_outcome sp_home_measure(struct sp_home *home, struct sp_home_memory *memory) {
    sp_lock_acquire(&home->lock);
    CUcontext context = home->context;
    sp_lock_release(&home->lock);
    return in_context(context, ask_memory, memory);
}
