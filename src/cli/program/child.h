// Runs a program to its end, as a child in this process's group, and so in its job: what a terminal
// sends, such as ^C and ^Z, reaches both. This process outlives ^C, because the program may, and
// passes on what was sent to itself alone.
#ifndef STREAMPOOL_CLI_CHILD_H
#define STREAMPOOL_CLI_CHILD_H

#include <sys/types.h>

struct sp_child {
    pid_t process;
    int status; // as waitpid() tells it
};

// Looks the program up in PATH. Returns 0 when it has run, or else the error with which it didn't
// start.
int sp_child_run(char *const program[], struct sp_child *child);

#endif
