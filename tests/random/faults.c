#include "random/faults.h"

#include "random/space.h"

static void set_fault(struct thread *thread) {
    static const char *const entries[] = {
        "cuStreamWaitEvent", "cuEventRecord",         "cuEventQuery",     "cuStreamSynchronize",
        "cuStreamQuery",     "cuCtxSynchronize",      "cuCtxRecordEvent", "cuEventSynchronize",
        "cuCtxGetId",        "cuPointerGetAttribute", "cuMemMap",         "cuMemSetAccess",
        "cuMemUnmap",        "cuMemCreate",           "cuMemRelease"};
    enum { MAPPING = 5, ALL = sizeof entries / sizeof entries[0] };
    static const char *const plain[] = {"cuMemAllocManaged", "cuMemHostRegister",
                                        "cuMemHostUnregister", "cuMemFree", "cuMemAdvise"};
    enum { PLAIN = sizeof plain / sizeof plain[0] };
    const struct world *world = thread->world;
    bool is_hosts = world->plan.host && world->plan.large;
    thread->faulty = world->plan.faults > 0 && world->simulated &&
                     numbers_below(&thread->numbers, 1000) < world->plan.faults;
    for (unsigned i = 0; thread->faulty && i < (world->plan.large ? 2 : 1); i++) {
        uint64_t nth = 1 + numbers_below(&thread->numbers, 2);
        const char *entry =
            entries[numbers_below(&thread->numbers, world->plan.large ? ALL : ALL - MAPPING)];
        if (is_hosts && numbers_once_in(&thread->numbers, 3))
            entry = plain[numbers_below(&thread->numbers, PLAIN)];
        world->simulated->simcudaFailCall(
            entry, nth, i == 0 ? simcudaFaultOnce : simcudaFaultOnwards, CUDA_ERROR_UNKNOWN);
    }
}

static void clear_fault(struct thread *thread) {
    if (thread->faulty)
        thread->world->simulated->simcudaFailClear();
    thread->faulty = false;
}

static bool draws_little_space(struct thread *thread) {
    const struct world *world = thread->world;
    return world->plan.short_of_space > 0 && world->simulated &&
           numbers_below(&thread->numbers, 1000) < world->plan.short_of_space;
}

// All is in order then, and once there is space again all goes on.
static void run_without_space(struct thread *thread, operation *run) {
    thread->lacks_space = true;
    space_take(&thread->numbers);
    run(thread);
    space_give_back();
    thread->lacks_space = false;
    thread_require_order(thread);
}

void faults_perform(struct thread *thread, operation *run) {
    set_fault(thread);
    if (draws_little_space(thread))
        run_without_space(thread, run);
    else
        run(thread);
    clear_fault(thread);
}
