#include "process/pin.h"

#include "process/given_up.h"
#include "region/device.h"
#include "region/handle.h"

bool sp_pin_take(struct sp_pool *pool, poolMemPool_t handle) {
    struct sp_device *device = pool->device;
    sp_lock_acquire(&device->lock);
    bool pinned = sp_handle_is(pool, handle) && pool->stage == SP_POOL_IN_USE;
    pool->pins += pinned;
    sp_lock_release(&device->lock);
    return pinned;
}

void sp_pin_drop(struct sp_pool *pool) {
    struct sp_device *device = pool->device;
    sp_lock_acquire(&device->lock);
    pool->pins--;
    bool given_up = sp_load_acquire(&pool->destroyed);
    sp_lock_release(&device->lock);
    if (given_up)
        sp_given_up_reap_pool(device, pool);
}
