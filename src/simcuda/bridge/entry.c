// Finding entry points, and what the codes of errors mean.
#include <string.h>

#include "driver/table.h"
#include "simcuda/bridge/bridge.h"
#include "simcuda/bridge/thread_form.h"
#include "simcuda/entry/absent.h"
#include "simcuda/entry/error_text.h"
#include "simcuda/report/fault.h"

// These two are pure functions of their argument: no lock, and allowed anywhere.
CUresult cuGetErrorName(CUresult error, const char **name) {
    sim_call_count_add(SIM_ENTRY_cuGetErrorName);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    switch (error) {
#define SIM_ERROR_NAME(code, number)                                                               \
    case code:                                                                                     \
        *name = #code;                                                                             \
        return CUDA_SUCCESS;
        SP_DRIVER_ERRORS(SIM_ERROR_NAME)
#undef SIM_ERROR_NAME
    }
    *name = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
    sim_call_count_add(SIM_ENTRY_cuGetErrorString);
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = sim_error_text(error);
    return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// ---------------------------------------------------------------------------- finding entry points

// The form of a name for a thread's own null stream, if it is to be asked for: who asks for a
// version before it gets the other one.
static const struct sim_entry_info *find_thread_form(const char *name, int version,
                                                     uint64_t flags) {
    const struct sim_entry_info *row = NULL;
    if (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        row = sim_thread_form_find(name, version);
    return row && row->version <= version ? row : NULL;
}

// The row of a name for who asks for that version; null where there is none.
static const struct sim_entry_info *find_row(const char *name, int version, uint64_t flags) {
    int asked = version < (int)sim_config.api ? version : (int)sim_config.api;
    const struct sim_entry_info *row = find_thread_form(name, asked, flags);
    enum sim_entry entry = sim_entry_find(name, asked);
    if (!row && entry < SIM_ENTRY_COUNT)
        row = &sim_entries[entry];
    if (!row)
        row = sim_absent_find(name);
    return row && row->version <= (int)sim_config.api ? row : NULL;
}

// Both flags may be set, as seen on an H200: then that of the thread's own stream counts.
static CUresult find_function(const char *name, void **function, int version, uint64_t flags,
                              CUdriverProcAddressQueryResult *status) {
    const uint64_t both =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    if (!name || !function || flags > both)
        return CUDA_ERROR_INVALID_VALUE;
    const struct sim_entry_info *row = find_row(name, version, flags);
    *function = NULL;
    *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!row)
        return CUDA_SUCCESS;
    *status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (row->version > version)
        return CUDA_SUCCESS;
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    memcpy(function, &row->function, sizeof(*function));
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    CUdriverProcAddressQueryResult status;
    SIM_BEGIN(cuGetProcAddress);
    CUresult result = find_function(name, function, version, flags, &status);
    SIM_END(cuGetProcAddress, result == CUDA_SUCCESS && !*function ? CUDA_ERROR_NOT_FOUND : result);
}

// As seen on an H200: where there is no such function the status tells it alone.
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
    CUdriverProcAddressQueryResult unwanted;
    SIM_CALL(cuGetProcAddress_v2,
             find_function(name, function, version, flags, status ? status : &unwanted));
}

// --------------------------------------------------------------------------------- private tables

// The CUDA runtime finds in such tables what no document describes. One of them is asked to show
// that the driver is NVIDIA's own, so that no other can serve the runtime at all.
CUresult cuGetExportTable(const void **table, const CUuuid *identity) {
    SIM_BEGIN(cuGetExportTable);
    if (!table || !identity)
        SIM_END(cuGetExportTable, CUDA_ERROR_INVALID_VALUE);
    *table = NULL;
    sim_absent_tell_table(identity);
    SIM_END(cuGetExportTable, CUDA_ERROR_INVALID_VALUE);
}
