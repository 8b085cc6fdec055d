// The path is copied before the program runs: a program may write over its environment.
#include "dropin/wanted.h"
#include "base/thread.h"
#include "dropin/format.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Atomic int sp_wanted_state;

static char path[PATH_MAX];

// A program with raised privileges gets nothing from the environment.
static const char *variable(void) {
    const char *value = secure_getenv(SP_REPORT_VARIABLE);
    return value && value[0] == '/' && strlen(value) < sizeof path ? value : NULL;
}

// Before libc is initialised there is no environment, and nothing is known yet.
bool sp_wanted_ask(void) {
    int state = sp_load_relaxed(&sp_wanted_state);
    if (state == SP_WANTED_UNKNOWN && environ) {
        state = variable() ? SP_WANTED_YES : SP_WANTED_NO;
        sp_store_relaxed(&sp_wanted_state, state);
    }
    return state == SP_WANTED_YES;
}

__attribute__((constructor(101))) static void keep_path(void) {
    const char *value = sp_wanted_ask() ? variable() : NULL;
    if (value)
        strcpy(path, value);
}

// The file isn't made anew: who asked for it may be gone.
static void append(const char *line, size_t length) {
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return;
    ssize_t written = write(file, line, length);
    (void)written;
    close(file);
}

// A limit on the size of files would end the program by a signal.
void sp_wanted_write(const char *line, size_t length) {
    SP_UNCANCELLED;
    static const struct timespec no_time;
    sigset_t raised, before, pending;
    sigemptyset(&raised);
    sigaddset(&raised, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &raised, &before);
    append(line, length);
    if (!sigismember(&pending, SIGXFSZ))
        sigtimedwait(&raised, NULL, &no_time);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
