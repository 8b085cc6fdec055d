// What a process is to pools that pause: its end, by a signal too, a fork, its environment, a
// context that fails. Each scenario has a process of its own, which this one is forked to before it
// uses the driver.
#include "copy/process.h"
#include "swap/fixture.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// A pool with a tag, whose contents go half to the host and half to a file.
struct scene {
    poolMemPool_t pool, tagged;
    CUstream stream;
    void *blocks[2];
    unsigned char *bytes;
    char folder[64];
};

#define BYTES MIB(3)

static void open_scene_with(struct scene *scene, const char *settings, const char *limit) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0}};
    if (limit)
        NEED(setenv("STREAMPOOL_SWAP_HOST", limit, 1) == 0);
    NEED(simulated_begin(settings) == 0);
    NEED(poolMemPoolCreate(&scene->pool, &props) == poolSuccess);
    NEED(poolMemPoolGetTagged(scene->pool, "tag", &scene->tagged) == poolSuccess);
    NEED(sp_driver->cuStreamCreate(&scene->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    scene->bytes = malloc(BYTES);
    NEED(scene->bytes);
    copy_fill(scene->bytes, BYTES, 1);
    for (size_t i = 0; i < 2; i++) {
        NEED(poolMallocFromPoolAsync(&scene->blocks[i], BYTES, i ? scene->tagged : scene->pool,
                                     scene->stream) == poolSuccess);
        NEED(simcudaPoke((uintptr_t)scene->blocks[i], scene->bytes, BYTES) == 0);
    }
}

static void use_folder(struct scene *scene) {
    strcpy(scene->folder, "/tmp/streampool-swap-test-XXXXXX");
    NEED(mkdtemp(scene->folder));
    NEED(setenv("STREAMPOOL_SWAP_DIR", scene->folder, 1) == 0);
}

static void open_scene(struct scene *scene) {
    use_folder(scene);
    open_scene_with(scene, NULL, "3M");
}

static poolError_t pause_scene(const struct scene *scene) {
    return poolMemPoolPause(scene->pool, NULL, poolPauseSave, NULL, 0, NULL);
}

static poolError_t resume_scene(const struct scene *scene) {
    return poolMemPoolResume(scene->pool, NULL);
}

static bool is_intact(const struct scene *scene) {
    unsigned char *now = malloc(BYTES);
    bool same = now;
    for (size_t i = 0; i < 2 && same; i++)
        same = simcudaPeek(now, (uintptr_t)scene->blocks[i], BYTES) == 0 &&
               memcmp(now, scene->bytes, BYTES) == 0;
    free(now);
    return same;
}

// A folder that isn't empty can't be removed.
static void end_scene(const struct scene *scene) {
    NEED(rmdir(scene->folder) == 0);
    exit(7);
}

// ------------------------------------------------------------------------------------------- tests

static void end_while_pools_are_paused(void) {
    struct scene scene;
    open_scene(&scene);
    NEED(pause_scene(&scene) == poolSuccess);
    end_scene(&scene);
}

// Each child goes on for another while. Its parent looks at what it has left.
static void children_are_killed_at_random(void) {
    struct scene scene;
    use_folder(&scene);
    for (unsigned i = 0; i < 20; i++) {
        int status = 0, begun[2];
        char byte = 0;
        NEED(pipe(begun) == 0);
        pid_t child = fork();
        NEED(child >= 0);
        if (child == 0) {
            open_scene_with(&scene, NULL, i % 2 ? "0" : "3M");
            NEED(write(begun[1], "", 1) == 1);
            for (;;) {
                NEED(pause_scene(&scene) == poolSuccess);
                NEED(resume_scene(&scene) == poolSuccess);
            }
        }
        NEED(read(begun[0], &byte, 1) == 1);
        usleep(i * 1000);
        NEED(kill(child, SIGKILL) == 0);
        NEED(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        close(begun[0]);
        close(begun[1]);
    }
    end_scene(&scene);
}

static void fork_a_child(void) {
    struct scene scene;
    struct poolMemPoolPaused paused;
    poolMemPool_t other = NULL;
    int status = 0;
    open_scene(&scene);
    NEED(pause_scene(&scene) == poolSuccess);
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        const poolError_t refused = poolErrorInitializationError;
        NEED(pause_scene(&scene) == refused);
        NEED(resume_scene(&scene) == refused);
        NEED(poolMemPoolGetPaused(scene.pool, NULL, &paused) == refused);
        NEED(poolMemPoolGetTagged(scene.pool, "other", &other) == refused);
        NEED(poolMemPoolDestroyTagged(scene.pool, NULL) == refused);
        NEED(poolSwapGetHostPool(&other) == refused);
        NEED(poolSwapSetHostLimit(0) == poolSuccess);
        exit(3);
    }
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    NEED(resume_scene(&scene) == poolSuccess);
    NEED(is_intact(&scene));
    end_scene(&scene);
}

// It gets no descriptor of the file.
static void spawn_a_program(void) {
    struct scene scene;
    char command[128];
    open_scene(&scene);
    snprintf(command, sizeof command, "! ls -l /proc/self/fd | grep -q %s", scene.folder);
    NEED(pause_scene(&scene) == poolSuccess);
    NEED(system(command) == 0);
    NEED(resume_scene(&scene) == poolSuccess);
    NEED(is_intact(&scene));
    end_scene(&scene);
}

static void the_environment_limits_the_host(void) {
    struct scene scene;
    struct poolMemPoolPaused paused;
    open_scene(&scene);
    NEED(poolMemPoolPause(scene.pool, NULL, poolPauseSave, NULL, 0, &paused) == poolSuccess);
    NEED(paused.hostBytes == MIB(3) && paused.fileBytes == MIB(3));
    NEED(resume_scene(&scene) == poolSuccess);
    NEED(setenv("STREAMPOOL_SWAP_HOST", "3X", 1) == 0);
    NEED(pause_scene(&scene) == poolErrorInvalidValue);
    NEED(strstr(poolGetLastErrorDetail(), "STREAMPOOL_SWAP_HOST=3X is no number of bytes"));
    NEED(is_intact(&scene));
    NEED(setenv("STREAMPOOL_SWAP_HOST", "", 1) == 0);
    NEED(poolMemPoolPause(scene.pool, NULL, poolPauseSave, NULL, 0, &paused) == poolSuccess);
    NEED(paused.hostBytes == MIB(6));
    NEED(resume_scene(&scene) == poolSuccess);
    NEED(setenv("STREAMPOOL_SWAP_HOST", "3X", 1) == 0);
    NEED(poolSwapSetHostLimit(MIB(4)) == poolSuccess); // counts more than the environment
    NEED(poolMemPoolPause(scene.pool, NULL, poolPauseSave, NULL, 0, &paused) == poolSuccess);
    NEED(paused.hostBytes == MIB(4));
    NEED(resume_scene(&scene) == poolSuccess);
    NEED(is_intact(&scene));
    end_scene(&scene);
}

static void a_context_fails(void) {
    struct scene scene;
    struct poolMemPoolPaused paused;
    open_scene(&scene);
    NEED(simcudaContextFail(simulated_context(), CUDA_ERROR_ILLEGAL_ADDRESS) == 0);
    NEED(pause_scene(&scene) == poolErrorIllegalAddress);
    NEED(poolMemPoolGetPaused(scene.pool, NULL, &paused) == poolSuccess && paused.pools == 0);
    end_scene(&scene);
}

static void a_context_fails_while_pools_are_paused(void) {
    struct scene scene;
    struct poolMemPoolPaused paused;
    open_scene(&scene);
    NEED(pause_scene(&scene) == poolSuccess);
    NEED(simcudaContextFail(simulated_context(), CUDA_ERROR_ILLEGAL_ADDRESS) == 0);
    NEED(resume_scene(&scene) == poolErrorIllegalAddress);
    NEED(poolMemPoolGetPaused(scene.pool, NULL, &paused) == poolSuccess && paused.pools == 2);
    NEED(poolMemPoolDestroyTagged(scene.pool, NULL) == poolSuccess);
    NEED(poolMemPoolDestroy(scene.pool) == poolSuccess);
    end_scene(&scene);
}

// The host has room for one of the blocks, and for what copies of the file pass through.
static void a_host_without_memory(void) {
    struct scene scene;
    struct poolMemPoolPaused paused;
    use_folder(&scene);
    open_scene_with(&scene, "host_memory=36M", NULL);
    NEED(poolMemPoolPause(scene.pool, NULL, poolPauseSave, NULL, 0, &paused) == poolSuccess);
    NEED(paused.fileBytes > 0 && paused.hostBytes + paused.fileBytes == MIB(6));
    NEED(resume_scene(&scene) == poolSuccess);
    NEED(is_intact(&scene));
    end_scene(&scene);
}

static void a_device_without_virtual_memory(void) {
    struct scene scene;
    use_folder(&scene);
    open_scene_with(&scene, "vmm=missing", NULL);
    NEED(pause_scene(&scene) == poolErrorNotSupported);
    NEED(is_intact(&scene));
    end_scene(&scene);
}

// -------------------------------------------------------------------------------------- the parent

#define SCENARIOS(X)                                                                               \
    X(end_while_pools_are_paused)                                                                  \
    X(children_are_killed_at_random)                                                               \
    X(fork_a_child)                                                                                \
    X(spawn_a_program)                                                                             \
    X(the_environment_limits_the_host)                                                             \
    X(a_context_fails)                                                                             \
    X(a_context_fails_while_pools_are_paused)                                                      \
    X(a_host_without_memory)                                                                       \
    X(a_device_without_virtual_memory)

SCENARIOS(COPY_PROCESS_TEST)

int main(void) {
    const struct CMUnitTest tests[] = {SCENARIOS(COPY_PROCESS_ENTRY)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
