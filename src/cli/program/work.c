#include "cli/program/work.h"

#include "cli/program/complain.h"
#include "cli/program/times.h"

#include "simcuda/kernel/kernels.h"

#include <dlfcn.h>
#include <string.h>

// ---------------------------------------------------------------------------------- open and close

// Looks up the functions of the simulated driver that are not CUDA's, by the names of its header.
static bool open_simulated(struct sp_work *work) {
    const struct {
        const char *name;
        void *function;
    } wanted[] = {
        {"simcudaEnqueue", &work->enqueue},        {"simcudaNow", &work->now},
        {"simcudaAdvance", &work->advance},        {"simcudaReportCount", &work->report_count},
        {"simcudaReportText", &work->report_text},
    };
    work->library = dlopen(work->driver->path, RTLD_LAZY | RTLD_NOLOAD);
    if (!work->library)
        return sp_complain("%s is not loaded", work->driver->path);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(work->library, wanted[i].name);
        if (!found) {
            dlclose(work->library);
            return sp_complain("the simulated driver has no %s", wanted[i].name);
        }
        memcpy(wanted[i].function, &found, sizeof found);
    }
    return true;
}

static CUresult launch_kernel(const struct sp_work *work, CUstream stream, uint64_t nanoseconds) {
    uint64_t no_flag = 0;
    return work->driver->cuLaunchKernel(work->spin, 1, 1, 1, 1, 1, 1, 0, stream,
                                        (void *[]){&nanoseconds, &no_flag}, NULL);
}

// Loads the kernel and launches it once, since a driver may load a kernel only when it is wanted,
// and take its time.
static bool open_kernel(struct sp_work *work) {
    const struct sp_driver *driver = work->driver;
    CUresult result = driver->cuModuleLoadData(&work->module, SP_KERNELS_PTX);
    if (result != CUDA_SUCCESS)
        return sp_complain("the kernels can't be loaded: %s", sp_driver_error_name(result));
    result = driver->cuModuleGetFunction(&work->spin, work->module, "sp_spin");
    if (result == CUDA_SUCCESS)
        result = launch_kernel(work, NULL, 0);
    if (result == CUDA_SUCCESS)
        result = driver->cuStreamSynchronize(NULL);
    if (result == CUDA_SUCCESS)
        return true;
    driver->cuModuleUnload(work->module);
    return sp_complain("the kernel sp_spin can't be launched: %s", sp_driver_error_name(result));
}

bool sp_work_open(struct sp_work *work, const struct sp_device *device) {
    *work = (struct sp_work){.driver = device->driver};
    return sp_device_is_simulated(device->driver) ? open_simulated(work) : open_kernel(work);
}

void sp_work_close(struct sp_work *work) {
    if (work->library)
        dlclose(work->library);
    else
        work->driver->cuModuleUnload(work->module);
}

// --------------------------------------------------------------------------------------- the clock

uint64_t sp_work_now(const struct sp_work *work) {
    return work->now ? work->now() : sp_clock_now();
}

// On a GPU it spins: sleeping takes the host 50 µs and more, which is longer than the time between
// two operations.
void sp_work_wait_until(const struct sp_work *work, uint64_t time) {
    for (uint64_t now; (now = sp_work_now(work)) < time;)
        if (work->advance)
            work->advance(time - now);
}

// ---------------------------------------------------------------------------------------- the work

CUresult sp_work_launch(const struct sp_work *work, CUstream stream, uint64_t nanoseconds,
                        uint64_t pointer, uint64_t size) {
    simcudaAccess access = {pointer, size, simcudaAccessWrite};
    simcudaWork piece = {"block", nanoseconds, &access, size > 0};
    return work->enqueue ? (CUresult)work->enqueue(stream, &piece)
                         : launch_kernel(work, stream, nanoseconds);
}

const char *sp_work_problem(const struct sp_work *work) {
    return work->report_count && work->report_count(NULL) > 0 ? work->report_text(0) : NULL;
}
