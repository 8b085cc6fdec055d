// streampool run and its program get signals: from other processes, and from a terminal. The
// program says when it is ready, and then waits to read.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

// A run with both ends of what it is connected to: two pipes, or a terminal.
struct run {
    pid_t process;
    int input;
    int output;
    char text[4096]; // what it has written
    size_t length;
};

_Noreturn static void become_run(const char *script) {
    execl(STREAMPOOL_PROGRAM, "streampool", "run", "sh", "-c", script, (char *)NULL);
    _exit(126);
}

static void read_more(struct run *run) {
    struct pollfd one = {.fd = run->output, .events = POLLIN};
    assert_int_equal(poll(&one, 1, 60000), 1);
    ssize_t length = read(run->output, run->text + run->length, sizeof run->text - 1 - run->length);
    run->length += length > 0 ? (size_t)length : 0;
    run->text[run->length] = '\0';
    if (length <= 0)
        fail_msg("it ended with: %s", run->text);
}

static void wait_for_text(struct run *run, const char *text) {
    while (!strstr(run->text, text))
        read_more(run);
}

static int end_of(struct run *run) {
    int status;
    assert_int_equal(waitpid(run->process, &status, 0), run->process);
    close(run->input);
    if (run->output != run->input)
        close(run->output);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// ------------------------------------------------------------------------------------ by a process

static void start_on_pipes(struct run *run, const char *script) {
    int input[2], output[2];
    *run = (struct run){.length = 0};
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    assert_int_equal(pipe2(output, O_CLOEXEC), 0);
    run->process = fork();
    if (run->process == 0) {
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        dup2(output[1], STDERR_FILENO);
        become_run(script);
    }
    close(input[0]);
    close(output[1]);
    run->input = input[1];
    run->output = output[0];
    wait_for_text(run, "ready");
}

// The shell looks for signals between commands. One that comes right before a read stays unseen
// until the read ends.
#define SCRIPT(signal, status)                                                                     \
    "trap 'exit " #status "' " #signal                                                             \
    "; echo ready; "                                                                               \
    "for i in $(seq 600); do sleep 0.1; done; exit 1"

static void signals_of_processes_are_passed_on(void **state) {
    (void)state;
    static const struct {
        int signal;
        const char *script;
        int status;
    } rows[] = {{SIGTERM, SCRIPT(TERM, 9), 9},
                {SIGINT, SCRIPT(INT, 8), 8},
                {SIGHUP, SCRIPT(HUP, 7), 7},
                {SIGUSR1, SCRIPT(USR1, 6), 6}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct run run;
        start_on_pipes(&run, rows[i].script);
        assert_int_equal(kill(run.process, rows[i].signal), 0);
        wait_for_text(&run, "ended with status");
        assert_int_equal(end_of(&run), rows[i].status);
    }
}

static void a_program_that_does_not_handle_a_signal_ends_by_it(void **state) {
    (void)state;
    struct run run;
    start_on_pipes(&run, "echo ready; exec cat");
    assert_int_equal(kill(run.process, SIGTERM), 0);
    wait_for_text(&run, "was killed by signal 15");
    assert_int_equal(end_of(&run), 128 + SIGTERM);
}

// Under nohup a program goes on, and so does run.
static void ignored_signals_stay_ignored(void **state) {
    (void)state;
    struct run run;
    signal(SIGHUP, SIG_IGN);
    start_on_pipes(&run, "echo ready; read x; exit 5");
    signal(SIGHUP, SIG_DFL);
    assert_int_equal(kill(run.process, SIGHUP), 0);
    assert_int_equal(write(run.input, "go\n", 3), 3);
    assert_int_equal(end_of(&run), 5);
}

static void forgotten_children_are_waited_for(void **state) {
    (void)state;
    struct run run;
    signal(SIGCHLD, SIG_IGN);
    start_on_pipes(&run, "echo ready; read x; exit 5");
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(write(run.input, "go\n", 3), 3);
    assert_int_equal(end_of(&run), 5);
}

// ----------------------------------------------------------------------------------- by a terminal

static void start_on_terminal(struct run *run, const char *script) {
    *run = (struct run){.length = 0};
    run->input = run->output = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(run->input >= 0);
    assert_int_equal(grantpt(run->input), 0);
    assert_int_equal(unlockpt(run->input), 0);
    const char *name = ptsname(run->input);
    run->process = fork();
    if (run->process == 0) {
        setsid();
        int terminal = open(name, O_RDWR);
        ioctl(terminal, TIOCSCTTY, 0);
        for (int i = 0; i < 3; i++)
            dup2(terminal, i);
        become_run(script);
    }
    wait_for_text(run, "ready");
}

static void type(const struct run *run, const char *text) {
    assert_int_equal(write(run->input, text, strlen(text)), strlen(text));
}

// The program may live on after ^C, and run tells of it when it has ended.
static void an_interrupt_of_the_terminal_is_the_programs(void **state) {
    (void)state;
    struct run run;
    start_on_terminal(&run, "trap 'echo caught' INT; echo ready; read x; read x; exit 4");
    type(&run, "\x03");
    type(&run,
         "go\ngo\n"); // where the shell hasn't seen the signal yet, the end of a read shows it
    wait_for_text(&run, "caught");
    wait_for_text(&run, "ended with status 4");
    assert_int_equal(end_of(&run), 4);
}

static void an_interrupt_that_ends_the_program_is_told(void **state) {
    (void)state;
    struct run run;
    start_on_terminal(&run, "echo ready; exec cat");
    type(&run, "\x03");
    wait_for_text(&run, "was killed by signal 2");
    assert_int_equal(end_of(&run), 128 + SIGINT);
}

// The program is in the terminal's foreground: it may read.
static void the_program_reads_from_the_terminal(void **state) {
    (void)state;
    struct run run;
    start_on_terminal(&run, "echo ready; read x; echo \"has $x\"; exit 3");
    type(&run, "words\n");
    wait_for_text(&run, "has words");
    wait_for_text(&run, "ended with status 3");
    assert_int_equal(end_of(&run), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_of_processes_are_passed_on),
        cmocka_unit_test(a_program_that_does_not_handle_a_signal_ends_by_it),
        cmocka_unit_test(ignored_signals_stay_ignored),
        cmocka_unit_test(forgotten_children_are_waited_for),
        cmocka_unit_test(an_interrupt_of_the_terminal_is_the_programs),
        cmocka_unit_test(an_interrupt_that_ends_the_program_is_told),
        cmocka_unit_test(the_program_reads_from_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
