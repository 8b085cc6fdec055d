// Layers of a model are loaded from a file while earlier ones are in use: each call returns at
// once, and the stream waits for its layer. Then they are saved into another file.
#define _XOPEN_SOURCE 700 // fileno, pread, pwrite
#include "start.h"

#include <streampool/copy.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20, LAYERS = 8 };

// Makes a file that has the layers, if any.
static int open_file(int layers) {
    static unsigned char bytes[MIB];
    FILE *file = tmpfile(); // it stays open until the program ends
    for (int i = 0; file && i < layers; i++) {
        memset(bytes, i + 1, MIB);
        if (pwrite(fileno(file), bytes, MIB, (off_t)i * MIB) != MIB)
            exit(1);
    }
    return file ? fileno(file) : -1;
}

static int is_layer(int fd, int i) {
    static unsigned char bytes[MIB];
    return pread(fd, bytes, MIB, (off_t)i * MIB) == MIB && bytes[0] == i + 1 &&
           memcmp(bytes, bytes + 1, MIB - 1) == 0;
}

int main(void) {
    int model = open_file(LAYERS), saved = open_file(0), right = 0;
    void *layers[LAYERS];
    poolCopyCompletion_t loaded[LAYERS];
    open_device();
    CUstream stream = open_stream(CU_STREAM_NON_BLOCKING);

    for (int i = 0; i < LAYERS; i++) {
        CHECK(poolMallocAsync(&layers[i], MIB, stream));
        CHECK(poolFileToDeviceAsyncWithCompletion(layers[i], model, (uint64_t)i * MIB, MIB, stream,
                                                  &loaded[i]));
        // Kernels that use the layer are launched here.
    }
    for (int i = 0; i < LAYERS; i++) { // what is wrong with the file is told here
        CHECK(poolCopyCompletionSynchronize(loaded[i]));
        CHECK(poolCopyCompletionDestroy(loaded[i]));
    }
    for (int i = 0; i < LAYERS; i++) {
        CHECK(poolDeviceToFileAsync(saved, (uint64_t)i * MIB, layers[i], MIB, stream));
        CHECK(poolFreeAsync(layers[i], stream));
        right += is_layer(saved, i);
    }
    printf("%d of %d layers were loaded and saved\n", right, LAYERS);
    CHECK(poolStreamSynchronize(stream));
    CHECK(poolStreamDestroy(stream));
    return 0;
}
