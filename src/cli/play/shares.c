// A counting sort: how many operations each thread has says where its own begin.
#include "cli/play/shares.h"

#include <stdlib.h>
#include <string.h>

static void count(struct sp_shares *shares, const struct sp_trace *trace) {
    for (size_t i = 0; i < trace->operation_count; i++)
        shares->begins[trace->operations[i].thread + 1]++;
    for (size_t thread = 0; thread < trace->thread_count; thread++)
        shares->begins[thread + 1] += shares->begins[thread];
}

// Moves each begin to where the next thread's is, and then all of them back by one thread.
static void fill(struct sp_shares *shares, const struct sp_trace *trace) {
    for (size_t i = 0; i < trace->operation_count; i++)
        shares->operations[shares->begins[trace->operations[i].thread]++] = i;
    memmove(shares->begins + 1, shares->begins, trace->thread_count * sizeof *shares->begins);
    shares->begins[0] = 0;
}

bool sp_shares_open(struct sp_shares *shares, const struct sp_trace *trace) {
    *shares = (struct sp_shares){
        .operations = calloc(trace->operation_count + 1, sizeof *shares->operations),
        .begins = calloc(trace->thread_count + 1, sizeof *shares->begins),
    };
    if (!shares->operations || !shares->begins) {
        sp_shares_release(shares);
        return false;
    }
    count(shares, trace);
    fill(shares, trace);
    return true;
}

void sp_shares_release(struct sp_shares *shares) {
    free(shares->operations);
    free(shares->begins);
    *shares = (struct sp_shares){.operations = NULL};
}
