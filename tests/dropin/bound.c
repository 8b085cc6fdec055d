// A program that is linked with libcuda.so.1, all of whose calls are bound when it starts, and with
// a library that calls the driver before. It was built for a driver that has more.
#include "driver/abi.h"

#include <stdio.h>

CUresult cuInit(unsigned int flags);
CUresult cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared, CUstream stream,
                        void **parameters, void **extra);
CUresult cuTexRefSetMipmapLevelClamp(void *texture, float least, float most);
CUresult cuGraphClone(void **clone, void *graph);
CUresult cuStreamQuery(CUstream stream);
CUresult early_result(void);

static int failures;

static void expect(const char *call, CUresult result, CUresult expected) {
    if (result == expected)
        return;
    fprintf(stderr, "%s: %d instead of %d\n", call, (int)result, (int)expected);
    failures++;
}

int main(void) {
    void *clone;
    expect("the early call", early_result(), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) {
        expect("cuInit", cuInit(0), CUDA_SUCCESS);
        expect(
            "cuLaunchKernel",
            cuLaunchKernel((void *)1, 2, 3, 4, 5, 6, 7, 8, (CUstream)9, (void **)10, (void **)11),
            CUDA_SUCCESS);
        expect("cuTexRefSetMipmapLevelClamp", cuTexRefSetMipmapLevelClamp((void *)1, 0.5F, 12.25F),
               CUDA_SUCCESS);
        expect("cuGraphClone", cuGraphClone(&clone, NULL), CUDA_ERROR_NOT_SUPPORTED);
        expect("cuStreamQuery", cuStreamQuery(NULL), CUDA_ERROR_NOT_SUPPORTED);
    }
    return failures != 0;
}
