// Types that files of one program share, made with the runtime's functions: a template's argument
// names them, as the deleter of a smart pointer does.
#ifndef PORTING_FILES_SHARED_HPP
#define PORTING_FILES_SHARED_HPP

#include <cuda_runtime.h>

#include <memory>

template <class Handle, cudaError_t (*destroy)(Handle)> struct destroyer {
    using pointer = Handle;
    void operator()(Handle handle) const {
        (void)destroy(handle);
    }
};

using unique_event = std::unique_ptr<CUevent_st, destroyer<cudaEvent_t, cudaEventDestroy>>;
using unique_memory = std::unique_ptr<void, destroyer<void *, cudaFree>>;

// Asks for stream 0, which the file that names the function chooses.
template <cudaError_t (*query)(cudaStream_t)> struct question {
    cudaError_t operator()() const {
        return query(nullptr);
    }
};

using question_of_legacy = question<cudaStreamQuery>; // in files with the legacy default stream

// Each file has these, with its own default stream.
struct file {
    cudaError_t (*query)();
    int *(*allocate)();
    void (*free)(int *numbers);
    void (*destroy)(unique_event event, unique_memory memory);
};

extern const file legacy_file;
extern const file per_thread_file;

#endif
