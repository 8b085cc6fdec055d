// Runs the program `streampool` and keeps what came of it.
//
// Files that a test writes lie in a folder of the test program's own, which the group's teardown
// removes.
#ifndef STREAMPOOL_TESTS_CLI_PROGRAM_H
#define STREAMPOOL_TESTS_CLI_PROGRAM_H

#include <stddef.h>

#define TRACE_HEADER "Thread,Time,Action,Pointer,Size,Stream\n"

struct outcome {
    int status;   // the exit status; -1 when a signal ended it
    char *output; // standard output
    char *errors; // standard error
};

// Runs the program with these arguments, and with these settings ("NAME=value", or "NAME" to take
// it away) on top of the environment. Both lists end with a null pointer. The simulated driver is
// chosen unless they say otherwise. Ends the test when the program can't be run.
void program_run(struct outcome *outcome, const char *const settings[],
                 const char *const arguments[]);

// Runs another program.
void program_run_at(const char *program, struct outcome *outcome, const char *const settings[],
                    const char *const arguments[]);

// The same with a terminal as standard error; `errors` is empty then.
void program_run_on_terminal(struct outcome *outcome, const char *terminal,
                             const char *const settings[], const char *const arguments[]);
void program_forget(struct outcome *outcome);

// Ends the test when a part isn't in the text, or is.
void assert_says(const char *text, const char *part);
void assert_says_not(const char *text, const char *part);

// Ends the test unless the outcome is that of a replay whose output it has: the status tells
// whether the output counts calls that failed.
enum { CALLS_FAILED = 4 };
void assert_replayed(const struct outcome *outcome);

// Runs the program with arguments that it refuses, by a message that has the part and with no other
// output.
enum { USAGE_ERROR = 64 };
void assert_usage_error(const char *const arguments[], const char *part);

#define ARGUMENTS(...)                                                                             \
    (const char *const[]) {                                                                        \
        __VA_ARGS__, NULL                                                                          \
    }
#define SETTINGS(...)                                                                              \
    (const char *const[]) {                                                                        \
        __VA_ARGS__, NULL                                                                          \
    }
#define NO_SETTINGS                                                                                \
    (const char *const[]) {                                                                        \
        NULL                                                                                       \
    }

// The path of a file in the folder. Valid for the life of the test program.
const char *file_path(const char *name);
const char *file_write(const char *name, const char *text);
const char *file_write_bytes(const char *name, const void *bytes, size_t size);
const char *file_write_gzipped(const char *name, const char *text);
char *file_read(const char *path); // the caller frees it; null when there is no such file

// How many files the folder holds.
size_t file_count(void);

int files_begin(void **state);
int files_end(void **state);

#endif
