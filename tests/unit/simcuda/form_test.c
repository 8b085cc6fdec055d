// Finding entry points: forms of several versions and of another null stream, what is not
// simulated, and the driver's private tables.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "simcuda/bridge/thread_form.h"
#include "unit/simcuda/fixture.h"

#define PER_THREAD CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

static void *find(const char *name, int version, uint64_t flags) {
    void *function;
    CUdriverProcAddressQueryResult status;
    OK(cuGetProcAddress_v2(name, &function, version, flags, &status));
    assert_int_equal(function != NULL, status == CU_GET_PROC_ADDRESS_SUCCESS);
    return function;
}

#define IS(found, function) assert_true((found) == (void *)(uintptr_t)(function))

static void a_name_gives_the_newest_form_that_is_not_newer_than_asked(void **state) {
    (void)state;
    IS(find("cuCtxCreate", 11030, 0), cuCtxCreate_v2);
    IS(find("cuCtxCreate", 11040, 0), cuCtxCreate_v3);
    IS(find("cuCtxCreate", 13000, 0), cuCtxCreate_v4);
    IS(find("cuEventElapsedTime", 12070, 0), cuEventElapsedTime);
    IS(find("cuEventElapsedTime", 12080, 0), cuEventElapsedTime_v2);
    IS(find("cuStreamGetCtx", 12040, 0), cuStreamGetCtx);
    IS(find("cuStreamGetCtx", 12050, 0), cuStreamGetCtx_v2);
    IS(find("cuStreamGetCtx", 12050, PER_THREAD), cuStreamGetCtx_v2_ptsz);
    IS(find("cuCtxSynchronize", 12090, 0), cuCtxSynchronize);
    IS(find("cuCtxSynchronize", 13000, 0), cuCtxSynchronize_v2);
}

static void a_flag_asks_for_forms_of_the_threads_own_null_stream(void **state) {
    (void)state;
    IS(find("cuStreamQuery", 7000, 0), cuStreamQuery);
    IS(find("cuStreamQuery", 7000, CU_GET_PROC_ADDRESS_LEGACY_STREAM), cuStreamQuery);
    IS(find("cuStreamQuery", 7000, PER_THREAD), cuStreamQuery_ptsz);
    IS(find("cuMemcpyHtoD", 7000, PER_THREAD), cuMemcpyHtoD_v2_ptds);
    IS(find("cuStreamGetCaptureInfo", 11030, PER_THREAD), cuStreamGetCaptureInfo_v2_ptsz);
    IS(find("cuStreamGetCaptureInfo", 12030, PER_THREAD), cuStreamGetCaptureInfo_v3_ptsz);
    IS(find("cuStreamQuery", 7000, CU_GET_PROC_ADDRESS_LEGACY_STREAM | PER_THREAD),
       cuStreamQuery_ptsz);
    IS(find("cuMemAlloc", 7000, PER_THREAD), cuMemAlloc_v2);
    IS(find("cuStreamQuery", 6050, PER_THREAD), cuStreamQuery);
}

