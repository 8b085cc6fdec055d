#include "simcuda/common/stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"

enum { MOST_FRAMES = 64, BUCKET_BITS = 10 };

struct sim_stack {
    struct sim_stack *next; // in its bucket
    uint64_t hash;
    size_t count;
    void *frames[];
};

static struct sim_stack *buckets[1 << BUCKET_BITS];

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// A frame holds the address behind a call. The call itself may be the last instruction of its
// function, so the address before it is looked up.
static bool look_up(const void *frame, Dl_info *info) {
    return dladdr((const char *)frame - 1, info) && info->dli_fname;
}

// This driver may have the real one's name; or be linked into a program, which isn't ours then.
static bool is_ours(const void *frame) {
    static const char prefix[] = "libstreampool";
    Dl_info own, info;
    if (!look_up(frame, &info))
        return false;
    bool is_own = dladdr(buckets, &own) && own.dli_fbase == info.dli_fbase &&
                  strncmp(file_name(own.dli_fname), "lib", 3) == 0;
    return is_own || strncmp(file_name(info.dli_fname), prefix, sizeof prefix - 1) == 0;
}

static struct sim_stack *keep(void *const *frames, size_t count) {
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++)
        hash = sp_hash_bits(hash ^ (uint64_t)(uintptr_t)frames[i], 64);
    struct sim_stack **bucket = &buckets[sp_hash_bits(hash, BUCKET_BITS)];
    for (struct sim_stack *stack = *bucket; stack; stack = stack->next) {
        if (stack->hash == hash && stack->count == count &&
            memcmp(stack->frames, frames, count * sizeof *frames) == 0)
            return stack;
    }
    struct sim_stack *stack = sim_allocate(sizeof *stack + count * sizeof *frames);
    *stack = (struct sim_stack){.next = *bucket, .hash = hash, .count = count};
    memcpy(stack->frames, frames, count * sizeof *frames);
    return *bucket = stack;
}

const struct sim_stack *sim_stack_here(void) {
    void *frames[MOST_FRAMES];
    if (!sim_config.stacks || !sim_checks())
        return NULL;
    return keep(frames, (size_t)backtrace(frames, MOST_FRAMES));
}

size_t sim_stack_count(const struct sim_stack *stack) {
    return stack ? stack->count : 0;
}

// A sanitizer, which is the program's, may stand before our frames.
size_t sim_stack_first(const struct sim_stack *stack) {
    size_t count = sim_stack_count(stack);
    size_t first = count > 1 && !is_ours(stack->frames[0]) && is_ours(stack->frames[1]) ? 1 : 0;
    while (first < count && is_ours(stack->frames[first]))
        first++;
    return first < count ? first : 0;
}

void sim_stack_frame(const struct sim_stack *stack, size_t index, char *text, size_t size) {
    const void *frame = stack->frames[index];
    const char *at = (const char *)frame - 1;
    Dl_info info;
    if (!look_up(frame, &info))
        snprintf(text, size, "%p (no object is loaded there any more)", frame);
    else if (info.dli_sname)
        snprintf(text, size, "%s+0x%tx (%s)", info.dli_sname, at - (const char *)info.dli_saddr,
                 info.dli_fname);
    else
        snprintf(text, size, "%s+0x%tx", info.dli_fname, at - (const char *)info.dli_fbase);
}

void sim_stack_reset(void) {
    for (size_t i = 0; i < sizeof buckets / sizeof buckets[0]; i++) {
        while (buckets[i]) {
            struct sim_stack *stack = buckets[i];
            buckets[i] = stack->next;
            sim_free(stack);
        }
    }
}
