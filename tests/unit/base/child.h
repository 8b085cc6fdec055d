// Runs a piece of a test in a forked child, for modules that read the environment or load a library
// only once in a process.
#ifndef STREAMPOOL_TESTS_UNIT_BASE_CHILD_H
#define STREAMPOOL_TESTS_UNIT_BASE_CHILD_H

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// What the child left: its wait status and what it wrote to standard error.
struct child_outcome {
    int status;
    char errors[32768];
};

// `body` fills *result (`size` bytes, zeroed before), which the parent then has. A child that
// returns from `body` exits with status 0; assertions belong into the parent. Returns false when no
// child could be had.
static inline _Bool child_run(void (*body)(void *result), void *result, size_t size,
                              struct child_outcome *outcome) {
    memset(outcome, 0, sizeof(*outcome));
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 0;
    int errors = memfd_create("errors", MFD_CLOEXEC);
    pid_t child = errors < 0 ? -1 : fork();
    if (child == 0) {
        if (dup2(errors, STDERR_FILENO) < 0)
            _exit(1);
        body(shared);
        _exit(0);
    }
    _Bool done = child > 0 && waitpid(child, &outcome->status, 0) == child;
    done = done && pread(errors, outcome->errors, sizeof(outcome->errors) - 1, 0) >= 0;
    memcpy(result, shared, size);
    munmap(shared, size);
    close(errors);
    return done;
}

#endif
