// Settings are what the command line sets of a pool: its limit, and its attributes by name.
#ifndef STREAMPOOL_CLI_SETTINGS_H
#define STREAMPOOL_CLI_SETTINGS_H

#include "cli/play/allocator.h"

#include <argp.h>

enum { SP_SETTINGS_MAX = 16 };

struct sp_setting {
    enum poolMemPoolAttr attribute;
    bool is_int; // its type is int, else uint64_t
    uint64_t value;
};

struct sp_settings {
    uint64_t limit; // 0: none
    struct sp_setting list[SP_SETTINGS_MAX];
    size_t count;
};

// The options --limit and --set, as a child of a command's own; its input is the settings.
extern const struct argp sp_settings_argp;

// Sets the attributes of the stage's pool, in the order of the command line. It does nothing where
// the allocator has no pool of the library. False, with the stage's reason, when the library
// refuses one.
bool sp_settings_apply(const struct sp_settings *settings, struct sp_stage *stage);

#endif
