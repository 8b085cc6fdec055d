#include "cli/run/run_verdict.h"

#include "dropin/format.h"

#include <stdio.h>
#include <streampool/streampool.h>
#include <string.h>

#define OURS(name)
#define OTHER(name)
#define CUDAS(name) +sp_run_reports_count(end, "counts", #name)
uint64_t sp_run_verdict_cudas(const cJSON *end) {
#define ADD(name, group, what) group(name)
    return 0 SP_REPORT_COUNTS(ADD);
#undef ADD
}

// Bytes of the driver's default pools, of all devices.
static uint64_t drivers_peak(const cJSON *end) {
    const cJSON *device;
    uint64_t sum = 0;
    cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(end, "cuda")) {
        sum += sp_run_reports_number(device, "used_high");
    }
    return sum;
}

// Allocations that we left to a default pool of the driver's. Those of captures are a graph's.
static uint64_t left_to_default(const cJSON *end) {
    return sp_run_reports_count(end, "counts", "cuda_unserved") +
           sp_run_reports_count(end, "counts", "cuda_unsupported");
}

static struct sp_run_verdict verdict(enum sp_run_hold hold, const char *why) {
    static const char *const words[] = {[SP_RUN_HOLD_YES] = "yes",
                                        [SP_RUN_HOLD_PARTLY] = "partly",
                                        [SP_RUN_HOLD_NO] = "no",
                                        [SP_RUN_HOLD_UNKNOWN] = "unknown"};
    struct sp_run_verdict verdict = {.hold = hold, .word = words[hold]};
    snprintf(verdict.why, sizeof verdict.why, "%s", why);
    return verdict;
}

static struct sp_run_verdict refused(const cJSON *end) {
    char why[128];
    snprintf(why, sizeof why, "streampool couldn't start: %s",
             poolGetErrorName((poolError_t)sp_run_reports_number(end, "error")));
    return verdict(SP_RUN_HOLD_NO, why);
}

struct sp_run_verdict sp_run_verdict(const struct sp_run_process *process) {
    const cJSON *end = process->end;
    uint64_t ours = sp_run_reports_count(end, "counts", "allocations");
    uint64_t cudas = sp_run_verdict_cudas(end);
    if (!end)
        return verdict(SP_RUN_HOLD_UNKNOWN, "it ended without a report");
    if (strcmp(sp_run_reports_text(end, "started"), "refused") == 0)
        return refused(end);
    if (drivers_peak(end) > 0 && left_to_default(end) == 0)
        return verdict(SP_RUN_HOLD_PARTLY,
                       "CUDA's default pool had allocations that the drop-in didn't see");
    if (ours == 0 && cudas == 0)
        return verdict(SP_RUN_HOLD_YES, "there was no allocation to serve");
    if (ours == 0)
        return verdict(SP_RUN_HOLD_NO, "all allocations stayed with CUDA's pools");
    if (cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(end, "cuda")) == 0)
        return verdict(SP_RUN_HOLD_YES, "but the figures of CUDA's default pool can't be read");
    return verdict(SP_RUN_HOLD_YES, cudas > 0
                                        ? "but for the allocations that stay with CUDA's pools"
                                        : "CUDA's default pool had nothing");
}
