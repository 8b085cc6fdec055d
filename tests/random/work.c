#include "random/work.h"

#include <stdio.h>

#include "simcuda/kernel/kernels.h"
#include "support/check.h"
#include "support/device.h"

// Of a large block a simulated kernel touches this much at each end; the rest is named but not
// written.
#define EDGE KIB(4)

void work_load(struct context *context) {
    static const uint64_t none[MAX_BLOCKS];
    const struct sp_driver *driver = test_driver();
    DRIVER(driver->cuModuleLoadData(&context->module, SP_KERNELS_PTX));
    DRIVER(driver->cuModuleGetFunction(&context->fill, context->module, "sp_fill"));
    DRIVER(driver->cuModuleGetFunction(&context->check, context->module, "sp_check"));
    DRIVER(driver->cuModuleGetFunction(&context->spin, context->module, "sp_spin"));
    DRIVER(driver->cuMemAlloc(&context->wrong_words, sizeof none));
    DRIVER(driver->cuMemcpyHtoD(context->wrong_words, none, sizeof none));
}

static const struct context *context_of(const struct thread *thread, const struct stream *stream) {
    return &thread->world->contexts[stream->context];
}

static void launch(struct thread *thread, CUfunction function, unsigned grid, unsigned threads,
                   void **parameters, const struct stream *stream) {
    DRIVER(test_driver()->cuLaunchKernel(function, grid, 1, 1, threads, 1, 1, 0,
                                         thread_handle(thread, stream), parameters, NULL));
}

void work_spin(struct thread *thread, struct stream *stream) {
    uint64_t nanoseconds = 1000 + numbers_below(&thread->numbers, thread->world->longest_spin),
             flag = 0;
    thread_enter(thread, stream->context);
    thread_trace(thread, "spin on stream %u", world_stream_number(thread->world, stream));
    launch(thread, context_of(thread, stream)->spin, 1, 1, (void *[]){&nanoseconds, &flag}, stream);
}

// The whole block, as one piece of work that takes no bytes along.
static void name_all(struct thread *thread, const struct block *block, const struct stream *stream,
                     const char *verb, simcudaAccessKind kind) {
    const struct world *world = thread->world;
    char name[32];
    snprintf(name, sizeof name, "%s %u", verb, world_block_number(world, block));
    thread_trace(thread, "%s on stream %u", name, world_stream_number(world, stream));
    const simcudaAccess access = {(uintptr_t)block->pointer, block->size, kind};
    const simcudaWork work = {name, 500, &access, 1};
    if (world->simulated)
        DRIVER((CUresult)world->simulated->simcudaEnqueue(thread_handle(thread, stream), &work));
}

static void fill_part(struct thread *thread, const struct block *block, uint64_t offset,
                      uint64_t size, const struct stream *stream) {
    uint64_t address = (uintptr_t)block->pointer + offset;
    uint32_t seed = block->pattern + (uint32_t)(offset / 4);
    unsigned grid = 1 + (unsigned)(size >> 14 > 63 ? 63 : size >> 14);
    launch(thread, context_of(thread, stream)->fill, grid, 256, (void *[]){&address, &size, &seed},
           stream);
}

static void check_part(struct thread *thread, const struct block *block, uint64_t offset,
                       uint64_t size, const struct stream *stream) {
    const struct context *context = context_of(thread, stream);
    uint64_t address = (uintptr_t)block->pointer + offset;
    uint64_t wrong_words =
        context->wrong_words + 8 * (uint64_t)world_block_number(thread->world, block);
    uint32_t seed = block->pattern + (uint32_t)(offset / 4);
    unsigned grid = 1 + (unsigned)(size >> 14 > 63 ? 63 : size >> 14);
    launch(thread, context->check, grid, 256, (void *[]){&address, &size, &seed, &wrong_words},
           stream);
}

typedef void part(struct thread *thread, const struct block *block, uint64_t offset, uint64_t size,
                  const struct stream *stream);

static void touch(struct thread *thread, const struct block *block, const struct stream *stream,
                  part *part_of) {
    uint64_t size = block->size / 8 * 8;
    if (!thread->world->simulated || size <= 2 * EDGE) {
        part_of(thread, block, 0, size, stream);
        return;
    }
    part_of(thread, block, 0, EDGE, stream);
    part_of(thread, block, size - EDGE, EDGE, stream);
}

void work_fill(struct thread *thread, struct block *block, struct stream *stream) {
    thread_enter(thread, stream->context);
    if (numbers_once_in(&thread->numbers, 3))
        work_spin(thread, stream);
    block->pattern = atomic_fetch_add(&thread->world->patterns, 1) * 2654435761u;
    name_all(thread, block, stream, "fill", simcudaAccessWrite);
    touch(thread, block, stream, fill_part);
    block->used = true;
}

void work_check(struct thread *thread, struct block *block, struct stream *stream) {
    thread_enter(thread, stream->context);
    name_all(thread, block, stream, "check", simcudaAccessRead);
    touch(thread, block, stream, check_part);
}

// ------------------------------------------------------------------------------------ by the host

static void host_fill_part(struct thread *thread, const struct block *block, uint64_t offset,
                           uint64_t size, const struct stream *stream) {
    uint32_t *words = (uint32_t *)((char *)block->pointer + offset);
    (void)thread, (void)stream;
    for (uint64_t i = 0; i < size / 4; i++)
        words[i] = block->pattern + (uint32_t)(offset / 4 + i);
}

static void host_check_part(struct thread *thread, const struct block *block, uint64_t offset,
                            uint64_t size, const struct stream *stream) {
    const uint32_t *words = (const uint32_t *)((const char *)block->pointer + offset);
    (void)stream;
    for (uint64_t i = 0; i < size / 4; i++) {
        if (words[i] != block->pattern + (uint32_t)(offset / 4 + i))
            thread_fail(thread, "the host finds another word at byte %llu of block %u, %p + %zu",
                        (unsigned long long)(offset + 4 * i),
                        world_block_number(thread->world, block), block->pointer, block->size);
    }
}

static void tell_host(struct thread *thread, const struct block *block, simcudaAccessKind kind) {
    thread_trace(thread, "%s %u by the host", kind == simcudaAccessRead ? "check" : "fill",
                 world_block_number(thread->world, block));
    test_tell_host_access(block->pointer, block->size, kind);
    thread_require_no_reports(thread);
}

void work_fill_by_host(struct thread *thread, struct block *block) {
    block->pattern = atomic_fetch_add(&thread->world->patterns, 1) * 2654435761u;
    tell_host(thread, block, simcudaAccessWrite);
    touch(thread, block, NULL, host_fill_part);
    block->used = true;
}

void work_check_by_host(struct thread *thread, const struct block *block) {
    tell_host(thread, block, simcudaAccessRead);
    touch(thread, block, NULL, host_check_part);
}
