#include "simcuda/kernel.h"

#include <inttypes.h>
#include <string.h>

#include "base/list.h"
#include "simcuda/bytes.h"
#include "simcuda/cost.h"
#include "simcuda/host.h"
#include "simcuda/item.h"
#include "simcuda/report.h"

#define CHUNK ((uint64_t)8 << 10)

struct CUfunc_st {
    const char *name;
    void (*prepare)(void *const *parameters, struct sim_job *job);
};

static uint64_t parameter_u64(void *const *parameters, size_t index) {
    uint64_t value;
    memcpy(&value, parameters[index], sizeof(value));
    return value;
}

static uint32_t parameter_u32(void *const *parameters, size_t index) {
    uint32_t value;
    memcpy(&value, parameters[index], sizeof(value));
    return value;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

// ----------------------------------------------------------------------------------------- sp_fill

static void pattern(uint32_t *words, uint64_t count, uint32_t first) {
    for (uint64_t i = 0; i < count; i++)
        words[i] = first + (uint32_t)i;
}

static CUresult run_fill(const struct sim_job *job, int device) {
    uint32_t words[CHUNK / 4];
    (void)device;
    for (uint64_t done = 0; done < job->size;) {
        uint64_t part = smaller(job->size - done, CHUNK);
        pattern(words, part / 4, (uint32_t)(job->value + done / 4));
        if (!sim_bytes_write(job->address + done, words, part))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        done += part;
    }
    return CUDA_SUCCESS;
}

static void prepare_fill(void *const *parameters, struct sim_job *job) {
    job->address = parameter_u64(parameters, 0);
    job->size = parameter_u64(parameters, 1) & ~(uint64_t)3;
    job->value = parameter_u32(parameters, 2);
    job->duration = sim_cost_bytes(job->size);
    job->effect = run_fill;
    sim_job_touches(job, job->address, job->size, simcudaAccessWrite);
}

// ---------------------------------------------------------------------------------------- sp_check

static uint64_t count_wrong(const uint32_t *words, uint64_t count, uint32_t first) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < count; i++)
        wrong += words[i] != first + (uint32_t)i;
    return wrong;
}

