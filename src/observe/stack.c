#include "observe/stack.h"

#include "base/lock.h"
#include "base/number.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The library's own frames stand above the caller's: fewer than this.
enum { OWN_FRAMES = 16 };

enum { BUCKET_BITS = 12 };

struct sp_stack {
    struct sp_stack *next; // in its bucket
    uint64_t hash;
    uint64_t references;
    int count;
    void *frames[];
};

static struct sp_lock lock; // guards the buckets, and the references
static struct sp_stack *buckets[1 << BUCKET_BITS];

static uint64_t hash_of(void *const *frames, int count) {
    uint64_t hash = (uint64_t)count;
    for (int i = 0; i < count; i++)
        hash = sp_hash_bits(hash ^ (uint64_t)(uintptr_t)frames[i], 64);
    return hash;
}

static struct sp_stack **bucket_of(uint64_t hash) {
    return &buckets[sp_hash_bits(hash, BUCKET_BITS)];
}

static struct sp_stack *find(void *const *frames, int count, uint64_t hash) {
    struct sp_stack *stack = *bucket_of(hash);
    size_t bytes = (size_t)count * sizeof *frames;
    while (stack && !(stack->hash == hash && stack->count == count &&
                      memcmp(stack->frames, frames, bytes) == 0))
        stack = stack->next;
    return stack;
}

static struct sp_stack *add(void *const *frames, int count, uint64_t hash) {
    size_t bytes = (size_t)count * sizeof *frames;
    struct sp_stack *stack = malloc(sizeof *stack + bytes);
    if (!stack)
        return NULL;
    struct sp_stack **bucket = bucket_of(hash);
    *stack = (struct sp_stack){.next = *bucket, .hash = hash, .count = count};
    memcpy(stack->frames, frames, bytes);
    *bucket = stack;
    return stack;
}

// Returns the index of the caller's frame; 0, so that nothing is lost, where it isn't found.
static int first_frame(void *const *frames, int count, const void *caller) {
    for (int i = 0; i < count; i++) {
        if (frames[i] == caller)
            return i;
    }
    return 0;
}

struct sp_stack *sp_stack_here(const void *caller, int depth) {
    void *frames[OWN_FRAMES + SP_STACK_MOST];
    if (depth <= 0)
        return NULL;
    int found = backtrace(frames, OWN_FRAMES + SP_STACK_MOST);
    int first = first_frame(frames, found, caller);
    int count = (int)sp_min((size_t)(found - first), (size_t)depth);
    uint64_t hash = hash_of(&frames[first], count);
    sp_lock_acquire(&lock);
    struct sp_stack *stack = find(&frames[first], count, hash);
    if (!stack)
        stack = add(&frames[first], count, hash);
    if (stack)
        stack->references++;
    sp_lock_release(&lock);
    return stack;
}

void sp_stack_keep(struct sp_stack *stack) {
    if (!stack)
        return;
    sp_lock_acquire(&lock);
    stack->references++;
    sp_lock_release(&lock);
}

// True when nobody refers to the stack any more.
static bool drop_locked(struct sp_stack *stack) {
    if (--stack->references > 0)
        return false;
    struct sp_stack **link = bucket_of(stack->hash);
    while (*link != stack)
        link = &(*link)->next;
    *link = stack->next;
    return true;
}

void sp_stack_drop(struct sp_stack *stack) {
    if (!stack)
        return;
    sp_lock_acquire(&lock);
    bool unused = drop_locked(stack);
    sp_lock_release(&lock);
    if (unused)
        free(stack);
}

// Returns where an object was loaded from. The loader knows a program by the words that it was
// started with, which may be any.
static const char *file_of(const Dl_info *info, char path[PATH_MAX]) {
    ssize_t length = -1;
    if (strcmp(info->dli_fname, program_invocation_name) == 0)
        length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length < 0)
        return info->dli_fname;
    path[length] = '\0';
    return path;
}

// A frame holds the address behind a call. The call itself may be the last instruction of its
// function, so the address before it is looked up.
static void print_frame(const void *frame, FILE *out) {
    const char *at = (const char *)frame - 1;
    char path[PATH_MAX];
    Dl_info info;
    if (!dladdr(at, &info) || !info.dli_fname)
        fprintf(out, "    at %p (no object is loaded there any more)\n", frame);
    else if (info.dli_sname)
        fprintf(out, "    at %s+0x%tx (%s)\n", info.dli_sname, at - (const char *)info.dli_saddr,
                file_of(&info, path));
    else
        fprintf(out, "    at %s+0x%tx\n", file_of(&info, path), at - (const char *)info.dli_fbase);
}

void sp_stack_print(const struct sp_stack *stack, FILE *out) {
    for (int i = 0; i < stack->count; i++)
        print_frame(stack->frames[i], out);
}
