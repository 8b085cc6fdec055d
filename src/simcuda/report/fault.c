#include "simcuda/report/fault.h"

#include <string.h>

#define MAX_FAULTS 16

_Atomic uint64_t sim_call_counts[SIM_ENTRY_COUNT];
_Atomic bool sim_fault_armed;

static struct fault {
    enum sim_entry entry;
    uint64_t remaining; // calls up to the first that fails
    simcudaFaultSpan span;
    CUresult error; // CUDA_SUCCESS: spent
} faults[MAX_FAULTS];
static uint64_t failed;

uint64_t sim_call_count(const char *entry) {
    uint64_t sum = 0;
    for (int i = 0; i < SIM_ENTRY_COUNT; i++) {
        if (!entry || strcmp(sim_entries[i].name, entry) == 0)
            sum += atomic_load(&sim_call_counts[i]);
    }
    return sum;
}

void sim_call_count_reset(void) {
    for (int i = 0; i < SIM_ENTRY_COUNT; i++)
        atomic_store(&sim_call_counts[i], 0);
}

bool sim_fault_set(enum sim_entry entry, uint64_t n, simcudaFaultSpan span, CUresult error) {
    for (size_t i = 0; i < MAX_FAULTS; i++) {
        if (faults[i].error != CUDA_SUCCESS)
            continue;
        faults[i] = (struct fault){entry, n, span, error};
        atomic_store(&sim_fault_armed, true);
        return true;
    }
    return false;
}

void sim_fault_clear(void) {
    for (size_t i = 0; i < MAX_FAULTS; i++)
        faults[i].error = CUDA_SUCCESS;
    failed = 0;
    atomic_store(&sim_fault_armed, false);
}

uint64_t sim_fault_count(void) {
    return failed;
}

static CUresult count_down(struct fault *fault) {
    CUresult error = fault->error;
    if (fault->remaining > 1) {
        fault->remaining--;
        return CUDA_SUCCESS;
    }
    if (fault->span == simcudaFaultOnce)
        fault->error = CUDA_SUCCESS;
    return error;
}

// All forms of an entry point have its faults.
static bool concerns(const struct fault *fault, enum sim_entry entry) {
    return fault->entry == SIM_ENTRY_COUNT ||
           strcmp(sim_entries[fault->entry].name, sim_entries[entry].name) == 0;
}

CUresult sim_fault_check(enum sim_entry entry) {
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < MAX_FAULTS; i++) {
        if (faults[i].error == CUDA_SUCCESS || !concerns(&faults[i], entry))
            continue;
        CUresult error = count_down(&faults[i]);
        result = result == CUDA_SUCCESS ? error : result;
    }
    failed += result != CUDA_SUCCESS;
    return result;
}
