// An array in pageable memory goes to the device and back, in both forms: by calls that return when
// its memory may be used, and by calls that return at once, with a completion that tells when.
#include "start.h"

#include <streampool/copy.h>
#include <string.h>

enum { MIB = 1 << 20, BYTES = 8 * MIB };

static void *open_array(void) {
    void *array = malloc(BYTES); // nobody has pinned it
    if (!array)
        exit(1);
    memset(array, 0, BYTES);
    return array;
}

static void fill(unsigned char *array, unsigned int first) {
    for (unsigned int i = 0; i < BYTES; i++)
        array[i] = (unsigned char)(first + i / 1000);
}

static void tell(const char *what, const unsigned char *array, unsigned int first) {
    unsigned int right = 0;
    for (unsigned int i = 0; i < BYTES; i++)
        right += array[i] == (unsigned char)(first + i / 1000);
    printf("%s: %u of %u MiB are right\n", what, right / MIB, BYTES / MIB);
}

int main(void) {
    open_device();
    CUstream stream = open_stream(CU_STREAM_NON_BLOCKING);
    void *from = open_array(), *to = open_array(), *device;
    poolCopyCompletion_t in, out;
    CHECK(poolMallocAsync(&device, BYTES, stream));

    fill(from, 1);
    CHECK(poolCopyToDeviceAsync(device, from, BYTES, stream));
    fill(from, 2); // it has been read
    CHECK(poolCopyToHostAsync(to, device, BYTES, stream));
    tell("both calls have returned", to, 1); // with no synchronise

    CHECK(poolCopyToDeviceAsyncWithCompletion(device, from, BYTES, stream, &in));
    CHECK(poolCopyToHostAsyncWithCompletion(to, device, BYTES, stream, &out));
    CHECK(poolCopyCompletionSynchronize(in));
    fill(from, 3);                             // it has been read
    CHECK(poolCopyCompletionSynchronize(out)); // `to` has the bytes
    tell("both completions are complete", to, 2);

    CHECK(poolCopyCompletionDestroy(in));
    CHECK(poolCopyCompletionDestroy(out));
    CHECK(poolFreeAsync(device, stream));
    CHECK(poolStreamSynchronize(stream));
    CHECK(poolStreamDestroy(stream));
    free(from);
    free(to);
    return 0;
}
