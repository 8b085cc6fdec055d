#include "simcuda/item.h"

#include <string.h>

#include "simcuda/clock.h"
#include "simcuda/host.h"

struct sp_list sim_touching = {&sim_touching, &sim_touching};

void sim_job_name(struct sim_job *job, const char *name) {
    size_t length = strnlen(name, sizeof(job->name) - 1);
    memcpy(job->name, name, length);
    job->name[length] = '\0';
}

void sim_job_touches(struct sim_job *job, uint64_t address, uint64_t size, simcudaAccessKind kind) {
    if (size == 0)
        return;
    job->accesses = sim_reallocate(job->accesses, job->count + 1, sizeof(*job->accesses));
    job->accesses[job->count++] = (simcudaAccess){address, size, kind};
}

uint64_t sim_job_bytes(const struct sim_job *job) {
    uint64_t sum = 0;
    for (size_t i = 0; i < job->count; i++) {
        uint64_t size = job->accesses[i].size;
        sum = size > UINT64_MAX - sum ? UINT64_MAX : sum + size;
    }
    return sum;
}

void sim_job_drop(struct sim_job *job) {
    sim_free(job->accesses);
    sim_free(job->copies);
    sim_free(job->owned);
    job->accesses = NULL;
    job->copies = NULL;
    job->owned = NULL;
    job->count = job->copy_count = 0;
}

void sim_item_destroy(struct sim_item *item) {
    while (item->dependency_count > 0)
        sim_item_drop(item->dependencies[--item->dependency_count]);
    sim_free(item->dependencies);
    sim_job_drop(&item->job);
    sim_clock_drop(item->clock);
    sim_free(item);
}

static bool concerns(const simcudaAccess *access, uint64_t address, uint64_t size, bool writes) {
    return (writes || access->kind == simcudaAccessWrite) && access->address < address + size &&
           address < access->address + access->size;
}

struct sim_item *sim_item_conflicting(uint64_t address, uint64_t size, bool writes) {
    SP_LIST_FOR_EACH(link, &sim_touching) {
        struct sim_item *item = SP_CONTAINER_OF(link, struct sim_item, touching_link);
        for (size_t i = 0; i < item->job.count; i++) {
            if (concerns(&item->job.accesses[i], address, size, writes))
                return item;
        }
    }
    return NULL;
}

struct sim_item *sim_item_naming(uint64_t address, uint64_t size) {
    return sim_item_conflicting(address, size, true);
}
