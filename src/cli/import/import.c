// streampool import: makes a trace of what other programs recorded.
#include "cli/import/recording.h"
#include "cli/import/trace_write.h"
#include "cli/program/command.h"
#include "cli/program/output.h"

#include <stdlib.h>
#include <string.h>

static const char *const format_names[] = {
    [SP_RECORDING_PICKLE] = "pickle", [SP_RECORDING_JSON] = "json", [SP_RECORDING_RMM] = "rmm"};

struct options {
    const char *input;
    const char *output;
    bool is_strict;
    struct sp_recording_options recording;
};

enum { KEY_FORMAT = 256, KEY_DEVICE, KEY_SEGMENTS, KEY_STRICT };

static enum sp_recording_format format_of(const char *text, const struct argp_state *state) {
    for (size_t i = 0; i < sizeof format_names / sizeof format_names[0]; i++)
        if (strcmp(format_names[i], text) == 0)
            return (enum sp_recording_format)i;
    argp_error(state, "--format is pickle, json or rmm, not '%s'", text);
    return SP_RECORDING_BY_CONTENT;
}

static error_t parse_input(struct options *options, const char *argument,
                           const struct argp_state *state) {
    if (options->input)
        argp_error(state, "one file at a time, not '%s' too", argument);
    options->input = argument;
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case 'o':
        options->output = argument;
        return 0;
    case KEY_FORMAT:
        options->recording.format = format_of(argument, state);
        return 0;
    case KEY_DEVICE:
        options->recording.snapshot.device =
            sp_number_of("--device-index", argument, 0, UINT32_MAX, state);
        return 0;
    case KEY_SEGMENTS:
        options->recording.snapshot.of_segments = true;
        return 0;
    case KEY_STRICT:
        options->is_strict = true;
        return 0;
    case ARGP_KEY_ARG:
        return parse_input(options, argument, state);
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no file to import");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool import_file(const struct options *options) {
    struct sp_mend mend = {.is_strict = options->is_strict};
    struct sp_trace_error error = {.line = 0};
    if (!sp_output_ready(options->output))
        return false;
    bool good = sp_recording_read(options->input, &options->recording, &mend, &error);
    if (!good)
        sp_trace_error_print(stderr, options->input, &error);
    good = good && sp_trace_write(options->output, &mend);
    if (good)
        sp_mend_print(stderr, options->input, &mend);
    sp_mend_release(&mend);
    return good;
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
            "end in the middle of a run; standard error says what was repaired.",
    };
    struct options options = {
        .output = "-",
        .recording = {SP_RECORDING_BY_CONTENT, {.device = SP_SNAPSHOT_ANY_DEVICE}},
    };
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return EXIT_FAILURE;
    return import_file(&options) ? EXIT_SUCCESS : EXIT_FAILURE;
}
