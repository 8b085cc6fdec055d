#include "observe/check.h"

#include <string.h>

static bool is_on;

// Functions of streampool/simcuda.h.
static void (*block_begin)(uint64_t address, uint64_t size);
static void (*block_behind)(uint64_t address, CUstream stream);
static void (*block_end)(uint64_t address, CUstream stream);
static void (*block_end_at_once)(uint64_t address);

static _Thread_local const void *freeing; // the address of the free that the thread makes

static bool find(const struct sp_observe_host *host, const char *name, void *function) {
    void *symbol = host->driver_checker(name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

void sp_check_begin(const struct sp_observe_host *host) {
    is_on = find(host, "simcudaBlockBegin", &block_begin) &&
            find(host, "simcudaBlockBehind", &block_behind) &&
            find(host, "simcudaBlockEnd", &block_end) &&
            find(host, "simcudaBlockEndAtOnce", &block_end_at_once);
}

bool sp_check_is_on(void) {
    return is_on;
}

static uint64_t address_of(const void *pointer) {
    return (uint64_t)(uintptr_t)pointer;
}

void sp_check_allocated(const void *pointer, uint64_t size) {
    if (is_on)
        block_begin(address_of(pointer), size);
}

void sp_check_freeing(const void *pointer) {
    freeing = pointer;
}

void sp_check_behind(const void *event, const struct sp_observe_stream *stream) {
    if (is_on && stream && event && event == freeing)
        block_behind(address_of(freeing), stream->handle);
}

void sp_check_freed(const struct sp_observe_stream *stream) {
    if (is_on && stream)
        block_end(address_of(freeing), stream->handle);
    else if (is_on)
        block_end_at_once(address_of(freeing));
    freeing = NULL;
}

void sp_check_not_freed(bool is_known) {
    if (is_on && !is_known)
        block_end_at_once(address_of(freeing));
    freeing = NULL;
}
