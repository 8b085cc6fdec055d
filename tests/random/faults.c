#include "random/faults.h"

static void set_fault(struct thread *thread) {
    static const char *const entries[] = {
        "cuStreamWaitEvent", "cuEventRecord",         "cuEventQuery",     "cuStreamSynchronize",
        "cuStreamQuery",     "cuCtxSynchronize",      "cuCtxRecordEvent", "cuEventSynchronize",
        "cuCtxGetId",        "cuPointerGetAttribute", "cuMemMap",         "cuMemSetAccess",
        "cuMemUnmap",        "cuMemCreate",           "cuMemRelease"};
    enum { MAPPING = 5, ALL = sizeof entries / sizeof entries[0] };
    const struct world *world = thread->world;
    thread->faulty = world->plan.faults > 0 && world->simulated &&
                     numbers_below(&thread->numbers, 1000) < world->plan.faults;
    for (unsigned i = 0; thread->faulty && i < (world->plan.large ? 2 : 1); i++) {
        uint64_t nth = 1 + numbers_below(&thread->numbers, 2);
        const char *entry =
            entries[numbers_below(&thread->numbers, world->plan.large ? ALL : ALL - MAPPING)];
        world->simulated->simcudaFailCall(
            entry, nth, i == 0 ? simcudaFaultOnce : simcudaFaultOnwards, CUDA_ERROR_UNKNOWN);
    }
}

static void clear_fault(struct thread *thread) {
    if (thread->faulty)
        thread->world->simulated->simcudaFailClear();
    thread->faulty = false;
}

void faults_perform(struct thread *thread, operation *run) {
    set_fault(thread);
    run(thread);
    clear_fault(thread);
}
