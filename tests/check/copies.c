// copies: a program with no mistake, which copies pageable memory and batches in all forms. What
// the library keeps for them is no leak of the program's.
//
// It checks what it copies, ends with status 0, and prints nothing itself.
#include <stdbool.h>
#include <streampool/copy.h>
#include <string.h>

#include "check/driver.h"

enum { SIZE = 3 << 20, PIECES = 100, PIECE = SIZE / PIECES / 16 * 16 };

static unsigned char *from, *to;

static void write_bytes(unsigned char seed) {
    for (size_t i = 0; i < SIZE; i++)
        from[i] = (unsigned char)(seed + i / 100);
    memset(to, 0, SIZE);
}

static void check_bytes(size_t size) {
    if (memcmp(from, to, size) != 0) {
        fprintf(stderr, "wrong bytes\n");
        exit(1);
    }
}

static void copy_now(void *memory, CUstream stream) {
    write_bytes(1);
    OK(poolCopyToDeviceAsync(memory, from, SIZE, stream));
    OK(poolCopyToHostAsync(to, memory, SIZE, stream));
    check_bytes(SIZE);
}

static void copy_ahead(void *memory, CUstream stream) {
    poolCopyCompletion_t in, out;
    write_bytes(2);
    OK(poolCopyToDeviceAsyncWithCompletion(memory, from, SIZE, stream, &in));
    OK(poolCopyToHostAsyncWithCompletion(to, memory, SIZE, stream, &out));
    OK(poolCopyCompletionSynchronize(out));
    check_bytes(SIZE);
    OK(poolCopyCompletionDestroy(in));
    OK(poolCopyCompletionDestroy(out));
}

static void await(poolCopyCompletion_t completion, bool asks) {
    if (!asks)
        OK(poolCopyCompletionSynchronize(completion));
    while (asks && poolCopyCompletionQuery(completion) == poolErrorNotReady)
        ;
    OK(poolCopyCompletionQuery(completion));
}

// Who has waited for a completion to the host may write over what was copied, in any stream.
static void overwrite_in_another_stream(void *memory, CUstream stream, CUstream other, bool asks) {
    poolCopyCompletion_t out;
    OK(poolCopyToHostAsyncWithCompletion(to, memory, SIZE, stream, &out));
    await(out, asks);
    OK(cuMemsetD8Async((CUdeviceptr)(uintptr_t)memory, 0, SIZE, other));
    OK(cuStreamSynchronize(other));
    OK(poolCopyCompletionDestroy(out));
}

static void copy_batches(char *memory, CUstream stream) {
    void *there[PIECES], *back[PIECES];
    const void *here[PIECES], *again[PIECES];
    size_t sizes[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        again[i] = there[i] = memory + i * PIECE;
        here[i] = from + i * PIECE;
        back[i] = to + i * PIECE;
        sizes[i] = PIECE;
    }
    write_bytes(3);
    OK(poolCopyBatchAsync(there, here, sizes, PIECES, stream));
    OK(poolCopyBatchAsync(back, again, sizes, PIECES, stream));
    check_bytes((size_t)PIECES * PIECE);
}

int main(void) {
    OK(cuModuleUnload(start()));
    CUstream stream = make_stream(), other = make_stream();
    void *memory;
    from = malloc(SIZE);
    to = malloc(SIZE);
    if (!from || !to)
        return 1;
    OK(poolMallocAsync(&memory, SIZE, stream));
    copy_now(memory, stream);
    copy_ahead(memory, stream);
    for (int i = 0; i < 4; i++)
        overwrite_in_another_stream(memory, stream, other, i % 2);
    copy_batches(memory, stream);
    OK(poolFreeAsync(memory, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuStreamDestroy_v2(stream));
    OK(cuStreamDestroy_v2(other));
    free(from);
    free(to);
    return 0;
}