// The counter is changed atomically, so it is no part of the race check.
static CUresult add_errors(const struct sim_job *job, uint64_t wrong) {
    uint64_t errors;
    uint64_t counter = job->counter_address;
    if (wrong == 0)
        return CUDA_SUCCESS;
    sim_report(simcudaReport_checkFailed,
               "sp_check found %" PRIu64 " wrong words in [0x%" PRIx64 ", 0x%" PRIx64 ")", wrong,
               job->address, job->address + job->size);
    if (!sim_bytes_read(counter, &errors, sizeof(errors)))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    errors += wrong;
    return sim_bytes_write(counter, &errors, sizeof(errors)) ? CUDA_SUCCESS
                                                             : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult run_check(const struct sim_job *job, int device) {
    uint32_t words[CHUNK / 4];
    uint64_t wrong = 0;
    (void)device;
    for (uint64_t done = 0; done < job->size;) {
        uint64_t part = smaller(job->size - done, CHUNK);
        if (!sim_bytes_read(job->address + done, words, part))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        wrong += count_wrong(words, part / 4, (uint32_t)(job->value + done / 4));
        done += part;
    }
    return add_errors(job, wrong);
}

static void prepare_check(void *const *parameters, struct sim_job *job) {
    job->address = parameter_u64(parameters, 0);
    job->size = parameter_u64(parameters, 1) & ~(uint64_t)3;
    job->value = parameter_u32(parameters, 2);
    job->counter_address = parameter_u64(parameters, 3);
    job->duration = sim_cost_bytes(job->size);
    job->effect = run_check;
    sim_job_touches(job, job->address, job->size, simcudaAccessRead);
}

// ----------------------------------------------------------------------------------------- sp_spin

static void prepare_spin(void *const *parameters, struct sim_job *job) {
    job->duration = parameter_u64(parameters, 0);
    job->flag_address = parameter_u64(parameters, 1);
}

// ----------------------------------------------------------------------------------------- sp_trap

static CUresult run_trap(const struct sim_job *job, int device) {
    (void)job;
    (void)device;
    return CUDA_ERROR_LAUNCH_FAILED;
}

static void prepare_trap(void *const *parameters, struct sim_job *job) {
    (void)parameters;
    job->effect = run_trap;
}

// ------------------------------------------------------------------------------- copies and memset

static CUresult run_set(const struct sim_job *job, int device) {
    unsigned char bytes[CHUNK];
    (void)device;
    memset(bytes, (int)job->value, smaller(job->size, CHUNK));
    for (uint64_t done = 0; done < job->size; done += smaller(job->size - done, CHUNK)) {
        if (!sim_bytes_write(job->address + done, bytes, smaller(job->size - done, CHUNK)))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    return CUDA_SUCCESS;
}

static CUresult run_copy_in(const struct sim_job *job, int device) {
    (void)device;
    return sim_bytes_write(job->address, job->host_memory, job->size) ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult run_copy_out(const struct sim_job *job, int device) {
    (void)device;
    return sim_bytes_read(job->address, job->host_memory, job->size) ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static void prepare_copy(struct sim_job *job, const char *name, sim_effect effect, uint64_t address,
                         uint64_t size) {
    sim_job_name(job, name);
    job->address = address;
    job->size = size;
    job->duration = sim_cost_bytes(size);
    job->effect = effect;
}

void sim_kernel_set_job(struct sim_job *job, uint64_t address, unsigned char value, uint64_t size) {
    prepare_copy(job, "memset", run_set, address, size);
    job->value = value;
    sim_job_touches(job, address, size, simcudaAccessWrite);
}

// The job takes the memory without its const; the effect only reads it.
void sim_kernel_copy_in_job(struct sim_job *job, uint64_t address, const void *from,
                            uint64_t size) {
    prepare_copy(job, "copy to device", run_copy_in, address, size);
    memcpy(&job->host_memory, &from, sizeof(from));
    sim_job_touches(job, address, size, simcudaAccessWrite);
}

void sim_kernel_copy_out_job(struct sim_job *job, void *to, uint64_t address, uint64_t size) {
    prepare_copy(job, "copy to host", run_copy_out, address, size);
    job->host_memory = to;
    sim_job_touches(job, address, size, simcudaAccessRead);
}

// ----------------------------------------------------------------------------------------- modules

static struct CUfunc_st functions[] = {
    {"sp_fill", prepare_fill},
    {"sp_check", prepare_check},
    {"sp_spin", prepare_spin},
    {"sp_trap", prepare_trap},
};

#define FUNCTION_COUNT (sizeof(functions) / sizeof(functions[0]))

struct CUmod_st {
    const struct sim_context *context;
    unsigned entries; // a bit for each function that the image has
    struct sp_list link;
};

static struct sp_list modules = {&modules, &modules};

static struct CUmod_st *module_of(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct CUmod_st, link);
}

CUresult sim_kernel_load(const struct sim_context *context, const char *image, CUmodule *result) {
    if (!strstr(image, ".version"))
        return CUDA_ERROR_INVALID_IMAGE;
    struct CUmod_st *module = sim_allocate(sizeof(*module));
    module->context = context;
    for (size_t i = 0; i < FUNCTION_COUNT; i++)
        module->entries |= strstr(image, functions[i].name) ? 1u << i : 0;
    sp_list_push_back(&modules, &module->link);
    *result = module;
    return CUDA_SUCCESS;
}

static struct CUmod_st *find(CUmodule handle) {
    SP_LIST_FOR_EACH(link, &modules) {
        if (module_of(link) == handle)
            return handle;
    }
    return NULL;
}

static void unload(struct CUmod_st *module) {
    sp_list_remove(&module->link);
    sim_free(module);
}

CUresult sim_kernel_unload(CUmodule handle) {
    struct CUmod_st *module = find(handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    unload(module);
    return CUDA_SUCCESS;
}

void sim_kernel_unload_all(const struct sim_context *context) {
    SP_LIST_FOR_EACH_SAFE(link, &modules) {
        if (module_of(link)->context == context)
            unload(module_of(link));
    }
}

CUresult sim_kernel_find(CUfunction *function, CUmodule handle, const char *name) {
    const struct CUmod_st *module = find(handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        if (!(module->entries & 1u << i) || strcmp(functions[i].name, name) != 0)
            continue;
        *function = &functions[i];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult sim_kernel_job(CUfunction function, void *const *parameters, struct sim_job *job) {
    uintptr_t offset = (uintptr_t)function - (uintptr_t)functions;
    if (offset >= sizeof(functions) || offset % sizeof(functions[0]) != 0)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!parameters)
        return CUDA_ERROR_INVALID_VALUE;
    sim_job_name(job, function->name);
    function->prepare(parameters, job);
    return CUDA_SUCCESS;
}

uint64_t sim_kernel_module_count(void) {
    uint64_t count = 0;
    SP_LIST_FOR_EACH(link, &modules)
        count++;
    return count;
}

void sim_kernel_reset(void) {
    SP_LIST_FOR_EACH_SAFE(link, &modules)
        unload(module_of(link));
}
