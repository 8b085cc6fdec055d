// The life of the driver: before cuInit, by environment, at older API levels, in a forked child, at
// exit. Each case is a process of its own, since a process initialises the driver once.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/simcuda/fixture.h"

// Runs a case in a child that has not used the driver, and returns its exit status.
static int status_of(void (*run)(void), const char *settings) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("STREAMPOOL_SIMCUDA", settings, 1);
        run();
        exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// In a child there is no test to fail: the exit status says where it went wrong.
#define EXPECT(call, result)                                                                       \
    do {                                                                                           \
        if ((call) != (result)) {                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #call);                             \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void nothing_works_before_init(void) {
    int value;
    CUcontext context;
    const char *name;
    EXPECT(cuDeviceGetCount(&value), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT(cuDriverGetVersion(&value), CUDA_SUCCESS);
    EXPECT(value, 13000);
    EXPECT(cuGetErrorName(CUDA_ERROR_NOT_INITIALIZED, &name), CUDA_SUCCESS);
    EXPECT(strcmp(name, "CUDA_ERROR_NOT_INITIALIZED"), 0);
    EXPECT(cuGetErrorName((CUresult)123456, &name), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuInit(0), CUDA_SUCCESS);
    EXPECT(cuInit(0), CUDA_SUCCESS);
    EXPECT(cuDeviceGetCount(&value), CUDA_SUCCESS);
}

static void calls_before_init_are_refused(void **state) {
    (void)state;
    assert_int_equal(status_of(nothing_works_before_init, ""), 0);
}

static void look_at_the_devices(void) {
    int count;
    char name[64];
    size_t bytes;
    CUdevice device;
    EXPECT(cuInit(0), CUDA_SUCCESS);
    EXPECT(cuDeviceGetCount(&count), CUDA_SUCCESS);
    EXPECT(count, 2);
    EXPECT(cuDeviceGet(&device, 1), CUDA_SUCCESS);
    EXPECT(cuDeviceGet(&device, 2), CUDA_ERROR_INVALID_DEVICE);
    EXPECT(cuDeviceGetName(name, sizeof(name), 1), CUDA_SUCCESS);
    EXPECT(strcmp(name, "Simulated GPU"), 0);
    EXPECT(cuDeviceTotalMem_v2(&bytes, 1), CUDA_SUCCESS);
    EXPECT(bytes, (size_t)3 << 30);
}

static void the_environment_configures_the_driver(void **state) {
    (void)state;
    assert_int_equal(status_of(look_at_the_devices, "devices=2,memory=3G"), 0);
}

static void fail_to_initialise(void) {
    if (!freopen("/dev/null", "w", stderr))
        _exit(2);
    EXPECT(cuInit(0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuInit(0), CUDA_ERROR_INVALID_VALUE);
}

static void an_unreadable_environment_fails_init(void **state) {
    (void)state;
    assert_int_equal(status_of(fail_to_initialise, "devices=2,colour=green"), 0);
}

static void find_no_device(void) {
    int count;
    EXPECT(cuInit(0), CUDA_ERROR_NO_DEVICE);
    EXPECT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
}

static void a_machine_without_devices_fails_init(void **state) {
    (void)state;
    assert_int_equal(status_of(find_no_device, "devices=0"), 0);
}

// ------------------------------------------------------------------------------------ entry points

static CUdriverProcAddressQueryResult ask(const char *name, int version, void **function) {
    CUdriverProcAddressQueryResult status;
    CUresult result = cuGetProcAddress_v2(name, function, version, 0, &status);
    EXPECT(result, CUDA_SUCCESS);
    EXPECT((status == CU_GET_PROC_ADDRESS_SUCCESS), (*function != NULL));
    return status;
}

static void find_entry_points(void) {
    void *function;
    EXPECT(cuInit(0), CUDA_SUCCESS);
    EXPECT(ask("cuMemAlloc", 3020, &function), CU_GET_PROC_ADDRESS_SUCCESS);
    EXPECT((uintptr_t)function, (uintptr_t)cuMemAlloc_v2);
    EXPECT(ask("cuMemAlloc", 2000, &function), CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    EXPECT(ask("cuMemEat", 13000, &function), CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT(cuGetProcAddress("cuMemEat", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
    EXPECT(cuGetProcAddress("cuMemAlloc", &function, 2000, 0), CUDA_ERROR_NOT_FOUND);
    EXPECT(ask("cuStreamGetId", 12000, &function), CU_GET_PROC_ADDRESS_SUCCESS);
    EXPECT(ask("cuGetProcAddress", 12000, &function), CU_GET_PROC_ADDRESS_SUCCESS);
    EXPECT((uintptr_t)function, (uintptr_t)cuGetProcAddress_v2);
    EXPECT(ask("cuGetProcAddress", 11030, &function), CU_GET_PROC_ADDRESS_SUCCESS);
    EXPECT((uintptr_t)function, (uintptr_t)cuGetProcAddress);
    EXPECT(cuGetProcAddress("cuMemMap", &function, 10020, 0), CUDA_SUCCESS);
    EXPECT((uintptr_t)function, (uintptr_t)cuMemMap);
}

static void entry_points_are_found_by_name_and_version(void **state) {
    (void)state;
    assert_int_equal(status_of(find_entry_points, ""), 0);
}

static void find_older_entry_points(void) {
    int version;
    void *function;
    unsigned long long id;
    EXPECT(cuInit(0), CUDA_SUCCESS);
    EXPECT(cuDriverGetVersion(&version), CUDA_SUCCESS);
    EXPECT(version, 11040);
    EXPECT(cuGetProcAddress("cuStreamGetId", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
    EXPECT(cuGetProcAddress("cuMemAllocAsync", &function, 13000, 0), CUDA_SUCCESS);
    EXPECT(cuGetProcAddress_v2("cuInit", &function, 13000, 0, NULL), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT(cuStreamGetId(NULL, &id), CUDA_ERROR_NOT_SUPPORTED);
}

static void find_the_oldest_entry_points(void) {
    void *function;
    CUdeviceptr address;
    int value;
    EXPECT(cuInit(0), CUDA_SUCCESS);
    EXPECT(cuGetProcAddress("cuInit", &function, 10020, 0), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT(cuMemAllocAsync(&address, 1, NULL), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0),
           CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0),
           CUDA_SUCCESS);
    EXPECT(value, 1);
}

static void an_older_level_hides_newer_entry_points(void **state) {
    (void)state;
    assert_int_equal(status_of(find_older_entry_points, "api=11040"), 0);
    assert_int_equal(status_of(find_the_oldest_entry_points, "api=10020"), 0);
}

// ----------------------------------------------------------------------------------- fork and exit

static void fork_once_more(void) {
    int status, count;
    EXPECT(cuInit(0), CUDA_SUCCESS);
    pid_t child = fork();
    if (child == 0) {
        EXPECT(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
        EXPECT(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
        exit(0);
    }
    EXPECT(waitpid(child, &status, 0), child);
    EXPECT(status, 0);
    EXPECT(cuDeviceGetCount(&count), CUDA_SUCCESS);
}

static void a_forked_child_can_not_use_its_parents_driver(void **state) {
    (void)state;
    assert_int_equal(status_of(fork_once_more, ""), 0);
}

static void leave_memory_behind(void) {
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle;
    if (!freopen("/dev/null", "w", stderr))
        _exit(2);
    EXPECT(cuInit(0), CUDA_SUCCESS);
    EXPECT(cuMemCreate(&handle, GRANULE, &prop, 0), CUDA_SUCCESS);
}

static void a_leak_at_exit_is_told_where_reports_abort(void **state) {
    (void)state;
    assert_int_equal(status_of(leave_memory_behind, "reports=abort"), 86);
    assert_int_equal(status_of(leave_memory_behind, "reports=check"), 5);
    assert_int_equal(status_of(leave_memory_behind, "reports=print"), 0);
    assert_int_equal(status_of(leave_memory_behind, ""), 0);
}

static CUcontext context_of_worker;

// Uses a block of an allocator that no longer tells of its blocks.
static void *work_on(void *nothing) {
    CUdeviceptr block;
    (void)nothing;
    EXPECT(cuCtxSetCurrent(context_of_worker), CUDA_SUCCESS);
    EXPECT(cuMemAlloc_v2(&block, GRANULE), CUDA_SUCCESS);
    simcudaBlockBegin(block, 8);
    simcudaBlockEnd(block, NULL);
    EXPECT(cuMemsetD8Async(block, 0, 8, NULL), CUDA_SUCCESS);
    EXPECT(cuMemFree_v2(block), CUDA_SUCCESS);
    return NULL;
}

static void run_worker(void) {
    pthread_t worker;
    EXPECT(pthread_create(&worker, NULL, work_on, NULL), 0);
    EXPECT(pthread_join(worker, NULL), 0);
}

static void retain_context(void) {
    EXPECT(cuInit(0), CUDA_SUCCESS);
    EXPECT(cuDevicePrimaryCtxRetain(&context_of_worker, 0), CUDA_SUCCESS);
}

// What is registered before cuInit runs after what cuInit registers.
static void run_worker_at_exit(void) {
    EXPECT(atexit(run_worker), 0);
    retain_context();
}

static void run_worker_before_exit(void) {
    if (!freopen("/dev/null", "w", stderr))
        _exit(2);
    retain_context();
    run_worker();
}

static void blocks_of_other_threads_are_not_looked_at_while_the_process_ends(void **state) {
    (void)state;
    assert_int_equal(status_of(run_worker_before_exit, "reports=check"), 5);
    assert_int_equal(status_of(run_worker_at_exit, "reports=check"), 0);
}

static void misuse_a_handle(void) {
    if (!freopen("/dev/null", "w", stderr))
        _exit(2);
    EXPECT(cuInit(0), CUDA_SUCCESS);
    cuMemRelease(12345);
}

static void a_report_aborts_where_it_is_told_to(void **state) {
    (void)state;
    assert_int_equal(status_of(misuse_a_handle, "reports=abort"), 128 + 6);
    assert_int_equal(status_of(misuse_a_handle, "reports=keep"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_before_init_are_refused),
        cmocka_unit_test(the_environment_configures_the_driver),
        cmocka_unit_test(an_unreadable_environment_fails_init),
        cmocka_unit_test(a_machine_without_devices_fails_init),
        cmocka_unit_test(entry_points_are_found_by_name_and_version),
        cmocka_unit_test(an_older_level_hides_newer_entry_points),
        cmocka_unit_test(a_forked_child_can_not_use_its_parents_driver),
        cmocka_unit_test(a_leak_at_exit_is_told_where_reports_abort),
        cmocka_unit_test(blocks_of_other_threads_are_not_looked_at_while_the_process_ends),
        cmocka_unit_test(a_report_aborts_where_it_is_told_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
