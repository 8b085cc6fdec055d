// The call that tells what an address is.
#include "tell/pointer.h"
#include "process/runtime.h"

// Before the runtime is started no address is a pool's, so there is no need to start it; not in a
// child either, whose parent had not started it.
poolError_t poolPointerGetAttributes(struct poolPointerAttributes *attributes, const void *ptr) {
    if (SP_UNLIKELY(sp_fork_is_child()) && sp_load_relaxed(&sp_runtime_started))
        return sp_runtime_start(); // which says why it isn't
    if (!attributes)
        return sp_fail(poolErrorInvalidValue, "attributes is null");
    sp_pointer_look(attributes, (uint64_t)(uintptr_t)ptr);
    return poolSuccess;
}
