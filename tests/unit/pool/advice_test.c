// What a refusal advises helps: in scenes that are drawn by lot a request is refused, what the text
// says is done, and the request is served then. Where it says that nothing but freeing helps,
// nothing else does.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "random/numbers.h"
#include "unit/pool/fixture.h"

enum { STREAMS = 4, POOLS = 3, PIECES = 4000, SEEDS = 250 };

struct piece {
    void *block;
    CUstream stream;
};

static struct numbers numbers;
static CUstream streams[STREAMS];
static poolMemPool_t pools[POOLS];
static unsigned pool_count;
static struct piece pieces[PIECES];
static unsigned piece_count;

// The request that is refused, of the first pool.
static struct {
    CUstream stream;
    size_t size;
    unsigned flags;
} request;

static bool once_in(uint64_t times) {
    return numbers_once_in(&numbers, times);
}

static unsigned below(uint64_t bound) {
    return (unsigned)numbers_below(&numbers, bound);
}

// ------------------------------------------------------------------------------------ the scene

static size_t any_size(void) {
    switch (below(8)) {
    case 0:
    case 1:
        return 512 + below(KIB(56));
    case 2:
        return KIB(32);
    case 3:
        return KIB(57) + below(KIB(400));
    case 4:
        return MIB(1) + below(MIB(3));
    case 5:
    case 6:
        return MIB(2) * (1 + below(4));
    default:
        return MIB(1 + below(30));
    }
}

static CUstream any_stream(void) {
    return streams[below(STREAMS)];
}

static void free_one(void) {
    struct piece *piece = &pieces[below(piece_count)];
    CUstream on = once_in(2) ? piece->stream : any_stream();
    if (on != piece->stream)
        fixture_order(on, piece->stream);
    if (once_in(3))
        simulated_work(on);
    fixture_free(piece->block, on);
    *piece = pieces[--piece_count];
}

static void free_some(unsigned count) {
    for (; count > 0 && piece_count > 0; count--)
        free_one();
}

// Small ones come in numbers, as slabs are to be filled.
static void allocate_some(void) {
    poolMemPool_t pool = pools[once_in(2) ? 0 : below(pool_count)];
    CUstream stream = any_stream();
    size_t size = any_size();
    unsigned flags = once_in(12) ? poolMallocFixed : 0;
    unsigned count = size < KIB(57) && once_in(3) ? 60 : 1;
    for (; count > 0 && piece_count < PIECES; count--) {
        struct piece piece = {.stream = stream};
        if (poolMallocAsyncWithFlags(&piece.block, size, pool, stream, flags) != poolSuccess) {
            free_some(1 + below(8));
            return;
        }
        pieces[piece_count++] = piece;
    }
}

static void set_one_in(uint64_t times, enum poolMemPoolAttr attribute, int value) {
    if (once_in(times))
        fixture_set_flag(pools[pool_count], attribute, value);
}

static void open_pool(void) {
    static const uint64_t caps[] = {0, MIB(1), MIB(512), UINT64_MAX};
    pools[pool_count] = fixture_pool_of_at_most(once_in(2) ? MIB(32) * (1 + below(4)) : 0);
    poolMemPool_t pool = pools[pool_count];
    fixture_set_flag(pool, poolMemPoolAttrReaper, 0);
    if (once_in(2))
        fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    if (once_in(2))
        fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, caps[below(4)]);
    if (once_in(8))
        fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, below(40));
    set_one_in(3, poolMemPoolAttrDefragmentation, (int)below(3));
    set_one_in(4, poolMemPoolReuseAllowInternalDependencies, 0);
    set_one_in(6, poolMemPoolReuseAllowOpportunistic, 0);
    set_one_in(6, poolMemPoolReuseFollowEventDependencies, 0);
    set_one_in(8, poolMemPoolAttrDeterministic, 1);
    set_one_in(8, poolMemPoolAttrContextFence, 1);
    pool_count++;
}

static void take_steps(unsigned count) {
    for (; count > 0; count--) {
        unsigned step = below(16);
        if (step < 9)
            allocate_some();
        else if (step < 14)
            free_some(once_in(8) ? 20 : 1);
        else if (once_in(6))
            fixture_synchronize(any_stream());
        else if (once_in(12))
            fixture_trim(pools[0], MIB(below(64)));
    }
}

static void open_scene(uint64_t seed, const char *device) {
    static const unsigned sizes[] = {64, 128, 256, 1024};
    char settings[80];
    numbers.state = seed;
    pool_count = piece_count = 0;
    snprintf(settings, sizeof settings, "memory=%uM%s", sizes[below(4)], device);
    assert_int_equal(fixture_begin(settings), 0);
    unsigned kind = below(4);
    for (unsigned i = 0; i < STREAMS; i++)
        streams[i] =
            kind == 0 || (kind == 1 && i % 2) ? simulated_blocking_stream() : simulated_stream();
    if (kind == 2)
        streams[1] = CU_STREAM_LEGACY;
    for (unsigned left = once_in(3) ? 2 + below(2) : 1; left > 0; left--)
        open_pool();
    take_steps(20 + below(400));
}

