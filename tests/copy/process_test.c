// What a process is to copies: its end, a fork, a context that fails, a driver that can't do all.
// Each scenario has a process of its own, which this one is forked to before it uses the driver.
#include "copy/process.h"

#include "copy/measure.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES MIB(3)

struct scene {
    CUstream stream;
    void *device;
    unsigned char *from, *to;
    poolCopyCompletion_t in, out;
    struct copy_hold hold;
};

static void open_scene(struct scene *scene, const char *settings) {
    CUdeviceptr device = 0;
    NEED(simulated_begin(settings) == 0);
    NEED(sp_driver->cuStreamCreate(&scene->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    NEED(sp_driver->cuMemAlloc(&device, BYTES) == CUDA_SUCCESS);
    scene->device = copy_pointer(device);
    scene->from = malloc(BYTES);
    scene->to = malloc(BYTES);
    NEED(scene->from && scene->to);
    copy_fill(scene->from, BYTES, 1);
    memset(scene->to, 0, BYTES);
}

// Both ways, behind a wait of the stream.
static void copy_at_once(struct scene *scene) {
    scene->hold = copy_hold(scene->stream);
    NEED(poolCopyToDeviceAsyncWithCompletion(scene->device, scene->from, BYTES, scene->stream,
                                             &scene->in) == poolSuccess);
    NEED(poolCopyToHostAsyncWithCompletion(scene->to, scene->device, BYTES, scene->stream,
                                           &scene->out) == poolSuccess);
}

static void copy_both_ways(struct scene *scene) {
    memset(scene->to, 0, BYTES);
    NEED(poolCopyToDeviceAsync(scene->device, scene->from, BYTES, scene->stream) == poolSuccess);
    NEED(poolCopyToHostAsync(scene->to, scene->device, BYTES, scene->stream) == poolSuccess);
    NEED(copy_is_filled(scene->to, BYTES, 1));
}

// ---------------------------------------------------------------------------------------- its end

static void end_with_copies_under_way(void) {
    struct scene scene;
    open_scene(&scene, NULL);
    copy_at_once(&scene);
    exit(7);
}

static CUstream waited_for;
static void synchronise_at_exit(void) {
    NEED(sp_driver->cuStreamSynchronize(waited_for) == CUDA_SUCCESS);
}

// As a destructor of the program's does that was registered before the first copy.
static void end_with_a_synchronise_behind_the_crew(void) {
    struct scene scene;
    open_scene(&scene, NULL);
    NEED(atexit(synchronise_at_exit) == 0);
    copy_at_once(&scene);
    copy_let_go(&scene.hold);
    waited_for = scene.stream;
    exit(7);
}

// In a handler behind the crew's a copy is made without it; and who asks for one that was under way
// learns that it has ended.
static struct scene late;
static void copy_at_exit(void) {
    NEED(poolCopyCompletionSynchronize(late.out) == poolErrorNotPermitted);
    NEED(strstr(poolGetLastErrorDetail(), "the process ends"));
    NEED(poolCopyCompletionDestroy(late.out) == poolSuccess);
    copy_let_go(&late.hold);
    copy_finish(late.stream);
    NEED(poolCopyToDeviceAsyncWithCompletion(late.device, late.from, BYTES, late.stream,
                                             &late.in) == poolSuccess);
    NEED(poolCopyCompletionSynchronize(late.in) == poolSuccess);
    NEED(poolCopyToHostAsync(late.to, late.device, BYTES, late.stream) == poolSuccess);
    NEED(copy_is_filled(late.to, BYTES, 1));
}

static void copy_while_the_process_ends(void) {
    open_scene(&late, NULL);
    NEED(atexit(copy_at_exit) == 0);
    copy_at_once(&late);
    exit(7);
}

// Memory is gone in a handler behind the crew's, as the driver's own is.
static struct scene unmapped;
static void unmap_at_exit(void) {
    munmap(unmapped.from, BYTES);
    copy_let_go(&unmapped.hold);
    NEED(sp_driver->cuStreamSynchronize(unmapped.stream) == CUDA_SUCCESS);
    usleep(20 * 1000); // in which a crew would look again
}

static void map_source(struct scene *scene) {
    free(scene->from);
    scene->from = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(scene->from != MAP_FAILED);
    copy_fill(scene->from, BYTES, 1);
}

static void end_with_a_source_that_goes_behind_the_crew(void) {
    const struct poolCopySettings settings = {2, 2, KIB(64)};
    NEED(poolCopySetSettings(&settings) == poolSuccess);
    open_scene(&unmapped, NULL);
    map_source(&unmapped);
    NEED(atexit(unmap_at_exit) == 0);
    copy_at_once(&unmapped);
    exit(7);
}

static void end_after_copies(void) {
    struct scene scene;
    open_scene(&scene, NULL);
    copy_both_ways(&scene);
    exit(7);
}

// ------------------------------------------------------------------- a thread that is at a source

// A source that can't be read at first. The thread of the crew that gets there waits in the handler
// of the fault, and goes on a while after it was let go: whoever doesn't wait for it is through by
// then, and has said so.
static unsigned char *gate;
static atomic_bool is_at_gate, is_let_go, has_left, is_nobodys;

static void wait_at_gate(int number, siginfo_t *fault, void *unused) {
    const unsigned char *at = fault->si_addr;
    (void)number;
    (void)unused;
    if (at < gate || at >= gate + BYTES || atomic_load(&has_left))
        _exit(3);
    atomic_store(&is_at_gate, true);
    for (int i = 0; i < 20000 && !atomic_load(&is_let_go); i++)
        usleep(1000);
    usleep(20 * 1000);
    if (atomic_load(&is_nobodys) || mprotect(gate, BYTES, PROT_READ) != 0)
        _exit(4);
    atomic_store(&has_left, true);
}

// From now on no thread may be at the source.
static void take_gate_back(void) {
    atomic_store(&is_nobodys, true);
    for (int i = 0; i < 20000 && !atomic_load(&has_left); i++)
        usleep(1000);
    munmap(gate, BYTES);
}

static void wait_for_crew_at_gate(struct scene *scene) {
    const struct poolCopySettings settings = {1, 2, MIB(4)}; // all of it is one part
    const struct sigaction action = {.sa_sigaction = wait_at_gate, .sa_flags = SA_SIGINFO};
    NEED(poolCopySetSettings(&settings) == poolSuccess);
    map_source(scene);
    gate = scene->from;
    NEED(sigaction(SIGSEGV, &action, NULL) == 0);
    NEED(mprotect(gate, BYTES, PROT_NONE) == 0);
    NEED(poolCopyToDeviceAsyncWithCompletion(scene->device, scene->from, BYTES, scene->stream,
                                             &scene->in) == poolSuccess);
    for (int i = 0; i < 20000 && !atomic_load(&is_at_gate); i++)
        usleep(1000);
    NEED(atomic_load(&is_at_gate));
    atomic_store(&is_let_go, true);
}

static void end_while_a_thread_is_at_the_source(void) {
    struct scene scene;
    open_scene(&scene, NULL);
    NEED(atexit(take_gate_back) == 0);
    wait_for_crew_at_gate(&scene);
    exit(7);
}

static void a_context_fails_while_a_thread_is_at_the_source(void) {
    struct scene scene;
    open_scene(&scene, NULL);
    wait_for_crew_at_gate(&scene);
    NEED(simcudaContextFail(simulated_context(), CUDA_ERROR_ILLEGAL_ADDRESS) == 0);
    NEED(poolCopyCompletionQuery(scene.in) == poolErrorIllegalAddress);
    take_gate_back();
    usleep(20 * 1000); // in which a crew would go on
    exit(7);
}

// -------------------------------------------------------------------------------------- its child

static void fork_a_child(void) {
    struct scene scene;
    int status = 0;
    open_scene(&scene, NULL);
    copy_at_once(&scene);
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        NEED(poolCopyToDeviceAsync(scene.device, scene.from, BYTES, scene.stream) ==
             poolErrorInitializationError);
        NEED(poolCopyCompletionQuery(scene.in) == poolErrorInitializationError);
        NEED(poolCopyCompletionSynchronize(scene.in) == poolErrorInitializationError);
        NEED(poolCopyCompletionDestroy(scene.in) == poolErrorInitializationError);
        exit(3);
    }
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    copy_let_go(&scene.hold);
    copy_finish(scene.stream);
    NEED(copy_is_filled(scene.to, BYTES, 1));
    exit(7);
}

// ------------------------------------------------------------------------------- its context fails

static void a_context_fails(void) {
    struct scene scene;
    open_scene(&scene, NULL);
    copy_at_once(&scene);
    NEED(simcudaContextFail(simulated_context(), CUDA_ERROR_ILLEGAL_ADDRESS) == 0);
    NEED(poolCopyCompletionSynchronize(scene.out) == poolErrorIllegalAddress);
    NEED(strstr(poolGetLastErrorDetail(), "a copy: cuEventQuery returned"));
    NEED(poolCopyCompletionQuery(scene.out) == poolErrorIllegalAddress);
    memset(scene.to, 5, BYTES); // the program's own again
    NEED(poolCopyCompletionQuery(scene.in) != poolErrorNotReady);
    NEED(poolCopyToDeviceAsync(scene.device, scene.from, BYTES, scene.stream) ==
         poolErrorIllegalAddress);
    NEED(poolCopyCompletionDestroy(scene.in) == poolSuccess);
    NEED(poolCopyCompletionDestroy(scene.out) == poolSuccess);
    for (size_t i = 0; i < BYTES; i++)
        NEED(scene.to[i] == 5);
    exit(7);
}

// A context can be reset only once nothing waits for the host in it.
static void reset_the_context(struct scene *scene) {
    CUdevice device;
    copy_let_go(&scene->hold);
    NEED(sp_driver->cuCtxGetDevice(&device) == CUDA_SUCCESS);
    NEED(sp_driver->cuDevicePrimaryCtxReset(device) == CUDA_SUCCESS);
}

static void a_context_fails_in_which_completions_are_gone(void) {
    struct scene scene;
    poolCopyCompletion_t third;
    unsigned char *elsewhere = malloc(BYTES);
    NEED(elsewhere);
    open_scene(&scene, NULL);
    copy_at_once(&scene);
    NEED(poolCopyToHostAsyncWithCompletion(elsewhere, scene.device, BYTES, scene.stream, &third) ==
         poolSuccess);
    NEED(poolCopyCompletionDestroy(scene.in) == poolSuccess);
    NEED(poolCopyCompletionDestroy(scene.out) == poolSuccess);
    NEED(simcudaContextFail(simulated_context(), CUDA_ERROR_ILLEGAL_ADDRESS) == 0);
    NEED(poolCopyCompletionSynchronize(third) == poolErrorIllegalAddress);
    NEED(poolCopyCompletionDestroy(third) == poolSuccess);
    reset_the_context(&scene);
    free(elsewhere);
    exit(7);
}

static void completions_are_destroyed_behind_a_failure(void) {
    struct scene scene;
    open_scene(&scene, NULL);
    copy_at_once(&scene);
    NEED(simcudaContextFail(simulated_context(), CUDA_ERROR_ILLEGAL_ADDRESS) == 0);
    NEED(poolCopyCompletionDestroy(scene.in) == poolSuccess);
    NEED(poolCopyCompletionDestroy(scene.out) == poolSuccess);
    reset_the_context(&scene);
    exit(7);
}

// The bytes are there, whatever becomes of the context.
static void a_context_fails_behind_a_copy(void) {
    struct scene scene;
    open_scene(&scene, NULL);
    copy_at_once(&scene);
    copy_let_go(&scene.hold);
    copy_finish(scene.stream);
    NEED(poolCopyCompletionQuery(scene.out) == poolSuccess);
    NEED(simcudaContextFail(simulated_context(), CUDA_ERROR_ILLEGAL_ADDRESS) == 0);
    NEED(poolCopyCompletionQuery(scene.out) == poolSuccess);
    NEED(poolCopyCompletionSynchronize(scene.out) == poolSuccess);
    NEED(copy_is_filled(scene.to, BYTES, 1));
    exit(7);
}

// The crew is in the middle of the source when the error comes; then the source goes.
static void a_context_fails_in_the_middle(void) {
    struct scene scene;
    open_scene(&scene, NULL);
    map_source(&scene);
    NEED(poolCopyToDeviceAsyncWithCompletion(scene.device, scene.from, BYTES, scene.stream,
                                             &scene.in) == poolSuccess);
    NEED(simcudaContextFail(simulated_context(), CUDA_ERROR_ILLEGAL_ADDRESS) == 0);
    poolError_t error = poolCopyCompletionQuery(scene.in);
    NEED(error == poolSuccess || error == poolErrorIllegalAddress);
    munmap(scene.from, BYTES);
    usleep(20 * 1000);
    exit(7);
}

// ------------------------------------------------------------------------------ two large copies

// One of them measures settings meanwhile.
struct large {
    CUstream stream;
    CUdeviceptr device;
    unsigned char *from;
};

static void *copy_in_a_thread(void *data) {
    const struct large *large = data;
    NEED(sp_driver->cuCtxSetCurrent(simulated_context()) == CUDA_SUCCESS);
    NEED(poolCopyToDeviceAsync(copy_pointer(large->device), large->from, SP_MEASURED_LEAST,
                               large->stream) == poolSuccess);
    return NULL;
}

static void two_threads_with_a_large_copy(void) {
    struct large large[2];
    pthread_t thread;
    unsigned char *from = malloc(SP_MEASURED_LEAST);
    NEED(from && simulated_begin(NULL) == 0);
    copy_fill(from, SP_MEASURED_LEAST, 1);
    for (int i = 0; i < 2; i++) {
        large[i].from = from;
        NEED(sp_driver->cuStreamCreate(&large[i].stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        NEED(sp_driver->cuMemAlloc(&large[i].device, SP_MEASURED_LEAST) == CUDA_SUCCESS);
    }
    NEED(pthread_create(&thread, NULL, copy_in_a_thread, &large[1]) == 0);
    copy_in_a_thread(&large[0]);
    NEED(pthread_join(thread, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        copy_finish(large[i].stream);
        NEED(copy_device_is_filled(large[i].device, SP_MEASURED_LEAST, 1));
    }
    exit(7);
}

// ------------------------------------------------------------------------- drivers that lack some

// The call waits where the device can't wait for words, so nothing may hold the stream.
static void copy_in_every_form(const char *settings) {
    struct scene scene;
    open_scene(&scene, settings);
    copy_both_ways(&scene);
    memset(scene.to, 0, BYTES);
    NEED(poolCopyToDeviceAsyncWithCompletion(scene.device, scene.from, BYTES, scene.stream,
                                             &scene.in) == poolSuccess);
    NEED(poolCopyToHostAsyncWithCompletion(scene.to, scene.device, BYTES, scene.stream,
                                           &scene.out) == poolSuccess);
    NEED(poolCopyCompletionSynchronize(scene.in) == poolSuccess);
    NEED(poolCopyCompletionSynchronize(scene.out) == poolSuccess);
    NEED(copy_is_filled(scene.to, BYTES, 1));
    NEED(poolCopyCompletionDestroy(scene.in) == poolSuccess);
    NEED(poolCopyCompletionDestroy(scene.out) == poolSuccess);
    NEED(sp_driver->cuStreamSynchronize(scene.stream) == CUDA_SUCCESS);
    exit(7);
}

static void a_driver_of_cuda_10_2(void) {
    NEED(setenv("STREAMPOOL_DRIVER_API", "10020", 1) == 0);
    copy_in_every_form(NULL);
}

static void a_driver_of_cuda_11_6(void) {
    NEED(setenv("STREAMPOOL_DRIVER_API", "11060", 1) == 0);
    copy_in_every_form("api=11060");
}

static void a_device_without_virtual_memory(void) {
    NEED(setenv("STREAMPOOL_VMM", "0", 1) == 0);
    copy_in_every_form("vmm=missing");
}

static void a_host_without_virtual_memory(void) {
    copy_in_every_form("host_vmm=missing");
}

// A copy has more commands than the stream's queue has room for. Only what the host does makes
// room.
static void a_queue_for_two_commands(void) {
    const struct poolCopySettings settings = {2, 2, KIB(64)};
    NEED(poolCopySetSettings(&settings) == poolSuccess);
    copy_in_every_form("completion=latest,queue=2");
}

static void one_thread_of_the_program(void) {
    const struct poolCopySettings settings = {1, 2, KIB(64)};
    NEED(poolCopySetSettings(&settings) == poolSuccess);
    copy_in_every_form("completion=latest");
}

// Two devices have one pool of chunks, and the second one gets into it with its first copy.
static void two_devices(void) {
    struct scene scene;
    const struct poolMemLocation second = {poolMemLocationTypeDevice, 1};
    enum poolMemAccessFlags access = poolMemAccessFlagsProtNone;
    poolMemPool_t pool = NULL;
    CUdevice device;
    CUcontext context;
    CUdeviceptr memory = 0;
    CUstream stream = NULL;
    open_scene(&scene, "devices=2");
    copy_both_ways(&scene);
    NEED(sp_driver->cuDeviceGet(&device, 1) == CUDA_SUCCESS);
    NEED(sp_driver->cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS);
    NEED(sp_driver->cuCtxSetCurrent(context) == CUDA_SUCCESS);
    NEED(sp_driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    NEED(sp_driver->cuMemAlloc(&memory, BYTES) == CUDA_SUCCESS);
    NEED(poolCopyToDeviceAsync(copy_pointer(memory), scene.from, BYTES, stream) == poolSuccess);
    memset(scene.to, 0, BYTES);
    NEED(poolCopyToHostAsync(scene.to, copy_pointer(memory), BYTES, stream) == poolSuccess);
    NEED(copy_is_filled(scene.to, BYTES, 1));
    NEED(poolCopyGetPool(&pool) == poolSuccess);
    NEED(poolMemPoolGetAccess(&access, pool, &second) == poolSuccess);
    NEED(access == poolMemAccessFlagsProtReadWrite);
    copy_both_ways(&scene); // of the first device's stream, while the second one is current
    exit(7);
}

// The host's memory is bounded: an error, and the next copy works.
static void a_host_without_memory(void) {
    struct scene scene;
    open_scene(&scene, "host_memory=64K");
    poolCopyCompletion_t none = NULL;
    NEED(poolCopyToDeviceAsync(scene.device, scene.from, BYTES, scene.stream) ==
         poolErrorMemoryAllocation);
    NEED(strstr(poolGetLastErrorDetail(), "bytes of pinned memory for a copy"));
    NEED(poolCopyToHostAsyncWithCompletion(scene.to, scene.device, BYTES, scene.stream, &none) ==
         poolErrorMemoryAllocation);
    NEED(!none);
    NEED(sp_driver->cuStreamSynchronize(scene.stream) == CUDA_SUCCESS);
    exit(7);
}

// A copy that is being made has all memory that there is, and the next one waits for it.
static struct scene held;
static void *copy_to_the_host(void *unused) {
    NEED(sp_driver->cuCtxSetCurrent(simulated_context()) == CUDA_SUCCESS);
    NEED(poolCopyToHostAsync(held.to, held.device, BYTES, held.stream) == poolSuccess);
    return unused;
}

static bool is_taken(poolMemPool_t pool) {
    uint64_t used = 0;
    NEED(poolMemPoolGetAttribute(pool, poolMemPoolAttrUsedMemCurrent, &used) == poolSuccess);
    return used > 0;
}

static void *let_go_soon(void *unused) {
    usleep(20 * 1000);
    copy_let_go(&held.hold);
    return unused;
}

static void two_threads_with_memory_for_one(void) {
    pthread_t first, second;
    poolMemPool_t pool = NULL;
    CUstream stream = NULL;
    poolCopyCompletion_t in = NULL;
    open_scene(&held, "host_memory=6M");
    NEED(sp_driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    NEED(poolCopyGetPool(&pool) == poolSuccess);
    for (int i = 0; i < 2; i++) {
        held.hold = copy_hold(held.stream);
        NEED(pthread_create(&first, NULL, copy_to_the_host, NULL) == 0);
        while (!is_taken(pool))
            usleep(1000);
        NEED(pthread_create(&second, NULL, let_go_soon, NULL) == 0);
        if (i == 0)
            NEED(poolCopyToDeviceAsync(held.device, held.from, BYTES, stream) == poolSuccess);
        else
            NEED(poolCopyToDeviceAsyncWithCompletion(held.device, held.from, BYTES, stream, &in) ==
                 poolSuccess);
        NEED(pthread_join(first, NULL) == 0 && pthread_join(second, NULL) == 0);
        copy_finish(stream);
        NEED(copy_device_is_filled((uintptr_t)held.device, BYTES, 1));
        NEED(poolStreamSynchronize(held.stream) == poolSuccess);
        NEED(poolStreamSynchronize(stream) == poolSuccess);
    }
    exit(7);
}

// The small piece is packed, and its memory is given back before the large piece needs its own.
static void a_batch_with_memory_for_one_piece(void) {
    struct scene scene;
    open_scene(&scene, "host_memory=6M");
    char *device = scene.device;
    void *const to[] = {device, device + KIB(4)};
    const void *const from[] = {scene.from, scene.from + KIB(4)};
    const size_t sizes[] = {KIB(4), BYTES - KIB(4)};
    NEED(poolCopyBatchAsync(to, from, sizes, 2, scene.stream) == poolSuccess);
    copy_finish(scene.stream);
    NEED(copy_device_is_filled((uintptr_t)device, BYTES, 1));
    exit(7);
}

// ------------------------------------------------------------------------- another device's memory

// Kernels of the stream's device have no access to it, and the driver's copies need none.
static void copy_batches_of_another_device(const char *settings) {
    enum { PIECES = 100, PIECE = BYTES / PIECES };
    struct scene scene;
    CUcontext context;
    CUdeviceptr memory = 0;
    void *to[PIECES], *back[PIECES];
    const void *from[PIECES], *there[PIECES];
    size_t sizes[PIECES];
    open_scene(&scene, settings);
    NEED(sp_driver->cuDevicePrimaryCtxRetain(&context, 1) == CUDA_SUCCESS);
    NEED(sp_driver->cuCtxPushCurrent(context) == CUDA_SUCCESS);
    NEED(sp_driver->cuMemAlloc(&memory, BYTES) == CUDA_SUCCESS);
    NEED(sp_driver->cuCtxPopCurrent(&context) == CUDA_SUCCESS);
    for (size_t i = 0; i < PIECES; i++) {
        there[i] = to[i] = (char *)copy_pointer(memory) + i * PIECE;
        from[i] = scene.from + i * PIECE;
        back[i] = scene.to + i * PIECE;
        sizes[i] = PIECE;
    }
    NEED(poolCopyBatchAsync(to, from, sizes, PIECES, scene.stream) == poolSuccess);
    NEED(poolCopyBatchAsync(back, there, sizes, PIECES, scene.stream) == poolSuccess);
    NEED(copy_is_filled(scene.to, (size_t)PIECES * PIECE, 1));
    NEED(sp_driver->cuStreamSynchronize(scene.stream) == CUDA_SUCCESS);
    free(scene.from);
    free(scene.to);
}

static void a_batch_of_another_device(void) {
    copy_batches_of_another_device("devices=2,peers=0");
    exit(7);
}

// Without the kernel they are packed as others are.
static void a_batch_of_another_device_without_the_kernel(void) {
    NEED(setenv("STREAMPOOL_DRIVER_API", "11070", 1) == 0);
    copy_batches_of_another_device("devices=2,api=11070");
    exit(7);
}

// -------------------------------------------------------------------------------------- the parent

#define SCENARIOS(X)                                                                               \
    X(end_with_copies_under_way)                                                                   \
    X(end_with_a_synchronise_behind_the_crew)                                                      \
    X(copy_while_the_process_ends)                                                                 \
    X(end_with_a_source_that_goes_behind_the_crew)                                                 \
    X(end_after_copies)                                                                            \
    X(end_while_a_thread_is_at_the_source)                                                         \
    X(a_context_fails_while_a_thread_is_at_the_source)                                             \
    X(fork_a_child)                                                                                \
    X(a_context_fails)                                                                             \
    X(a_context_fails_in_which_completions_are_gone)                                               \
    X(completions_are_destroyed_behind_a_failure)                                                  \
    X(a_context_fails_behind_a_copy)                                                               \
    X(a_context_fails_in_the_middle)                                                               \
    X(two_threads_with_a_large_copy)                                                               \
    X(a_driver_of_cuda_10_2)                                                                       \
    X(a_driver_of_cuda_11_6)                                                                       \
    X(a_device_without_virtual_memory)                                                             \
    X(a_host_without_virtual_memory)                                                               \
    X(a_queue_for_two_commands)                                                                    \
    X(one_thread_of_the_program)                                                                   \
    X(two_devices)                                                                                 \
    X(a_host_without_memory)                                                                       \
    X(two_threads_with_memory_for_one)                                                             \
    X(a_batch_with_memory_for_one_piece)                                                           \
    X(a_batch_of_another_device)                                                                   \
    X(a_batch_of_another_device_without_the_kernel)

SCENARIOS(COPY_PROCESS_TEST)

int main(void) {
    const struct CMUnitTest tests[] = {SCENARIOS(COPY_PROCESS_ENTRY)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
