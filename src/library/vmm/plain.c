#include "vmm/plain.h"

#include "base/checked.h"
#include "base/page_map.h"

#include <stdlib.h>

static CUstreamCaptureMode exchange_mode(CUstreamCaptureMode mode) {
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static struct sp_outcome allocate(CUdeviceptr *base, size_t size) {
    return sp_outcome_of_driver(sp_driver->cuMemAlloc(base, size), "cuMemAlloc");
}

static struct sp_outcome release(CUdeviceptr base) {
    return sp_outcome_of_driver(sp_driver->cuMemFree(base), "cuMemFree");
}

// Gets memory that begins with a page, or has a page more than is needed. The driver's addresses
// are as a rule multiples of 2 MiB for sizes that are.
static struct sp_outcome allocate_pages(CUdeviceptr *base, size_t size) {
    struct sp_outcome outcome = allocate(base, size);
    if (!sp_is_done(outcome) || *base % SP_PAGE_SIZE == 0)
        return outcome;
    outcome = release(*base);
    return sp_is_done(outcome) ? allocate(base, size + SP_PAGE_SIZE) : outcome;
}

// Pieces that can't be used where they are, and so that the next one lies elsewhere aren't given
// back yet.
struct aside {
    CUdeviceptr *list;
    size_t count, capacity;
};

static bool keep_aside(struct aside *aside, CUdeviceptr base) {
    if (aside->count == aside->capacity) {
        size_t capacity = aside->capacity ? aside->capacity * 2 : 16;
        CUdeviceptr *list = realloc(aside->list, capacity * sizeof *list);
        if (!list)
            return false;
        aside->list = list;
        aside->capacity = capacity;
    }
    aside->list[aside->count++] = base;
    return true;
}

static void give_aside_back(struct aside *aside) {
    while (aside->count > 0)
        release(aside->list[--aside->count]);
    free(aside->list);
}

static bool is_known(CUdeviceptr base, size_t size) {
    return sp_page_map_holds_any(sp_round_up(base, SP_PAGE_SIZE), size);
}

// Gets memory at addresses that the page map doesn't hold. It holds those of lost memory that is in
// use, and for the driver these are free.
static struct sp_outcome allocate_elsewhere(CUdeviceptr *base, size_t size) {
    struct aside aside = {0};
    struct sp_outcome outcome = allocate_pages(base, size);
    while (sp_is_done(outcome) && is_known(*base, size)) {
        if (keep_aside(&aside, *base)) {
            outcome = allocate_pages(base, size);
        } else {
            release(*base);
            outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
        }
    }
    give_aside_back(&aside);
    return outcome;
}

static struct sp_outcome get(struct sp_plain *plain, size_t size, CUdeviceptr *address) {
    CUdeviceptr base = 0;
    struct sp_outcome outcome = allocate_elsewhere(&base, size);
    if (!sp_is_done(outcome))
        return outcome;
    *address = sp_round_up(base, SP_PAGE_SIZE);
    if (!sp_page_map_hold(*address, size)) {
        release(base);
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    }
    plain->base = base;
    return sp_outcome_done();
}

static struct sp_outcome push(CUcontext context) {
    return sp_outcome_of_driver(sp_driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
}

struct sp_outcome sp_plain_get(struct sp_plain *plain, size_t size, CUdeviceptr *address) {
    CUcontext popped;
    struct sp_outcome outcome = push(plain->context);
    if (!sp_is_done(outcome))
        return outcome;
    CUstreamCaptureMode mode = exchange_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    outcome = get(plain, size, address);
    exchange_mode(mode);
    sp_driver->cuCtxPopCurrent(&popped);
    return outcome;
}

// Memory that is lost is nobody's, and its address may be somebody else's by now.
static struct sp_outcome give(const struct sp_plain *plain) {
    CUcontext popped;
    if (plain->lost)
        return sp_outcome_done();
    struct sp_outcome outcome = push(plain->context);
    if (!sp_is_done(outcome))
        return outcome;
    CUstreamCaptureMode mode = exchange_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    outcome = release(plain->base);
    exchange_mode(mode);
    sp_driver->cuCtxPopCurrent(&popped);
    return outcome;
}

// The page map comes first: once the memory is free, the driver may give its address to anybody,
// another pool too. To hold it again needs no memory.
struct sp_outcome sp_plain_give(struct sp_plain *plain, CUdeviceptr address, size_t size) {
    sp_page_map_drop(address, size);
    struct sp_outcome outcome = give(plain);
    if (sp_is_done(outcome))
        plain->base = 0;
    else
        sp_page_map_hold(address, size);
    return outcome;
}
