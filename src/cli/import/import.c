// The command import. A script does it (import.py), because who has a snapshot has Python, whose
// own readers of pickles and JSON are the best there are. This gives it the options, and the place
// that the trace goes to as its standard output. It runs as a child: so a file that has Python
// crash is told from a good one, and of a trace that wasn't written to its end nothing is left.
#include "cli/program/child.h"
#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/installed.h"
#include "cli/program/place.h"
#include "cli/trace/trace.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Words for the script, which are empty where nothing was said.
struct options {
    char *input;
    char *output;
    char *format;
    char *device;
    char *segments;
    char *strict;
};

enum { KEY_FORMAT = 256, KEY_DEVICE, KEY_SEGMENTS, KEY_STRICT };

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case 'o':
        options->output = argument;
        return 0;
    case KEY_FORMAT:
        if (strcmp(argument, "pickle") != 0 && strcmp(argument, "json") != 0 &&
            strcmp(argument, "rmm") != 0)
            argp_error(state, "--format is pickle, json or rmm, not '%s'", argument);
        options->format = argument;
        return 0;
    case KEY_DEVICE:
        sp_number_of("--device-index", argument, 0, UINT32_MAX, state);
        options->device = argument;
        return 0;
    case KEY_SEGMENTS:
        options->segments = "segments";
        return 0;
    case KEY_STRICT:
        options->strict = "strict";
        return 0;
    case ARGP_KEY_ARG:
        if (options->input)
            argp_error(state, "one file at a time, not '%s' too", argument);
        options->input = argument;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no file to import");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static char actions[] =
#define FORM(name, word, pointer, size, stream) "," word ":" #pointer ":" #size
    SP_TRACE_ACTIONS(FORM);
#undef FORM

// ^C and the like end this program, too.
static int end_by(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    return 128 + signal;
}

// A file that is made for that can have Python crash, or be killed where memory is short.
static int status_of(const struct options *options, int status) {
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    int signal = WTERMSIG(status);
    if (signal != SIGSEGV && signal != SIGBUS && signal != SIGABRT && signal != SIGKILL)
        return end_by(signal);
    fprintf(stderr, "%s: python3 ended while it read this: %s\n", options->input,
            strsignal(signal));
    return EXIT_FAILURE;
}

static int import_to(struct sp_place *place, const struct options *options, char *script) {
    char *arguments[] = {"python3",
                         "-IS",
                         script,
                         program_invocation_short_name,
                         options->input,
                         (char *)sp_place_name(options->output),
                         options->format,
                         options->device,
                         options->segments,
                         options->strict,
                         actions + 1,
                         NULL};
    struct sp_child child;
    dup2(place->descriptor, STDOUT_FILENO);
    int error = sp_child_run(arguments, &child);
    bool good = close(place->descriptor) == 0 && error == 0 && child.status == 0;
    if (!good)
        sp_place_drop(place);
    else if (!sp_place_keep(place) &&
             !sp_complain("%s: %s", sp_place_name(options->output), strerror(errno)))
        return EXIT_FAILURE;
    if (error == 0)
        return status_of(options, child.status);
    sp_complain("import needs python3, of the package python3: %s", strerror(error));
    return SP_EXIT_NO_GPU;
}

static int import(const struct options *options) {
    char installed[PATH_MAX], script[PATH_MAX];
    struct sp_place place;
    if (!sp_installed_path("streampool/import.py", installed))
        return EXIT_FAILURE;
    if (!realpath(installed, script))
        sp_complain("%s: %s", installed, strerror(errno));
    else if (!sp_place_open(&place, options->output))
        sp_complain("%s: %s", sp_place_name(options->output), strerror(errno));
    else
        return import_to(&place, options, script);
    return EXIT_FAILURE;
}

int sp_command_import(int argc, char **argv) {
    static const struct argp_option rows[] = {
        {"output", 'o', "FILE", 0,
         "File to write the trace to (default: -, standard output); gzipped if the name ends with "
         ".gz",
         0},
        {"format", KEY_FORMAT, "pickle|json|rmm", 0,
         "Format of FILE (default: recognised by its first bytes)", 0},
        {"device-index", KEY_DEVICE, "N", 0,
         "In a snapshot: the device to take (default: the only one that has a history)", 0},
        {"segments", KEY_SEGMENTS, NULL, 0,
         "From a snapshot: take what PyTorch's allocator asked the driver for, not what the "
         "program asked PyTorch for",
         0},
        {"strict", KEY_STRICT, NULL, 0, "Refuse a file that would have to be repaired", 0},
        {0},
    };
    static const struct argp_child children[] = {SP_HELP_CHILD, {0}};
    static const struct argp argp = {
        .options = rows,
        .parser = parse,
        .children = children,
        .args_doc = "FILE",
        .doc =
            "Makes a trace for 'replay' and 'policies' from a snapshot of PyTorch's memory (pickle "
            "or JSON) or from a log of RMM's. No code in a pickle is run. The file may begin or "
            "end in the middle of a run; standard error says what was repaired. python3 is needed.",
    };
    struct options options = {NULL, "-", "", "", "", ""};
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return EXIT_FAILURE;
    return import(&options);
}
