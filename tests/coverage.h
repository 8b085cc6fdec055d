// Included into every file of a build that counts what runs: a process that ends by _exit, as the
// children of many tests do, has its counts written, too.
#ifndef STREAMPOOL_TESTS_COVERAGE_H
#define STREAMPOOL_TESTS_COVERAGE_H

#include <unistd.h>

void __gcov_dump(void);

static inline _Noreturn void sp_counted_exit(int status) {
    __gcov_dump();
    _exit(status);
}

#define _exit sp_counted_exit

#endif
