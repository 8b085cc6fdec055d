// A capture is counted before the lock is taken. So a thread that holds it and finds none counted
// may lend: whoever counts one next suspends that.
#include "process/lending.h"

#include "base/fork.h"
#include "order/borrow.h"
#include "region/device.h"
#include "region/held.h"
#include "region/open_lanes.h"

static struct sp_lock lock;

static void for_each_pool(void (*act)(struct sp_pool *pool)) {
    for (struct sp_device *device = sp_device_next(NULL); device; device = sp_device_next(device)) {
        struct sp_pool *pool = NULL;
        while ((pool = sp_device_next_pool(device, pool)))
            act(pool);
    }
}

static void share_out(struct sp_pool *pool) {
    sp_lock_acquire(&pool->lock);
    sp_held_deal(pool);
    sp_lock_release(&pool->lock);
}

void sp_lending_suspend(void) {
    if (sp_fork_is_child())
        return;
    sp_lock_acquire(&lock);
    if (sp_borrow_may_take_seen()) {
        for_each_pool(sp_open_lanes_close);
        sp_borrow_suspend_seen();
        for_each_pool(share_out); // another thread may have opened some again
    }
    sp_lock_release(&lock);
}

void sp_lending_resume(void) {
    if (sp_borrow_may_take_seen() || !sp_captures_are_none() || sp_fork_is_child())
        return;
    sp_lock_acquire(&lock);
    if (!sp_borrow_may_take_seen() && sp_captures_are_none()) {
        sp_borrow_resume_seen();
        for_each_pool(share_out);
    }
    sp_lock_release(&lock);
}

void sp_lending_note_capture(struct sp_outcome answer, CUstream stream) {
    if (sp_captures_note(answer, stream))
        sp_lending_suspend();
}
