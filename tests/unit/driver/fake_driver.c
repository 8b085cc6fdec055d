#include "fake_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number_from_environment(const char *name, int otherwise) {
    char variable[128];
    snprintf(variable, sizeof(variable), "FAKE_%s", name);
    const char *text = getenv(variable);
    return text ? atoi(text) : otherwise;
}

FAKE_EXPORT struct fake_record *fake_record_of(const char *name) {
    for (size_t i = 0; i < fake_record_count; i++) {
        struct fake_record *record = &fake_records[i];
        if (strcmp(record->name, name) == 0)
            return strcmp(record->symbol, record->symbol_in_build) == 0 ? record : NULL;
    }
    return NULL;
}

CUresult fake_note_call(const char *name) {
    struct fake_record *record = fake_record_of(name);
    if (record)
        record->calls++;
    return (CUresult)number_from_environment(name, CUDA_SUCCESS);
}

FAKE_EXPORT CUresult cuDriverGetVersion(int *version);
FAKE_EXPORT CUresult cuDriverGetVersion(int *version) {
    CUresult error = fake_note_call("cuDriverGetVersion");
    if (error == CUDA_SUCCESS)
        *version = number_from_environment("VERSION", 12040);
    return error;
}

// Knows one name only, so that a test sees where a name came from.
CUresult asked_cuGetErrorName(CUresult error, const char **name);
CUresult asked_cuGetErrorName(CUresult error, const char **name) {
    *name = error == CUDA_ERROR_NOT_READY ? "NAME_FROM_THE_DRIVER" : NULL;
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult find_asked(const char *symbol, void **function, int version, uint64_t flags,
                           int parameters) {
    struct fake_record *record = fake_record_of(symbol);
    *function = NULL;
    if (!record)
        return CUDA_ERROR_NOT_FOUND;
    record->asked_version = version;
    record->asked_flags = flags;
    record->asked_parameters = parameters;
    *function = record->asked;
    return CUDA_SUCCESS;
}

FAKE_EXPORT CUresult cuGetProcAddress(const char *symbol, void **function, int version,
                                      uint64_t flags);
FAKE_EXPORT CUresult cuGetProcAddress(const char *symbol, void **function, int version,
                                      uint64_t flags) {
    return find_asked(symbol, function, version, flags, 4);
}

// This form says in its status what is missing, and succeeds, as the real one may.
FAKE_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
                                         uint64_t flags, CUdriverProcAddressQueryResult *status);
FAKE_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
                                         uint64_t flags, CUdriverProcAddressQueryResult *status) {
    CUresult error = find_asked(symbol, function, version, flags, 5);
    *status =
        error == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
}

// Set by the simulated driver's hook in the loader's test.
FAKE_EXPORT int fake_lock_events;

FAKE_EXPORT void simcudaLockEvent(int contended);
FAKE_EXPORT void simcudaLockEvent(int contended) {
    (void)contended;
    fake_lock_events++;
}
