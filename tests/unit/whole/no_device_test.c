// Calls that need no device, in sequences that are drawn by lot: they are answered before the
// device is used, without one, and without a driver; and a child that is forked after them may use
// the device. The others fail where there is none, and in a child of a process that uses it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <streampool/copy.h>
#include <streampool/mam.h>
#include <streampool/streampool.h>
#include <streampool/swap.h>

#include "driver/driver.h"
#include "random/numbers.h"
#include "unit/base/child.h"

enum { SEEDS = 60, CALLS = 12 };

// What a process finds. The error is that of the calls that need the device: in the last world it
// is that of a child of a process that uses one.
struct world {
    const char *name;
    const char *driver; // null: the simulated one
    const char *settings;
    poolError_t error;
};

static const struct world with_device = {"a device", NULL, "memory=1G", poolSuccess};
static const struct world in_use = {"a parent's device", NULL, NULL, poolErrorInitializationError};
static const struct world without_device = {"no device", NULL, "devices=0", poolErrorNoDevice};
static const struct world without_driver = {"no driver", "/nowhere/libcuda.so.1", "",
                                            poolErrorInsufficientDriver};

static struct numbers numbers;

// ----------------------------------------------------------------- calls that need no device

typedef bool quiet(const struct world *world);

static bool is_said(const struct world *world) {
    (void)world;
    return strcmp(poolGetErrorName(poolErrorNotReady), "poolErrorNotReady") == 0 &&
           *poolGetErrorString(poolErrorNotReady);
}

static bool last_error_is_read(const struct world *world) {
    (void)world;
    int native = -1;
    const char *entry_point = NULL;
    return poolSetLastError(poolErrorAssert, "as is said") == poolErrorAssert &&
           poolPeekAtLastError() == poolErrorAssert && poolGetLastError() == poolErrorAssert &&
           poolGetLastError() == poolSuccess &&
           strcmp(poolGetLastErrorDetail(), "as is said") == 0 &&
           poolGetLastNativeError(&native, &entry_point) == poolSuccess && native == 0;
}

static bool own_version_is_told(const struct world *world) {
    (void)world;
    int version = 0;
    return poolRuntimeGetVersion(&version) == poolSuccess && version > 0 &&
           poolRuntimeGetVersion(NULL) == poolErrorInvalidValue;
}

static bool version_of_driver_is_told(const struct world *world) {
    int version = -1;
    poolError_t error = poolDriverGetVersion(&version);
    if (world->error != poolErrorInsufficientDriver)
        return error == poolSuccess && version >= 10020;
    return error == world->error && version == -1 &&
           strstr(poolGetLastErrorDetail(), "no CUDA driver");
}

static bool null_versions_are_refused(const struct world *world) {
    (void)world;
    return poolDriverGetVersion(NULL) == poolErrorInvalidValue &&
           strcmp(poolGetLastErrorDetail(), "version is null") == 0;
}

static bool statistics_have_names(const struct world *world) {
    (void)world;
    return strcmp(poolMemPoolGetStatisticName(poolMemPoolStatGrowths), "Growths") == 0 &&
           !poolMemPoolGetStatisticName((enum poolMemPoolAttr)1);
}

static bool growths_are_printed(const struct world *world) {
    (void)world;
    const struct poolMemPoolGrowth growth = {.structSize = sizeof growth, .wanted = 1};
    FILE *out = fopen("/dev/null", "w");
    bool printed = out && poolMemPoolPrintGrowth(&growth, out) == poolSuccess;
    if (out)
        fclose(out);
    return printed && poolMemPoolPrintGrowth(NULL, stderr) == poolErrorInvalidValue;
}

static bool addresses_are_no_pools(const struct world *world) {
    struct poolPointerAttributes attributes;
    poolError_t error = poolPointerGetAttributes(&attributes, &numbers);
    if (world == &in_use)
        return error == world->error;
    return error == poolSuccess && attributes.state == poolPointerForeign &&
           poolPointerGetAttributes(NULL, &numbers) == poolErrorInvalidValue;
}

static bool bad_managers_are_refused(const struct world *world) {
    poolMam_t mam = NULL;
    void *pointer = NULL;
    poolError_t error = poolMamMalloc(NULL, &pointer, 100);
    return poolMamCreate(NULL, 100, 0, 0) == poolErrorInvalidValue &&
           poolMamCreate(&mam, 0, 0, 0) == poolErrorInvalidValue && !mam && !pointer &&
           error == (world == &in_use ? world->error : poolErrorInvalidValue);
}

