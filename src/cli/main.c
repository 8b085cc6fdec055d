// The program: finds the sub-command, which does the rest.
#include "cli/command.h"

#include <stdlib.h>
#include <streampool/streampool.h>
#include <string.h>

#define TEXT(value)    #value
#define TEXT_OF(macro) TEXT(macro)

// argp looks for this name, so it can't be hidden.
#define VERSION                                                                                    \
    TEXT_OF(STREAMPOOL_VERSION_MAJOR)                                                              \
    "." TEXT_OF(STREAMPOOL_VERSION_MINOR) "." TEXT_OF(STREAMPOOL_VERSION_PATCH)
STREAMPOOL_API const char *argp_program_version = "streampool " VERSION;

static const struct command {
    const char *name;
    char *full_name; // argp wants an argv of its own, and doesn't write to it
    int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND_ROW(name, summary) {#name, (char[]){"streampool " #name}, sp_command_##name},
    SP_COMMANDS(COMMAND_ROW)
#undef COMMAND_ROW
};

static const struct argp_option options[] = {
    {.doc = "Commands ('streampool COMMAND --help' tells more about each):"},
#define COMMAND_HELP(command, summary) {#command, 0, NULL, OPTION_DOC, summary, 0},
    SP_COMMANDS(COMMAND_HELP)
#undef COMMAND_HELP
        {0},
};

struct choice {
    const struct command *command;
    int argc;
    char **argv;
};

static const struct command *find_command(const char *name) {
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

// The first argument is the command, and all that follows belongs to it.
static error_t parse(int key, char *argument, struct argp_state *state) {
    struct choice *choice = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        choice->command = find_command(argument);
        if (!choice->command)
            argp_error(state, "unknown command '%s'", argument);
        choice->argv = &state->argv[state->next - 1];
        choice->argc = state->argc - (state->next - 1);
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv) {
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "COMMAND [ARGUMENT...]",
        .doc = "Stream-ordered memory pools for CUDA programs.",
    };
    struct choice choice = {.command = NULL};
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice) != 0)
        return EXIT_FAILURE;
    choice.argv[0] = choice.command->full_name;
    return choice.command->run(choice.argc, choice.argv);
}
