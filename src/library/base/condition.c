#include "base/condition.h"

#include "base/cancel.h"
#include "base/time.h"

#include <errno.h>

bool sp_condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

void sp_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock) {
    SP_UNCANCELLED;
    pthread_cond_wait(condition, lock);
}

bool sp_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t end) {
    SP_UNCANCELLED;
    struct timespec until = {(time_t)(end / SP_SECOND), (long)(end % SP_SECOND)};
    return pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT;
}
