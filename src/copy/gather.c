#include "copy/gather.h"

#include "base/lock.h"

enum { THREADS = 256, CONTEXTS = 64 };

// Blocks of threads on a multiprocessor. With one of them pieces of 4 KiB are copied at 41 to
// 45 GB/s on an H200, with four at 44 to 46 and larger ones at 49 to 52, of 55 that the bus can do.
enum { BLOCKS = 4 };

// A thread copies 16 bytes at a time, or 4 or 1 where a piece isn't aligned to that. %rd2 is the
// place of the block's piece, %rd7 the thread's place in it and %rd8 the bytes of a round.
// clang-format off
#define ROUND(width, type, registers) \
    "    mul.wide.u32 %rd7, %r3, " width ";\n" \
    "    mul.wide.u32 %rd8, %r4, " width ";\n" \
    "next_" width ":\n" \
    "    setp.ge.u64 %p1, %rd7, %rd5;\n" \
    "    @%p1 bra next_piece;\n" \
    "    add.u64 %rd9, %rd4, %rd7;\n" \
    "    add.u64 %rd10, %rd3, %rd7;\n" \
    "    ld." type " " registers ", [%rd9];\n" \
    "    st." type " [%rd10], " registers ";\n" \
    "    add.u64 %rd7, %rd7, %rd8;\n" \
    "    bra next_" width ";\n"

#define IMAGE \
    ".version 6.0\n" \
    ".target sm_52\n" \
    ".address_size 64\n" \
    "\n" \
    ".visible .entry sp_gather(.param .u64 pieces, .param .u32 count)\n" \
    "{\n" \
    "    .reg .pred %p<4>;\n" \
    "    .reg .b32 %r<12>;\n" \
    "    .reg .b64 %rd<12>;\n" \
    "    ld.param.u64 %rd1, [pieces];\n" \
    "    ld.param.u32 %r5, [count];\n" \
    "    mov.u32 %r1, %ctaid.x;\n" \
    "    mov.u32 %r2, %nctaid.x;\n" \
    "    mov.u32 %r3, %tid.x;\n" \
    "    mov.u32 %r4, %ntid.x;\n" \
    "piece:\n" \
    "    setp.ge.u32 %p1, %r1, %r5;\n" \
    "    @%p1 ret;\n" \
    "    mul.wide.u32 %rd2, %r1, 24;\n" \
    "    add.u64 %rd2, %rd1, %rd2;\n" \
    "    ld.u64 %rd3, [%rd2];\n" \
    "    ld.u64 %rd4, [%rd2 + 8];\n" \
    "    ld.u64 %rd5, [%rd2 + 16];\n" \
    "    or.b64 %rd6, %rd3, %rd4;\n" \
    "    or.b64 %rd6, %rd6, %rd5;\n" \
    "    cvt.u32.u64 %r6, %rd6;\n" \
    "    and.b32 %r7, %r6, 15;\n" \
    "    setp.ne.u32 %p2, %r7, 0;\n" \
    "    @%p2 bra in_words;\n" \
    ROUND("16", "v4.u32", "{%r8, %r9, %r10, %r11}") \
    "in_words:\n" \
    "    and.b32 %r7, %r6, 3;\n" \
    "    setp.ne.u32 %p3, %r7, 0;\n" \
    "    @%p3 bra in_bytes;\n" \
    ROUND("4", "u32", "%r8") \
    "in_bytes:\n" \
    ROUND("1", "u8", "%r8") \
    "next_piece:\n" \
    "    add.u32 %r1, %r1, %r2;\n" \
    "    bra piece;\n" \
    "}\n"
// clang-format on

#define DRIVER(call, ...) sp_outcome_of_driver(sp_driver->call(__VA_ARGS__), #call)

// ---------------------------------------------------------------------------------------- loading

// A context that was reset and made again has the same handle and another id. A driver that gives
// no ids doesn't tell them apart: there the kernel isn't used.
static struct loaded {
    CUcontext context;
    unsigned long long id;
    CUfunction kernel; // null: it can't be loaded there
} loaded[CONTEXTS];
static size_t loaded_count;
static struct sp_lock lock; // guards both

static bool identify(struct loaded *here) {
    return sp_driver->cuCtxGetId && sp_is_done(DRIVER(cuCtxGetCurrent, &here->context)) &&
           sp_is_done(DRIVER(cuCtxGetId, here->context, &here->id));
}

static void load(struct loaded *here) {
    CUmodule module = NULL;
    if (!sp_is_done(DRIVER(cuModuleLoadData, &module, IMAGE)))
        return;
    if (!sp_is_done(DRIVER(cuModuleGetFunction, &here->kernel, module, "sp_gather"))) {
        sp_driver->cuModuleUnload(module);
        here->kernel = NULL;
    }
}

static const struct loaded *find_locked(const struct loaded *here) {
    for (size_t i = 0; i < loaded_count; i++) {
        if (loaded[i].context == here->context && loaded[i].id == here->id)
            return &loaded[i];
    }
    return NULL;
}

// The place of an older context is taken where there are too many.
static void note_locked(const struct loaded *here) {
    static size_t next;
    if (loaded_count < CONTEXTS)
        loaded[loaded_count++] = *here;
    else
        loaded[next++ % CONTEXTS] = *here;
}

bool sp_gather_find(CUfunction *kernel, unsigned long long *context) {
    struct loaded here = {NULL, 0, NULL};
    if (!identify(&here))
        return false;
    sp_lock_acquire(&lock);
    const struct loaded *found = find_locked(&here);
    if (found) {
        here.kernel = found->kernel;
    } else {
        load(&here);
        note_locked(&here);
    }
    sp_lock_release(&lock);
    *kernel = here.kernel;
    *context = here.id;
    return here.kernel != NULL;
}

// -------------------------------------------------------------------------------------- launching

struct sp_outcome sp_gather_launch(CUfunction kernel, int device,
                                   const struct sp_gather_piece *pieces, size_t count,
                                   CUstream stream) {
    int processors = 0;
    uint64_t address = (uintptr_t)pieces;
    uint32_t number = (uint32_t)count;
    struct sp_outcome outcome =
        DRIVER(cuDeviceGetAttribute, &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (!sp_is_done(outcome))
        return outcome;
    size_t most = (size_t)processors * BLOCKS;
    unsigned blocks = (unsigned)(count < most ? count : most);
    return DRIVER(cuLaunchKernel, kernel, blocks, 1, 1, THREADS, 1, 1, 0, stream,
                  ((void *[]){&address, &number}), NULL);
}
