#include "process/overflow.h"

#include "base/log.h"
#include "process/attributes.h"
#include "process/given_up.h"
#include "process/life.h"
#include "process/runtime.h"
#include "tell/name.h"

// Makes a pool of the node beside the device. The pin is the pool's.
static poolError_t make(const struct sp_pool *pool, struct sp_pool **made) {
    struct sp_device *host;
    struct sp_place place = {.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}};
    struct sp_outcome outcome = sp_vmm_device_node_beside(&pool->device->vmm, &place.location.id);
    if (!sp_is_done(outcome))
        return sp_fail_outcome(outcome, "looking for the host's memory beside the device");
    poolError_t error = sp_runtime_open_place(&place, &host);
    if (error != poolSuccess)
        return error;
    const struct poolMemPoolProps props = {
        .allocType = poolMemAllocationTypePinned,
        .location = {poolMemLocationTypeHostNuma, place.location.id}};
    error = sp_life_create(host, &props, sp_load_acquire(&pool->handle), made);
    if (error != poolSuccess)
        return error;
    sp_pin_take(*made, sp_load_acquire(&(*made)->handle));
    sp_attributes_follow(*made, pool);
    return poolSuccess;
}

static void destroy(struct sp_pool *overflow) {
    sp_life_destroy(overflow, sp_load_acquire(&overflow->handle));
}

// Makes it the pool's, unless another thread's is already. Under the map lock no access changes.
// A thread that has set an attribute meanwhile may have seen none, so they are read again.
static bool publish(struct sp_pool *pool, struct sp_pool *overflow) {
    sp_pool_begin_mapping(pool);
    for (int ordinal = 0; ordinal < SP_ACCESS_DEVICES; ordinal++)
        sp_access_note(&overflow->access, ordinal, sp_access_of(&pool->access, ordinal));
    sp_access_note(&overflow->access, pool->device->vmm.ordinal,
                   CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    sp_lock_acquire(&pool->lock);
    bool is_first = !sp_load_acquire(&pool->overflow);
    if (is_first)
        atomic_store(&pool->overflow, overflow);
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
    if (is_first)
        sp_attributes_follow(overflow, pool);
    return is_first;
}

// A pool that was destroyed meanwhile may have been looked at before it had its overflow.
poolError_t sp_overflow_of(struct sp_pool *pool, struct sp_pool **overflow) {
    struct sp_pool *made;
    *overflow = sp_load_acquire(&pool->overflow);
    if (*overflow)
        return poolSuccess;
    poolError_t error = make(pool, &made);
    if (error != poolSuccess)
        return error;
    if (publish(pool, made)) {
        sp_log_info("%s overflows to NUMA node %d", sp_name_of(pool).text,
                    sp_place_node(&made->device->vmm.place));
        sp_lock_acquire(&pool->device->lock);
        bool is_given_up = pool->stage != SP_POOL_IN_USE;
        sp_lock_release(&pool->device->lock);
        if (is_given_up)
            destroy(made);
    } else {
        destroy(made);
        sp_pin_drop(made);
    }
    *overflow = sp_load_acquire(&pool->overflow);
    return poolSuccess;
}
