#include "program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

static char folder[] = "/tmp/streampool_program_XXXXXX";

void assert_says(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

void assert_says_not(const char *text, const char *part) {
    if (strstr(text, part))
        fail_msg("'%s' is in: %s", part, text);
}

// In the table's words, in a picture's, or in JSON.
static bool counts_failed_calls(const char *output) {
    static const char key[] = "\"errors\":";
    if (strstr(output, " (errors in all: ") || strstr(output, "calls that failed: "))
        return true;
    for (const char *place = output; (place = strstr(place, key));) {
        place += strlen(key);
        if (strtoull(place, NULL, 10) > 0)
            return true;
    }
    return false;
}

void assert_replayed(const struct outcome *outcome) {
    int expected = counts_failed_calls(outcome->output) ? CALLS_FAILED : 0;
    if (outcome->status != expected)
        fail_msg("status %d, not %d: %s%s", outcome->status, expected, outcome->errors,
                 outcome->output);
}

void assert_usage_error(const char *const arguments[], const char *part) {
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS, arguments);
    assert_says(outcome.errors, part);
    assert_string_equal(outcome.output, "");
    assert_int_equal(outcome.status, USAGE_ERROR);
    program_forget(&outcome);
}

// ------------------------------------------------------------------------------------- the program

static char *text_of(FILE *file) {
    size_t length = 0, capacity = 0;
    char *text = NULL;
    rewind(file);
    do {
        capacity += 65536;
        text = realloc(text, capacity + 1);
        assert_non_null(text);
        length += fread(text + length, 1, capacity - length, file);
    } while (length == capacity);
    text[length] = '\0';
    return text;
}

_Noreturn static void become_program(const char *program, FILE *output, FILE *errors,
                                     const char *const settings[], const char *const arguments[]) {
    enum { ARGUMENTS_MAX = 32 };
    char *argv[ARGUMENTS_MAX + 2] = {(char[]){"streampool"}};
    for (size_t i = 0; arguments[i] && i < ARGUMENTS_MAX; i++)
        argv[i + 1] = strdup(arguments[i]);
    for (size_t i = 0; settings[i]; i++)
        putenv(strdup(settings[i]));
    if (dup2(fileno(output), STDOUT_FILENO) >= 0 && dup2(fileno(errors), STDERR_FILENO) >= 0)
        execv(program, argv);
    _exit(126);
}

static void run(const char *program, struct outcome *outcome, FILE *errors,
                const char *const settings[], const char *const arguments[]) {
    FILE *output = tmpfile();
    assert_non_null(output);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        become_program(program, output, errors, settings, arguments);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    outcome->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    outcome->output = text_of(output);
    fclose(output);
}

void program_run_at(const char *program, struct outcome *outcome, const char *const settings[],
                    const char *const arguments[]) {
    FILE *errors = tmpfile();
    assert_non_null(errors);
    run(program, outcome, errors, settings, arguments);
    outcome->errors = text_of(errors);
    fclose(errors);
}

void program_run(struct outcome *outcome, const char *const settings[],
                 const char *const arguments[]) {
    program_run_at(STREAMPOOL_PROGRAM, outcome, settings, arguments);
}

void program_run_on_terminal(struct outcome *outcome, const char *terminal,
                             const char *const settings[], const char *const arguments[]) {
    FILE *errors = fopen(terminal, "r+");
    assert_non_null(errors);
    run(STREAMPOOL_PROGRAM, outcome, errors, settings, arguments);
    outcome->errors = strdup("");
    fclose(errors);
}

void program_forget(struct outcome *outcome) {
    free(outcome->output);
    free(outcome->errors);
}

// --------------------------------------------------------------------------------------- the files

// The paths that were handed out live until the end, in a list.
struct path {
    struct path *next;
    char text[512];
};

static struct path *paths;

const char *file_path(const char *name) {
    struct path *path = malloc(sizeof *path);
    assert_non_null(path);
    snprintf(path->text, sizeof path->text, "%s/%s", folder, name);
    path->next = paths;
    paths = path;
    return path->text;
}

const char *file_write_bytes(const char *name, const void *bytes, size_t size) {
    const char *path = file_path(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *file_write(const char *name, const char *text) {
    return file_write_bytes(name, text, strlen(text));
}

const char *file_write_gzipped(const char *name, const char *text) {
    const char *path = file_path(name);
    gzFile file = gzopen(path, "w");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
    return path;
}

char *file_read(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    char *text = text_of(file);
    fclose(file);
    return text;
}

static size_t for_each_file(void (*visit)(const char *path)) {
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (visit)
            visit(file_path(entry->d_name));
    }
    closedir(directory);
    return count;
}

size_t file_count(void) {
    return for_each_file(NULL);
}

static void remove_file(const char *path) {
    assert_int_equal(remove(path), 0);
}

int files_begin(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

int files_end(void **state) {
    (void)state;
    for_each_file(remove_file);
    while (paths) {
        struct path *next = paths->next;
        free(paths);
        paths = next;
    }
    return rmdir(folder);
}
