// A file of the program, compiled with each of the default streams.
#include "check.h"
#include "shared.hpp"

namespace {

cudaError_t query() {
    return question<cudaStreamQuery>()();
}

int *allocate() {
    int *numbers = nullptr;
    CHECK(cudaMallocAsync(&numbers, 32 << 20, nullptr));
    return numbers;
}

void free_in_stream(int *numbers) {
    CHECK(cudaFreeAsync(numbers, nullptr));
}

// Both handles come from another file, and end here.
void destroy(unique_event event, unique_memory memory) {
    CHECK(cudaEventSynchronize(event.get()));
    require(memory != nullptr, "memory and an event of another file end here");
}

} // namespace

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
const file per_thread_file = {query, allocate, free_in_stream, destroy};
#else
const file legacy_file = {query, allocate, free_in_stream, destroy};

cudaError_t ask(question_of_legacy question) {
    return question();
}
#endif
