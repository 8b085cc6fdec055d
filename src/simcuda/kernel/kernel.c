#include "simcuda/kernel/kernel.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "simcuda/memory/bytes.h"
#include "simcuda/queue/cost.h"
#include "simcuda/queue/item.h"
#include "simcuda/report/report.h"

#define CHUNK ((uint64_t)8 << 10)

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

// ----------------------------------------------------------------------------------------- sp_fill

static void pattern(uint32_t *words, uint64_t count, uint32_t first) {
    for (uint64_t i = 0; i < count; i++)
        words[i] = first + (uint32_t)i;
}

static CUresult run_fill(const struct sim_job *job, int device) {
    uint32_t words[CHUNK / 4];
    (void)device;
    for (uint64_t done = 0; done < job->size;) {
        uint64_t part = sp_min(job->size - done, CHUNK);
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
        uint64_t part = sp_min(job->size - done, CHUNK);
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

// --------------------------------------------------------------------------------------- sp_gather

struct piece {
    uint64_t to, from, bytes;
};

static CUresult copy_piece(const struct piece *piece) {
    char bytes[CHUNK];
    for (uint64_t done = 0; done < piece->bytes;) {
        uint64_t part = sp_min(piece->bytes - done, CHUNK);
        if (!sim_bytes_read(piece->from + done, bytes, part) ||
            !sim_bytes_write(piece->to + done, bytes, part))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        done += part;
    }
    return CUDA_SUCCESS;
}

static CUresult run_gather(const struct sim_job *job, int device) {
    struct piece piece;
    CUresult result = CUDA_SUCCESS;
    (void)device;
    for (uint64_t at = 0; at < job->size && result == CUDA_SUCCESS; at += sizeof(piece))
        result = sim_bytes_read(job->address + at, &piece, sizeof(piece))
                     ? copy_piece(&piece)
                     : CUDA_ERROR_ILLEGAL_ADDRESS;
    return result;
}

// The list of what it touches stands in memory that the host has written before the launch.
static void prepare_gather(void *const *parameters, struct sim_job *job) {
    struct piece piece;
    job->address = parameter_u64(parameters, 0);
    job->size = parameter_u32(parameters, 1) * sizeof(piece);
    job->effect = run_gather;
    sim_job_touches(job, job->address, job->size, simcudaAccessRead);
    for (uint64_t at = 0; at < job->size; at += sizeof(piece)) {
        if (!sim_bytes_read(job->address + at, &piece, sizeof(piece)))
            break;
        sim_job_touches(job, piece.from, piece.bytes, simcudaAccessRead);
        sim_job_touches(job, piece.to, piece.bytes, simcudaAccessWrite);
    }
    job->duration = sim_cost_bytes(sim_job_bytes(job) / 2);
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

// -------------------------------------------------------------------------------- the five kernels

#define MOST_PARAMETERS 4

static const struct known {
    const char *name;
    size_t count;
    uint32_t sizes[MOST_PARAMETERS];
    void (*prepare)(void *const *parameters, struct sim_job *job);
} known_kernels[] = {
    {"sp_fill", 3, {8, 8, 4}, prepare_fill}, {"sp_check", 4, {8, 8, 4, 8}, prepare_check},
    {"sp_spin", 2, {8, 8}, prepare_spin},    {"sp_gather", 2, {8, 4}, prepare_gather},
    {"sp_trap", 0, {0}, prepare_trap},
};

static bool is_call_of(const struct known *known, const struct sim_kernel_call *call) {
    if (strcmp(known->name, call->name) != 0 || known->count != call->count)
        return false;
    for (size_t i = 0; i < known->count; i++) {
        if (call->layout[i].size != known->sizes[i])
            return false;
    }
    return true;
}

bool sim_kernel_job(const struct sim_kernel_call *call, struct sim_job *job) {
    for (size_t i = 0; i < sizeof(known_kernels) / sizeof(known_kernels[0]); i++) {
        if (!is_call_of(&known_kernels[i], call))
            continue;
        sim_job_name(job, call->name);
        known_kernels[i].prepare(call->parameters, job);
        return true;
    }
    return false;
}
