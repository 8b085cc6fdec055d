#include "observe/turn.h"

#include "base/lock.h"
#include "base/thread.h"

#include <pthread.h>

static struct sp_lock turn;
static _Atomic pthread_t holder; // of the turn; 0 while nobody has it

bool sp_turn_take(void) {
    if (sp_load_relaxed(&holder) == pthread_self() || !sp_lock_try_for(&turn, SP_SECOND))
        return false;
    sp_store_relaxed(&holder, pthread_self());
    return true;
}

void sp_turn_give(void) {
    sp_store_relaxed(&holder, 0);
    sp_lock_release(&turn);
}
