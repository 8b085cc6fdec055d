// Modules, functions and launches: kernels that a program registered, those that it did not, and
// what the driver says of both.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcuda/entry/library_entry.h"
#include "simcuda/kernel/kernels.h"
#include "unit/simcuda/fixture.h"
#include "unit/simcuda/images.h"

#define N 1000

static const char image[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry add(.param .u64 to, .param .u64 from, .param .f32 by, .param .u32 n) { ret; "
    "}\n"
    ".visible .entry other(.param .align 8 .b8 p[24], .param .u8 c) .maxntid 64, 1, 1 { ret; }\n"
    ".visible .entry none() { ret; }\n";

static CUmodule module;

static CUmodule load(void) {
    CUmodule loaded;
    OK(cuModuleLoadData(&loaded, image));
    return loaded;
}

static CUfunction function(const char *name) {
    CUfunction found;
    OK(cuModuleGetFunction(&found, module, name));
    return found;
}

static int begin_with_module(void **state) {
    begin(state);
    module = load();
    return 0;
}

static int end(void **state) {
    (void)simcudaUnregisterKernel("add");
    (void)simcudaUnregisterKernel("other");
    (void)simcudaUnregisterKernel("none");
    return end_without_reports(state);
}

static CUresult launch(CUfunction kernel, CUstream stream, void **parameters) {
    return cuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, stream, parameters, NULL);
}

// --------------------------------------------------------------------------- a kernel that adds

struct arrays {
    CUdeviceptr to;
    CUdeviceptr from;
    float by;
    unsigned int n;
};

static const float *floats(const simcudaLaunch *made, size_t index) {
    return made->parameters[index];
}

static uint64_t address(const simcudaLaunch *made, size_t index) {
    uint64_t value;
    memcpy(&value, made->parameters[index], sizeof(value));
    return value;
}

static unsigned int number(const simcudaLaunch *made, size_t index) {
    unsigned int value;
    memcpy(&value, made->parameters[index], sizeof(value));
    return value;
}

static void add_touches(const simcudaLaunch *made, simcudaTouches *touches) {
    uint64_t bytes = number(made, 3) * sizeof(float);
    simcudaTouch(touches, address(made, 0), bytes, simcudaAccessWrite);
    simcudaTouch(touches, address(made, 1), bytes, simcudaAccessRead);
}

static int add(const simcudaLaunch *made) {
    unsigned int n = number(made, 3);
    float *to = malloc(n * sizeof(float)), *from = malloc(n * sizeof(float));
    OK(simcudaRead(made, to, address(made, 0), n * sizeof(float)));
    OK(simcudaRead(made, from, address(made, 1), n * sizeof(float)));
    for (unsigned int i = 0; i < n; i++)
        to[i] += *floats(made, 2) * from[i];
    OK(simcudaWrite(made, address(made, 0), to, n * sizeof(float)));
    free(to);
    free(from);
    return 0;
}

static struct arrays make_arrays(void) {
    struct arrays arrays = {.by = 2, .n = N};
    float values[N];
    OK(cuMemAlloc_v2(&arrays.to, sizeof(values)));
    OK(cuMemAlloc_v2(&arrays.from, sizeof(values)));
    for (int i = 0; i < N; i++)
        values[i] = (float)i;
    OK(cuMemcpyHtoD_v2(arrays.to, values, sizeof(values)));
    OK(cuMemcpyHtoD_v2(arrays.from, values, sizeof(values)));
    OK(cuCtxSynchronize()); // a copy from pageable memory may be on its way when it returns
    return arrays;
}

static void launch_add(struct arrays arrays, CUstream stream) {
    void *parameters[] = {&arrays.to, &arrays.from, &arrays.by, &arrays.n};
    OK(launch(function("add"), stream, parameters));
}

static float value_at(CUdeviceptr array, int index) {
    float value;
    OK(simcudaPeek(&value, array + (uint64_t)index * sizeof(value), sizeof(value)));
    return value;
}

static void a_registered_kernel_computes(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    OK(simcudaRegisterKernel("add", add, add_touches, NULL));
    launch_add(arrays, NULL);
    OK(cuCtxSynchronize());
    assert_true(value_at(arrays.to, 7) == 21);
    assert_true(value_at(arrays.to, N - 1) == 3 * (N - 1));
    assert_null(simcudaUnregisteredKernel(0));
}

static void the_work_is_done_when_it_completes_and_not_at_the_launch(void **state) {
    (void)state;
    become("completion=latest");
    module = load();
    struct arrays arrays = make_arrays();
    CUstream stream = make_stream();
    OK(simcudaRegisterKernel("add", add, add_touches, NULL));
    launch_add(arrays, stream);
    assert_true(value_at(arrays.to, 7) == 7);
    OK(cuStreamSynchronize(stream));
    assert_true(value_at(arrays.to, 7) == 21);
}

static void it_takes_as_long_as_its_bytes_do(void **state) {
    struct arrays arrays = make_arrays();
    CUstream stream = make_stream();
    (void)state;
    OK(simcudaRegisterKernel("add", add, add_touches, NULL));
    OK(cuCtxSynchronize());
    uint64_t before = simcudaNow();
    launch_add(arrays, stream);
    OK(cuStreamSynchronize(stream));
    assert_in_range(simcudaNow() - before, 2000 + 2 * N * sizeof(float) / 4000, 20000);
}

static void takes_long(const simcudaLaunch *made, simcudaTouches *touches) {
    (void)made;
    simcudaTake(touches, 5 * MS);
}

static void it_takes_as_long_as_its_touches_function_says(void **state) {
    (void)state;
    OK(simcudaRegisterKernel("none", NULL, takes_long, NULL));
    OK(launch(function("none"), NULL, NULL));
    OK(cuCtxSynchronize());
    assert_in_range(simcudaNow(), 5 * MS, 6 * MS);
}

// Keeps what a launch was given, for a look at it.
static struct seen {
    simcudaLaunch launch;
    char name[16];
    unsigned char bytes[24];
    unsigned char byte;
    size_t sizes[2];
    int count;
} seen;

static int see(const simcudaLaunch *made) {
    seen.launch = *made;
    snprintf(seen.name, sizeof(seen.name), "%s", made->name);
    memcpy(seen.bytes, made->parameters[0], sizeof(seen.bytes));
    memcpy(&seen.byte, made->parameters[1], 1);
    memcpy(seen.sizes, made->parameterSizes, sizeof(seen.sizes));
    seen.count++;
    return 0;
}

static int see_little(const simcudaLaunch *made) {
    seen.launch = *made;
    seen.count++;
    return 0;
}

static void a_launch_tells_its_shape_and_its_device(void **state) {
    const simcudaKernelOptions options = {.userData = &seen};
    (void)state;
    OK(simcudaRegisterKernel("none", see_little, NULL, &options));
    OK(cuLaunchKernel(function("none"), 2, 3, 4, 5, 6, 7, 1024, NULL, NULL, NULL));
    OK(cuCtxSynchronize());
    assert_memory_equal(seen.launch.grid, ((unsigned int[]){2, 3, 4}), 12);
    assert_memory_equal(seen.launch.block, ((unsigned int[]){5, 6, 7}), 12);
    assert_int_equal(seen.launch.sharedBytes, 1024);
    assert_int_equal(seen.launch.device, 0);
    assert_int_equal(seen.launch.parameterCount, 0);
    assert_ptr_equal(seen.launch.userData, &seen);
}

static void parameters_are_copied_at_the_launch(void **state) {
    unsigned char bytes[24] = "as they were", byte = 9;
    void *parameters[] = {bytes, &byte};
    (void)state;
    become("completion=latest");
    module = load();
    OK(simcudaRegisterKernel("other", see, NULL, NULL));
    OK(cuLaunchKernel(function("other"), 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    memset(bytes, 0, sizeof(bytes));
    byte = 0;
    OK(cuModuleUnload(module));
    OK(cuCtxSynchronize());
    assert_string_equal(seen.bytes, "as they were");
    assert_int_equal(seen.byte, 9);
    assert_string_equal(seen.name, "other");
    assert_int_equal(seen.sizes[0], 24);
    assert_int_equal(seen.sizes[1], 1);
}

static int fails(const simcudaLaunch *made) {
    (void)made;
    return CUDA_ERROR_LAUNCH_FAILED;
}

static void a_kernel_that_fails_breaks_its_context(void **state) {
    (void)state;
    OK(simcudaRegisterKernel("none", fails, NULL, NULL));
    OK(launch(function("none"), NULL, NULL));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

// ------------------------------------------------------------------------------- its accesses

static void kernels_without_order_are_a_race(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    OK(simcudaRegisterKernel("add", add, add_touches, NULL));
    launch_add(arrays, make_non_blocking_stream());
    launch_add(arrays, make_non_blocking_stream());
    simcudaCompleteAll();
    expect_report("race");
}

static void kernels_that_read_the_same_are_none(void **state) {
    struct arrays one = make_arrays(), other = make_arrays();
    (void)state;
    other.from = one.from;
    OK(simcudaRegisterKernel("add", add, add_touches, NULL));
    launch_add(one, make_non_blocking_stream());
    launch_add(other, make_non_blocking_stream());
    simcudaCompleteAll();
}

static void an_access_beyond_the_allocation_is_a_fault(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    arrays.n = 3 * N;
    OK(simcudaRegisterKernel("add", add, add_touches, NULL));
    launch_add(arrays, NULL);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("fault");
}

static void touches_half(const simcudaLaunch *made, simcudaTouches *touches) {
    simcudaTouch(touches, address(made, 0), N / 2 * sizeof(float), simcudaAccessRead);
    simcudaTouch(touches, address(made, 0), N / 4 * sizeof(float), simcudaAccessWrite);
}

static CUresult results[4];

static int strays(const simcudaLaunch *made) {
    float value = -1;
    uint64_t to = address(made, 0);
    results[0] = (CUresult)simcudaRead(made, &value, to + (N / 2 - 1) * sizeof(value), 4);
    results[1] = (CUresult)simcudaRead(made, &value, to + (N / 2 - 1) * sizeof(value), 8);
    value = -1;
    results[2] = (CUresult)simcudaWrite(made, to + N / 4 * sizeof(value), &value, 4);
    results[3] = (CUresult)simcudaWrite(made, to + (N / 4 - 1) * sizeof(value), &value, 4);
    return 0;
}

static void bytes_that_were_not_named_are_reported_once_and_left_alone(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    OK(simcudaRegisterKernel("add", strays, touches_half, NULL));
    launch_add(arrays, NULL);
    OK(cuCtxSynchronize());
    OK(results[0]);
    FAILS(results[1], CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(results[2], CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(results[3]);
    assert_true(value_at(arrays.to, N / 4) == N / 4);
    assert_true(value_at(arrays.to, N / 4 - 1) == -1);
    assert_non_null(strstr(simcudaReportText(0), "kernel \"add\" reads"));
    expect_report("undeclared-access");
}

static void touches_in_pieces(const simcudaLaunch *made, simcudaTouches *touches) {
    simcudaTouch(touches, address(made, 0) + 100, 300, simcudaAccessWrite);
    simcudaTouch(touches, address(made, 0) + 50, 60, simcudaAccessRead);
    simcudaTouch(touches, address(made, 0), 50, simcudaAccessRead);
    simcudaTouch(touches, address(made, 0), 0, simcudaAccessWrite);
}

static int reads_across(const simcudaLaunch *made) {
    char bytes[400];
    OK(simcudaRead(made, bytes, address(made, 0), sizeof(bytes)));
    OK(simcudaRead(made, NULL, address(made, 0), 0));
    return 0;
}

static void accesses_may_join_in_any_order(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    OK(simcudaRegisterKernel("add", reads_across, touches_in_pieces, NULL));
    launch_add(arrays, NULL);
    OK(cuCtxSynchronize());
}

static void reads_pointers(const simcudaLaunch *made, simcudaTouches *touches) {
    uint64_t inner = 0;
    OK(simcudaRead(made, &inner, address(made, 0), sizeof(inner)));
    FAILS(simcudaWrite(made, address(made, 0), &inner, sizeof(inner)), CUDA_ERROR_NOT_PERMITTED);
    simcudaTouch(touches, inner, 4, simcudaAccessWrite);
    simcudaTouch(touches, address(made, 0), 8, simcudaAccessRead);
}

static int writes_inner(const simcudaLaunch *made) {
    uint64_t inner = 0;
    const uint32_t value = 77;
    OK(simcudaRead(made, &inner, address(made, 0), sizeof(inner)));
    OK(simcudaWrite(made, inner, &value, sizeof(value)));
    return 0;
}

static void a_touches_function_may_follow_pointers_in_memory(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    OK(simcudaPoke(arrays.to, &arrays.from, sizeof(arrays.from)));
    OK(simcudaRegisterKernel("add", writes_inner, reads_pointers, NULL));
    launch_add(arrays, NULL);
    OK(cuCtxSynchronize());
    assert_int_equal(word_at(arrays.from), 77);
}

static void without_a_touches_function_it_may_touch_what_its_parameters_point_to(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    OK(simcudaRegisterKernel("add", add, NULL, NULL));
    arrays.to += 4;
    arrays.n = N - 1;
    launch_add(arrays, NULL);
    OK(cuCtxSynchronize());
    assert_true(value_at(arrays.to, 7) == 8 + 14);
    launch_add(arrays, make_non_blocking_stream());
    launch_add(arrays, make_non_blocking_stream());
    simcudaCompleteAll();
    assert_true(simcudaReportCount("race") > 0);
    simcudaReportClear();
}

static void pinned_memory_that_its_parameters_point_to_counts_too(void **state) {
    struct arrays arrays = make_arrays();
    void *memory;
    float value = 1;
    (void)state;
    OK(simcudaRegisterKernel("add", add, NULL, NULL));
    OK(cuMemHostAlloc(&memory, 4 * N, 0));
    OK(cuMemcpyDtoH_v2(memory, arrays.from, 4 * N));
    arrays.from = (uintptr_t)memory;
    launch_add(arrays, NULL);
    OK(cuCtxSynchronize());
    assert_true(value_at(arrays.to, 7) == 7 + 14);
    launch_add(arrays, make_non_blocking_stream());
    OK(cuMemcpyHtoD_v2((uintptr_t)memory, &value, sizeof value));
    simcudaCompleteAll();
    assert_true(simcudaReportCount("race") > 0);
    simcudaReportClear();
}

static simcudaLaunch kept;

static int calls_the_driver(const simcudaLaunch *made) {
    CUdeviceptr memory;
    kept = *made;
    FAILS(cuMemAlloc_v2(&memory, 4), CUDA_ERROR_NOT_PERMITTED);
    FAILS(simcudaRead(&kept, &memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(simcudaRead(made, NULL, address(made, 0), 4), CUDA_ERROR_INVALID_VALUE);
    assert_true(simcudaNow() > 0);
    return 0;
}

static void a_kernel_may_not_call_the_driver_and_may_ask_the_time(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    OK(simcudaRegisterKernel("add", calls_the_driver, NULL, NULL));
    launch_add(arrays, NULL);
    OK(cuCtxSynchronize());
    FAILS(simcudaRead(&kept, &arrays, arrays.to, 4), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(arrays.to)); // the thread is no kernel any more
}

// ---------------------------------------------------------------------------------- registering

static int counts(const simcudaLaunch *made) {
    (*(int *)made->userData)++;
    return 0;
}

static void register_counter(int *counter) {
    const simcudaKernelOptions options = {.userData = counter};
    OK(simcudaRegisterKernel("none", counts, NULL, &options));
}

static void a_kernel_that_is_registered_anew_is_replaced(void **state) {
    int first = 0, second = 0;
    (void)state;
    become("completion=latest");
    module = load();
    register_counter(&first);
    OK(launch(function("none"), NULL, NULL));
    register_counter(&second);
    OK(launch(function("none"), NULL, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(first, 1); // launched before
    assert_int_equal(second, 1);
}

static void a_kernel_that_is_unregistered_does_nothing_from_then_on(void **state) {
    int counter = 0;
    (void)state;
    become("completion=latest");
    module = load();
    register_counter(&counter);
    OK(launch(function("none"), NULL, NULL));
    OK(simcudaUnregisterKernel("none"));
    OK(launch(function("none"), NULL, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(counter, 1);
    assert_string_equal(simcudaUnregisteredKernel(0), "none");
}

static void a_reset_leaves_kernels_registered(void **state) {
    int counter = 0;
    (void)state;
    register_counter(&counter);
    become("");
    module = load();
    OK(launch(function("none"), NULL, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(counter, 1);
}

static void a_bad_registration_is_refused(void **state) {
    const size_t sizes[] = {8, 32765};
    const simcudaKernelOptions no_sizes = {.parameterCount = 1};
    const simcudaKernelOptions too_large = {.parameterCount = 2, .parameterSizes = sizes};
    (void)state;
    FAILS(simcudaRegisterKernel(NULL, add, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(simcudaRegisterKernel("", add, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(simcudaRegisterKernel("add", add, NULL, &no_sizes), CUDA_ERROR_INVALID_VALUE);
    FAILS(simcudaRegisterKernel("add", add, NULL, &too_large), CUDA_ERROR_INVALID_VALUE);
    FAILS(simcudaUnregisterKernel("add"), CUDA_ERROR_NOT_FOUND);
    FAILS(simcudaUnregisterKernel(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void a_kernel_of_the_project_can_be_replaced_too(void **state) {
    int counter = 0;
    const simcudaKernelOptions options = {.userData = &counter};
    CUmodule ours;
    CUfunction trap;
    (void)state;
    OK(simcudaRegisterKernel("sp_trap", counts, NULL, &options));
    OK(cuModuleLoadData(&ours, SP_KERNELS_PTX));
    OK(cuModuleGetFunction(&trap, ours, "sp_trap"));
    OK(launch(trap, NULL, NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(counter, 1);
    OK(simcudaUnregisterKernel("sp_trap"));
    OK(launch(trap, NULL, NULL));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

// --------------------------------------------------------------------------- unregistered kernels

static void an_unregistered_kernel_does_nothing_and_is_named_once(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    launch_add(arrays, NULL);
    launch_add(arrays, NULL);
    OK(launch(function("none"), NULL, NULL));
    OK(cuCtxSynchronize());
    assert_true(value_at(arrays.to, 7) == 7);
    assert_string_equal(simcudaUnregisteredKernel(0), "add");
    assert_string_equal(simcudaUnregisteredKernel(1), "none");
    assert_null(simcudaUnregisteredKernel(2));
    become("");
    module = load();
    assert_null(simcudaUnregisteredKernel(0));
}

static void its_blocks_are_raced_for(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    launch_add(arrays, make_non_blocking_stream());
    touch(make_non_blocking_stream(), "reader", arrays.to + 4 * N - 4, 4, simcudaAccessRead);
    simcudaCompleteAll();
    expect_report("race");
}

static void pinned_memory_that_it_uses_is_not_to_be_freed(void **state) {
    struct arrays arrays = make_arrays();
    static float registered[N];
    void *memory;
    (void)state;
    OK(cuMemHostAlloc(&memory, 4 * N, 0));
    arrays.from = (uintptr_t)memory;
    launch_add(arrays, make_non_blocking_stream());
    OK(cuMemFreeHost(memory));
    expect_report("host-memory-in-use");
    OK(cuCtxSynchronize());
    OK(cuMemHostRegister_v2(registered, sizeof registered, CU_MEMHOSTREGISTER_READ_ONLY));
    arrays.from = (uintptr_t)registered;
    launch_add(arrays, NULL);
    OK(cuCtxSynchronize());
    OK(cuMemHostUnregister(registered));
}

static void bytes_that_it_reads_and_writes_are_raced_for_once(void **state) {
    struct arrays arrays = make_arrays();
    (void)state;
    arrays.from = 16;
    launch_add(arrays, make_non_blocking_stream());
    launch_add(arrays, make_non_blocking_stream());
    simcudaCompleteAll();
    assert_int_equal(simcudaReportCount("race"), 1);
    assert_non_null(strstr(simcudaReportText(0), "writes bytes that"));
    expect_report("race");
}

static void become_checked(void) {
    become("reports=check");
    module = load();
}

static void of_an_allocation_of_an_odd_size_it_touches_what_the_program_asked_for(void **state) {
    (void)state;
    become_checked();
    launch_add(make_arrays(), NULL);
    expect_no_report();
}

static void of_an_allocators_memory_it_touches_the_block_that_is_pointed_into(void **state) {
    struct memory memory;
    (void)state;
    become_checked();
    memory = map_memory(GRANULE);
    simcudaBlockBegin(memory.address, 64);
    simcudaBlockBegin(memory.address + 64, 64);
    launch_add((struct arrays){.to = memory.address + 4}, make_non_blocking_stream());
    launch_add((struct arrays){.to = memory.address + 64}, make_non_blocking_stream());
    OK(cuCtxSynchronize());
    expect_no_report();
    simcudaBlockEnd(memory.address, NULL);
    launch_add((struct arrays){.to = memory.address + 4}, NULL);
    expect_report("use-after-free");
    simcudaBlockEnd(memory.address + 64, NULL);
}

static void a_pointer_inside_a_struct_counts_too(void **state) {
    struct arrays arrays = make_arrays();
    struct {
        uint64_t first, pointer, last;
    } parameter = {1, arrays.to + 100, 3};
    unsigned char byte = 0;
    void *parameters[] = {&parameter, &byte};
    (void)state;
    OK(cuLaunchKernel(function("other"), 1, 1, 1, 1, 1, 1, 0, make_non_blocking_stream(),
                      parameters, NULL));
    touch(make_non_blocking_stream(), "reader", arrays.to, 4, simcudaAccessRead);
    simcudaCompleteAll();
    expect_report("race");
}

static void memory_that_it_may_only_read_is_read(void **state) {
    CUdeviceptr range = reserve(GRANULE);
    CUmemGenericAllocationHandle handle = create_extent(GRANULE);
    const CUmemAccessDesc reading = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                     CU_MEM_ACCESS_FLAGS_PROT_READ};
    struct arrays arrays = {.to = range, .from = 16, .n = 1};
    (void)state;
    OK(cuMemMap(range, GRANULE, 0, handle, 0));
    OK(cuMemSetAccess(range, GRANULE, &reading, 1));
    launch_add(arrays, make_non_blocking_stream());
    launch_add(arrays, make_non_blocking_stream());
    OK(cuCtxSynchronize());
}

// The driver can't know which part of it is the block that the kernel was given.
static void memory_of_the_library_is_left_out(void **state) {
    struct arrays arrays = {.from = 16, .n = 1};
    void *entry = simcudaLibraryEntry("cuMemAlloc");
    CUresult (*allocate_for_library)(CUdeviceptr *, size_t);
    (void)state;
    memcpy(&allocate_for_library, &entry, sizeof(entry));
    OK(allocate_for_library(&arrays.to, 1000));
    launch_add(arrays, make_non_blocking_stream());
    launch_add(arrays, make_non_blocking_stream());
    simcudaCompleteAll();
}

static void a_kernel_of_the_projects_name_with_other_parameters_is_none_of_them(void **state) {
    CUmodule loaded;
    CUfunction fill_function;
    uint32_t value = 0;
    void *parameters[] = {&value};
    (void)state;
    OK(cuModuleLoadData(&loaded, ".version 8.0 .entry sp_fill(.param .u32 value) {}"));
    OK(cuModuleGetFunction(&fill_function, loaded, "sp_fill"));
    OK(launch(fill_function, NULL, parameters));
    OK(cuCtxSynchronize());
    assert_string_equal(simcudaUnregisteredKernel(0), "sp_fill");
}

// --------------------------------------------------------------------------------------- launches

static void parameters_may_come_in_one_buffer(void **state) {
    struct arrays arrays = make_arrays();
    size_t size = sizeof(arrays);
    void *extra[] = {(void *)1, &arrays, (void *)2, &size, NULL};
    (void)state;
    OK(simcudaRegisterKernel("add", add, add_touches, NULL));
    OK(cuLaunchKernel(function("add"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    OK(cuCtxSynchronize());
    assert_true(value_at(arrays.to, 7) == 21);
}

static void a_bad_buffer_is_refused(void **state) {
    struct arrays arrays = make_arrays();
    size_t size = sizeof(arrays) - 1, whole = sizeof(arrays);
    void *parameters[] = {&arrays.to, &arrays.from, &arrays.by, &arrays.n};
    void *small[] = {(void *)1, &arrays, (void *)2, &size, NULL};
    void *no_size[] = {(void *)1, &arrays, NULL};
    void *no_buffer[] = {(void *)2, &whole, NULL};
    void *unknown[] = {(void *)7, &arrays, NULL};
    void *both[] = {(void *)1, &arrays, (void *)2, &whole, NULL};
    void **const bad[] = {small, no_size, no_buffer, unknown};
    CUfunction f = function("add");
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, bad[i]), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, both), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(simcudaPendingAll(), 0);
}

static void missing_parameters_are_refused(void **state) {
    struct arrays arrays = {0};
    void *parameters[] = {&arrays.to, &arrays.from, NULL, &arrays.n};
    (void)state;
    FAILS(launch(function("add"), NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(launch(function("add"), NULL, parameters), CUDA_ERROR_INVALID_VALUE);
    OK(launch(function("none"), NULL, NULL));
}

static void the_limits_of_grid_and_block_are_an_h200s(void **state) {
    static const struct {
        CUresult result;
        unsigned int sizes[7];
    } rows[] = {
        {CUDA_SUCCESS, {0x7FFFFFFF, 65535, 65535, 1, 1, 1, 0}},
        {CUDA_ERROR_INVALID_VALUE, {0x80000000, 1, 1, 1, 1, 1, 0}},
        {CUDA_ERROR_INVALID_VALUE, {1, 65536, 1, 1, 1, 1, 0}},
        {CUDA_ERROR_INVALID_VALUE, {1, 1, 65536, 1, 1, 1, 0}},
        {CUDA_ERROR_INVALID_VALUE, {0, 1, 1, 1, 1, 1, 0}},
        {CUDA_ERROR_INVALID_VALUE, {1, 1, 1, 1, 0, 1, 0}},
        {CUDA_SUCCESS, {1, 1, 1, 1024, 1, 1, 0}},
        {CUDA_SUCCESS, {1, 1, 1, 1, 1024, 1, 0}},
        {CUDA_SUCCESS, {1, 1, 1, 4, 4, 64, 0}},
        {CUDA_ERROR_INVALID_VALUE, {1, 1, 1, 1025, 1, 1, 0}},
        {CUDA_ERROR_INVALID_VALUE, {1, 1, 1, 32, 33, 1, 0}},
        {CUDA_ERROR_INVALID_VALUE, {1, 1, 1, 1, 1, 65, 0}},
        {CUDA_SUCCESS, {1, 1, 1, 1, 1, 1, 49152}},
        {CUDA_ERROR_INVALID_VALUE, {1, 1, 1, 1, 1, 1, 49153}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const unsigned int *s = rows[i].sizes;
        CUresult result = cuLaunchKernel(function("none"), s[0], s[1], s[2], s[3], s[4], s[5], s[6],
                                         NULL, NULL, NULL);
        if (result != rows[i].result)
            fail_msg("row %zu: %d", i, result);
    }
}

static void a_block_is_no_larger_than_its_kernel_allows(void **state) {
    unsigned char bytes[24] = {0};
    void *parameters[] = {bytes, bytes};
    CUfunction f = function("other");
    (void)state;
    OK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
    FAILS(cuLaunchKernel(f, 1, 1, 1, 65, 1, 1, 0, NULL, parameters, NULL),
          CUDA_ERROR_INVALID_VALUE);
}

static void more_shared_memory_has_to_be_asked_for(void **state) {
    CUfunction f = function("none");
    (void)state;
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 232448, NULL, NULL, NULL));
    FAILS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449),
          CUDA_ERROR_INVALID_VALUE);
}

static void a_cooperative_launch_has_to_fit_on_the_device(void **state) {
    CUfunction f = function("none");
    (void)state;
    OK(cuLaunchCooperativeKernel(f, 132 * 2, 1, 1, 1024, 1, 1, 0, NULL, NULL));
    FAILS(cuLaunchCooperativeKernel(f, 132 * 2 + 1, 1, 1, 1024, 1, 1, 0, NULL, NULL),
          CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    FAILS(cuLaunchCooperativeKernel(f, 0x7FFFFFFF, 65535, 65535, 1, 1, 1, 0, NULL, NULL),
          CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

static CUresult launch_with(CUlaunchAttribute attribute, unsigned int grid) {
    CUlaunchConfig config = {.gridDimX = grid,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1024,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = 1};
    return cuLaunchKernelEx(&config, function("none"), NULL, NULL);
}

static CUlaunchAttribute cluster_of(unsigned int blocks) {
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    cluster.value.clusterDim.x = blocks;
    cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
    return cluster;
}

static void a_launch_may_have_attributes(void **state) {
    CUlaunchAttribute cooperative = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
    int counter = 0;
    (void)state;
    register_counter(&counter);
    cooperative.value.cooperative = 1;
    OK(launch_with((CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_IGNORE}, 1000));
    OK(launch_with(cooperative, 264));
    FAILS(launch_with(cooperative, 265), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    FAILS(launch_with((CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT}, 1),
          CUDA_ERROR_NOT_SUPPORTED);
    OK(cuCtxSynchronize());
    assert_int_equal(counter, 2);
}

static void clusters_cut_the_grid_evenly_and_are_small(void **state) {
    (void)state;
    OK(launch_with(cluster_of(8), 32));
    FAILS(launch_with(cluster_of(8), 33), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    FAILS(launch_with(cluster_of(0), 32), CUDA_ERROR_INVALID_VALUE);
    FAILS(launch_with(cluster_of(16), 32), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(cuFuncSetAttribute(function("none"), CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                          1));
    OK(launch_with(cluster_of(16), 32));
    FAILS(launch_with(cluster_of(32), 32), CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

static void a_launch_without_clusters_has_those_of_its_function(void **state) {
    const CUlaunchAttribute nothing = {.id = CU_LAUNCH_ATTRIBUTE_IGNORE};
    CUfunction f = function("none");
    (void)state;
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    FAILS(launch_with(nothing, 32), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
    OK(launch_with(nothing, 32));
    FAILS(launch_with(nothing, 33), CUDA_ERROR_INVALID_CLUSTER_SIZE);
    OK(launch_with(cluster_of(1), 33));
}

static void a_bad_configuration_is_refused(void **state) {
    CUlaunchConfig config = {.numAttrs = 1};
    (void)state;
    FAILS(cuLaunchKernelEx(NULL, function("none"), NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLaunchKernelEx(&config, function("none"), NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void a_function_goes_with_its_module(void **state) {
    CUfunction f = function("none");
    (void)state;
    OK(cuModuleUnload(module));
    FAILS(launch(f, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    FAILS(launch(NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

static void a_launch_in_a_capture_does_nothing(void **state) {
    CUstream stream = make_stream();
    CUgraph graph;
    int counter = 0;
    (void)state;
    register_counter(&counter);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch(function("none"), stream, NULL));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuCtxSynchronize());
    assert_int_equal(counter, 0);
}

// ------------------------------------------------------------------------- modules and libraries

static void every_kind_of_image_loads(void **state) {
    const struct {
        uint32_t magic, version;
        const void *fatbin, *unused;
    } wrapper = {0x466243B1u, 1, images_fatbin_lz4, NULL};
    CUmodule loaded;
    CUfunction found;
    (void)state;
    OK(cuModuleLoadFatBinary(&loaded, images_fatbin_lz4));
    OK(cuModuleGetFunction(&found, loaded, "scale"));
    OK(cuModuleLoadFatBinary(&loaded, &wrapper));
    OK(cuModuleGetFunction(&found, loaded, "nothing"));
    OK(cuModuleLoadDataEx(&loaded, image, 0, NULL, NULL));
    OK(cuModuleGetFunction(&found, loaded, "add"));
}

static void what_is_no_image_does_not_load(void **state) {
    CUmodule loaded;
    CUlibrary library;
    (void)state;
    FAILS(cuModuleLoadData(&loaded, "no image"), CUDA_ERROR_INVALID_IMAGE);
    FAILS(cuModuleLoadData(&loaded, ".version 8.0 .entry k("), CUDA_ERROR_INVALID_PTX);
    FAILS(cuModuleLoadData(&loaded, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleLoadData(NULL, image), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleLoad(&loaded, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
    FAILS(cuLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuLibraryLoadFromFile(&library, "/no/such/file", NULL, NULL, 0, NULL, NULL, 0),
          CUDA_ERROR_FILE_NOT_FOUND);
}

static void what_is_in_no_image_of_a_library_is_refused(const char *text, CUresult error) {
    CUlibrary library;
    CUkernel kernel;
    CUmodule loaded;
    CUdeviceptr memory;
    unsigned count;
    OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(cuLibraryGetKernel(&kernel, library, "add"), error);
    FAILS(cuLibraryGetKernelCount(&count, library), error);
    FAILS(cuLibraryEnumerateKernels(&kernel, 1, library), error);
    FAILS(cuLibraryGetGlobal(&memory, NULL, library, "table"), error);
    FAILS(cuLibraryGetModule(&loaded, library), error);
    OK(cuLibraryUnload(library));
}

static void a_library_reads_its_image_when_it_is_asked(void **state) {
    (void)state;
    what_is_in_no_image_of_a_library_is_refused("no image", CUDA_ERROR_INVALID_IMAGE);
    what_is_in_no_image_of_a_library_is_refused(".version 8.0 .entry k(", CUDA_ERROR_INVALID_PTX);
}

static void a_context_that_failed_loads_no_module(void **state) {
    (void)state;
    CUmodule loaded;
    CUlibrary library;
    OK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    OK(simcudaContextFail(current_context(), CUDA_ERROR_ILLEGAL_ADDRESS));
    FAILS(cuModuleLoadData(&loaded, image), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuLibraryGetModule(&loaded, library), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuLibraryUnload(library));
}

static void the_logs_of_a_compiler_are_empty(void **state) {
    (void)state;
    CUmodule loaded;
    CUlibrary library;
    char info[] = "no", error[] = "no", none[] = "no";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER,
                              CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_WALL_TIME};
    void *values[] = {(void *)3, info, (void *)3, error, (void *)-1};
    OK(cuModuleLoadDataEx(&loaded, image, 5, options, values));
    assert_string_equal(info, "");
    assert_string_equal(error, "");
    assert_true(!values[0] && !values[2] && !values[4]);
    values[1] = none;
    OK(cuLibraryLoadData(&library, image, options, values, 5, NULL, NULL, 0));
    assert_string_equal(none, "no");
    FAILS(cuModuleLoadDataEx(&loaded, image, 1, NULL, values), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleLoadDataEx(&loaded, image, 1, options, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void a_module_loads_from_a_file(void **state) {
    char path[] = "/tmp/kernel_test_XXXXXX";
    int file = mkstemp(path);
    CUmodule loaded;
    CUlibrary library;
    CUfunction found;
    (void)state;
    assert_int_equal(write(file, image, strlen(image)), strlen(image));
    close(file);
    OK(cuModuleLoad(&loaded, path));
    OK(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
    unlink(path);
    OK(cuModuleGetFunction(&found, loaded, "add"));
}

static void a_module_lists_its_functions(void **state) {
    CUfunction functions[4] = {NULL};
    unsigned int count = 0;
    const char *name;
    (void)state;
    OK(cuModuleGetFunctionCount(&count, module));
    assert_int_equal(count, 3);
    OK(cuModuleEnumerateFunctions(functions, 2, module));
    assert_null(functions[2]);
    OK(cuModuleEnumerateFunctions(functions, 4, module));
    assert_null(functions[3]);
    OK(cuFuncGetName(&name, functions[0]));
    assert_string_equal(name, "add");
    assert_ptr_equal(functions[0], function("add"));
    FAILS(cuModuleEnumerateFunctions(NULL, 1, module), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleEnumerateFunctions(functions, 0, module), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleGetFunctionCount(&count, NULL), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuModuleGetFunctionCount(NULL, module), CUDA_ERROR_INVALID_VALUE);
}

static void what_a_module_does_not_have_is_not_found(void **state) {
    CUfunction found;
    CUdeviceptr memory;
    size_t size;
    (void)state;
    FAILS(cuModuleGetFunction(&found, module, "ad"), CUDA_ERROR_NOT_FOUND);
    FAILS(cuModuleGetFunction(&found, module, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleGetFunction(&found, NULL, "add"), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuModuleGetGlobal_v2(&memory, &size, module, "table"), CUDA_ERROR_NOT_FOUND);
    FAILS(cuModuleGetGlobal_v2(NULL, NULL, module, "table"), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuModuleGetGlobal_v2(&memory, &size, NULL, "table"), CUDA_ERROR_INVALID_HANDLE);
}

static void modules_are_loaded_whole(void **state) {
    CUmoduleLoadingMode mode;
    CUfunctionLoadingState loaded;
    (void)state;
    OK(cuModuleGetLoadingMode(&mode));
    assert_int_equal(mode, CU_MODULE_EAGER_LOADING);
    FAILS(cuModuleGetLoadingMode(NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuFuncIsLoaded(&loaded, function("add")));
    assert_int_equal(loaded, CU_FUNCTION_LOADING_STATE_LOADED);
    OK(cuFuncLoad(function("add")));
    FAILS(cuFuncLoad(NULL), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuFuncIsLoaded(NULL, function("add")), CUDA_ERROR_INVALID_VALUE);
}

static CUlibrary load_the_library(void) {
    CUlibrary library;
    OK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    return library;
}

static CUkernel kernel_of(CUlibrary library, const char *name) {
    CUkernel kernel;
    OK(cuLibraryGetKernel(&kernel, library, name));
    return kernel;
}

static void a_kernel_of_a_library_launches_as_a_function_does(void **state) {
    struct arrays arrays = make_arrays();
    void *parameters[] = {&arrays.to, &arrays.from, &arrays.by, &arrays.n};
    CUkernel kernel = kernel_of(load_the_library(), "add");
    CUfunction f;
    (void)state;
    OK(simcudaRegisterKernel("add", add, add_touches, NULL));
    OK(launch((CUfunction)(void *)kernel, NULL, parameters));
    OK(cuKernelGetFunction(&f, kernel));
    OK(launch(f, NULL, parameters));
    OK(cuCtxSynchronize());
    assert_true(value_at(arrays.to, 7) == 35);
}

static void a_library_tells_what_it_holds(void **state) {
    CUlibrary library = load_the_library(), found;
    CUkernel kernels[3];
    unsigned int count;
    const char *name;
    CUmodule of_library;
    CUfunction f;
    CUdeviceptr memory;
    (void)state;
    OK(cuLibraryGetKernelCount(&count, library));
    assert_int_equal(count, 3);
    OK(cuLibraryEnumerateKernels(kernels, 3, library));
    OK(cuKernelGetName(&name, kernels[2]));
    assert_string_equal(name, "other");
    OK(cuKernelGetLibrary(&found, kernels[2]));
    assert_ptr_equal(found, library);
    OK(cuLibraryGetModule(&of_library, library));
    OK(cuModuleGetFunction(&f, of_library, "add"));
    FAILS(cuModuleUnload(of_library), CUDA_ERROR_NOT_PERMITTED);
    FAILS(cuLibraryGetKernel(kernels, library, "no"), CUDA_ERROR_NOT_FOUND);
    FAILS(cuLibraryGetGlobal(&memory, NULL, library, "no"), CUDA_ERROR_NOT_FOUND);
}

static void a_function_of_a_module_is_launched_in_its_context_alone(void **state) {
    CUlibrary library;
    CUkernel kernel;
    CUcontext context;
    (void)state;
    OK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "none"));
    CUstream here = make_stream();
    OK(cuCtxCreate_v2(&context, 0, 0));
    CUstream there = make_stream();
    FAILS(launch(function("none"), there, NULL), CUDA_ERROR_INVALID_HANDLE);
    FAILS(launch(function("none"), NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    OK(launch(function("none"), here, NULL));
    OK(launch((CUfunction)(void *)kernel, there, NULL));
    OK(launch((CUfunction)(void *)kernel, here, NULL));
    OK(cuCtxDestroy_v2(context));
    OK(cuLibraryUnload(library));
}

static void a_library_belongs_to_no_context(void **state) {
    CUlibrary library = load_the_library();
    CUkernel kernel = kernel_of(library, "none");
    CUfunction f;
    CUmodule of_library;
    const char *name;
    (void)state;
    OK(cuCtxSetCurrent(NULL));
    FAILS(cuKernelGetFunction(&f, kernel), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuLibraryGetModule(&of_library, library), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuKernelGetName(&name, kernel));
    assert_string_equal(name, "none");
    OK(cuLibraryUnload(library));
    FAILS(cuKernelGetName(&name, kernel), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
}

static void a_module_is_no_library_and_its_function_no_kernel(void **state) {
    CUlibrary as_library = (CUlibrary)(void *)module;
    CUkernel as_kernel = (CUkernel)(void *)function("none"), kernel;
    const char *name;
    (void)state;
    FAILS(cuLibraryUnload(as_library), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuLibraryGetKernel(&kernel, as_library, "none"), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuKernelGetName(&name, as_kernel), CUDA_ERROR_INVALID_HANDLE);
}

static void modules_and_libraries_count_as_alive_until_they_are_unloaded(void **state) {
    simcudaLive live;
    CUlibrary library = load_the_library();
    (void)state;
    simcudaGetLive(&live);
    assert_int_equal(live.modules, 2);
    OK(cuLibraryUnload(library));
    OK(cuModuleUnload(module));
    assert_int_equal(simcudaLeakCheck(), 0);
}

// -------------------------------------------------------------------------------------- functions

static void a_function_tells_its_name_module_and_parameters(void **state) {
    CUfunction f = function("other");
    CUmodule of_function;
    const char *name;
    size_t offset, size;
    (void)state;
    OK(cuFuncGetName(&name, f));
    assert_string_equal(name, "other");
    OK(cuFuncGetModule(&of_function, f));
    assert_ptr_equal(of_function, module);
    OK(cuFuncGetParamInfo(f, 1, &offset, &size));
    assert_int_equal(offset, 24);
    assert_int_equal(size, 1);
    OK(cuFuncGetParamInfo(f, 0, &offset, NULL));
    assert_int_equal(offset, 0);
    FAILS(cuFuncGetParamInfo(f, 2, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncGetParamInfo(f, 0, NULL, &size), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncGetName(NULL, f), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncGetModule(&of_function, NULL), CUDA_ERROR_INVALID_HANDLE);
}

static int attribute_of(CUfunction f, CUfunction_attribute attribute) {
    int value = -100;
    OK(cuFuncGetAttribute(&value, attribute, f));
    return value;
}

static void a_function_has_attributes(void **state) {
    CUfunction f = function("none");
    int value;
    (void)state;
    assert_int_equal(attribute_of(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
    assert_int_equal(attribute_of(function("other"), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 64);
    assert_int_equal(attribute_of(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152);
    assert_int_equal(attribute_of(f, CU_FUNC_ATTRIBUTE_BINARY_VERSION), 90);
    assert_int_equal(attribute_of(f, CU_FUNC_ATTRIBUTE_PTX_VERSION), 90);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    assert_int_equal(attribute_of(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), 50);
    FAILS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, -1),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncGetAttribute(&value, (CUfunction_attribute)16, f), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncGetAttribute(&value, (CUfunction_attribute)-1, f), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuFuncSetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, 1), CUDA_ERROR_INVALID_HANDLE);
    OK(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_EQUAL));
    FAILS(cuFuncSetCacheConfig(f, (CUfunc_cache)4), CUDA_ERROR_INVALID_VALUE);
}

static void a_function_tells_the_target_of_its_ptx(void **state) {
    static const struct {
        const char *image;
        int version;
    } rows[] = {{".version 8.0 .target sm_52 .entry k() {}", 52},
                {".version 8.0 .target sm_100a, debug .entry k() {}", 100},
                {".version 8.0 .target sm .entry k() {}", 90},
                {".version 8.0 .entry k() {}", 90}};
    CUmodule loaded;
    CUfunction f;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        OK(cuModuleLoadData(&loaded, rows[i].image));
        OK(cuModuleGetFunction(&f, loaded, "k"));
        assert_int_equal(attribute_of(f, CU_FUNC_ATTRIBUTE_PTX_VERSION), rows[i].version);
        OK(cuModuleUnload(loaded));
    }
}

static void a_kernel_has_attributes_on_each_device(void **state) {
    CUkernel kernel = kernel_of(load_the_library(), "none");
    int value;
    (void)state;
    OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1000, kernel, 0));
    OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
    assert_int_equal(value, 1000);
    FAILS(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 1),
          CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_NUM_REGS, 1, NULL, 0), CUDA_ERROR_INVALID_HANDLE);
    OK(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_EQUAL, 0));
}

static void occupancy_is_limited_by_threads_blocks_and_shared_memory(void **state) {
    static const struct {
        int blocks, threads;
        size_t shared;
    } rows[] = {{2, 1024, 0},   {16, 97, 0},    {8, 256, 0},  {32, 32, 0},   {32, 1, 0},
                {4, 32, 49152}, {32, 64, 1024}, {0, 1025, 0}, {0, 32, 49153}};
    int blocks;
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("none"), rows[i].threads,
                                                       rows[i].shared));
        assert_int_equal(blocks, rows[i].blocks);
    }
    FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function("none"), 0, 0),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, function("none"), 32, 0, 2),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 32, 0),
          CUDA_ERROR_INVALID_HANDLE);
}

static size_t shared_for(int threads) {
    CUdevice device;
    OK(cuCtxGetDevice(&device)); // the driver may be called
    return (size_t)threads * 128;
}

static void the_best_block_keeps_the_most_threads_busy(void **state) {
    int grid, block;
    (void)state;
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("none"), NULL, 0, 0));
    assert_int_equal(block, 1024);
    assert_int_equal(grid, 264);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("none"), NULL, 0, 100));
    assert_int_equal(block, 64);
    assert_int_equal(grid, 132 * 32);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("none"), shared_for, 0, 0));
    assert_int_equal(block, 352);
    assert_int_equal(grid, 132 * 5);
    OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, function("other"), NULL, 0, 0, 1));
    assert_int_equal(block, 64);
    FAILS(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("none"), NULL, 0, -1),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuOccupancyMaxPotentialBlockSize(&grid, &block, function("none"), NULL, 50000, 0),
          CUDA_ERROR_INVALID_VALUE);
}

static void blocks_share_the_memory_of_a_multiprocessor(void **state) {
    size_t shared;
    (void)state;
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&shared, function("none"), 2, 1024));
    assert_int_equal(shared, 113 << 10);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&shared, function("none"), 1, 1024));
    assert_int_equal(shared, 227 << 10);
    FAILS(cuOccupancyAvailableDynamicSMemPerBlock(&shared, function("none"), 3, 1024),
          CUDA_ERROR_INVALID_VALUE);
}

// ---------------------------------------------------------------------- what a process is told

// Runs a program in a child, and returns how it ends; keeps what it writes to standard error. This
// process has not used the driver yet.
static int run(void (*program)(const char *settings), const char *settings, char *said,
               size_t size) {
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        program(settings);
        _exit(0);
    }
    close(ends[1]);
    memset(said, 0, size);
    for (ssize_t count; (count = read(ends[0], said, size - 1)) > 0; size -= (size_t)count)
        said += count;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int calls_control(const simcudaLaunch *made) {
    (void)made;
    return (int)simcudaReportCount(NULL);
}

static void let_a_kernel_call_control(const char *settings) {
    become(settings);
    module = load();
    (void)simcudaRegisterKernel("none", calls_control, NULL, NULL);
    (void)launch(function("none"), NULL, NULL);
    (void)cuCtxSynchronize();
}

static void another_call_of_a_kernel_ends_the_process_and_says_why(void **state) {
    char said[1000];
    (void)state;
    int status = run(let_a_kernel_call_control, "", said, sizeof(said));
    assert_int_not_equal(status, 0);
    assert_non_null(strstr(said, "a function of a kernel calls what it may not call"));
}

static void launch_what_is_not_registered(const char *settings) {
    become(settings);
    module = load();
    struct arrays arrays = make_arrays();
    launch_add(arrays, NULL);
    launch_add(arrays, NULL);
    (void)launch(function("none"), NULL, NULL);
}

static void an_unregistered_kernel_is_named_where_reports_are_printed(void **state) {
    char said[1000];
    (void)state;
    assert_int_equal(run(launch_what_is_not_registered, "", said, sizeof(said)), 0);
    assert_string_equal(said, "");
    assert_int_equal(run(launch_what_is_not_registered, "reports=abort", said, sizeof(said)), 0);
    assert_string_equal(
        said,
        "streampool: simulated driver: kernel \"add\" is not registered: it does nothing, and "
        "counts as reading and writing the 2 blocks that its parameters point to\n"
        "streampool: simulated driver: kernel \"none\" is not registered: it does nothing, and its "
        "parameters point to no block\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_with_module, end)

int main(void) {
    const struct CMUnitTest told[] = {
        cmocka_unit_test(another_call_of_a_kernel_ends_the_process_and_says_why),
        cmocka_unit_test(an_unregistered_kernel_is_named_where_reports_are_printed),
    };
    const struct CMUnitTest tests[] = {
        TEST(a_registered_kernel_computes),
        TEST(the_work_is_done_when_it_completes_and_not_at_the_launch),
        TEST(it_takes_as_long_as_its_bytes_do),
        TEST(it_takes_as_long_as_its_touches_function_says),
        TEST(a_launch_tells_its_shape_and_its_device),
        TEST(parameters_are_copied_at_the_launch),
        TEST(a_kernel_that_fails_breaks_its_context),
        TEST(kernels_without_order_are_a_race),
        TEST(kernels_that_read_the_same_are_none),
        TEST(an_access_beyond_the_allocation_is_a_fault),
        TEST(bytes_that_were_not_named_are_reported_once_and_left_alone),
        TEST(accesses_may_join_in_any_order),
        TEST(a_touches_function_may_follow_pointers_in_memory),
        TEST(without_a_touches_function_it_may_touch_what_its_parameters_point_to),
        TEST(pinned_memory_that_its_parameters_point_to_counts_too),
        TEST(a_kernel_may_not_call_the_driver_and_may_ask_the_time),
        TEST(a_kernel_that_is_registered_anew_is_replaced),
        TEST(a_kernel_that_is_unregistered_does_nothing_from_then_on),
        TEST(a_reset_leaves_kernels_registered),
        TEST(a_bad_registration_is_refused),
        TEST(a_kernel_of_the_project_can_be_replaced_too),
        TEST(an_unregistered_kernel_does_nothing_and_is_named_once),
        TEST(its_blocks_are_raced_for),
        TEST(pinned_memory_that_it_uses_is_not_to_be_freed),
        TEST(bytes_that_it_reads_and_writes_are_raced_for_once),
        TEST(of_an_allocation_of_an_odd_size_it_touches_what_the_program_asked_for),
        TEST(of_an_allocators_memory_it_touches_the_block_that_is_pointed_into),
        TEST(a_pointer_inside_a_struct_counts_too),
        TEST(memory_that_it_may_only_read_is_read),
        TEST(memory_of_the_library_is_left_out),
        TEST(a_kernel_of_the_projects_name_with_other_parameters_is_none_of_them),
        TEST(parameters_may_come_in_one_buffer),
        TEST(a_bad_buffer_is_refused),
        TEST(missing_parameters_are_refused),
        TEST(the_limits_of_grid_and_block_are_an_h200s),
        TEST(a_block_is_no_larger_than_its_kernel_allows),
        TEST(more_shared_memory_has_to_be_asked_for),
        TEST(a_cooperative_launch_has_to_fit_on_the_device),
        TEST(a_launch_may_have_attributes),
        TEST(clusters_cut_the_grid_evenly_and_are_small),
        TEST(a_launch_without_clusters_has_those_of_its_function),
        TEST(a_bad_configuration_is_refused),
        TEST(a_function_goes_with_its_module),
        TEST(a_launch_in_a_capture_does_nothing),
        TEST(every_kind_of_image_loads),
        TEST(what_is_no_image_does_not_load),
        TEST(a_library_reads_its_image_when_it_is_asked),
        TEST(a_module_loads_from_a_file),
        TEST(a_context_that_failed_loads_no_module),
        TEST(the_logs_of_a_compiler_are_empty),
        TEST(a_module_lists_its_functions),
        TEST(what_a_module_does_not_have_is_not_found),
        TEST(modules_are_loaded_whole),
        TEST(a_kernel_of_a_library_launches_as_a_function_does),
        TEST(a_library_tells_what_it_holds),
        TEST(a_function_of_a_module_is_launched_in_its_context_alone),
        TEST(a_library_belongs_to_no_context),
        TEST(a_module_is_no_library_and_its_function_no_kernel),
        TEST(modules_and_libraries_count_as_alive_until_they_are_unloaded),
        TEST(a_function_tells_its_name_module_and_parameters),
        TEST(a_function_has_attributes),
        TEST(a_function_tells_the_target_of_its_ptx),
        TEST(a_kernel_has_attributes_on_each_device),
        TEST(occupancy_is_limited_by_threads_blocks_and_shared_memory),
        TEST(the_best_block_keeps_the_most_threads_busy),
        TEST(blocks_share_the_memory_of_a_multiprocessor),
    };
    int failed = cmocka_run_group_tests(told, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
