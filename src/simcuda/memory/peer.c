#include "simcuda/memory/peer.h"

#include <stddef.h>

#include "simcuda/common/host.h"
#include "simcuda/memory/device.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/queue/context.h"

static struct access {
    const struct sim_context *from;
    struct sim_context *to;
} * accesses;
static size_t access_count;
static size_t access_capacity;

// Returns the access's place; the count where there is none.
static size_t find(const struct sim_context *from, const struct sim_context *to) {
    size_t i = 0;
    while (i < access_count && (accesses[i].from != from || accesses[i].to != to))
        i++;
    return i;
}

static void set(const struct sim_context *owner, int device, CUmemAccess_flags flags) {
    SP_LIST_FOR_EACH(link, &sim_mappings) {
        struct sim_mapping *mapping = SP_CONTAINER_OF(link, struct sim_mapping, link);
        if (mapping->extent->kind == SIM_EXTENT_OF_ALLOCATION &&
            !sim_extent_is_managed(mapping->extent) && mapping->extent->context == owner)
            mapping->access[device] = (unsigned char)flags;
    }
}

CUresult sim_peer_enable(struct sim_context *context, struct sim_context *peer) {
    if (context->device == peer->device || !sim_device_can_access(context->device, peer->device))
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (find(context, peer) < access_count)
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    SIM_RESERVE_ONE(accesses, access_count, access_capacity);
    accesses[access_count++] = (struct access){context, peer};
    if (peer->peers[context->device]++ == 0)
        set(peer, context->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return CUDA_SUCCESS;
}

static void end(size_t i) {
    struct sim_context *owner = accesses[i].to;
    int device = accesses[i].from->device;
    accesses[i] = accesses[--access_count];
    if (--owner->peers[device] == 0)
        set(owner, device, CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

CUresult sim_peer_disable(const struct sim_context *context, struct sim_context *peer) {
    size_t i = find(context, peer);
    if (i == access_count)
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    end(i);
    return CUDA_SUCCESS;
}

void sim_peer_forget(const struct sim_context *context) {
    for (size_t i = access_count; i-- > 0;) {
        if (accesses[i].from == context || accesses[i].to == context)
            end(i);
    }
}

void sim_peer_reset(void) {
    sim_free(accesses);
    accesses = NULL;
    access_count = access_capacity = 0;
}
