// The command run. The program's processes append their reports to a file that is made for them and
// removed again, and write what --check finds into such a folder.
#include "cli/run/run.h"

#include "base/options.h"
#include "cli/program/child.h"
#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/output.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// ------------------------------------------------------------------------------------- the options

enum {
    OPTION_MODE = 256,
    OPTION_SET,
    OPTION_RECORD,
    OPTION_SEAMS,
    OPTION_SIM,
    OPTION_CHECK,
    OPTION_STACKS
};

static enum sp_run_mode mode_of(const char *text, const struct argp_state *state) {
    if (strcmp(text, "preload") == 0)
        return SP_RUN_PRELOAD;
    if (strcmp(text, "library") != 0)
        argp_error(state, "--mode is preload or library, not '%s'", text);
    return SP_RUN_LIBRARY;
}

// Adds a list of settings, which it checks as the library will read it.
static void add_settings(struct sp_run_request *request, const char *list,
                         const struct argp_state *state) {
    struct sp_option_setting setting;
    const char *rest = list;
    char *joined = NULL;
    do
        sp_take_setting(&rest, &setting, state);
    while (*rest);
    if (asprintf(&joined, "%s%s%s", request->settings ? request->settings : "",
                 request->settings ? "," : "", list) < 0)
        argp_failure(state, SP_RUN_FAILED, ENOMEM, "--set");
    free(request->settings);
    request->settings = joined;
}

static void check(const struct sp_run_request *request, const struct argp_state *state) {
    if (sp_output_is_standard(request->found))
        argp_error(state, "--check can't write to standard output");
    const char *const names[] = {"--output", "--json", "--record", "--check"};
    const char *const files[] = {request->output, request->json, request->record, request->found};
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 4; j++)
            if (files[i] && files[j] && strcmp(files[i], files[j]) == 0)
                argp_error(state, "%s and %s can't both be written to '%s'", names[i], names[j],
                           files[i]);
}

// Each of the three asks for those before it.
static void simulate(struct sp_run_request *request, int option, const char *file) {
    request->sim = true;
    request->check = request->check || option != OPTION_SIM;
    request->stacks = request->stacks || option == OPTION_STACKS;
    request->found = file ? file : request->found;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct sp_run_request *request = state->input;
    switch (key) {
    case OPTION_SIM:
    case OPTION_CHECK:
    case OPTION_STACKS:
        simulate(request, key, argument);
        return 0;
    case OPTION_MODE:
        request->mode = mode_of(argument, state);
        return 0;
    case OPTION_SET:
        add_settings(request, argument, state);
        return 0;
    case OPTION_RECORD:
        request->record = argument;
        return 0;
    case OPTION_SEAMS:
        request->seams = true;
        return 0;
    case 'o':
        request->output = argument;
        return 0;
    case 'j':
        request->json = argument;
        return 0;
    case ARGP_KEY_ARG:
        request->program = &state->argv[state->next - 1];
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "there is no program to run");
        return 0;
    case ARGP_KEY_END:
        check(request, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"mode", OPTION_MODE, "preload|library", 0,
     "Load the drop-in by LD_PRELOAD (the default), or, for programs that break with preloads, a "
     "libcuda.so.1 of streampool's by LD_LIBRARY_PATH",
     0},
    {"set", OPTION_SET, "ATTRIBUTE=VALUE", 0,
     "Set an attribute of the default pools, as STREAMPOOL_POOL does (several options, or commas)",
     0},
    {"record", OPTION_RECORD, "FILE", 0,
     "Record a trace for replay and policies; where several processes use pools, each one's number "
     "is put into the name",
     0},
    {"seams", OPTION_SEAMS, NULL, 0,
     "Tell by which routes the program reached the driver, and which libraries asked", 0},
    {"sim", OPTION_SIM, NULL, 0,
     "Run the program on the simulated driver, which needs no GPU, wherever it asks for "
     "libcuda.so.1",
     0},
    {"check", OPTION_CHECK, "FILE", OPTION_ARG_OPTIONAL,
     "With --sim, which it implies: tell of races, leaks and the like on standard error, and into "
     "FILE as JSON. The program's status is 5 if anything was found",
     0},
    {"stacks", OPTION_STACKS, NULL, 0, "With --check, which it implies: tell the call stacks, too",
     0},
    {"output", 'o', "FILE", 0, "Write the summary to a file instead of standard error", 0},
    {"json", 'j', "FILE", 0,
     "Write the summary as JSON too; with '-', to standard output and no text", 0},
    {0},
};

