// What tests of the drop-in's notes begin with: a process in which they are taken, as the drop-in
// takes them, and what the driver is asked there.
#ifndef STREAMPOOL_TESTS_UNIT_DROPIN_NOTED_H
#define STREAMPOOL_TESTS_UNIT_DROPIN_NOTED_H

#include "dropin/captures.h"
#include "dropin/seen.h"

#include "api/interpose.h"
#include "process/promises.h"
#include "unit/fixture/pool.h"

// Each test has its own pool, which is the device's current one, and a seen stream.
extern poolMemPool_t pool;
extern CUstream a;

// A test leaves one counted.
extern bool captures_are_left;

// True while none is counted: that is what the library is told.
bool captures_are_none(void);

int noted_setup(void **state);
int noted_teardown(void **state);

CUstream create_seen(void);
CUstream made_up(uintptr_t number);
bool has_ids(void);

// As the drop-in makes them. Memory of a pool is freed here, and no other.
poolError_t noted_free(void *pointer, CUstream stream);
void *allocate(size_t size, CUstream stream);
void pair(size_t size, CUstream stream);

struct calls {
    uint64_t all;
    uint64_t captures;
    uint64_t identities;
};
struct calls count_calls(void);
struct calls calls_since(struct calls before);

// Of the second and later pairs of a size.
struct calls calls_of(void (*make_pair)(size_t size, CUstream stream), CUstream stream);

void require_asked(CUstream stream);
void require_known(CUstream stream);

#define noted_test(function) cmocka_unit_test_setup_teardown(function, noted_setup, noted_teardown)

#endif
