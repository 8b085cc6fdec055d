#include "simcuda/pinned.h"

#include <inttypes.h>

#include "base/list.h"
#include "simcuda/context.h"
#include "simcuda/host.h"
#include "simcuda/report.h"
#include "simcuda/shared.h"
#include "simcuda/thread.h"

struct pinned {
    struct sp_list link;
    const struct sim_context *context;
    uint64_t identity;
    char *memory;
    size_t size;
    bool is_of_library;
};

static struct sp_list live = {&live, &live};
static struct sp_list freed = {&freed, &freed}; // the latest first
static uint64_t live_count;
static uint64_t count_of_library; // of the live ones

static struct pinned *take_freed(size_t size) {
    SP_LIST_FOR_EACH(link, &freed) {
        struct pinned *pinned = SP_CONTAINER_OF(link, struct pinned, link);
        if (pinned->size != size)
            continue;
        sp_list_remove(&pinned->link);
        return pinned;
    }
    return NULL;
}

static struct pinned *make(size_t size) {
    struct pinned *pinned = sim_allocate(sizeof *pinned);
    pinned->memory = sim_allocate(size);
    pinned->size = size;
    return pinned;
}

CUresult sim_pinned_create(const struct sim_context *context, size_t size, void **memory) {
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct pinned *pinned = take_freed(size);
    if (!pinned)
        pinned = make(size);
    pinned->context = context;
    pinned->identity = sim_next_identity();
    pinned->is_of_library = sim_is_for_library();
    count_of_library += pinned->is_of_library;
    sp_list_push_back(&live, &pinned->link);
    live_count++;
    *memory = pinned->memory;
    return CUDA_SUCCESS;
}

static struct pinned *find(uint64_t address) {
    SP_LIST_FOR_EACH(link, &live) {
        struct pinned *pinned = SP_CONTAINER_OF(link, struct pinned, link);
        if (address - (uintptr_t)pinned->memory < pinned->size)
            return pinned;
    }
    return NULL;
}

static void put_back(struct pinned *pinned) {
    sp_list_remove(&pinned->link);
    sp_list_push_front(&freed, &pinned->link);
    live_count--;
    count_of_library -= pinned->is_of_library;
}

CUresult sim_pinned_free(void *memory) {
    struct pinned *pinned = find((uintptr_t)memory);
    if (!pinned || pinned->memory != memory) {
        sim_report(
            simcudaReport_badFree,
            "cuMemFreeHost(%p) names memory that cuMemHostAlloc did not give, or that was freed",
            memory);
        return CUDA_ERROR_INVALID_VALUE;
    }
    put_back(pinned);
    return CUDA_SUCCESS;
}

void sim_pinned_free_all(const struct sim_context *context) {
    SP_LIST_FOR_EACH_SAFE(link, &live) {
        struct pinned *pinned = SP_CONTAINER_OF(link, struct pinned, link);
        if (pinned->context == context)
            put_back(pinned);
    }
}

CUresult sim_pinned_identify(uint64_t address, unsigned long long *id) {
    const struct pinned *pinned = find(address);
    if (!pinned)
        return CUDA_ERROR_INVALID_VALUE;
    *id = pinned->identity;
    return sim_context_error(pinned->context);
}

uint64_t sim_pinned_count(void) {
    return live_count;
}

uint64_t sim_pinned_count_of_library(void) {
    return count_of_library;
}

static void forget(struct sp_list *list) {
    SP_LIST_FOR_EACH_SAFE(link, list) {
        struct pinned *pinned = SP_CONTAINER_OF(link, struct pinned, link);
        sp_list_remove(&pinned->link);
        sim_free(pinned->memory);
        sim_free(pinned);
    }
}

void sim_pinned_reset(void) {
    forget(&live);
    forget(&freed);
    live_count = count_of_library = 0;
}
