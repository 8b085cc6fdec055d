#include "observe/signal.h"

#include "base/thread.h"
#include "observe/host.h"
#include "observe/summary.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>

static sem_t asked;         // counts the signals, and the end
static _Atomic bool wanted; // by a signal whose figures aren't written yet
static pthread_t thread;    // which waits for them
static _Atomic bool begins; // and is there
static _Atomic bool ends;
static struct sigaction before;

static void ask(int number) {
    int error = errno;
    (void)number;
    atomic_store(&wanted, true);
    sem_post(&asked);
    errno = error;
}

// A signal that came before the end has its figures, too.
static void *serve(void *nothing) {
    do {
        while (sem_wait(&asked) != 0) {
        }
        while (sem_trywait(&asked) == 0) {
        }
        if (atomic_exchange(&wanted, false))
            sp_summary_write(SP_SUMMARY_AT_SIGNAL);
    } while (!sp_load_relaxed(&ends));
    return nothing;
}

static bool has_own_handler(void) {
    bool is_read = sigaction(SIGUSR1, NULL, &before) == 0;
    return !is_read || before.sa_flags & SA_SIGINFO ||
           (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN);
}

void sp_signal_begin(void) {
    struct sigaction ours = {.sa_handler = ask, .sa_flags = SA_RESTART};
    sigemptyset(&ours.sa_mask);
    if (has_own_handler())
        sp_host->log("STREAMPOOL_STATS_SIGNAL is ignored: the program has a handler of SIGUSR1");
    else if (sem_init(&asked, 0, 0) != 0 || !sp_host->thread_start(&thread, serve, NULL))
        sp_host->log("STREAMPOOL_STATS_SIGNAL is ignored: no thread can be started");
    else {
        sp_store_relaxed(&begins, true);
        sigaction(SIGUSR1, &ours, NULL);
    }
}

bool sp_signal_end(void) {
    struct sigaction now;
    struct timespec end;
    if (!sp_load_relaxed(&begins))
        return true;
    if (sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == ask)
        sigaction(SIGUSR1, &before, NULL);
    sp_store_relaxed(&ends, true);
    sem_post(&asked);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    return pthread_timedjoin_np(thread, NULL, &end) == 0;
}
