#include "base/fork.h"

#include <pthread.h>

_Atomic bool sp_forked;

static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
static bool watching;

static void note_fork(void) {
    sp_store_relaxed(&sp_forked, true);
}

// Registers the handler. glibc forgets it when the library that registered it is unloaded.
static void begin_watch(void) {
    watching = pthread_atfork(NULL, NULL, note_fork) == 0;
}

bool sp_fork_watch(void) {
    pthread_once(&watch_once, begin_watch);
    return watching;
}
