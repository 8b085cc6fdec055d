#include "cli/play/threads.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

// -------------------------------------------------------------------------------------- the shares

// A counting sort: how many operations each thread has says where its own begin. Filling moves each
// begin to where the next thread's is, so all of them move back by one thread in the end.
bool sp_shares_open(struct sp_shares *shares, const struct sp_trace *trace) {
    size_t *list = calloc(trace->operation_count + 1, sizeof *list);
    size_t *begins = calloc(trace->thread_count + 1, sizeof *begins);
    *shares = (struct sp_shares){.operations = list, .begins = begins};
    if (!list || !begins) {
        sp_shares_release(shares);
        return false;
    }
    for (size_t i = 0; i < trace->operation_count; i++)
        begins[trace->operations[i].thread + 1]++;
    for (size_t thread = 0; thread < trace->thread_count; thread++)
        begins[thread + 1] += begins[thread];
    for (size_t i = 0; i < trace->operation_count; i++)
        list[begins[trace->operations[i].thread]++] = i;
    memmove(begins + 1, begins, trace->thread_count * sizeof *begins);
    begins[0] = 0;
    return true;
}

void sp_shares_release(struct sp_shares *shares) {
    free(shares->operations);
    free(shares->begins);
    *shares = (struct sp_shares){.operations = NULL};
}

// ---------------------------------------------------------------------------------------- the lead

static const size_t nothing = SIZE_MAX;

bool sp_lead_open(struct sp_lead *lead, const struct sp_trace *trace) {
    *lead = (struct sp_lead){.trace = trace};
    lead->waiters = calloc(trace->thread_count, sizeof *lead->waiters);
    if (!lead->waiters)
        return false;
    for (size_t i = 0; i < trace->thread_count; i++) {
        sem_init(&lead->waiters[i].turn, 0, 0);
        atomic_init(&lead->waiters[i].operation, nothing);
    }
    return true;
}

void sp_lead_close(struct sp_lead *lead) {
    for (size_t i = 0; lead->waiters && i < lead->trace->thread_count; i++)
        sem_destroy(&lead->waiters[i].turn);
    free(lead->waiters);
}

void sp_lead_reset(struct sp_lead *lead) {
    atomic_store(&lead->behind, 0);
    for (size_t i = 0; i < SP_LEAD_SLOTS; i++)
        atomic_store(&lead->done[i], 0);
}

static struct sp_lead_waiter *waiter_of(struct sp_lead *lead, size_t operation) {
    return &lead->waiters[lead->trace->operations[operation].thread];
}

static bool may_begin(struct sp_lead *lead, size_t operation) {
    return operation <= atomic_load(&lead->behind) + SP_LEAD_MAX;
}

// The waiter holds the operation until one of two threads takes it out: the one that waits, when it
// finds that it may begin after all, or the one that lets it go, which then posts the semaphore.
// Only one of them gets it, so each post is waited for. The thread that waits puts the operation
// there before it looks once more, and the other one moves `behind` on before it looks for a
// waiter, so at least one of them sees the other.
void sp_lead_wait(struct sp_lead *lead, size_t operation) {
    if (may_begin(lead, operation))
        return;
    struct sp_lead_waiter *waiter = waiter_of(lead, operation);
    atomic_store(&waiter->operation, operation);
    if (may_begin(lead, operation) && atomic_exchange(&waiter->operation, nothing) == operation)
        return;
    while (sem_wait(&waiter->turn) != 0)
        ; // a signal came
}

// It is rare, so it has no place among those who are let go.
void sp_lead_wait_for_all(struct sp_lead *lead, size_t operation) {
    while (atomic_load(&lead->behind) < operation)
        sched_yield();
}

static void let_go(struct sp_lead *lead, size_t operation) {
    if (operation >= lead->trace->operation_count)
        return;
    struct sp_lead_waiter *waiter = waiter_of(lead, operation);
    size_t expected = operation;
    if (atomic_compare_exchange_strong(&waiter->operation, &expected, nothing))
        sem_post(&waiter->turn);
}

// Each step of `behind` lets one more operation begin. A thread takes the step when it finds the
// operation at `behind` done. It notes its own operation as done before it looks, so if that one
// lies further ahead, the thread that gets there takes the step over it.
void sp_lead_done(struct sp_lead *lead, size_t operation) {
    atomic_store(&lead->done[operation % SP_LEAD_SLOTS], operation + 1);
    size_t behind = atomic_load(&lead->behind);
    while (atomic_load(&lead->done[behind % SP_LEAD_SLOTS]) == behind + 1)
        if (atomic_compare_exchange_strong(&lead->behind, &behind, behind + 1))
            let_go(lead, ++behind + SP_LEAD_MAX);
}