static void flags_that_make_no_sense_are_refused(void **state) {
    void *function;
    (void)state;
    FAILS(cuGetProcAddress("cuInit", &function, 13000, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGetProcAddress_v2("cuInit", &function, 13000, 4, NULL), CUDA_ERROR_INVALID_VALUE);
}

static unsigned long long id_of(CUstream stream) {
    unsigned long long id;
    OK(cuStreamGetId(stream, &id));
    return id;
}

static void the_null_stream_of_such_a_form_is_the_threads_own(void **state) {
    unsigned long long id;
    (void)state;
    OK(cuStreamGetId_ptsz(NULL, &id));
    assert_true(id == id_of(CU_STREAM_PER_THREAD));
    OK(cuStreamGetId_ptsz(CU_STREAM_LEGACY, &id));
    assert_true(id == id_of(CU_STREAM_LEGACY));
    assert_true(id_of(NULL) == id_of(CU_STREAM_LEGACY));
}

static void work_of_such_a_form_is_in_the_threads_own_stream(void **state) {
    struct memory memory = map_memory(GRANULE);
    (void)state;
    CUstream blocking = make_stream();
    spin(blocking, MS);
    OK(cuMemsetD8Async_ptsz(memory.address, 1, 64, NULL));
    assert_int_equal(simcudaPending(CU_STREAM_PER_THREAD), 1);
    assert_int_equal(simcudaPending(NULL), 0);
    OK(cuStreamSynchronize_ptsz(NULL));
    assert_int_equal(simcudaPending(blocking), 1);
    OK(cuStreamSynchronize(blocking));
    unmap_memory(memory);
}

static void a_blocking_copy_of_such_a_form_waits_for_no_other_stream(void **state) {
    struct memory memory = map_memory(GRANULE);
    char bytes[64] = {1};
    (void)state;
    CUstream blocking = make_stream();
    spin(blocking, 100 * MS);
    OK(cuMemcpyHtoD_v2_ptds(memory.address, bytes, sizeof bytes));
    assert_int_equal(simcudaPending(blocking), 1);
    OK(cuMemcpyDtoH_v2(bytes, memory.address, sizeof bytes));
    assert_int_equal(simcudaPending(blocking), 0);
    unmap_memory(memory);
}

static void such_a_form_counts_and_fails_as_its_entry_point(void **state) {
    (void)state;
    simcudaCallCountReset();
    OK(cuStreamSynchronize_ptsz(NULL));
    assert_int_equal(simcudaCallCount("cuStreamSynchronize"), 1);
    OK(simcudaFailCall("cuStreamSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED));
    FAILS(cuStreamSynchronize_ptsz(NULL), CUDA_ERROR_LAUNCH_FAILED);
    OK(cuStreamSynchronize(NULL));
}

// ------------------------------------------------------------------------------ what is not there

static FILE *seen;
static int kept;

static void watch_standard_error(void) {
    seen = tmpfile();
    assert_non_null(seen);
    fflush(stderr);
    kept = dup(STDERR_FILENO);
    dup2(fileno(seen), STDERR_FILENO);
}

// Returns what was written since.
static const char *written(void) {
    static char text[1000];
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(seen);
    text[fread(text, 1, sizeof text - 1, seen)] = '\0';
    fclose(seen);
    return text;
}

typedef CUresult (*absent_call)(void *, size_t, size_t);

static void a_call_that_is_not_simulated_is_named_once_and_refused(void **state) {
    (void)state;
    absent_call create = (absent_call)(uintptr_t)find("cuGreenCtxCreate", 13000, 0);
    assert_non_null(create);
    watch_standard_error();
    CUresult result = create(NULL, 0, 0);
    CUresult again = create(NULL, 0, 0);
    assert_string_equal(written(),
                        "simulated driver: cuGreenCtxCreate is not simulated: "
                        "CUDA_ERROR_NOT_SUPPORTED\n");
    FAILS(result, CUDA_ERROR_NOT_SUPPORTED);
    FAILS(again, CUDA_ERROR_NOT_SUPPORTED);
}

static void a_name_that_no_driver_has_is_not_found(void **state) {
    (void)state;
    assert_null(find("cuNothing", 13000, 0));
    assert_null(find("", 13000, 0));
    assert_null(find("cuGreenCtx", 13000, 0));
}

static void the_name_of_an_older_form_stands_for_what_is_not_simulated(void **state) {
    (void)state;
    assert_non_null(find("cuIpcOpenMemHandle", 13000, 0));
    assert_non_null(find("cuTexRefSetAddress2D", 13000, 0));
}

static void a_private_table_is_refused_and_the_first_one_named(void **state) {
    CUuuid dispensable = {"\xf8\xcf\xf9\x51\x21\x46\x8b\x4e\xb9\xe2\xfb\x46\x9e\x7c\x0d\xd9"};
    CUuuid table = {"\x6b\xd5\xfb\x6c\x5b\xf4\xe7\x4a\x89\x87\xd9\x39\x12\xfd\x9d\xf9"};
    CUuuid another = {"another table"};
    const void *found = &table;
    (void)state;
    watch_standard_error();
    CUresult result = cuGetExportTable(&found, &dispensable);
    CUresult first = cuGetExportTable(&found, &table);
    CUresult next = cuGetExportTable(&found, &another);
    assert_string_equal(written(),
                        "simulated driver: the CUDA runtime asks for the driver's private table "
                        "6bd5fb6c-5bf4-e74a-8987-d93912fd9df9, which is not documented: this "
                        "program can't run here\n");
    FAILS(result, CUDA_ERROR_INVALID_VALUE);
    FAILS(first, CUDA_ERROR_INVALID_VALUE);
    FAILS(next, CUDA_ERROR_INVALID_VALUE);
    assert_null(found);
    FAILS(cuGetExportTable(NULL, &table), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuGetExportTable(&found, NULL), CUDA_ERROR_INVALID_VALUE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_without_reports)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_name_gives_the_newest_form_that_is_not_newer_than_asked),
        TEST(a_flag_asks_for_forms_of_the_threads_own_null_stream),
        TEST(flags_that_make_no_sense_are_refused),
        TEST(the_null_stream_of_such_a_form_is_the_threads_own),
        TEST(work_of_such_a_form_is_in_the_threads_own_stream),
        TEST(a_blocking_copy_of_such_a_form_waits_for_no_other_stream),
        TEST(such_a_form_counts_and_fails_as_its_entry_point),
        TEST(a_call_that_is_not_simulated_is_named_once_and_refused),
        TEST(a_name_that_no_driver_has_is_not_found),
        TEST(the_name_of_an_older_form_stands_for_what_is_not_simulated),
        TEST(a_private_table_is_refused_and_the_first_one_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