static bool settings_of_copies_are_told(const struct world *world) {
    (void)world;
    struct poolCopySettings settings = {0};
    return poolCopyGetSettings(&settings) == poolSuccess && settings.depth >= 2 &&
           poolCopySetSettings(&settings) == poolSuccess &&
           poolCopySetSettings(NULL) == poolErrorInvalidValue &&
           poolCopySetSettingsFile("/dev/null") == poolErrorInvalidValue;
}

static quiet *const quiet_calls[] = {
    is_said,
    last_error_is_read,
    own_version_is_told,
    version_of_driver_is_told,
    version_of_driver_is_told,
    null_versions_are_refused,
    statistics_have_names,
    growths_are_printed,
    addresses_are_no_pools,
    bad_managers_are_refused,
    settings_of_copies_are_told,
};
enum { QUIET_CALLS = sizeof quiet_calls / sizeof quiet_calls[0] };

static void draw_quiet(const struct world *world) {
    uint64_t which = numbers_below(&numbers, QUIET_CALLS);
    if (quiet_calls[which](world))
        return;
    fprintf(stderr, "%s: quiet call %d: %s\n", world->name, (int)which, poolGetLastErrorDetail());
    _exit(1);
}

static void *draw_some_quiet(void *world) {
    for (uint64_t left = numbers_below(&numbers, CALLS); left > 0; left--)
        draw_quiet(world);
    return NULL;
}

// A fork leaves the child no other thread, nor what such a one holds.
static void draw_quiet_calls(const struct world *world) {
    pthread_t thread;
    void *seen = (void *)(uintptr_t)world;
    if (numbers_once_in(&numbers, 2) && pthread_create(&thread, NULL, draw_some_quiet, seen) == 0)
        pthread_join(thread, NULL);
    draw_some_quiet(seen);
}

// --------------------------------------------------------------------- calls that need the device

// Their arguments are right, or null: without the device none of these is looked at.
typedef poolError_t loud(void);

static void *const no_address;
static poolMemPool_t pool;
static CUstream stream;
static void *block;

#define LOUD(name, call)                                                                           \
    static poolError_t name(void) {                                                                \
        return call;                                                                               \
    }
static void *got;
static poolMemPool_t got_pool;
static char got_name[STREAMPOOL_NAME_BYTES];
static uint64_t number;
static const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                              .location = {poolMemLocationTypeDevice, 0}};
LOUD(allocate, poolMallocAsync(&got, 100, stream))
LOUD(allocate_nowhere, poolMallocAsync(NULL, 100, stream))
LOUD(allocate_from_pool, poolMallocFromPoolAsync(&got, 1 << 20, pool, stream))
LOUD(allocate_with_flags, poolMallocAsyncWithFlags(&got, 100, pool, stream, poolMallocFixed))
LOUD(free_block, poolFreeAsync(block, stream))
LOUD(free_null, poolFreeAsync(no_address, stream))
LOUD(free_behind, poolFreeAsyncAfter(block, &stream, 1))
LOUD(free_null_behind_none, poolFreeAsyncAfter(no_address, NULL, 0))
LOUD(free_at_once, poolFree(block))
LOUD(free_null_at_once, poolFree(no_address))
LOUD(create, poolMemPoolCreate(&got_pool, &props))
LOUD(create_nothing, poolMemPoolCreate(NULL, NULL))
LOUD(destroy, poolMemPoolDestroy(pool))
LOUD(get_attribute, poolMemPoolGetAttribute(pool, poolMemPoolAttrUsedMemCurrent, &number))
LOUD(set_attribute, poolMemPoolSetAttribute(pool, poolMemPoolAttrReleaseThreshold, &number))
LOUD(set_name, poolMemPoolSetName(pool, "cache"))
LOUD(get_name, poolMemPoolGetName(pool, got_name, sizeof got_name))
LOUD(print, poolMemPoolPrintStatistics(pool, stderr))
LOUD(observe, poolMemPoolSetGrowthObserver(pool, NULL, NULL))
LOUD(set_access, poolMemPoolSetAccess(pool, NULL, 0))
LOUD(get_access, poolMemPoolGetAccess(NULL, pool, NULL))
LOUD(trim, poolMemPoolTrimTo(pool, 0))
LOUD(prime, poolMemPoolPrime(pool, 1 << 20))
LOUD(get_default, poolDeviceGetDefaultMemPool(&got_pool, 0))
LOUD(get_current, poolDeviceGetMemPool(&got_pool, 0))
LOUD(set_current, poolDeviceSetMemPool(0, pool))
LOUD(synchronize_stream, poolStreamSynchronize(stream))
LOUD(synchronize_event, poolEventSynchronize(NULL))
LOUD(synchronize_device, poolDeviceSynchronize())
LOUD(query_stream, poolStreamQuery(stream))
LOUD(query_event, poolEventQuery(NULL))
LOUD(record, poolEventRecord(NULL, stream))
LOUD(wait_for_event, poolStreamWaitEvent(stream, NULL, 0))
LOUD(destroy_stream, poolStreamDestroy(stream))
LOUD(destroy_event, poolEventDestroy(NULL))
LOUD(record_per_thread, poolEventRecord_ptsz(NULL, stream))
LOUD(copy_to_device, poolCopyToDeviceAsync(block, &number, sizeof number, stream))
LOUD(copy_nothing, poolCopyToHostAsync(NULL, NULL, 0, stream))
LOUD(get_pool_of_copies, poolCopyGetPool(&got_pool))
LOUD(query_completion, poolCopyCompletionQuery(NULL))
LOUD(destroy_completion, poolCopyCompletionDestroy(NULL))
LOUD(pause_pool, poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, NULL))
LOUD(resume_pool, poolMemPoolResume(pool, NULL))
LOUD(ask_for_pause, poolMemPoolGetPaused(pool, NULL, NULL))
LOUD(get_tagged, poolMemPoolGetTagged(pool, "tag", &got_pool))
LOUD(destroy_tagged, poolMemPoolDestroyTagged(pool, NULL))
LOUD(get_pool_of_swap, poolSwapGetHostPool(&got_pool))

