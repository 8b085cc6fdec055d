// The second way to the driver: cuGetProcAddress, whose two forms differ by a parameter.
//
// The driver is asked first. Where it has found something that we stand in for, ours is given in
// the form that it has found. A pool call is given, and said to be found, where the driver has
// none.
#include "dropin/lookup.h"
#include "dropin/real.h"
#include "dropin/route.h"

// The driver's ways to say that it has no such function: by the code or by a null pointer.
static bool has_none(CUresult answer, void *const *function) {
    return answer == CUDA_ERROR_NOT_FOUND || (answer == CUDA_SUCCESS && !*function);
}

static CUresult improve(CUresult answer, const char *name, void **function, int version,
                        uint64_t flags, CUdriverProcAddressQueryResult *status, bool *ours) {
    if (!name || !function || (answer != CUDA_SUCCESS && !has_none(answer, function)))
        return answer;
    const void *found = answer == CUDA_SUCCESS ? *function : NULL;
    const struct sp_lookup *row = sp_lookup_answer(name, version, flags, found);
    if (!row)
        return answer;
    *function = row->function;
    *ours = true;
    if (status)
        *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
}

// The object that asked is the one that the function returns to.
#define CALLER __builtin_return_address(0)

static CUresult note(CUresult answer, const char *name, bool ours, enum sp_route route,
                     const void *caller) {
    if (name && *name)
        sp_route_note(route, caller, ours);
    return answer;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    bool ours = false;
    CUresult answer = sp_real_call(cuGetProcAddress, (name, function, version, flags));
    answer = improve(answer, name, function, version, flags, NULL, &ours);
    return note(answer, name, ours, SP_ROUTE_ask1, CALLER);
}

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
    bool ours = false;
    CUresult answer = sp_real_call(cuGetProcAddress_v2, (name, function, version, flags, status));
    answer = improve(answer, name, function, version, flags, status, &ours);
    return note(answer, name, ours, SP_ROUTE_ask2, CALLER);
}
