#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "unit/pool/advice.h"

struct advice_request advice_request;

bool advice_is_served(void) {
    void *block = NULL;
    return poolMallocAsyncWithFlags(&block, advice_request.size, scene.pools[0],
                                    advice_request.stream, advice_request.flags) == poolSuccess;
}

static bool is_about_growth(const char *detail) {
    return strstr(detail, "larger by") || strstr(detail, "nothing but freeing");
}

// What is more than the pool's limit is refused with no advice.
static bool has_advice(const char *detail) {
    return strchr(detail, ';') != NULL;
}

// Asks for less and less, as long as no more than growth or freeing would help. Returns the text
// that refuses the last request, or null: there is none.
const char *advice_refuse(void) {
    static const unsigned flags[] = {0,
                                     0,
                                     0,
                                     poolMallocSameStreamOnly,
                                     poolMallocNoInsertedWaits,
                                     poolMallocNoGrowth,
                                     poolMallocFixed};
    uint64_t unused = fixture_reserved(scene.pools[0]) - fixture_used(scene.pools[0]);
    advice_request.stream = scene_any_stream();
    advice_request.flags = flags[scene_below(sizeof flags / sizeof flags[0])];
    advice_request.size = scene_once_in(6) ? scene_any_size() : unused + unused / 20 + MIB(4);
    while (!advice_is_served()) {
        const char *detail = poolGetLastErrorDetail();
        if (has_advice(detail) &&
            (!is_about_growth(detail) || scene_once_in(12) || advice_request.size < 600))
            return detail;
        advice_request.size -= advice_request.size / 14 + 1;
    }
    return NULL;
}

static void keep_all(void) {
    fixture_set(scene.pools[0], poolMemPoolAttrReleaseThreshold, UINT64_MAX);
}

static void synchronize_device(const char *advice) {
    if (strstr(advice, "if ReleaseThreshold"))
        keep_all();
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
}

// The library isn't told when CUDA's own call destroys a stream.
static bool is_there(CUstream stream) {
    bool any = stream == CU_STREAM_LEGACY;
    for (unsigned i = 0; i < SCENE_STREAMS; i++)
        any = any || scene.streams[i] == stream;
    return any;
}

static void synchronize_stream(const char *advice) {
    unsigned long long handle = 0;
    const char *text = strstr(advice, "0x");
    if (strstr(advice, "if ReleaseThreshold"))
        keep_all();
    assert_true(strstr(advice, "legacy") || (text && sscanf(text, "%llx", &handle) == 1));
    CUstream stream = handle ? (CUstream)(uintptr_t)handle : CU_STREAM_LEGACY;
    if (is_there(stream))
        fixture_synchronize(stream);
    else
        assert_int_equal(poolDeviceSynchronize(), poolSuccess);
}

static void grow_after_synchronize(const char *advice) {
    (void)advice;
    advice_request.flags &= ~(unsigned)poolMallocNoGrowth;
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
}

static void let_stream_wait(const char *advice) {
    (void)advice;
    fixture_set_flag(scene.pools[0], poolMemPoolReuseAllowInternalDependencies, 1);
}

static void let_host_wait(const char *advice) {
    (void)advice;
    simcudaCompleteAll();
    fixture_set(scene.pools[0], poolMemPoolAttrHostWaitMax, UINT64_C(2000000000));
}

static void fence_context(const char *advice) {
    (void)advice;
    simcudaCompleteAll();
    fixture_set_flag(scene.pools[0], poolMemPoolAttrContextFence, 1);
}

static void trim_others(const char *advice) {
    if (strstr(advice, "poolDeviceSynchronize"))
        assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    poolMemPool_t default_pool = NULL;
    assert_int_equal(poolDeviceGetDefaultMemPool(&default_pool, 0), poolSuccess);
    for (unsigned i = 1; i < scene.pool_count; i++)
        fixture_trim(scene.pools[i], 0);
    if (default_pool != scene.pools[0])
        fixture_trim(default_pool, 0);
}

static void prime(const char *advice) {
    if (poolMemPoolPrime(scene.pools[0], advice_request.size) != poolSuccess)
        fail_msg("%s\n then: %s", advice, poolGetLastErrorDetail());
}

static void defragment(const char *advice) {
    (void)advice;
    fixture_set_flag(scene.pools[0], poolMemPoolAttrDefragmentation, poolDefragmentBeforeGrowth);
}

static void drop_flags(const char *advice) {
    static const struct {
        const char *name;
        unsigned flag;
    } rows[] = {{"poolMallocSameStreamOnly", poolMallocSameStreamOnly},
                {"poolMallocNoInsertedWaits", poolMallocNoInsertedWaits},
                {"poolMallocNoGrowth", poolMallocNoGrowth},
                {"poolMallocFixed", poolMallocFixed}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strstr(advice, rows[i].name))
            advice_request.flags &= ~rows[i].flag;
    }
}

static void try_again(const char *advice) {
    (void)advice;
}

// The first row whose words are in the advice says what to do; `second` rows are alternatives that
// stand behind it, which every other seed follows.
static const struct advice {
    const char *words;
    bool second;
    void (*follow)(const char *advice);
} advices[] = {
    {", or ContextFence", true, fence_context},
    {", or HostWaitMax", true, let_host_wait},
    {"could grow after poolDeviceSynchronize", false, grow_after_synchronize},
    {"poolMemPoolTrimTo of other pools", false, trim_others},
    {"poolDeviceSynchronize", false, synchronize_device},
    {"poolStreamSynchronize of", false, synchronize_stream},
    {"ReuseAllowInternalDependencies lets", false, let_stream_wait},
    {"HostWaitMax lets", false, let_host_wait},
    {"poolMemPoolPrime", false, prime},
    {"Defragmentation lets", false, defragment},
    {"without poolMalloc", false, drop_flags},
    {"another try may do", false, try_again},
};

static const struct advice *advice_in(const char *text, bool second) {
    for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++) {
        if ((second || !advices[i].second) && strstr(text, advices[i].words))
            return &advices[i];
    }
    return NULL;
}

// A larger limit can't be tried with the same pool.
bool advice_is_as_said(const char *detail) {
    const char *text = strrchr(detail, ';');
    assert_non_null(text);
    if (strstr(text, "larger by"))
        return true;
    if (strstr(text, "nothing but freeing helps")) {
        keep_all();
        simcudaCompleteAll();
        assert_int_equal(poolDeviceSynchronize(), poolSuccess);
        return !advice_is_served();
    }
    if (strstr(detail, "blocks of before a reset"))
        scene_free_outlived();
    const struct advice *advice = advice_in(text, scene.seed % 2);
    if (!advice)
        fail_msg("seed %u: nobody knows how to follow \"%s\"", (unsigned)scene.seed, detail);
    advice->follow(text);
    return advice_is_served();
}
