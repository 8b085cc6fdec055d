// The seam below a device heap: where its memory comes from, and who runs its kernels.
//
// gpu.c makes it of a pool and the driver. Tests bring a model, in which kernels are C functions
// and streams are queues.
//
// All functions return poolSuccess, or an error whose detail is noted (poolSetLastError); then
// nothing was changed, but for what a comment says. They may be called from any thread, also one
// with no current context. None blocks but where its comment says so.
#ifndef STREAMPOOL_DEVHEAP_MACHINE_H
#define STREAMPOOL_DEVHEAP_MACHINE_H

#include "devheap/kernels.h"

#include <streampool/streampool.h>

struct sp_heap_machine {
    CUstream own; // a stream of the heap's, which waits for no other

    // Memory of the pool, in the order of the stream: at any multiple of 512.
    poolError_t (*take)(struct sp_heap_machine *, uint64_t *address, size_t bytes, CUstream stream);
    poolError_t (*give)(struct sp_heap_machine *, uint64_t address, CUstream stream);
    // Gives memory back behind all of these streams.
    poolError_t (*give_behind)(struct sp_heap_machine *, uint64_t address, const CUstream streams[],
                               size_t count);
    // Gives memory back in no stream's order.
    poolError_t (*give_now)(struct sp_heap_machine *, uint64_t address);

    // Memory of the host that kernels can read and write, at one address. It has any contents. May
    // block.
    poolError_t (*pin)(struct sp_heap_machine *, void **memory, size_t bytes);
    void (*unpin)(struct sp_heap_machine *, void *memory);

    // Enqueues a kernel with what it gets, which is copied.
    poolError_t (*launch)(struct sp_heap_machine *, enum sp_heap_kernel kernel, uint32_t blocks,
                          CUstream stream, const void *given);

    // Events. `query` returns poolErrorNotReady as long as the event is pending. `synchronize`
    // blocks until the event is complete.
    poolError_t (*create)(struct sp_heap_machine *, CUevent *event);
    void (*destroy)(struct sp_heap_machine *, CUevent event);
    poolError_t (*record)(struct sp_heap_machine *, CUevent event, CUstream stream);
    poolError_t (*wait)(struct sp_heap_machine *, CUstream stream, CUevent event);
    poolError_t (*query)(struct sp_heap_machine *, CUevent event);
    poolError_t (*synchronize)(struct sp_heap_machine *, CUevent event);

    // Gives a number that no other stream has, as far as the driver can tell, and the error
    // poolErrorStreamCaptureUnsupported where the stream captures.
    poolError_t (*identify)(struct sp_heap_machine *, CUstream stream, uint64_t *number);

    // Ends the machine. No kernel of it may run any more. May block.
    poolError_t (*end)(struct sp_heap_machine *);
};

// Makes the machine of a pool, in the context that is current. May block.
poolError_t sp_heap_machine_make(struct sp_heap_machine **machine, poolMemPool_t pool);

#endif
