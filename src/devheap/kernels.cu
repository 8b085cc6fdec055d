// The host's kernels. nvcc compiles them to PTX, which the library carries (embed.cmake).
#include "kernels.cuh"

#define SP_HEAP_GLOBAL extern "C" __global__ void

SP_HEAP_GLOBAL sp_heap_kernel_admit(const __grid_constant__ sp_heap_admit admit) {
    sp_heap_admit_chunk(admit.book, &admit.chunk[blockIdx.x], threadIdx.x, blockDim.x);
}

SP_HEAP_GLOBAL sp_heap_kernel_close(const __grid_constant__ sp_heap_close trim) {
    sp_heap_close_chunks(&trim);
}

static __device__ void count_all(const ph_book *book, uint64_t *sum) {
    for (uint32_t i = threadIdx.x; i < SP_HEAP_SUMS; i += blockDim.x)
        sum[i] = 0;
    __syncthreads();
    sp_heap_count_slabs(book, threadIdx.x, blockDim.x, sum);
    __syncthreads();
}

SP_HEAP_GLOBAL sp_heap_kernel_survey(const __grid_constant__ sp_heap_survey survey) {
    __shared__ uint64_t sum[SP_HEAP_SUMS];
    count_all(survey.book, sum);
    if (threadIdx.x == 0)
        sp_heap_tell_survey(&survey, sum);
}

SP_HEAP_GLOBAL sp_heap_kernel_count(const __grid_constant__ sp_heap_count count) {
    __shared__ uint64_t sum[SP_HEAP_SUMS];
    count_all(count.book, sum);
    if (threadIdx.x == 0)
        sp_heap_tell_count(&count, sum);
}

SP_HEAP_GLOBAL sp_heap_kernel_free(const __grid_constant__ sp_heap_free given) {
    sp_heap_free_block(&given);
}

SP_HEAP_GLOBAL sp_heap_kernel_copy(const __grid_constant__ sp_heap_copy copy) {
    sp_heap_copy_words(&copy, (uint64_t)blockIdx.x * blockDim.x + threadIdx.x,
                       (uint64_t)gridDim.x * blockDim.x);
}