// -------------------------------------------------------------------------------------- the advice

static bool is_served(void) {
    void *block = NULL;
    return poolMallocAsyncWithFlags(&block, request.size, pools[0], request.stream,
                                    request.flags) == poolSuccess;
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
static const char *refuse(void) {
    static const unsigned flags[] = {0,
                                     0,
                                     0,
                                     poolMallocSameStreamOnly,
                                     poolMallocNoInsertedWaits,
                                     poolMallocNoGrowth,
                                     poolMallocFixed};
    uint64_t unused = fixture_reserved(pools[0]) - fixture_used(pools[0]);
    request.stream = any_stream();
    request.flags = flags[below(sizeof flags / sizeof flags[0])];
    request.size = once_in(6) ? any_size() : unused + unused / 20 + MIB(4);
    while (!is_served()) {
        const char *detail = poolGetLastErrorDetail();
        if (has_advice(detail) && (!is_about_growth(detail) || once_in(12) || request.size < 600))
            return detail;
        request.size -= request.size / 14 + 1;
    }
    return NULL;
}

static void keep_all(void) {
    fixture_set(pools[0], poolMemPoolAttrReleaseThreshold, UINT64_MAX);
}

static void synchronize_device(const char *advice) {
    if (strstr(advice, "if ReleaseThreshold"))
        keep_all();
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
}

static void synchronize_stream(const char *advice) {
    unsigned long long handle = 0;
    const char *text = strstr(advice, "0x");
    if (strstr(advice, "if ReleaseThreshold"))
        keep_all();
    assert_true(strstr(advice, "legacy") || (text && sscanf(text, "%llx", &handle) == 1));
    fixture_synchronize(handle ? (CUstream)(uintptr_t)handle : CU_STREAM_LEGACY);
}

static void grow_after_synchronize(const char *advice) {
    (void)advice;
    request.flags &= ~(unsigned)poolMallocNoGrowth;
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
}

static void let_stream_wait(const char *advice) {
    (void)advice;
    fixture_set_flag(pools[0], poolMemPoolReuseAllowInternalDependencies, 1);
}

static void let_host_wait(const char *advice) {
    (void)advice;
    simcudaCompleteAll();
    fixture_set(pools[0], poolMemPoolAttrHostWaitMax, UINT64_C(2000000000));
}

static void fence_context(const char *advice) {
    (void)advice;
    simcudaCompleteAll();
    fixture_set_flag(pools[0], poolMemPoolAttrContextFence, 1);
}

static void trim_others(const char *advice) {
    if (strstr(advice, "poolDeviceSynchronize"))
        assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    for (unsigned i = 1; i < pool_count; i++)
        fixture_trim(pools[i], 0);
}

static void prime(const char *advice) {
    (void)advice;
    assert_int_equal(poolMemPoolPrime(pools[0], request.size), poolSuccess);
}

static void defragment(const char *advice) {
    (void)advice;
    fixture_set_flag(pools[0], poolMemPoolAttrDefragmentation, poolDefragmentBeforeGrowth);
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
            request.flags &= ~rows[i].flag;
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
static bool is_as_said(uint64_t seed, const char *detail) {
    const char *text = strrchr(detail, ';');
    assert_non_null(text);
    if (strstr(text, "larger by"))
        return true;
    if (strstr(text, "nothing but freeing helps")) {
        keep_all();
        simcudaCompleteAll();
        assert_int_equal(poolDeviceSynchronize(), poolSuccess);
        return !is_served();
    }
    const struct advice *advice = advice_in(text, seed % 2);
    assert_non_null(advice);
    advice->follow(text);
    return is_served();
}

static void play(const char *device) {
    unsigned refused = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char detail[1024] = "";
        open_scene(seed, device);
        const char *text = refuse();
        if (text)
            snprintf(detail, sizeof detail, "%s", text);
        if (text && !is_as_said(seed, detail))
            fail_msg("seed %u, %zu bytes: %s\n then: %s", (unsigned)seed, request.size, detail,
                     poolGetLastErrorDetail());
        refused += text != NULL;
        assert_int_equal(fixture_teardown(NULL), 0);
    }
    assert_true(refused > SEEDS / 4);
}

static void what_a_refusal_advises_helps(void **state) {
    (void)state;
    play("");
}

static void so_it_does_without_virtual_memory(void **state) {
    (void)state;
    play(",vmm=missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_refusal_advises_helps),
        cmocka_unit_test(so_it_does_without_virtual_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
