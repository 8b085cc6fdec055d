#include "simcuda/memory/pointed.h"

#include <string.h>

#include "simcuda/entry/abi.h"
#include "simcuda/memory/block.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/memory/pinned.h"
#include "simcuda/queue/item.h"

static bool find_pinned(uint64_t address, struct sim_pointed *pointed) {
    const struct sim_pinned *piece = sim_pinned_at(address);
    if (!piece || piece->is_of_library)
        return false;
    bool is_read_only = piece->is_registered && piece->flags & CU_MEMHOSTREGISTER_READ_ONLY;
    *pointed = (struct sim_pointed){piece->address, piece->size, !is_read_only};
    return true;
}

bool sim_pointed_find(uint64_t address, int device, struct sim_pointed *pointed) {
    const struct sim_mapping *mapping = sim_mapping_at(address);
    if (!mapping)
        return find_pinned(address, pointed);
    if (address - mapping->address >= mapping->valid)
        return false;
    unsigned access = mapping->access[device];
    if (!(access & CU_MEM_ACCESS_FLAGS_PROT_READ))
        return false;
    pointed->is_writable = access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    if (sim_block_find(address, &pointed->address, &pointed->size))
        return true;
    pointed->address = mapping->address;
    pointed->size = mapping->valid;
    return !mapping->extent->is_of_library;
}

static bool is_touched(const struct sim_job *job, const struct sim_pointed *pointed) {
    for (size_t i = 0; i < job->count; i++) {
        if (job->accesses[i].address == pointed->address)
            return true;
    }
    return false;
}

static size_t touch(struct sim_job *job, uint64_t word, int device) {
    struct sim_pointed pointed;
    if (!sim_pointed_find(word, device, &pointed) || is_touched(job, &pointed))
        return 0;
    sim_job_touches(job, pointed.address, pointed.size, simcudaAccessRead);
    if (pointed.is_writable)
        sim_job_touches(job, pointed.address, pointed.size, simcudaAccessWrite);
    return 1;
}

size_t sim_pointed_touch(struct sim_job *job, const void *bytes, size_t size, int device,
                         size_t count) {
    uint64_t word;
    for (size_t at = 0; at + sizeof(word) <= size; at += sizeof(word)) {
        memcpy(&word, (const char *)bytes + at, sizeof(word));
        count += touch(job, word, device);
    }
    return count;
}
