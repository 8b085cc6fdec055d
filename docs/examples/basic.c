// An allocation, work on it, and its free, each in the order of one stream. poolMallocAsync and
// poolFreeAsync take the place of cudaMallocAsync and cudaFreeAsync; other calls are the driver's.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <streampool/streampool.h>

enum { BYTES = 1 << 20, VALUE = 42 };

static unsigned char on_host[BYTES];

// Errors of the library have the driver's numbers, so one function looks at both.
static void check(int error, const char *call) {
    if (error == 0)
        return;
    fprintf(stderr, "%s: %s\n", call, poolGetErrorString((poolError_t)error));
    fprintf(stderr, "%s\n", poolGetLastErrorDetail()); // why, in a sentence
    exit(1);
}

#define CHECK(call) check((int)(call), #call)

// The CUDA runtime does all this in its first call.
static CUstream open_stream(void) {
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

int main(void) {
    CUstream stream = open_stream();
    void *block;
    int right = 0;

    CHECK(poolMallocAsync(&block, BYTES, stream));
    CHECK(cuMemsetD8Async((CUdeviceptr)block, VALUE, BYTES, stream));
    CHECK(poolStreamSynchronize(stream)); // cuMemcpyDtoH doesn't wait for this stream
    CHECK(cuMemcpyDtoH(on_host, (CUdeviceptr)block, BYTES));
    CHECK(poolFreeAsync(block, stream));
    CHECK(poolStreamDestroy(stream));

    for (int i = 0; i < BYTES; i++)
        right += on_host[i] == VALUE;
    printf("%d of %d bytes are as written\n", right, BYTES);
    return right == BYTES ? 0 : 1;
}
