#include "support/runner.h"

#include <argp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/device.h"
#include "support/hang.h"

struct choice {
    const struct test_program *program;
    const char *group;
    const char *only;
    bool list;
};

struct tally {
    unsigned rows;
    unsigned ok;
    unsigned skipped;
};

static const struct test_program *running;

// ----------------------------------------------------------------------------------- one row, here

static bool is_helper_group(const struct test_group *group) {
    return strcmp(group->name, TEST_HELPERS) == 0;
}

static const struct test_row *find_row(const struct test_program *program, const char *id,
                                       bool *helper) {
    for (size_t g = 0; g < program->group_count; g++) {
        const struct test_group *group = &program->groups[g];
        for (size_t i = 0; i < group->count; i++) {
            if (strcmp(group->rows[i].id, id) == 0) {
                *helper = is_helper_group(group);
                return &group->rows[i];
            }
        }
    }
    return NULL;
}

static int run_here(const struct test_program *program, const char *id) {
    bool helper = false;
    const struct test_row *row = find_row(program, id, &helper);
    if (!row) {
        fprintf(stderr, "no row has the name %s: --list shows them\n", id);
        return EXIT_FAILURE;
    }
    test_set_subject("%s", id);
    if (!helper && program->prepare)
        program->prepare();
    row->run();
    if (helper)
        return EXIT_SUCCESS;
    if (program->conclude)
        program->conclude();
    printf("%s ok\n", id);
    return EXIT_SUCCESS;
}

// --------------------------------------------------------------------- one row, in its own process

static _Noreturn void become_row(const char *id, int output, bool errors_too) {
    char only[256];
    snprintf(only, sizeof only, "--only=%s", id);
    dup2(output, STDOUT_FILENO);
    if (errors_too)
        dup2(output, STDERR_FILENO);
    close(output);
    alarm(TEST_HANG_SECONDS); // survives exec, so a hang ends by SIGALRM
    execv("/proc/self/exe", (char *[]){program_invocation_name, only, NULL});
    _exit(127);
}

static void read_to_end(int descriptor, char *text, size_t room) {
    size_t length = 0;
    char rest[512];
    ssize_t count;
    do {
        bool full = length + 1 >= room;
        count =
            read(descriptor, full ? rest : text + length, full ? sizeof rest : room - 1 - length);
        if (count > 0 && !full)
            length += (size_t)count;
    } while (count > 0);
    text[length] = '\0';
}

static void run_apart(const char *id, bool errors_too, struct test_outcome *outcome) {
    int ends[2];
    if (pipe(ends) != 0)
        test_fail(__FILE__, __LINE__, "no pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        test_fail(__FILE__, __LINE__, "no process");
    if (child == 0) {
        close(ends[0]);
        become_row(id, ends[1], errors_too);
    }
    close(ends[1]);
    read_to_end(ends[0], outcome->output, sizeof outcome->output);
    close(ends[0]);
    if (waitpid(child, &outcome->status, 0) != child)
        test_fail(__FILE__, __LINE__, "the row's process was lost");
}

void test_run_row(const char *id, struct test_outcome *outcome) {
    run_apart(id, false, outcome);
}

void test_run_helper_quietly(const char *id) {
    struct test_outcome outcome;
    run_apart(id, true, &outcome);
    if (outcome.output[0] != '\0')
        test_fail(__FILE__, __LINE__, "%s wrote: %s", id, outcome.output);
    if (WIFSIGNALED(outcome.status))
        test_fail(__FILE__, __LINE__, "%s was ended by SIG%s", id,
                  sigabbrev_np(WTERMSIG(outcome.status)));
    if (WEXITSTATUS(outcome.status) != 0)
        test_fail(__FILE__, __LINE__, "%s ended with status %d", id, WEXITSTATUS(outcome.status));
}

// ---------------------------------------------------------------------------------------- all rows

// The first line of the output that speaks of this row, cut off at its end; "" when there is none.
static const char *verdict_of(const char *id, char *output) {
    size_t length = strlen(id);
    for (char *line = strtok(output, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, id, length) == 0 && line[length] == ' ')
            return line + length + 1;
    }
    return "";
}