static loud *const loud_calls[] = {
    allocate,
    allocate_nowhere,
    allocate_from_pool,
    allocate_with_flags,
    free_block,
    free_null,
    free_behind,
    free_null_behind_none,
    free_at_once,
    free_null_at_once,
    create,
    create_nothing,
    destroy,
    get_attribute,
    set_attribute,
    set_name,
    get_name,
    print,
    observe,
    set_access,
    get_access,
    trim,
    prime,
    get_default,
    get_current,
    set_current,
    synchronize_event,
    synchronize_device,
    synchronize_stream,
    query_stream,
    query_event,
    record,
    wait_for_event,
    destroy_stream,
    destroy_event,
    record_per_thread,
    copy_to_device,
    copy_nothing,
    get_pool_of_copies,
    query_completion,
    destroy_completion,
    pause_pool,
    resume_pool,
    ask_for_pause,
    get_tagged,
    destroy_tagged,
    get_pool_of_swap,
};
enum { LOUD_CALLS = sizeof loud_calls / sizeof loud_calls[0] };

static bool is_told(const struct world *world) {
    return strstr(poolGetLastErrorDetail(), world == &in_use           ? "forked"
                                            : world == &without_device ? "CUDA_ERROR_NO_DEVICE"
                                                                       : "no CUDA driver");
}

static void draw_refused(const struct world *world) {
    uint64_t which = numbers_below(&numbers, LOUD_CALLS);
    poolError_t error = loud_calls[which]();
    if (error == world->error && is_told(world) && !got && !got_pool && number == 0)
        return;
    fprintf(stderr, "%s: call %d: %s: %s\n", world->name, (int)which, poolGetErrorName(error),
            poolGetLastErrorDetail());
    _exit(1);
}

static void must(bool is_so, const char *what) {
    if (is_so)
        return;
    fprintf(stderr, "%s: %s\n", what, poolGetLastErrorDetail());
    _exit(1);
}

// Leaves a pool and a live block, which a child is refused.
static void use_in_full(void) {
    const struct sp_driver *driver;
    CUdevice device;
    CUcontext context;
    void *other = NULL;
    must(sp_driver_load(&driver) == CUDA_SUCCESS, "the driver");
    must(driver->cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
             driver->cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS &&
             driver->cuCtxSetCurrent(context) == CUDA_SUCCESS &&
             driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS,
         "a stream");
    must(poolMemPoolCreate(&pool, &props) == poolSuccess, "a pool");
    must(poolMallocFromPoolAsync(&block, 3 << 20, pool, stream) == poolSuccess, "a large block");
    must(poolMallocAsync(&other, 100, stream) == poolSuccess, "a small block");
    must(poolFreeAsync(other, stream) == poolSuccess, "a free");
    must(poolDeviceSynchronize() == poolSuccess, "a synchronise");
}