static const struct argp argp = {
    .options = options,
    .children = sp_help_children,
    .parser = parse,
    .args_doc = "[--] PROGRAM [ARGUMENT...]",
    .doc =
        "Runs a program that was not written for streampool so that streampool serves its calls of "
        "CUDA's pools, and then says who served what. The program and its arguments are the last "
        "ones; options stand before. The exit status is the program's, or 128 and the number of "
        "the signal that ended it.",
};

// ------------------------------------------------------------------------------------- the reports

// Makes a template of names in the folder for such files.
static bool name_temporary(char path[PATH_MAX]) {
    const char *set = getenv("TMPDIR");
    char folder[PATH_MAX];
    if (!realpath(set && *set ? set : "/tmp", folder))
        return sp_complain("TMPDIR: %s: %s", set, strerror(errno));
    return snprintf(path, PATH_MAX, "%s/streampool-run-XXXXXX", folder) < PATH_MAX ||
           sp_complain("TMPDIR: %s", strerror(ENAMETOOLONG));
}

// Makes an empty file of a name that no one else has.
static bool make_report(char path[PATH_MAX]) {
    if (!name_temporary(path))
        return false;
    int file = mkstemp(path);
    if (file < 0)
        return sp_complain("%s: %s", path, strerror(errno));
    close(file);
    return true;
}

// Makes such a folder.
static bool make_folder(char path[PATH_MAX]) {
    return name_temporary(path) && (mkdtemp(path) || sp_complain("%s: %s", path, strerror(errno)));
}

// sp_output_write() ends the text by a newline of its own.
static bool tell(const struct sp_run_outcome *outcome) {
    const struct sp_run_request *request = outcome->request;
    bool has_text = request->output || !sp_output_is_standard(request->json), good = true;
    char *text = NULL;
    size_t size = 0;
    FILE *out = has_text ? open_memstream(&text, &size) : NULL;
    if (out)
        sp_run_summary_print(outcome, out);
    if (has_text && (!out || fclose(out) != 0))
        good = sp_complain("out of host memory");
    else if (request->output) {
        text[size - 1] = '\0';
        good = sp_output_write(request->output, text);
    } else if (has_text)
        good = fputs(text, stderr) >= 0;
    free(text);
    return (!request->json || sp_run_summary_write(outcome)) && good;
}

static bool summarize(struct sp_run_outcome *outcome, const char *report) {
    const struct sp_run_request *request = outcome->request;
    outcome->traces = cJSON_CreateArray();
    bool good = sp_run_reports_read(&outcome->reports, report) &&
                sp_run_find_traces(outcome->traces, request->record, &outcome->reports);
    good = tell(outcome) && good;
    cJSON_Delete(outcome->traces);
    sp_run_reports_release(&outcome->reports);
    return good;
}

// A run of which something couldn't be told has failed, unless the program has failed itself.
static int status_of(const struct sp_run_outcome *outcome, bool told, uint64_t mistakes) {
    int status = outcome->child.status;
    status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (status != 0)
        return status;
    return !told ? SP_RUN_FAILED : mistakes > 0 ? SP_RUN_MISTAKES : 0;
}

static int run(const struct sp_run_request *request, const char *report, const char *checks) {
    struct sp_run_outcome outcome = {.request = request};
    uint64_t mistakes = 0;
    if (!sp_output_ready(request->output) || !sp_output_ready(request->json) ||
        !sp_run_setup(request, report) || (request->check && !sp_run_check_begin(checks)))
        return SP_RUN_FAILED;
    int error = sp_child_run(request->program, &outcome.child);
    if (error != 0) {
        sp_complain("%s: %s", request->program[0], strerror(error));
        return error == ENOENT ? SP_RUN_NOT_FOUND : SP_RUN_NOT_STARTED;
    }
    bool told = !request->check || sp_run_check_end(request, checks, &mistakes);
    told = summarize(&outcome, report) && told;
    return status_of(&outcome, told, mistakes);
}

int sp_command_run(int argc, char **argv) {
    struct sp_run_request request = {.mode = SP_RUN_PRELOAD};
    char report[PATH_MAX], checks[PATH_MAX] = "";
    int status = SP_RUN_FAILED;
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &request) != 0)
        return SP_RUN_FAILED;
    if (make_report(report)) {
        if (!request.check || make_folder(checks))
            status = run(&request, report, checks);
        unlink(report);
        rmdir(checks); // where the program wasn't started
    }
    free(request.settings);
    return status;
}
