#include "simcuda/kernel/unregistered.h"

#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/kernel/kernel.h"
#include "simcuda/memory/pointed.h"
#include "simcuda/queue/cost.h"
#include "simcuda/queue/item.h"

static char **names;
static size_t name_count;
static size_t name_capacity;

static bool is_named(const char *name) {
    for (size_t i = 0; i < name_count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static void print(const char *name, size_t blocks) {
    if (blocks == 0)
        sp_log_write(
            "simulated driver: kernel \"%s\" is not registered: it does nothing, and its "
            "parameters point to no block",
            name);
    else
        sp_log_write(
            "simulated driver: kernel \"%s\" is not registered: it does nothing, and "
            "counts as reading and writing the %zu block%s that its parameters point to",
            name, blocks, blocks == 1 ? "" : "s");
}

static void name_once(const char *name, size_t blocks) {
    if (is_named(name))
        return;
    SIM_RESERVE_ONE(names, name_count, name_capacity);
    names[name_count] = sim_allocate(strlen(name) + 1);
    memcpy(names[name_count++], name, strlen(name));
    if (sim_config.onReport != simcudaOnReportKeep)
        print(name, blocks);
}

void sim_unregistered_job(const struct sim_kernel_call *call, struct sim_job *job) {
    size_t blocks = 0;
    sim_job_name(job, call->name);
    for (size_t i = 0; i < call->count; i++)
        blocks =
            sim_pointed_touch(job, call->parameters[i], call->layout[i].size, call->device, blocks);
    job->duration = sim_cost_bytes(sim_job_bytes(job));
    name_once(call->name, blocks);
}

const char *sim_unregistered_name(uint64_t index) {
    return index < name_count ? names[index] : NULL;
}

void sim_unregistered_reset(void) {
    while (name_count > 0)
        sim_free(names[--name_count]);
}
