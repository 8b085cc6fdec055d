#include "base/fork.h"

#include <pthread.h>

_Atomic bool sp_forked;

static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
static bool watching;
static _Atomic bool *_Atomic cleared;

static void note_fork(void) {
    _Atomic bool *flag = sp_load_relaxed(&cleared);
    sp_store_relaxed(&sp_forked, true);
    if (flag)
        sp_store_relaxed(flag, false);
}

// Registers the handler. glibc forgets it when the library that registered it is unloaded.
static void begin_watch(void) {
    watching = pthread_atfork(NULL, NULL, note_fork) == 0;
}

bool sp_fork_watch(void) {
    pthread_once(&watch_once, begin_watch);
    return watching;
}

void sp_fork_clear_in_child(_Atomic bool *flag) {
    sp_store_relaxed(&cleared, flag);
}