static void print_failure(const char *id, int status, const char *verdict) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        printf("%s FAIL not done after %u seconds\n", id, TEST_HANG_SECONDS);
    else if (WIFSIGNALED(status))
        printf("%s FAIL ended by SIG%s\n", id, sigabbrev_np(WTERMSIG(status)));
    else if (strncmp(verdict, "FAIL ", 5) == 0)
        printf("%s %s\n", id, verdict);
    else
        printf("%s FAIL exit status %d\n", id, WEXITSTATUS(status));
}

static void judge_row(const struct test_row *row, struct tally *tally) {
    struct test_outcome outcome;
    test_run_row(row->id, &outcome);
    const char *verdict = verdict_of(row->id, outcome.output);
    bool exited = WIFEXITED(outcome.status);
    int status = exited ? WEXITSTATUS(outcome.status) : -1;
    tally->rows++;
    if (status == 0 && strcmp(verdict, "ok") == 0) {
        tally->ok++;
        printf("%s ok\n", row->id);
    } else if (status == TEST_SKIPPED && strncmp(verdict, "skip ", 5) == 0) {
        tally->skipped++;
        printf("%s %s\n", row->id, verdict);
    } else {
        print_failure(row->id, outcome.status, verdict);
    }
    fflush(stdout);
}

static const struct test_group *find_group(const struct test_program *program, const char *name) {
    for (size_t g = 0; g < program->group_count; g++) {
        if (strcmp(program->groups[g].name, name) == 0)
            return &program->groups[g];
    }
    return NULL;
}

static int run_group(const struct test_group *group) {
    struct tally tally = {0};
    for (size_t i = 0; i < group->count; i++)
        judge_row(&group->rows[i], &tally);
    unsigned failed = tally.rows - tally.ok - tally.skipped;
    printf("%u rows: %u ok, %u failed, %u skipped\n", tally.rows, tally.ok, failed, tally.skipped);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int list_rows(const struct test_program *program) {
    for (size_t g = 0; g < program->group_count; g++) {
        const struct test_group *group = &program->groups[g];
        printf("%s%s\n", g ? "\n" : "", group->name);
        for (size_t i = 0; i < group->count; i++)
            printf("    %s\n        %s\n", group->rows[i].id, group->rows[i].promise);
    }
    return EXIT_SUCCESS;
}

// ----------------------------------------------------------------------------------------- options

static error_t read_option(int key, char *value, struct argp_state *state) {
    struct choice *choice = state->input;
    switch (key) {
    case 'd':
        if (!test_choose_driver(value))
            argp_failure(state, EXIT_FAILURE, 0, "the simulated driver is not where it was built");
        return 0;
    case 'g':
        choice->group = value;
        return 0;
    case 'l':
        choice->list = true;
        return 0;
    case 'o':
        choice->only = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"driver", 'd', "sim|gpu|PATH", 0, "the driver to run on; without it STREAMPOOL_DRIVER decides",
     0},
    {"group", 'g', "NAME", 0, "which rows; without it the first group", 0},
    {"list", 'l', NULL, 0, "print the rows and what each one promises", 0},
    {"only", 'o', "ID", 0, "run one row, in this process", 0},
    {0},
};

int test_main(int argc, char **argv, const struct test_program *program) {
    struct choice choice = {.program = program, .group = program->groups[0].name};
    const struct argp argp = {.options = options, .parser = read_option, .doc = program->purpose};
    argp_parse(&argp, argc, argv, 0, NULL, &choice);
    running = program;

    if (choice.list)
        return list_rows(program);
    if (choice.only)
        return run_here(program, choice.only);
    const struct test_group *group = find_group(program, choice.group);
    if (!group || is_helper_group(group)) {
        fprintf(stderr, "no group has the name %s: --list shows them\n", choice.group);
        return EXIT_FAILURE;
    }
    return run_group(group);
}
