#include "vmm/plain.h"

#include "base/number.h"
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

// Gets memory at addresses that the page map doesn't hold. It holds those of lost memory that is in
// use, and for the driver these are free. A piece that lies there is given back only in the end, so
// that the next one lies elsewhere.
static struct sp_outcome allocate_elsewhere(CUdeviceptr *base, size_t size) {
    CUdeviceptr *aside = NULL;
    size_t count = 0;
    struct sp_outcome outcome = allocate_pages(base, size);
    while (sp_is_done(outcome) && sp_page_map_holds_any(sp_round_up(*base, SP_PAGE_SIZE), size)) {
        CUdeviceptr *longer = realloc(aside, (count + 1) * sizeof *longer);
        if (longer) {
            aside = longer;
            aside[count++] = *base;
            outcome = allocate_pages(base, size);
        } else {
            release(*base);
            outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
        }
    }
    while (count > 0)
        release(aside[--count]);
    free(aside);
    return outcome;
}

// Makes the context current, and lets captures be, for a call that gets memory or gives it back.
static struct sp_outcome enter(CUcontext context, CUstreamCaptureMode *mode) {
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
    if (sp_is_done(outcome))
        *mode = exchange_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    return outcome;
}

static void leave(CUstreamCaptureMode mode) {
    CUcontext popped;
    exchange_mode(mode);
    sp_driver->cuCtxPopCurrent(&popped);
}

struct sp_outcome sp_plain_get(struct sp_plain *plain, size_t size, CUdeviceptr *address) {
    CUstreamCaptureMode mode;
    CUdeviceptr base = 0;
    struct sp_outcome outcome = enter(plain->context, &mode);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = allocate_elsewhere(&base, size);
    if (sp_is_done(outcome)) {
        *address = sp_round_up(base, SP_PAGE_SIZE);
        plain->base = base;
    }
    if (sp_is_done(outcome) && !sp_page_map_hold(*address, size)) {
        release(base);
        plain->base = 0;
        outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
    }
    leave(mode);
    return outcome;
}

// The page map comes first: once the memory is free, the driver may give its address to anybody,
// another pool too. To hold it again needs no memory. Memory that is lost is nobody's, and its
// address may be somebody else's by now.
struct sp_outcome sp_plain_give(struct sp_plain *plain, CUdeviceptr address, size_t size) {
    CUstreamCaptureMode mode;
    sp_page_map_drop(address, size);
    struct sp_outcome outcome = plain->lost ? sp_outcome_done() : enter(plain->context, &mode);
    if (!plain->lost && sp_is_done(outcome)) {
        outcome = release(plain->base);
        leave(mode);
    }
    if (sp_is_done(outcome))
        plain->base = 0;
    else
        sp_page_map_hold(address, size);
    return outcome;
}
