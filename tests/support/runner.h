// A program of test rows. Each row runs in a process of its own, so a crash or a hang (hang.h) is
// that row's failure, with its reason, and the rows after it still run.
//
// Every row prints one line, `<id> ok`, `<id> FAIL <reason>` or `<id> skip <reason>`, in the order
// of the table, and the program ends with a summary. The exit status is 1 when a row failed. A line
// of a row that passes has nothing in it that depends on the machine, so whole outputs can be
// compared.
//
//   --driver=sim|gpu|PATH  the driver to run on; without it STREAMPOOL_DRIVER decides
//   --group=NAME           which rows; without it the first group
//   --list                 the rows and what each one promises
//   --only=ID              one row, in this process (under a debugger, say); a row of any group
//
// A row that needs another process starts this program again with one of the rows of the group
// "helpers", which is never run by itself.
#ifndef STREAMPOOL_TESTS_SUPPORT_RUNNER_H
#define STREAMPOOL_TESTS_SUPPORT_RUNNER_H

#include <stddef.h>

#define TEST_HELPERS "helpers"

struct test_row {
    const char *id;
    const char *promise;
    void (*run)(void);
};

struct test_group {
    const char *name;
    const struct test_row *rows;
    size_t count;
};

struct test_program {
    const char *purpose;
    const struct test_group *groups;
    size_t group_count;
    void (*prepare)(void);  // before a row of any group but the helpers; may be null
    void (*conclude)(void); // after it; may be null
};

// For X-macro lists of rows X(id, promise), whose functions are row_<id>.
#define TEST_ROW_DECLARE(id, promise) void row_##id(void);
#define TEST_ROW_ENTRY(id, promise)   {#id, promise, row_##id},

int test_main(int argc, char **argv, const struct test_program *program);

// How another process of this program ended: what waitpid() said, and what it wrote to its two
// outputs.
struct test_outcome {
    int status;
    char output[4096];
};

// Runs one row in a process of its own and waits for it. A row that hangs is ended.
void test_run_row(const char *id, struct test_outcome *outcome);

// The same, with its standard error among the output; the row must exit with status 0 and have
// written nothing.
void test_run_helper_quietly(const char *id);

#endif
