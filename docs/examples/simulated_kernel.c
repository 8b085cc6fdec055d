// A kernel of the program's own on the simulated driver: no code of a GPU runs there, and a
// function of the host does the kernel's work.
#include <streampool/simcuda.h>

#include "start.h"

enum { N = 1000, BYTES = N * sizeof(float) };

// An image as nvcc makes it of a .cu file, which is loaded as on a GPU. Of it the names of kernels
// count, and their parameters.
static const char image[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a) { ret; }\n";

static CUdeviceptr array(const simcudaLaunch *launch, int parameter) {
    return *(const CUdeviceptr *)launch->parameters[parameter];
}

// By this the driver knows what the kernel has to run after, and finds what doesn't.
static void touches_of_saxpy(const simcudaLaunch *launch, simcudaTouches *touches) {
    simcudaTouch(touches, array(launch, 0), BYTES, simcudaAccessWrite);
    simcudaTouch(touches, array(launch, 1), BYTES, simcudaAccessRead);
}

static int saxpy(const simcudaLaunch *launch) {
    float y[N], x[N], a = *(const float *)launch->parameters[2];
    CHECK(simcudaRead(launch, y, array(launch, 0), BYTES));
    CHECK(simcudaRead(launch, x, array(launch, 1), BYTES));
    for (int i = 0; i < N; i++)
        y[i] += a * x[i];
    return simcudaWrite(launch, array(launch, 0), y, BYTES);
}

int main(void) {
    void *x, *y;
    float a = 2, values[N];
    CUmodule module;
    CUfunction kernel;
    CHECK(simcudaRegisterKernel("saxpy", saxpy, touches_of_saxpy, NULL));

    open_device();
    CUstream stream = open_stream(CU_STREAM_NON_BLOCKING);
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuModuleGetFunction(&kernel, module, "saxpy"));
    CHECK(poolMallocAsync(&x, BYTES, stream));
    CHECK(poolMallocAsync(&y, BYTES, stream));
    for (int i = 0; i < N; i++)
        values[i] = (float)i;
    CHECK(cuMemcpyHtoD((CUdeviceptr)x, values, BYTES));
    CHECK(cuMemcpyHtoD((CUdeviceptr)y, values, BYTES));
    CHECK(cuLaunchKernel(kernel, 4, 1, 1, 256, 1, 1, 0, stream, (void *[]){&y, &x, &a}, NULL));
    CHECK(poolStreamSynchronize(stream)); // cuMemcpyDtoH doesn't wait for this stream
    CHECK(cuMemcpyDtoH(values, (CUdeviceptr)y, BYTES));
    printf("y[10] is %g, y[%d] is %g\n", values[10], N - 1, values[N - 1]);
    CHECK(poolFreeAsync(x, stream));
    CHECK(poolFreeAsync(y, stream));
    CHECK(poolStreamDestroy(stream));
    return (int)cuModuleUnload(module);
}
