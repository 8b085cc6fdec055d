// `auto` asks a child process whether the real driver works, since a process can try only once: a
// failed load is remembered, and a driver that crashes takes only the child with it.
#include "cli/program/device.h"

#include "cli/program/complain.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char driver_variable[] = "STREAMPOOL_DRIVER";

const char *sp_version_text(int version, char text[SP_VERSION_TEXT]) {
    snprintf(text, SP_VERSION_TEXT, "%d.%d", version / 1000, version % 1000 / 10);
    return text;
}

bool sp_installed_path(const char *name, char path[PATH_MAX]) {
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        return sp_complain("can't find out where the program lies: %s", strerror(errno));
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    int written = snprintf(path, PATH_MAX, "%s/%s/%s", program, SP_BINDIR_TO_LIBDIR, name);
    return written < PATH_MAX || sp_complain("%s: %s", program, strerror(ENAMETOOLONG));
}

int sp_device_attribute(const struct sp_driver *driver, CUdevice device,
                        CUdevice_attribute attribute) {
    int value = 0;
    return driver->cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

// By a function that only the simulated driver exports: a name can be a link, or changed.
static bool is_simulated(const char *path, int flags) {
    void *library = dlopen(path, RTLD_LAZY | flags);
    if (!library)
        return false;
    bool simulated = dlsym(library, "simcudaNow") != NULL;
    dlclose(library);
    return simulated;
}

bool sp_device_is_simulated(const struct sp_driver *driver) {
    return is_simulated(driver->path, RTLD_NOLOAD);
}

static bool use_simulated_driver(void) {
    char installed[PATH_MAX], path[PATH_MAX];
    if (!sp_installed_path("libstreampool_simcuda.so", installed))
        return false;
    if (!realpath(installed, path))
        return sp_complain("no simulated driver: %s: %s", installed, strerror(errno));
    if (setenv(driver_variable, path, 1) != 0)
        return sp_complain("can't set %s: %s", driver_variable, strerror(errno));
    return true;
}

// ---------------------------------------------------------------------- does the real driver work?

// Null when the driver has a device that the library can use, else why not.
static const char *why_unusable(void) {
    const struct sp_driver *driver;
    if (sp_driver_load(&driver) != CUDA_SUCCESS)
        return sp_driver_problem();
    int count = 0;
    CUresult result = driver->cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS)
        return sp_driver_error_name(result);
    if (count == 0)
        return "the driver has no device";
    CUdevice device;
    result = driver->cuDeviceGet(&device, 0);
    return result == CUDA_SUCCESS ? NULL : sp_driver_error_name(result);
}

// The answer is one write and one read: a pipe takes it whole.
static bool real_driver_works(char *why, size_t capacity) {
    int ends[2], status;
    snprintf(why, capacity, "the driver could not be tried");
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        const char *answer = why_unusable();
        if (answer && write(ends[1], answer, strlen(answer)) < 0)
            _exit(EXIT_FAILURE);
        _exit(answer ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    close(ends[1]);
    ssize_t length = child > 0 ? read(ends[0], why, capacity - 1) : -1;
    if (length >= 0)
        why[length] = '\0';
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return false;
    if (WIFSIGNALED(status))
        snprintf(why, capacity, "the driver crashed (%s)", strsignal(WTERMSIG(status)));
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

// -------------------------------------------------------------------------------------- the choice

// Returns what the environment names; "" for nothing.
static const char *named_driver(void) {
    const char *named = getenv(driver_variable);
    return named ? named : "";
}

// The word for the simulated driver. To the library it is the one that lies beside it, to a copy of
// the loader in this program the one beside the program; so both are given the path.
static bool simulated_is_named(void) {
    return strcmp(named_driver(), "sim") == 0;
}

static bool fell_back;

bool sp_device_fell_back(void) {
    return fell_back;
}

bool sp_device_choose(enum sp_device_choice choice, const struct sp_driver **driver) {
    char why[1024];
    fell_back = choice == SP_DEVICE_AUTO && !*named_driver() && !real_driver_works(why, sizeof why);
    if ((choice == SP_DEVICE_SIM || simulated_is_named() || fell_back) && !use_simulated_driver())
        return false;
    if (fell_back)
        sp_complain("no usable GPU (%s): using the simulated driver", why);
    if (sp_driver_load(driver) != CUDA_SUCCESS)
        return sp_complain("%s%s", choice == SP_DEVICE_GPU ? "no usable GPU: " : "",
                           sp_driver_problem());
    if (choice == SP_DEVICE_GPU && sp_device_is_simulated(*driver))
        return sp_complain("no usable GPU: %s names the simulated driver", driver_variable);
    return true;
}

// Also where the driver that is named can be opened and then fails.
int sp_device_failure(enum sp_device_choice choice) {
    const char *named = named_driver();
    bool simulated = simulated_is_named() || (*named && is_simulated(named, 0));
    bool asked = choice == SP_DEVICE_SIM || (choice == SP_DEVICE_AUTO && simulated);
    return asked && !fell_back ? EXIT_FAILURE : SP_EXIT_NO_GPU;
}

// -------------------------------------------------------------------------------------- the device

bool sp_device_open(struct sp_device *device, const struct sp_driver *driver) {
    *device = (struct sp_device){.driver = driver, .ordinal = 0};
    CUresult result = driver->cuDeviceGet(&device->handle, device->ordinal);
    if (result != CUDA_SUCCESS)
        return sp_complain("no device: %s", sp_driver_error_name(result));
    result = driver->cuDeviceGetName(device->name, sizeof device->name, device->handle);
    if (result != CUDA_SUCCESS)
        return sp_complain("the device has no name: %s", sp_driver_error_name(result));
    result = driver->cuDevicePrimaryCtxRetain(&device->context, device->handle);
    if (result != CUDA_SUCCESS)
        return sp_complain("no context on %s: %s", device->name, sp_driver_error_name(result));
    result = driver->cuCtxSetCurrent(device->context);
    if (result == CUDA_SUCCESS)
        return true;
    driver->cuDevicePrimaryCtxRelease(device->handle);
    return sp_complain("the context of %s can't be made current: %s", device->name,
                       sp_driver_error_name(result));
}

void sp_device_close(struct sp_device *device) {
    device->driver->cuCtxSetCurrent(NULL);
    device->driver->cuDevicePrimaryCtxRelease(device->handle);
}

int sp_device_take(struct sp_device *device, enum sp_device_choice choice) {
    const struct sp_driver *driver;
    bool taken = sp_device_choose(choice, &driver) && sp_device_open(device, driver);
    return taken ? EXIT_SUCCESS : sp_device_failure(choice);
}
