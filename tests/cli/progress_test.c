// What a terminal sees of long work: how far it is, and how long the rest takes.
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "program.h"

static const char wiped[] = "\r\033[K";

// ------------------------------------------------------------------------------------ the terminal

enum { SEEN_MAX = 1 << 20 };

struct terminal {
    int descriptor;
    char *seen; // all that appears there
};

// While the program runs, for a terminal holds no more than some pages of it.
static void *watch(void *argument) {
    struct terminal *terminal = argument;
    size_t length = 0;
    for (ssize_t more = 1; more > 0; length += more > 0 ? (size_t)more : 0)
        more = read(terminal->descriptor, terminal->seen + length, SEEN_MAX - 1 - length);
    terminal->seen[length] = '\0';
    return NULL;
}

// Runs the program with a terminal as its standard error. Returns what appears there, which the
// caller frees.
static char *run(const char *const settings[], const char *const arguments[], int status) {
    struct terminal terminal = {posix_openpt(O_RDWR | O_NOCTTY), malloc(SEEN_MAX)};
    struct outcome outcome;
    pthread_t watcher;
    assert_true(terminal.descriptor >= 0 && terminal.seen);
    assert_int_equal(grantpt(terminal.descriptor), 0);
    assert_int_equal(unlockpt(terminal.descriptor), 0);
    int held = open(ptsname(terminal.descriptor), O_RDWR | O_NOCTTY); // until the program has it
    assert_int_equal(pthread_create(&watcher, NULL, watch, &terminal), 0);
    program_run_on_terminal(&outcome, ptsname(terminal.descriptor), settings, arguments);
    close(held);
    pthread_join(watcher, NULL);
    close(terminal.descriptor);
    assert_int_equal(outcome.status, status);
    program_forget(&outcome);
    return terminal.seen;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text);
    return length >= strlen(end) && strcmp(text + length - strlen(end), end) == 0;
}

// ------------------------------------------------------------------------------------ what is seen

// One state of the line: "[###      ] 2 of 9, 40 s left: small".
struct state {
    unsigned filled, task, tasks;
    long seconds; // -1: it doesn't say
};

static bool read_state(const char *text, struct state *state) {
    unsigned minutes = 0, seconds = 0;
    size_t blanks;
    state->filled = (unsigned)strspn(text, "#");
    blanks = strspn(text + state->filled, " ");
    text += state->filled + blanks;
    if (sscanf(text, "] %u of %u", &state->task, &state->tasks) != 2)
        return false;
    text = strchr(strstr(text, " of ") + 4, ',') ? strchr(strstr(text, " of ") + 4, ',') : "";
    state->seconds = -1;
    if (sscanf(text, ", %u min %u s left", &minutes, &seconds) == 2)
        state->seconds = (long)(minutes * 60 + seconds);
    else if (sscanf(text, ", %u s left", &seconds) == 1)
        state->seconds = (long)seconds;
    return true;
}

// Ends the test when the states are more, or one can't be read. Returns how many there are.
static size_t read_states(char *seen, struct state *states, size_t most) {
    size_t count = 0;
    for (char *line = strtok(seen, "\r"); line; line = strtok(NULL, "\r")) {
        if (strncmp(line, "\033[K[", 4) != 0)
            continue;
        assert_true(count < most);
        assert_true(read_state(line + 4, &states[count++]));
    }
    return count;
}

static const char small[] = TRACE_HEADER
    "1,0,allocate,0x1000000,4194304,0\n"
    "1,1,free,0x1000000,4194304,0\n";

static void a_terminal_sees_how_far_it_is_and_nothing_of_that_in_the_end(void **state) {
    (void)state;
    char *seen =
        run(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", file_write("small.csv", small)), 0);
    assert_says(seen, "[                ] 1 of 1: small");
    assert_says(seen, "[################] 1 of 1, 0 s left: small");
    assert_true(ends_with(seen, wiped));
    free(seen);
}

static void assert_tasks(const char *const arguments[], unsigned tasks) {
    struct state states[256];
    char *seen = run(NO_SETTINGS, arguments, 0);
    size_t count = read_states(seen, states, 256);
    unsigned task = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(states[i].tasks, tasks);
        assert_true(states[i].task == task || states[i].task == task + 1);
        task = states[i].task;
    }
    assert_int_equal(task, tasks);
    free(seen);
}

