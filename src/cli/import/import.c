// The command import. A script does it (import.py): who has a snapshot has Python, whose own
// readers of pickles and JSON are the best there are. This gives it the options, and as its
// standard output the place that the trace goes to. It runs as a child, so that a file that has
// Python crash ends with a message, and nothing is left of a trace that wasn't written to its end.
#include "cli/program/child.h"
#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/device.h"
#include "cli/program/output.h"
#include "cli/trace/trace.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Words of the child's command line. Those of options, whose keys they are, too, are empty where
// the option wasn't given.
enum word { SCRIPT = 2, PROGRAM, INPUT, OUTPUT, FORMAT, DEVICE, SEGMENTS, STRICT, ACTIONS, WORDS };

static char actions[] = "-"
#define FORM(name, word, pointer, size, stream) "," word ":" #pointer ":" #size
    SP_TRACE_ACTIONS(FORM)
#define FORMS_AT(name, place)                                                                      \
    FORM(, "allocate " place, BLOCK, BYTES, )                                                      \
    FORM(, "allocate failure " place, NOTHING, BYTES, ) FORM(, "trim " place, NOTHING, BYTES, )
        SP_TRACE_PLACES(FORMS_AT);
#undef FORMS_AT
#undef FORM

static error_t parse(int key, char *argument, struct argp_state *state) {
    char **words = state->input;
    switch (key) {
    case 'o':
        words[OUTPUT] = argument;
        return 0;
    case FORMAT:
        if (strcmp(argument, "pickle") != 0 && strcmp(argument, "json") != 0 &&
            strcmp(argument, "rmm") != 0)
            argp_error(state, "--format is pickle, json or rmm, not '%s'", argument);
        words[FORMAT] = argument;
        return 0;
    case DEVICE:
        sp_number_of("--device-index", argument, 0, UINT32_MAX, state);
        words[DEVICE] = argument;
        return 0;
    case SEGMENTS:
    case STRICT:
        words[key] = "yes";
        return 0;
    case ARGP_KEY_ARG:
        if (words[INPUT])
            argp_error(state, "one file at a time, not '%s' too", argument);
        words[INPUT] = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no file to import");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// The status of this program. A file that is made for that has Python crash, or be killed where
// memory is short; another signal, such as ^C, ends this program too.
static int status_of(int status, const char *input) {
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int number = WTERMSIG(status);
    if (number == SIGSEGV || number == SIGBUS || number == SIGABRT || number == SIGKILL) {
        fprintf(stderr, "%s: python3 ended while it read this: %s\n", input, strsignal(number));
        return EXIT_FAILURE;
    }
    sigset_t none;
    sigemptyset(&none);
    kill(getpid(), number);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return 128 + number;
}

static int run_script(char *words[WORDS + 1], const char *output) {
    struct sp_place place;
    struct sp_child child;
    if (!sp_place_open(&place, output)) {
        sp_complain("%s: %s", words[OUTPUT], strerror(errno));
        return EXIT_FAILURE;
    }
    dup2(place.descriptor, STDOUT_FILENO);
    int error = sp_child_run(words, &child);
    if (close(place.descriptor) != 0 || error != 0 || child.status != 0)
        sp_place_drop(&place);
    else if (!sp_place_keep(&place)) {
        sp_complain("%s: %s", words[OUTPUT], strerror(errno));
        return EXIT_FAILURE;
    }
    if (error == 0)
        return status_of(child.status, words[INPUT]);
    sp_complain("import needs python3, of the package python3: %s", strerror(error));
    return SP_EXIT_NO_GPU;
}

int sp_command_import(int argc, char **argv) {
    static const struct argp_option rows[] = {
        {"output", 'o', "FILE", 0,
         "File to write the trace to (default: -, standard output); gzipped if the name ends with "
         ".gz",
         0},
        {"format", FORMAT, "pickle|json|rmm", 0,
         "Format of FILE (default: recognised by its first bytes)", 0},
        {"device-index", DEVICE, "N", 0,
         "In a snapshot: the device to take (default: the only one that has a history)", 0},
        {"segments", SEGMENTS, NULL, 0,
         "From a snapshot: take what PyTorch's allocator asked the driver for, not what the "
         "program asked PyTorch for",
         0},
        {"strict", STRICT, NULL, 0, "Refuse a file that would have to be repaired", 0},
        {0},
    };
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .children = sp_help_children,
        .args_doc = "FILE",
        .doc =
            "Makes a trace for 'replay' and 'policies' from a snapshot of PyTorch's memory (pickle "
            "or JSON) or from a log of RMM's, by python3. No code in a pickle is run. The file may "
            "begin or end in the middle of a run; standard error says what was repaired.",
    };
    char script[PATH_MAX];
    char *words[WORDS + 1] = {"python3", "-IS", script, program_invocation_short_name,
                              NULL,      "-",   "",     "",
                              "",        "",    actions};
    if (argp_parse(&argp, argc, argv, 0, NULL, words) != 0 ||
        !sp_installed_path("streampool/import.py", script))
        return EXIT_FAILURE;
    if (access(script, R_OK) != 0) {
        sp_complain("%s: %s", script, strerror(errno));
        return EXIT_FAILURE;
    }
    const char *output = words[OUTPUT];
    words[OUTPUT] = (char *)sp_place_name(output);
    return run_script(words, output);
}
