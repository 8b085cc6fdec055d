// The common ground of all calls: the context that a call gets, the errors that it returns, and the
// versions.
#include "api/api.h"
#include "api/interpose.h"
#include "process/promises.h"

#include <streampool/lists.h>

static _Thread_local unsigned char terms; // static thread-local memory is scarce

int sp_interpose_set_terms(int set) {
    int before = terms;
    terms = (unsigned char)set;
    return before;
}

int sp_api_promises(void) {
    return sp_promises_that_hold(terms);
}

struct sp_outcome sp_api_supply_context(struct sp_outcome outcome, CUstream handle,
                                        const struct sp_pool *pool) {
    CUcontext current = NULL;
    uint64_t id;
    if (!sp_outcome_lacks_context(outcome) || !sp_stream_is_default(handle) ||
        terms & SP_INTERPOSE_DEMANDS || !sp_is_done(sp_context_current(&current, &id)) || current)
        return outcome;
    int home = pool ? sp_device_home(pool->device) : 0;
    return sp_context_make_primary_current(&sp_devices[home].primary, home);
}

poolError_t sp_api_stream(CUstream handle, const struct sp_pool *pool, struct sp_stream **stream) {
    struct sp_outcome outcome = sp_resolve_stream(handle, stream);
    if (sp_is_done(outcome))
        return poolSuccess;
    outcome = sp_api_supply_context(outcome, handle, pool);
    if (sp_is_done(outcome))
        outcome = sp_resolve_stream(handle, stream);
    return sp_is_done(outcome) ? poolSuccess : sp_fail_outcome(outcome, "identifying the stream");
}

// ------------------------------------------------------------------------------------------ errors

static const char *name_or_text(poolError_t error, bool wants_name) {
    switch (error) {
#define NAME_OR_TEXT(name, number, text)                                                           \
    case name:                                                                                     \
        return wants_name ? #name : text;
        STREAMPOOL_ERRORS(NAME_OR_TEXT)
#undef NAME_OR_TEXT
    }
    return "unrecognized error code";
}

const char *poolGetErrorName(poolError_t error) {
    return name_or_text(error, true);
}

const char *poolGetErrorString(poolError_t error) {
    return name_or_text(error, false);
}

poolError_t poolPeekAtLastError(void) {
    return sp_fail_unread();
}

poolError_t poolGetLastError(void) {
    poolError_t error = sp_fail_unread();
    sp_fail_set_unread(poolSuccess);
    return error;
}

poolError_t poolSetLastError(poolError_t error, const char *detail) {
    bool fails = error != poolSuccess && error != poolErrorNotReady;
    return fails ? sp_fail(error, "%s", detail ? detail : "") : error;
}

const char *poolGetLastErrorDetail(void) {
    return sp_fail_detail();
}

poolError_t poolGetLastNativeError(int *result, const char **entryPoint) {
    CUresult error;
    const char *name;
    sp_fail_native(&error, &name);
    if (result)
        *result = (int)error;
    if (entryPoint)
        *entryPoint = name;
    return poolSuccess;
}

poolError_t poolRuntimeGetVersion(int *version) {
    if (!version)
        return sp_fail(poolErrorInvalidValue, "version is null");
    *version = 1000 * STREAMPOOL_VERSION_MAJOR + 10 * STREAMPOOL_VERSION_MINOR;
    return poolSuccess;
}

poolError_t poolDriverGetVersion(int *version) {
    return version ? sp_runtime_driver_version(version)
                   : sp_fail(poolErrorInvalidValue, "version is null");
}
