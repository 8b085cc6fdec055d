// The program: finds the sub-command, which does the rest.
#include "cli/program/command.h"
#include "cli/program/origin.h"
#include "cli/program/output.h"

#include <stdlib.h>
#include <string.h>

// argp looks for this name, so it can't be hidden.
STREAMPOOL_API const char *argp_program_version = "streampool " SP_PROGRAM_VERSION;

static int run_help(int argc, char **argv);

static const struct command {
    const char *name;
    char *full_name; // argp wants an argv of its own, and doesn't write to it
    int (*run)(int argc, char **argv);
} commands[] = {
#define COMMAND_ROW(name, summary) {#name, (char[]){"streampool " #name}, sp_command_##name},
    SP_COMMANDS(COMMAND_ROW)
#undef COMMAND_ROW
        {"help", (char[]){"streampool help"}, run_help},
};

static const struct argp_option options[] = {
    {.doc = "Commands ('streampool help COMMAND' tells more about each):"},
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

// Ends the program with a message that names the commands when there is none of this name.
static const struct command *command_of(const char *name, const struct argp_state *state) {
    static const char list[] =
#define LISTED(command, summary) #command ", "
        SP_COMMANDS(LISTED);
#undef LISTED
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    argp_error(state, "unknown command '%s': the commands are %sand help", name, list);
    return NULL;
}

// The first argument is the command, and all that follows belongs to it.
static error_t parse(int key, char *argument, struct argp_state *state) {
    struct choice *choice = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        choice->command = command_of(argument, state);
        choice->argv = &state->argv[state->next - 1];
        choice->argc = state->argc - (state->next - 1);
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS: // who doesn't know the commands is shown them, and not where to look
        argp_state_help(state, state->err_stream,
                        ARGP_HELP_SHORT_USAGE | ARGP_HELP_DOC | ARGP_HELP_LONG |
                            ARGP_HELP_EXIT_ERR);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {SP_HELP_CHILD, {0}};

static const struct argp argp = {
    .options = options,
    .children = children,
    .parser = parse,
    .args_doc = "COMMAND [ARGUMENT...]",
    .doc = "Stream-ordered memory pools for CUDA programs.",
};

// -------------------------------------------------------------------------------------------- help

static error_t parse_help(int key, char *argument, struct argp_state *state) {
    const struct command **command = state->input;
    if (key != ARGP_KEY_ARG || state->arg_num > 0)
        return ARGP_ERR_UNKNOWN;
    *command = command_of(argument, state);
    return 0;
}

// Both are shown by the parser that has the options, and never come back from it.
static int run_help(int argc, char **argv) {
    static const struct argp help = {
        .children = children,
        .parser = parse_help,
        .args_doc = "[COMMAND]",
        .doc = "Shows what a command does, and its options; without one, what commands there are.",
    };
    const struct command *command = NULL;
    char *arguments[] = {(char[]){"streampool"}, (char[]){"--help"}, NULL};
    if (argp_parse(&help, argc, argv, 0, NULL, &command) != 0)
        return EXIT_FAILURE;
    if (!command)
        return argp_parse(&argp, 2, arguments, 0, NULL, NULL);
    arguments[0] = command->full_name;
    return command->run(2, arguments);
}

int main(int argc, char **argv) {
    struct choice choice = {.command = NULL};
    sp_output_flush_at_exit();
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &choice) != 0)
        return EXIT_FAILURE;
    choice.argv[0] = choice.command->full_name;
    return choice.command->run(choice.argc, choice.argv);
}
