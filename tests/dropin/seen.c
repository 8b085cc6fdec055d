// seen NAME: what the drop-in sees, and so needn't ask. Each case runs in a process of its own, on
// a driver that counts its calls.
#include "dropin/ways.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIB = 1024, LARGE = 128 * KIB * KIB };

#define REQUIRE(holds) require((holds), #holds, __LINE__)

static void require(bool holds, const char *what, int line) {
    if (holds)
        return;
    fprintf(stderr, "line %d: not so: %s\n", line, what);
    exit(1);
}

// -------------------------------------------------------------------------------------- the driver

static uint64_t (*count_calls)(const char *entry);
static CUcontext primary;

static void find(void *function_pointer, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/libcuda.so.1", getenv("DRIVER_FOLDER"));
    void *library = dlopen(path, RTLD_NOW);
    void *found = library ? dlsym(library, name) : NULL;
    REQUIRE(found);
    memcpy(function_pointer, &found, sizeof found);
}

static void start(void) {
    find_calls("dlsym", NULL);
    find(&count_calls, "simcudaCallCount");
    REQUIRE(cu.cuInit(0) == CUDA_SUCCESS);
    REQUIRE(cu.cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
}

static CUstream create(void) {
    CUstream stream = NULL;
    REQUIRE(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    return stream;
}

// Gives the driver's own function, by a way that the drop-in isn't on. Loaded before the program,
// it answers every look-up but that of the driver in itself. In front of the driver it answers none
// in the driver's own handle.
static void find_own(void *function_pointer, const char *name) {
    void *(*find_in_driver)(const char *) = NULL;
    if (strstr(getenv("DROPIN"), "/libcuda.so")) {
        find(function_pointer, name);
        return;
    }
    find(&find_in_driver, "simcudaFindOwn");
    void *own = find_in_driver(name);
    REQUIRE(own);
    memcpy(function_pointer, &own, sizeof own);
}

static CUstream create_unseen(void) {
    CUresult (*create_own)(CUstream *, unsigned int) = NULL;
    CUstream stream = NULL;
    find_own(&create_own, "cuStreamCreate");
    REQUIRE(create_own(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    return stream;
}

static CUresult try_pair(CUstream stream) {
    CUdeviceptr address = 0;
    CUresult result = cu.cuMemAllocAsync(&address, KIB, stream);
    if (result == CUDA_SUCCESS)
        REQUIRE(cu.cuMemFreeAsync(address, stream) == CUDA_SUCCESS);
    return result;
}

// The driver's calls in the last of several pairs.
static uint64_t calls_of_pair(CUstream stream, const char *entry) {
    uint64_t before = 0;
    for (int i = 0; i < 3; i++) {
        before = count_calls(entry);
        REQUIRE(try_pair(stream) == CUDA_SUCCESS);
    }
    return count_calls(entry) - before;
}

static bool is_known(CUstream stream) {
    return calls_of_pair(stream, NULL) == 0;
}

static bool is_asked_for(CUstream stream) {
    return calls_of_pair(stream, "cuStreamIsCapturing") == 2 &&
           calls_of_pair(stream, "cuStreamGetId") == 2;
}

static bool is_asked_for_captures(CUstream stream) {
    return calls_of_pair(stream, "cuStreamIsCapturing") == 2 &&
           calls_of_pair(stream, "cuStreamGetId") == 0;
}

static void in_thread(void *(*run)(void *), void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run, argument) == 0);
    pthread_join(thread, NULL);
}

// ----------------------------------------------------------------------------------------- streams

// They are made before the first pool call, and behind it.
static void a_pair_makes_no_call(void) {
    static int green; // its address stands for a green context
    CUstream streams[4];
    start();
    streams[0] = create();
    REQUIRE(cu.cuStreamCreateWithPriority(&streams[1], CU_STREAM_NON_BLOCKING, -1) == CUDA_SUCCESS);
    REQUIRE(cu.cuGreenCtxStreamCreate(&streams[2], (struct CUgreenCtx_st *)(void *)&green,
                                      CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    for (int i = 0; i < 3; i++)
        REQUIRE(is_known(streams[i]));
    streams[3] = create();
    for (int i = 0; i < 4; i++)
        REQUIRE(is_known(streams[i]));
}

static void a_pair_of_a_pool_makes_no_call(void) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool;
    CUdeviceptr address;
    uint64_t before = 0;
    start();
    CUstream stream = create();
    REQUIRE(cu.cuMemPoolCreate(&pool, &props) == CUDA_SUCCESS);
    for (int i = 0; i < 3; i++) {
        before = count_calls(NULL);
        REQUIRE(cu.cuMemAllocFromPoolAsync(&address, KIB, pool, stream) == CUDA_SUCCESS);
        REQUIRE(cu.cuMemFreeAsync(address, stream) == CUDA_SUCCESS);
    }
    REQUIRE(count_calls(NULL) == before);
}

static void a_default_stream_is_asked_for_once(void) {
    start();
    REQUIRE(calls_of_pair(NULL, "cuStreamIsCapturing") == 0);
    REQUIRE(calls_of_pair(CU_STREAM_PER_THREAD, "cuStreamIsCapturing") == 0);
    REQUIRE(calls_of_pair(NULL, "cuCtxGetId") == 2 && calls_of_pair(NULL, "cuStreamGetId") == 0);
    REQUIRE(calls_of_pair(CU_STREAM_PER_THREAD, "cuStreamGetId") == 2);
    REQUIRE(calls_of_pair(NULL, "cuCtxGetCurrent") == 0);
}

// Such a driver has no ids of streams. A chain of events stands in for them, and stays.
static void of_a_driver_of_before_12_0_no_more_is_asked(void) {
    static const char *const questions[] = {"cuStreamIsCapturing", "cuStreamGetId",
                                            "cuStreamGetCtx", "cuCtxGetCurrent",
                                            "cuPointerGetAttribute"};
    start();
    CUstream stream = create();
    for (int i = 0; i < 5; i++)
        REQUIRE(calls_of_pair(stream, questions[i]) == 0);
    REQUIRE(cu.cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
    REQUIRE(create() == stream);
    REQUIRE(calls_of_pair(stream, questions[0]) == 0);
}

static void an_unseen_stream_is_asked_for(void) {
    start();
    CUstream before = create_unseen();
    REQUIRE(is_asked_for(before));
    REQUIRE(is_known(create()));
    REQUIRE(is_asked_for(create_unseen()));
    REQUIRE(is_asked_for(before));
}

// It is destroyed before the library is started, and after that.
static void a_handle_that_comes_back_unseen_is_asked_for(void) {
    start();
    CUstream stream = create();
    REQUIRE(cu.cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
    REQUIRE(create_unseen() == stream);
    REQUIRE(is_asked_for(stream));
    REQUIRE(cu.cuStreamDestroy(stream) == CUDA_SUCCESS);
    REQUIRE(create() == stream);
    REQUIRE(is_known(stream));
    REQUIRE(cu.cuStreamDestroy(stream) == CUDA_SUCCESS);
    REQUIRE(create_unseen() == stream);
    REQUIRE(is_asked_for(stream));
}

static void a_handle_that_comes_back_is_another_stream(void) {
    start();
    CUstream stream = create();
    REQUIRE(is_known(stream));
    REQUIRE(cu.cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
    REQUIRE(create() == stream);
    uint64_t before = count_calls("cuStreamGetId");
    REQUIRE(try_pair(stream) == CUDA_SUCCESS);
    REQUIRE(count_calls("cuStreamGetId") > before);
    REQUIRE(is_known(stream));
}

// The drop-in is linked with the library.
static void find_in_library(void *function_pointer, const char *name) {
    void *in_front = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = dlsym(RTLD_DEFAULT, name);
    found = found ? found : dlsym(in_front, name);
    REQUIRE(found);
    memcpy(function_pointer, &found, sizeof found);
}

// By the library's own call, which a program may make, too. It ends the stream's capture.
static void a_stream_that_the_library_destroys_is_seen_to_end(void) {
    int (*destroy_in_library)(CUstream) = NULL;
    start();
    CUstream stream = create(), other = create();
    find_in_library(&destroy_in_library, "poolStreamDestroy");
    REQUIRE(is_known(stream));
    REQUIRE(cu.cuStreamBeginCapture(stream) == CUDA_SUCCESS);
    REQUIRE(destroy_in_library(stream) == 0);
    REQUIRE(is_known(other));
    REQUIRE(create_unseen() == stream);
    REQUIRE(is_asked_for(stream));
}

static void a_failed_call_tells_nothing(void) {
    start();
    CUstream stream = create();
    REQUIRE(is_known(stream));
    REQUIRE(cu.cuStreamCreate(&stream, 77) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuStreamCreate(NULL, 0) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuGreenCtxStreamCreate(&stream, NULL, 0, 0) == CUDA_ERROR_INVALID_VALUE);
    REQUIRE(cu.cuStreamEndCapture(stream, NULL) != CUDA_SUCCESS);
    REQUIRE(cu.cuDevicePrimaryCtxReset(77) != CUDA_SUCCESS);
    REQUIRE(cu.cuDevicePrimaryCtxReset_v2(-1) != CUDA_SUCCESS);
    REQUIRE(cu.cuDevicePrimaryCtxRelease(77) != CUDA_SUCCESS);
    REQUIRE(cu.cuGreenCtxDestroy(NULL) != CUDA_SUCCESS);
    REQUIRE(is_known(stream));
}

// ---------------------------------------------------------------------------------------- captures

static CUresult begin_plainly(CUstream stream) {
    return cu.cuStreamBeginCapture(stream);
}

static CUresult begin_in_mode(CUstream stream) {
    return cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static CUresult begin_to_graph(CUstream stream) {
    return cu.cuStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0,
                                          CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static CUresult begin_again_to_graph(CUstream stream) {
    return cu.cuStreamBeginRecaptureToGraph(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, NULL, NULL,
                                            NULL);
}

static CUresult begin_plainly_per_thread(CUstream stream) {
    return cu.cuStreamBeginCapture_ptsz(stream);
}

static CUresult begin_in_mode_per_thread(CUstream stream) {
    return cu.cuStreamBeginCapture_v2_ptsz(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static CUresult begin_to_graph_per_thread(CUstream stream) {
    return cu.cuStreamBeginCaptureToGraph_ptsz(stream, NULL, NULL, NULL, 0,
                                               CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static CUresult begin_again_to_graph_per_thread(CUstream stream) {
    return cu.cuStreamBeginRecaptureToGraph_ptsz(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, NULL,
                                                 NULL, NULL);
}

static CUresult (*const begins[])(CUstream stream) = {
    begin_plainly,
    begin_in_mode,
    begin_to_graph,
    begin_again_to_graph,
    begin_plainly_per_thread,
    begin_in_mode_per_thread,
    begin_to_graph_per_thread,
    begin_again_to_graph_per_thread,
};
enum { BEGINS = sizeof begins / sizeof begins[0], PER_THREAD_BEGINS = BEGINS / 2 };

static void end(CUstream stream) {
    CUgraph graph = NULL;
    REQUIRE(cu.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
    REQUIRE(cu.cuGraphDestroy(graph) == CUDA_SUCCESS);
}

static void while_a_capture_is_open_all_are_asked(void) {
    start();
    CUstream stream = create(), other = create();
    for (int i = 0; i < BEGINS; i++) {
        REQUIRE(is_known(stream));
        REQUIRE(begins[i](other) == CUDA_SUCCESS);
        require(is_asked_for_captures(stream), "it is asked for captures", i);
        end(other);
        require(is_known(stream), "it is known again", i);
    }
}

// A capture of a thread's own default stream has nothing to do with that of another thread's.
static void *capture_elsewhere(void *stream) {
    CUgraph graph = NULL;
    REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    REQUIRE(begin_in_mode_per_thread(NULL) == CUDA_SUCCESS);
    REQUIRE(cu.cuStreamEndCapture_ptsz(NULL, &graph) == CUDA_SUCCESS);
    REQUIRE(cu.cuGraphDestroy(graph) == CUDA_SUCCESS);
    REQUIRE(is_asked_for_captures(stream));
    return NULL;
}

static void threads_capture_on_their_own_default_streams(void) {
    CUgraph graph = NULL;
    start();
    CUstream stream = create();
    for (int i = PER_THREAD_BEGINS; i < BEGINS; i++) {
        REQUIRE(begins[i](NULL) == CUDA_SUCCESS);
        REQUIRE(is_asked_for_captures(stream));
        in_thread(capture_elsewhere, stream);
        REQUIRE(is_asked_for_captures(stream));
        REQUIRE(cu.cuStreamEndCapture_ptsz(NULL, &graph) == CUDA_SUCCESS);
        REQUIRE(cu.cuGraphDestroy(graph) == CUDA_SUCCESS);
        REQUIRE(is_known(stream));
    }
}

// A thread has a default stream in each context.
static void a_thread_captures_in_two_contexts(void) {
    CUcontext other;
    start();
    CUstream stream = create();
    REQUIRE(begin_in_mode(CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxCreate_v2(&other, 0, 0) == CUDA_SUCCESS);
    REQUIRE(begin_in_mode(CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
    end(CU_STREAM_PER_THREAD);
    REQUIRE(is_asked_for_captures(stream));
    REQUIRE(cu.cuCtxDestroy_v2(other) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    REQUIRE(is_asked_for_captures(stream));
    end(CU_STREAM_PER_THREAD);
    REQUIRE(is_known(stream));
}

// Memory of the graph is the driver's, on whichever stream of the capture.
static void a_capture_that_spreads_is_felt_where_it_gets(void) {
    CUdeviceptr address = 0;
    CUevent event;
    start();
    CUstream origin = create(), stream = create();
    REQUIRE(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    REQUIRE(is_known(stream));
    REQUIRE(begin_in_mode(origin) == CUDA_SUCCESS);
    REQUIRE(cu.cuEventRecord(event, origin) == CUDA_SUCCESS);
    REQUIRE(cu.cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS);
    REQUIRE(cu.cuMemAllocAsync(&address, KIB, stream) == CUDA_SUCCESS);
    REQUIRE(address >= (CUdeviceptr)1 << 45); // as newer.c gives it in a capture
    REQUIRE(cu.cuMemFreeAsync(address, stream) == CUDA_SUCCESS);
    REQUIRE(cu.cuEventRecord(event, stream) == CUDA_SUCCESS);
    REQUIRE(cu.cuStreamWaitEvent(origin, event, 0) == CUDA_SUCCESS);
    end(origin);
    REQUIRE(is_known(stream) && is_known(origin));
}

static void *end_elsewhere(void *stream) {
    CUgraph graph = NULL;
    REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    REQUIRE(cu.cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    return NULL;
}

static void an_end_by_the_wrong_thread_ends_nothing(void) {
    start();
    CUstream stream = create(), other = create();
    REQUIRE(begin_in_mode(other) == CUDA_SUCCESS);
    in_thread(end_elsewhere, other);
    REQUIRE(is_asked_for_captures(stream));
    end(other);
    REQUIRE(is_known(stream));
}

static void a_begin_that_fails_counts_nothing(void) {
    start();
    CUstream stream = create();
    REQUIRE(begin_in_mode(NULL) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    REQUIRE(cu.cuStreamBeginCapture_v2(stream, (CUstreamCaptureMode)77) ==
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(is_known(stream));
    REQUIRE(cu.cuCtxSetCurrent(NULL) == CUDA_SUCCESS);
    REQUIRE(begin_in_mode_per_thread(NULL) == CUDA_ERROR_INVALID_CONTEXT);
    REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    REQUIRE(is_known(stream));
}

static void a_capture_ends_with_its_stream(void) {
    start();
    CUstream stream = create(), first = create();
    REQUIRE(begin_in_mode(first) == CUDA_SUCCESS);
    REQUIRE(cu.cuStreamDestroy(first) == CUDA_SUCCESS); // before the library is started
    REQUIRE(is_known(stream));
    CUstream second = create();
    REQUIRE(begin_in_mode(second) == CUDA_SUCCESS);
    REQUIRE(is_asked_for_captures(stream));
    REQUIRE(cu.cuStreamDestroy_v2(second) == CUDA_SUCCESS);
    REQUIRE(is_known(stream));
}

// A capture in one context isn't ended by the end of another.
static void a_capture_ends_with_its_context(void) {
    CUcontext other, third;
    start();
    CUstream stream = create();
    REQUIRE(cu.cuCtxCreate_v2(&third, 0, 0) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxCreate_v2(&other, 0, 0) == CUDA_SUCCESS);
    REQUIRE(begin_in_mode(create()) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxDestroy_v2(third) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    REQUIRE(is_asked_for_captures(stream));
    REQUIRE(cu.cuCtxDestroy_v2(other) == CUDA_SUCCESS);
    REQUIRE(is_known(stream));
    REQUIRE(begin_in_mode(CU_STREAM_PER_THREAD) == CUDA_SUCCESS);
    REQUIRE(is_asked_for_captures(stream));
    REQUIRE(cu.cuDevicePrimaryCtxReset(0) == CUDA_SUCCESS);
    REQUIRE(cu.cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    REQUIRE(is_known(create()));
}

// A stream that is found capturing while no capture has been seen shows that not all are.
static void after_an_unseen_capture_all_are_asked(void) {
    CUresult (*begin_own)(CUstream, CUstreamCaptureMode) = NULL;
    start();
    CUstream stream = create(), unseen = create_unseen();
    REQUIRE(is_known(stream));
    find_own(&begin_own, "cuStreamBeginCapture_v2");
    REQUIRE(begin_own(unseen, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS);
    REQUIRE(try_pair(unseen) == CUDA_SUCCESS); // by the driver
    end(unseen);
    REQUIRE(is_asked_for_captures(stream));
}

// ---------------------------------------------------------------------------------------- contexts

static CUcontext make_context(void) {
    CUcontext context;
    REQUIRE(cu.cuCtxCreate_v2(&context, 0, 0) == CUDA_SUCCESS);
    return context;
}

static CUresult destroy_context(CUcontext context) {
    return cu.cuCtxDestroy_v2(context);
}

static CUresult destroy_context_as_of_old(CUcontext context) {
    return cu.cuCtxDestroy(context);
}

static CUresult detach_context(CUcontext context) {
    return cu.cuCtxDetach(context);
}

// The driver gives a new stream the handle of one that went with its context.
static void streams_end_with_their_context(void) {
    static CUresult (*const ends[])(CUcontext context) = {
        destroy_context, destroy_context_as_of_old, detach_context};
    start();
    CUstream lasting = create();
    for (int i = 0; i < 3; i++) {
        CUcontext context = make_context();
        CUstream stream = create();
        REQUIRE(is_known(stream));
        REQUIRE(ends[i](context) == CUDA_SUCCESS);
        REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
        REQUIRE(is_known(lasting));
        require(create_unseen() == stream, "the handle comes back", i);
        REQUIRE(is_asked_for(stream));
    }
}

static CUresult reset(void) {
    return cu.cuDevicePrimaryCtxReset(0);
}

static CUresult reset_newly(void) {
    return cu.cuDevicePrimaryCtxReset_v2(0);
}

static CUresult release(void) {
    return cu.cuDevicePrimaryCtxRelease(0);
}

static CUresult release_newly(void) {
    return cu.cuDevicePrimaryCtxRelease_v2(0);
}

static void streams_end_with_the_devices_context(void) {
    static CUresult (*const ends[])(void) = {reset, reset_newly, release, release_newly};
    start();
    for (int i = 0; i < 4; i++) {
        CUstream stream = create();
        REQUIRE(is_known(stream));
        REQUIRE(ends[i]() == CUDA_SUCCESS);
        REQUIRE(try_pair(stream) != CUDA_SUCCESS);
        REQUIRE(cu.cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS);
        REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
        require(create_unseen() == stream, "the handle comes back", i);
        REQUIRE(is_asked_for(stream));
        REQUIRE(cu.cuStreamDestroy_v2(stream) == CUDA_SUCCESS);
    }
}

static void a_release_that_is_not_the_last_ends_nothing(void) {
    CUcontext again;
    start();
    CUstream stream = create();
    REQUIRE(cu.cuDevicePrimaryCtxRetain(&again, 0) == CUDA_SUCCESS && again == primary);
    REQUIRE(is_known(stream));
    REQUIRE(release() == CUDA_SUCCESS);
    REQUIRE(is_known(stream));
}

static struct CUgreenCtx_st *make_green(void) {
    static int green; // its address stands for a green context
    CUcontext retained;
    REQUIRE(cu.cuDevicePrimaryCtxRetain(&retained, 0) == CUDA_SUCCESS);
    return (struct CUgreenCtx_st *)(void *)&green;
}

// It isn't known which green context a stream is of.
static void streams_of_green_contexts_end_with_any(void) {
    CUstream stream;
    start();
    struct CUgreenCtx_st *green = make_green();
    CUcontext other = make_context();
    CUstream lasting = create();
    REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    REQUIRE(cu.cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
    REQUIRE(is_known(stream) && is_known(lasting));
    REQUIRE(cu.cuGreenCtxDestroy(green) == CUDA_SUCCESS);
    REQUIRE(is_asked_for(stream));
    REQUIRE(is_known(lasting));
    REQUIRE(cu.cuCtxDestroy_v2(other) == CUDA_SUCCESS);
}

// It may be the last that had the device's context retained.
static void the_devices_context_ends_with_a_green_one(void) {
    start();
    struct CUgreenCtx_st *green = make_green();
    CUcontext other = make_context();
    REQUIRE(release() == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    CUstream stream = create();
    REQUIRE(is_known(stream));
    REQUIRE(cu.cuCtxSetCurrent(other) == CUDA_SUCCESS);
    REQUIRE(cu.cuGreenCtxDestroy(green) == CUDA_SUCCESS);
    REQUIRE(cu.cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS);
    REQUIRE(cu.cuCtxSetCurrent(primary) == CUDA_SUCCESS);
    REQUIRE(create_unseen() == stream);
    REQUIRE(is_asked_for(stream));
}

// The events that are recorded by a pair of blocks that are too large to be held back.
static uint64_t recorded_by_pair(CUstream stream, CUmemoryPool pool) {
    CUdeviceptr address;
    uint64_t before = count_calls("cuEventRecord");
    REQUIRE(cu.cuMemAllocFromPoolAsync(&address, LARGE, pool, stream) == CUDA_SUCCESS);
    REQUIRE(cu.cuMemFreeAsync(address, stream) == CUDA_SUCCESS);
    return count_calls("cuEventRecord") - before;
}

// A free has no event in a pool that the stream alone uses.
static CUmemoryPool leave_without_event(CUstream stream) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool;
    REQUIRE(is_known(stream));
    REQUIRE(cu.cuMemPoolCreate(&pool, &props) == CUDA_SUCCESS);
    REQUIRE(recorded_by_pair(stream, pool) == 0);
    return pool;
}

// The streams of a context that lives on are asked for then, and couldn't be recorded for others.
static void what_has_no_event_gets_it_before_a_context_ends(void) {
    static CUresult (*const destroys[])(CUcontext context) = {
        destroy_context, destroy_context_as_of_old, detach_context};
    static CUresult (*const releases[])(void) = {reset, reset_newly, release, release_newly};
    start();
    CUcontext lasting = make_context(), others[] = {make_context(), make_context(), make_context()};
    for (int i = 0; i < 8; i++) {
        REQUIRE(cu.cuDevicePrimaryCtxRetain(&primary, 0) == CUDA_SUCCESS);
        REQUIRE(cu.cuCtxSetCurrent(lasting) == CUDA_SUCCESS);
        leave_without_event(create());
        uint64_t before = count_calls("cuEventRecord");
        REQUIRE((i < 3   ? destroys[i](others[i])
                 : i < 7 ? releases[i - 3]()
                         : cu.cuGreenCtxDestroy(make_green())) == CUDA_SUCCESS);
        require(count_calls("cuEventRecord") == before + 1, "it has its event", i);
    }
}

static void a_stream_whose_destruction_failed_records_its_frees(void) {
    int (*fail_call)(const char *entry, uint64_t n, int span, int error) = NULL;
    start();
    CUstream stream = create();
    CUmemoryPool pool = leave_without_event(stream);
    find(&fail_call, "simcudaFailCall");
    fail_call("cuStreamDestroy", 1, 0, CUDA_ERROR_UNKNOWN);
    REQUIRE(cu.cuStreamDestroy(stream) == CUDA_ERROR_UNKNOWN);
    REQUIRE(recorded_by_pair(stream, pool) == 1);
}

static void *require_known(void *stream) {
    REQUIRE(is_known(stream));
    return NULL;
}

static void a_pair_without_a_context_makes_no_call(void) {
    start();
    CUstream stream = create();
    REQUIRE(is_known(stream));
    in_thread(require_known, stream);
}

// --------------------------------------------------------------------------------------------- all

// clang-format off
#define ROWS(X) \
    X(a_pair_makes_no_call) \
    X(a_pair_of_a_pool_makes_no_call) \
    X(a_default_stream_is_asked_for_once) \
    X(of_a_driver_of_before_12_0_no_more_is_asked) \
    X(an_unseen_stream_is_asked_for) \
    X(a_handle_that_comes_back_unseen_is_asked_for) \
    X(a_handle_that_comes_back_is_another_stream) \
    X(a_stream_that_the_library_destroys_is_seen_to_end) \
    X(a_failed_call_tells_nothing) \
    X(while_a_capture_is_open_all_are_asked) \
    X(threads_capture_on_their_own_default_streams) \
    X(a_thread_captures_in_two_contexts) \
    X(a_capture_that_spreads_is_felt_where_it_gets) \
    X(an_end_by_the_wrong_thread_ends_nothing) \
    X(a_begin_that_fails_counts_nothing) \
    X(a_capture_ends_with_its_stream) \
    X(a_capture_ends_with_its_context) \
    X(after_an_unseen_capture_all_are_asked) \
    X(streams_end_with_their_context) \
    X(streams_end_with_the_devices_context) \
    X(a_release_that_is_not_the_last_ends_nothing) \
    X(streams_of_green_contexts_end_with_any) \
    X(the_devices_context_ends_with_a_green_one) \
    X(what_has_no_event_gets_it_before_a_context_ends) \
    X(a_stream_whose_destruction_failed_records_its_frees) \
    X(a_pair_without_a_context_makes_no_call)
// clang-format on

int main(int count, char **arguments) {
#define RUN(name)                                                                                  \
    if (count == 2 && strcmp(arguments[1], #name) == 0) {                                          \
        name();                                                                                    \
        return 0;                                                                                  \
    }
    ROWS(RUN)
#undef RUN
    fprintf(stderr, "usage: seen NAME\n");
    return 2;
}