static void each_replay_is_counted(void **state) {
    (void)state;
    const char *one = file_write("one.csv", small), *two = file_write("two.csv", small);
    assert_tasks(
        ARGUMENTS("replay", "--device", "sim", "-a", "pool,direct", "--passes", "3", one, two),
        2 * 2 * 3);
    assert_tasks(ARGUMENTS("replay", "--device", "sim", "--perturb", "5", one, two), 2 * 5);
    assert_tasks(ARGUMENTS("replay", "--device", "sim", "--one-pool", one, two), 2);
    assert_tasks(ARGUMENTS("policies", one, two), 2 * (1 + 8));
}

static void what_can_not_be_replayed_is_counted_no_more(void **state) {
    (void)state;
    const char *bound = file_write("bound.csv", TRACE_HEADER
                                   "1,0,blocking stream,0,0,7\n"
                                   "1,1,allocate,0x100,512,0\n"
                                   "1,2,record,0x200,0,7\n");
    assert_tasks(ARGUMENTS("replay", "--device", "sim", "-a", "promised,direct", bound), 1);
}

static void without_a_terminal_nothing_is_drawn(void **state) {
    (void)state;
    struct outcome outcome;
    program_run(&outcome, NO_SETTINGS,
                ARGUMENTS("replay", "--device", "sim", file_write("small.csv", small)));
    assert_string_equal(outcome.errors, "");
    program_forget(&outcome);
}

static void a_long_name_leaves_the_line_shorter_than_the_terminal(void **state) {
    (void)state;
    const char *path = file_write("ééééééééééééééééééééééééééééééééééééé.csv", small);
    char *seen = run(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", path), 0);
    assert_says(seen, "] 1 of 1: éééééééééé\r");
    free(seen);
}

static void the_line_is_wiped_before_a_complaint(void **state) {
    (void)state;
    char *seen = run(NO_SETTINGS,
                     ARGUMENTS("replay", "--device", "sim", "-a", "direct,pool", "--set",
                               "Defragmentation=9", file_write("small.csv", small)),
                     1);
    const char *complaint = strstr(seen, "streampool: small, streampool: ");
    assert_non_null(complaint);
    assert_says(seen, "] 1 of 2, 0 s left: small");
    assert_memory_equal(complaint - strlen(wiped), wiped, strlen(wiped));
    free(seen);
}

// ---------------------------------------------------------------------------------------- the time

#ifdef STEPPING_CLOCK

// All operations take the same number of readings, and so the same time.
static const char *even_trace(void) {
    enum { PAIRS = 20000 };
    static char text[PAIRS * 80 + 64] = TRACE_HEADER;
    size_t length = strlen(text);
    for (unsigned i = 0; i < PAIRS; i++)
        length += (size_t)sprintf(
            text + length, "1,%u,allocate,0x1000000,4096,0\n1,%u,free,0x1000000,4096,0\n", i, i);
    return file_write("even.csv", text);
}

static void the_time_that_is_left_is_that_of_what_is_left(void **state) {
    (void)state;
    static struct state states[512];
    char *seen = run(
        SETTINGS("LD_PRELOAD=" STEPPING_CLOCK, "STEPPING_CLOCK_NS=2000000"),
        ARGUMENTS("replay", "--device", "sim", "-a", "direct", "--passes", "2", even_trace()), 0);
    size_t count = read_states(seen, states, 512), known = 0;
    while (known < count && states[known].filled < 8)
        known++;
    assert_true(known < count && states[known].seconds > 60); // so minutes are read, too
    double all = 2 * (double)states[known].seconds;
    for (size_t i = 0; i < count; i++) {
        double rest = (double)states[i].seconds / all, expected = 1 - states[i].filled / 16.0;
        if (states[i].filled >= 6) // before that the readings at the beginning weigh more
            assert_true(rest >= expected - 0.12 && rest <= expected + 0.08);
    }
    assert_int_equal(states[count - 1].seconds, 0);
    free(seen);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_sees_how_far_it_is_and_nothing_of_that_in_the_end),
        cmocka_unit_test(each_replay_is_counted),
        cmocka_unit_test(what_can_not_be_replayed_is_counted_no_more),
        cmocka_unit_test(without_a_terminal_nothing_is_drawn),
        cmocka_unit_test(a_long_name_leaves_the_line_shorter_than_the_terminal),
        cmocka_unit_test(the_line_is_wiped_before_a_complaint),
#ifdef STEPPING_CLOCK
        cmocka_unit_test(the_time_that_is_left_is_that_of_what_is_left),
#endif
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
