// Conditions. A thread that waits for one isn't cancelled.
#ifndef STREAMPOOL_BASE_CONDITION_H
#define STREAMPOOL_BASE_CONDITION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

// Makes a condition for sp_condition_wait_until(). False without memory.
bool sp_condition_init(pthread_cond_t *condition);

void sp_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock);

// Waits for a condition until a point in the time of sp_time_now(). False once that is over.
bool sp_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t end);

#endif
