#include "cli/program/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// Signals that people send to a program. They are blocked and waited for, with that of a child's
// end: so none comes between two steps.
static const int passed_on[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

// How signals were before, for the program.
struct before {
    sigset_t mask;
    struct sigaction child;
};

// A system that was told to forget children would tell nothing of their end.
static void hold_signals(sigset_t *held, struct before *before) {
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigemptyset(held);
    sigaddset(held, SIGCHLD);
    for (size_t i = 0; i < sizeof passed_on / sizeof passed_on[0]; i++)
        sigaddset(held, passed_on[i]);
    sigprocmask(SIG_BLOCK, held, &before->mask);
    sigaction(SIGCHLD, &plain, &before->child);
}

// Becomes the program, or sends the reason through the pipe, which closes where it does.
_Noreturn static void become(char *const program[], const struct before *before, int failure) {
    sigaction(SIGCHLD, &before->child, NULL);
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
    execvp(program[0], program);
    int error = errno;
    _exit(write(failure, &error, sizeof error) < 0 ? EXIT_FAILURE : EXIT_SUCCESS);
}

// Sends on what a process sent. The terminal sends to the program itself.
static void wait_for(struct sp_child *child, const sigset_t *held) {
    siginfo_t signal;
    while (waitpid(child->process, &child->status, WNOHANG) == 0) {
        if (sigwaitinfo(held, &signal) > 0 && signal.si_signo != SIGCHLD && signal.si_code <= 0)
            kill(child->process, signal.si_signo);
    }
}

int sp_child_run(char *const program[], struct sp_child *child) {
    int failure[2];
    sigset_t held;
    struct before before;
    if (pipe2(failure, O_CLOEXEC) != 0)
        return errno;
    hold_signals(&held, &before);
    child->process = fork();
    if (child->process == 0)
        become(program, &before, failure[1]);
    int error = errno;
    close(failure[1]);
    if (child->process > 0) {
        if (read(failure[0], &error, sizeof error) != (ssize_t)sizeof error)
            error = 0; // the pipe has closed
        wait_for(child, &held);
    }
    close(failure[0]);
    return error;
}
