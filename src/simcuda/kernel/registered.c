#include "simcuda/kernel/registered.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"
#include "simcuda/kernel/kernel.h"
#include "simcuda/memory/bytes.h"
#include "simcuda/memory/pointed.h"
#include "simcuda/queue/cost.h"
#include "simcuda/queue/item.h"
#include "simcuda/report/report.h"

uint64_t sim_registered_generation = 1;

static struct sim_registration *registrations;
static size_t registration_count;
static size_t registration_capacity;

// ----------------------------------------------------------------------------------- registering

static struct sim_registration *find(const char *name) {
    for (size_t i = 0; i < registration_count; i++) {
        if (strcmp(registrations[i].name, name) == 0)
            return &registrations[i];
    }
    return NULL;
}

const struct sim_registration *sim_registered_find(const char *name) {
    return find(name);
}

static void destroy(struct sim_registration *registration) {
    sim_free(registration->name);
    sim_free(registration->layout);
    *registration = (struct sim_registration){0};
}

static bool are_right(const simcudaKernelOptions *options) {
    if (options->parameterCount > 0 && !options->parameterSizes)
        return false;
    for (size_t i = 0; i < options->parameterCount; i++) {
        if (options->parameterSizes[i] > SIM_IMAGE_PARAMETER_BYTES)
            return false;
    }
    return options->parameterCount <= SIM_IMAGE_PARAMETER_BYTES;
}

static void set_sizes(struct sim_registration *registration, const simcudaKernelOptions *options) {
    registration->count = options->parameterCount;
    registration->layout = sim_allocate(registration->count * sizeof(*registration->layout));
    for (size_t i = 0; i < registration->count; i++)
        registration->layout[i].size = (uint32_t)options->parameterSizes[i];
}

// The name may be that of the registration that it replaces.
CUresult sim_registered_set(const char *name, simcudaKernelFunction function,
                            simcudaTouchesFunction touches, const simcudaKernelOptions *options) {
    const simcudaKernelOptions none = {0};
    options = options ? options : &none;
    if (!name || !name[0] || !are_right(options))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_registration fresh = {
        .function = function, .touches = touches, .user_data = options->userData};
    fresh.name = sim_allocate(strlen(name) + 1);
    memcpy(fresh.name, name, strlen(name));
    if (options->parameterSizes)
        set_sizes(&fresh, options);
    struct sim_registration *place = find(name);
    if (place) {
        destroy(place);
    } else {
        SIM_RESERVE_ONE(registrations, registration_count, registration_capacity);
        place = &registrations[registration_count++];
    }
    *place = fresh;
    sim_registered_generation++;
    return CUDA_SUCCESS;
}

CUresult sim_registered_remove(const char *name) {
    struct sim_registration *registration = name ? find(name) : NULL;
    if (!registration)
        return name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    destroy(registration);
    *registration = registrations[--registration_count];
    sim_registered_generation++;
    return CUDA_SUCCESS;
}

// -------------------------------------------------------------------------------------- launching

#define ALIGNMENT 16 // of a parameter's value, as large as any type of a kernel needs

// A launch and all that it points to are one piece of memory.
struct launched {
    simcudaLaunch launch;
    simcudaKernelFunction function;
    const struct sim_job *job; // while the function runs
    bool has_strayed;          // it was reported
};

struct simcudaTouches {
    struct sim_job *job;
    bool has_duration;
};

// The launch that a function of a kernel has been given, and what says which bytes are its own; it
// is null while they are asked for.
static struct launched *running;

static size_t header_size(size_t parameters) {
    return sp_round_up(sizeof(struct launched) + parameters * (sizeof(void *) + sizeof(size_t)),
                       ALIGNMENT);
}

static size_t values_size(const struct sim_kernel_call *call) {
    size_t size = 0;
    for (size_t i = 0; i < call->count; i++)
        size += sp_round_up(call->layout[i].size, ALIGNMENT);
    return size;
}

static void copy_grid(simcudaLaunch *launch, const struct sim_grid *grid) {
    memcpy(launch->grid, grid->grid, sizeof(launch->grid));
    memcpy(launch->block, grid->block, sizeof(launch->block));
    launch->sharedBytes = grid->shared;
}

// The pointers and the sizes stand behind the struct, then the values, then the name.
static void copy_call(struct launched *launched, const struct sim_kernel_call *call,
                      const char *name) {
    const void **pointers = (const void **)(void *)(launched + 1);
    size_t *sizes = (size_t *)(void *)(pointers + call->count);
    char *at = (char *)launched + header_size(call->count);
    for (size_t i = 0; i < call->count; i++) {
        pointers[i] = at;
        sizes[i] = call->layout[i].size;
        memcpy(at, call->parameters[i], sizes[i]);
        at += sp_round_up(sizes[i], ALIGNMENT);
    }
    memcpy(at, name, strlen(name) + 1);
    launched->launch = (simcudaLaunch){.name = at,
                                       .device = call->device,
                                       .parameters = pointers,
                                       .parameterSizes = sizes,
                                       .parameterCount = call->count};
    copy_grid(&launched->launch, &call->grid);
}

