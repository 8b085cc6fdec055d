// The calls about errors: as text, and the last one; and the versions.
#include "api/api.h"

#include <streampool/lists.h>
const char *poolGetErrorName(poolError_t error) {
    switch (error) {
#define NAME(name, number, text)                                                                   \
    case name:                                                                                     \
        return #name;
        STREAMPOOL_ERRORS(NAME)
#undef NAME
    }
    return "unrecognized error code";
}

const char *poolGetErrorString(poolError_t error) {
    switch (error) {
#define TEXT(name, number, text)                                                                   \
    case name:                                                                                     \
        return text;
        STREAMPOOL_ERRORS(TEXT)
#undef TEXT
    }
    return "unrecognized error code";
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
