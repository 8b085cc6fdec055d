// The sub-commands of the program. Each parses its own arguments; argv[0] is the name that its
// messages begin with ("streampool replay"). Each returns the exit status of the program.
#ifndef STREAMPOOL_CLI_COMMAND_H
#define STREAMPOOL_CLI_COMMAND_H

#include "cli/program/device.h"

#include <argp.h>

//   X(name, one line about it)
#define SP_COMMANDS(X)                                                                             \
    X(info, "show the driver, the devices, and what is missing for streampool to work")            \
    X(replay, "replay recorded traces of allocations and measure them")                            \
    X(import, "make a trace from a snapshot of PyTorch's memory or from a log of RMM's")           \
    X(policies, "replay traces under every combination of the reuse policies and compare")         \
    X(plot, "draw results that were written as JSON")                                              \
    X(run, "run a program so that streampool serves its calls of CUDA's pools")                    \
    X(options, "show the environment variables that the library reads")

#define SP_DECLARE_COMMAND(name, summary) int sp_command_##name(int argc, char **argv);
SP_COMMANDS(SP_DECLARE_COMMAND)
#undef SP_DECLARE_COMMAND

// The option --device, which every command that uses a device has.
#define SP_DEVICE_OPTION                                                                           \
    {                                                                                              \
        "device", 'd', "auto|gpu|sim", 0,                                                          \
            "The real driver or the simulated one (default: auto, the driver that "                \
            "STREAMPOOL_DRIVER names; if that isn't set, the real one if it has a usable device, " \
            "else the simulated one)",                                                             \
            0                                                                                      \
    }

// This parser has the option -h, which is --help. It is a child of a command's own parser, of many
// the only one.
extern const struct argp sp_help_argp;
extern const struct argp_child sp_help_children[];
#define SP_HELP_CHILD                                                                              \
    { &sp_help_argp, 0, NULL, 0 }

// Reads a number of an option from `least` to `most`; ends the program with a message when it is
// none.
uint64_t sp_number_of(const char *option, const char *text, uint64_t least, uint64_t most,
                      const struct argp_state *state);

// Takes the first setting off a list of --set, as STREAMPOOL_POOL has them; ends the program with a
// message when it is none.
struct sp_option_setting;
void sp_take_setting(const char **list, struct sp_option_setting *setting,
                     const struct argp_state *state);

// The exit status of a replay in which calls of an allocator failed.
enum { SP_EXIT_CALLS_FAILED = 4 };

#define SP_REPLAY_STATUSES                                                                         \
    "The exit status is 0 when everything was replayed and no call failed; 4 when calls failed, "  \
    "which the results count as errors; 3 when no device can be used, and the simulated driver "   \
    "wasn't asked for; else 1."

// Ends the program with a message when both are to be written to the same place. Null: to none.
void sp_check_outputs(const char *json, const char *plot, const struct argp_state *state);

// Reads its value; ends the program with a message when it is none of the three.
enum sp_device_choice sp_device_choice_of(const char *text, const struct argp_state *state);

#endif