static struct launched *make(const struct sim_registration *registration,
                             const struct sim_kernel_call *call) {
    struct launched *launched =
        sim_allocate(header_size(call->count) + values_size(call) + strlen(registration->name) + 1);
    copy_call(launched, call, registration->name);
    launched->launch.userData = registration->user_data;
    launched->function = registration->function;
    return launched;
}

struct entered {
    bool was_in_host_function;
};

// Driver calls are refused meanwhile, as they are in a host function.
static struct entered enter(struct launched *launched) {
    struct sim_thread *self = sim_thread_self();
    struct entered entered = {self->in_host_function};
    self->in_host_function = true;
    sim_in_kernel = true;
    running = launched;
    return entered;
}

static void leave(struct entered entered) {
    running = NULL;
    sim_in_kernel = false;
    sim_thread_self()->in_host_function = entered.was_in_host_function;
}

static void ask(const struct sim_registration *registration, struct launched *launched,
                struct simcudaTouches *touches) {
    struct entered entered = enter(launched);
    registration->touches(&launched->launch, touches);
    leave(entered);
}

static void touch_pointed(const struct launched *launched, struct sim_job *job) {
    const simcudaLaunch *launch = &launched->launch;
    size_t count = 0;
    for (size_t i = 0; i < launch->parameterCount; i++)
        count = sim_pointed_touch(job, launch->parameters[i], launch->parameterSizes[i],
                                  launch->device, count);
}

static CUresult run(const struct sim_job *job, int device) {
    struct launched *launched = job->owned;
    (void)device;
    launched->job = job;
    struct entered entered = enter(launched);
    int result = launched->function(&launched->launch);
    leave(entered);
    launched->job = NULL;
    return (CUresult)result;
}

void sim_registered_job(const struct sim_registration *registration,
                        const struct sim_kernel_call *call, struct sim_job *job) {
    struct launched *launched = make(registration, call);
    struct simcudaTouches touches = {.job = job};
    sim_job_name(job, registration->name);
    job->owned = launched;
    job->effect = registration->function ? run : NULL;
    if (registration->touches)
        ask(registration, launched, &touches);
    else
        touch_pointed(launched, job);
    if (!touches.has_duration)
        job->duration = sim_cost_bytes(sim_job_bytes(job));
}

// ---------------------------------------------------------------------- what their functions call

void sim_registered_touch(struct simcudaTouches *touches, uint64_t address, uint64_t size,
                          simcudaAccessKind kind) {
    if (size > UINT64_MAX - address)
        size = UINT64_MAX - address;
    sim_job_touches(touches->job, address, size, kind);
}

void sim_registered_take(struct simcudaTouches *touches, uint64_t nanoseconds) {
    touches->job->duration = nanoseconds;
    touches->has_duration = true;
}

// Returns the first byte from the address on that no access of the job allows; the end if all are.
static uint64_t allowed_up_to(const struct sim_job *job, uint64_t address, uint64_t end,
                              simcudaAccessKind kind) {
    for (size_t i = 0; i < job->count && address < end;) {
        const simcudaAccess *access = &job->accesses[i++];
        if (address - access->address >= access->size ||
            (kind == simcudaAccessWrite && access->kind != simcudaAccessWrite))
            continue;
        address = access->address + access->size;
        i = 0; // what goes on there may stand before it
    }
    return address < end ? address : end;
}

static bool is_allowed(struct launched *launched, uint64_t address, size_t size,
                       simcudaAccessKind kind) {
    bool has_end = size <= UINT64_MAX - address;
    uint64_t end = has_end ? address + size : UINT64_MAX;
    uint64_t stray = allowed_up_to(launched->job, address, end, kind);
    if (has_end && stray == end)
        return true;
    if (!launched->has_strayed)
        sim_report(simcudaReport_undeclaredAccess,
                   "kernel \"%s\" %s [0x%" PRIx64 ", 0x%" PRIx64
                   "), and the function that names its accesses left out 0x%" PRIx64,
                   launched->launch.name, kind == simcudaAccessWrite ? "writes" : "reads", address,
                   end, stray);
    launched->has_strayed = true;
    return false;
}

static CUresult check(const simcudaLaunch *launch, const void *memory, size_t size) {
    bool is_running = sim_in_kernel && running && launch == &running->launch;
    return is_running && (memory || size == 0) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// While a launch is made its accesses are not known yet, and memory is as it is then.
CUresult sim_registered_read(const simcudaLaunch *launch, void *to, uint64_t address, size_t size) {
    CUresult result = check(launch, to, size);
    if (result != CUDA_SUCCESS)
        return result;
    if (running->job && !is_allowed(running, address, size, simcudaAccessRead))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    return sim_bytes_read(address, to, size) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult sim_registered_write(const simcudaLaunch *launch, uint64_t address, const void *from,
                              size_t size) {
    CUresult result = check(launch, from, size);
    if (result != CUDA_SUCCESS)
        return result;
    if (!running->job)
        return CUDA_ERROR_NOT_PERMITTED;
    if (!is_allowed(running, address, size, simcudaAccessWrite))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    return sim_bytes_write(address, from, size) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}
