// Errors: a failing call leaves a code, a sentence and the driver's own error behind for its
// thread.
//
// Each failing call goes through exactly one of these; a call that succeeds touches nothing. The
// sentence and the name of the driver's entry point aren't in thread-local memory, of which a
// library that is loaded into a running program gets little. Without host memory the sentence is
// cut sooner; where very many threads are without it, some read instead that there was none.
#ifndef STREAMPOOL_REGION_FAIL_H
#define STREAMPOOL_REGION_FAIL_H

#include "driver/driver.h"

#include <stdbool.h>
#include <streampool/streampool.h>

// A longer sentence is cut.
enum { SP_ERROR_DETAIL = 1024 };

// Notes the sentence and returns the error. The driver had no part in it.
poolError_t sp_fail(poolError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Notes an outcome that is a failure, and returns our code for it. The sentence is "<what>: <entry
// point> returned <name>", "<what>: out of host memory", or "<what>: <name>" for another fact of
// our own.
poolError_t sp_fail_outcome(struct sp_outcome outcome, const char *what);

// Adds the driver's part in a failure, if it has one, to what sp_fail() has noted.
void sp_fail_of_driver(struct sp_outcome outcome);

// True for good once a driver's call has told of a fault: work has failed, by an illegal access for
// one, and every call on its context returns that error from then on. Allocations and frees may
// make no call that would tell; then they ask (api/memory.c).
extern _Atomic bool sp_fail_had_fault;
bool sp_fail_is_fault(CUresult error);

// Our code for a driver's.
poolError_t sp_fail_code(CUresult error);

// The error of the thread's last failure, until the program reads it: then it is set to
// poolSuccess. A failure that is made good within a call is taken back by setting what was there
// before. That work isn't ready yet is no failure.
poolError_t sp_fail_unread(void);
void sp_fail_set_unread(poolError_t error);

// The sentence of the thread's last failure, valid until its next one or its end, and the driver's
// part in that. A text is "" where the thread has had no failure.
const char *sp_fail_detail(void);
void sp_fail_native(CUresult *error, const char **entry_point);

#endif
