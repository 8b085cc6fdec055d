// Findings are what a program that is checked is told (simcudaOnReportCheck): each is a line on
// standard error as it happens, once however often, with call stacks where they are kept; and all
// are summed up at the process's end.
//
//   two findings are the same if they are of one kind, and their texts differ in addresses and
//   numbers of blocks alone
#ifndef STREAMPOOL_SIMCUDA_REPORT_FINDING_H
#define STREAMPOOL_SIMCUDA_REPORT_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simcuda/common/who.h"

// A side of a finding: a piece of work or a call, with what it does to which bytes.
struct sim_side {
    struct sim_who who;
    const char *name; // of the work or the call
    const char *does; // "writes", say
    uint64_t address;
    uint64_t size; // 0: no bytes
};

enum { SIM_SIDES = 3 };

// A finding is kept as texts, so that nothing is looked up later.
struct sim_finding {
    const char *kind;
    char *text;
    char *key;
    uint64_t count;
    size_t side_count;
    struct sim_finding_side {
        char *stream; // null: none
        unsigned thread;
        char *thread_name; // null: none
        char *name;
        const char *does;
        uint64_t address;
        uint64_t size;
        size_t frame_count;
        char **frames;
    } sides[SIM_SIDES];
};

// Takes the name of the file from the environment, which the program may change later.
void sim_finding_begin(void);

void sim_finding_add(const char *kind, const char *text, const struct sim_side *sides,
                     size_t count);

// Says what was found in all, and writes the file that the environment asked for. Returns the
// number of mistakes.
uint64_t sim_finding_sum_up(void);

void sim_finding_clear(void);

// Writes findings as JSON. False, with errno, when the file takes no more.
bool sim_finding_write(const char *file, const struct sim_finding *findings, size_t count);

#endif
