#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/dropin/noted.h"

poolMemPool_t pool;
CUstream a;
bool captures_are_left;

CUstream create_seen(void) {
    CUstream stream = simulated_stream();
    sp_seen_created(stream, simulated_context(), 0);
    return stream;
}

bool captures_are_none(void) {
    return sp_promises_that_hold(poolPromiseNoCapture) != 0;
}

static CUresult destroy(CUstream stream) {
    uint64_t before = sp_captures_now();
    sp_seen_ends(stream);
    CUresult result = sp_driver->cuStreamDestroy(stream);
    if (result == CUDA_SUCCESS)
        sp_captures_end_of_stream(stream, before);
    return result;
}

int noted_setup(void **state) {
    sp_interpose_set_destroy(destroy, false);
    sp_captures_promise();
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool();
    a = create_seen();
    return poolDeviceSetMemPool(0, pool) == poolSuccess ? 0 : -1;
}

// The next test's driver has other streams.
int noted_teardown(void **state) {
    sp_seen_context_ended(NULL, 0, UINT64_MAX);
    return fixture_teardown(state) == 0 && captures_are_none() != captures_are_left ? 0 : -1;
}

CUstream made_up(uintptr_t number) {
    return (CUstream)(16 * number); // NOLINT(performance-no-int-to-ptr)
}

bool has_ids(void) {
    return sp_driver->cuStreamGetId != NULL;
}

poolError_t noted_free(void *pointer, CUstream stream) {
    bool is_foreign = false;
    return sp_interpose_free(pointer, stream, sp_seen_promises(stream), &is_foreign);
}

void *allocate(size_t size, CUstream stream) {
    void *pointer = NULL;
    assert_int_equal(sp_interpose_malloc(&pointer, size, stream, sp_seen_promises(stream)),
                     poolSuccess);
    return pointer;
}

void pair(size_t size, CUstream stream) {
    assert_int_equal(noted_free(allocate(size, stream), stream), poolSuccess);
}

struct calls count_calls(void) {
    return (struct calls){simcudaCallCount(NULL), simcudaCallCount("cuStreamIsCapturing"),
                          simcudaCallCount("cuStreamGetId") + simcudaCallCount("cuCtxGetId") +
                              simcudaCallCount("cuStreamGetCtx") +
                              simcudaCallCount("cuCtxGetCurrent")};
}

struct calls calls_since(struct calls before) {
    struct calls after = count_calls();
    return (struct calls){after.all - before.all, after.captures - before.captures,
                          after.identities - before.identities};
}

struct calls calls_of(void (*make_pair)(size_t size, CUstream stream), CUstream stream) {
    for (int warm = 0; warm < 2; warm++)
        make_pair(1000, stream);
    struct calls before = count_calls();
    make_pair(1000, stream);
    return calls_since(before);
}

void require_asked(CUstream stream) {
    struct calls calls = calls_of(pair, stream);
    assert_int_equal(calls.captures, 2);
    assert_int_equal(calls.identities, 2);
}

void require_known(CUstream stream) {
    struct calls calls = calls_of(pair, stream);
    assert_int_equal(calls.captures + calls.identities, 0);
}