static void use(const struct world *world) {
    if (world == &with_device)
        use_in_full();
    for (uint64_t left = CALLS; left > 0 && world != &with_device; left--) {
        draw_refused(world);
        draw_quiet_calls(world);
    }
    draw_quiet_calls(world);
}

// -------------------------------------------------------------------------------------- processes

static struct child_outcome inner;

static const struct world *world_now;

static void in_child(void (*body)(void *nothing)) {
    char nothing;
    if (child_run(body, &nothing, sizeof nothing, &inner) && inner.status == 0)
        return;
    fprintf(stderr, "a child: status %x: %s", (unsigned)inner.status, inner.errors);
    _exit(1);
}

static void use_there(void *nothing) {
    (void)nothing;
    use(world_now);
}

static void use_of_another(void *nothing) {
    (void)nothing;
    use(world_now == &with_device ? &in_use : world_now);
}

// A child before the device is used, and others after that.
static void live(void *nothing) {
    (void)nothing;
    draw_quiet_calls(world_now);
    in_child(use_there);
    draw_quiet_calls(world_now);
    use(world_now);
    in_child(use_of_another);
    in_child(use_of_another);
    draw_quiet_calls(world_now);
}

static void play(const struct world *world) {
    static struct child_outcome outcome;
    const char *driver = getenv("STREAMPOOL_DRIVER");
    char *simulated = driver ? strdup(driver) : NULL;
    if (world->driver)
        setenv("STREAMPOOL_DRIVER", world->driver, 1);
    setenv("STREAMPOOL_SIMCUDA", world->settings, 1);
    world_now = world;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char nothing;
        numbers.state = seed;
        assert_true(child_run(live, &nothing, sizeof nothing, &outcome));
        if (outcome.status != 0)
            fail_msg("seed %d: status %x: %s", (int)seed, (unsigned)outcome.status, outcome.errors);
    }
    if (simulated)
        setenv("STREAMPOOL_DRIVER", simulated, 1);
    free(simulated);
}

static void calls_that_need_no_device_leave_it_to_children(void **state) {
    (void)state;
    play(&with_device);
}

static void without_a_device_each_call_is_answered(void **state) {
    (void)state;
    play(&without_device);
}

static void without_a_driver_each_call_is_answered(void **state) {
    (void)state;
    play(&without_driver);
}

// ------------------------------------------------------------------------------------- one by one

struct seen {
    poolError_t version, call, call_in_child, address_in_child;
};

static void look_in_child(void *shared) {
    struct seen *seen = shared;
    struct poolPointerAttributes attributes;
    seen->call_in_child = poolDeviceSynchronize();
    seen->address_in_child = poolPointerGetAttributes(&attributes, seen);
}

static void look(void *shared) {
    struct seen *seen = shared;
    struct seen of_child;
    int version;
    seen->version = poolDriverGetVersion(&version);
    seen->call = poolDeviceSynchronize();
    if (!child_run(look_in_child, &of_child, sizeof of_child, &inner) || inner.status != 0)
        _exit(1);
    seen->call_in_child = of_child.call_in_child;
    seen->address_in_child = of_child.address_in_child;
}

static void a_child_of_a_process_that_found_no_device_is_told_that(void **state) {
    (void)state;
    static struct child_outcome outcome;
    struct seen seen;
    setenv("STREAMPOOL_SIMCUDA", "devices=0", 1);
    assert_true(child_run(look, &seen, sizeof seen, &outcome));
    assert_int_equal(outcome.status, 0);
    assert_int_equal(seen.version, poolSuccess);
    assert_int_equal(seen.call, poolErrorNoDevice);
    assert_int_equal(seen.call_in_child, poolErrorNoDevice);
    assert_int_equal(seen.address_in_child, poolSuccess);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_of_a_process_that_found_no_device_is_told_that),
        cmocka_unit_test(calls_that_need_no_device_leave_it_to_children),
        cmocka_unit_test(without_a_device_each_call_is_answered),
        cmocka_unit_test(without_a_driver_each_call_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
