#include "base/log.h"

#include "base/atomic.h"
#include "base/number.h"
#include "base/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PREFIX "streampool: "

enum { LEVEL_UNKNOWN = -1 };

static _Atomic int chosen_level = LEVEL_UNKNOWN;

static void tell_of_options(void) {
    const char *name, *meant;
    for (size_t i = 0; i < sp_option_count; i++) {
        const struct sp_option_entry *entry = &sp_option_entries[i];
        const char *ignored = sp_options_ignored(i);
        if (ignored)
            sp_log_write("%s=%s is ignored: it takes %s (%s)", entry->environment, ignored,
                         sp_option_values[entry->kind], entry->help);
    }
    for (size_t i = 0; (name = sp_options_unknown(i, &meant)); i++)
        sp_log_write(meant ? "%s is not known; did you mean %s?"
                           : "%s is not known (the command streampool options has a list)",
                     name, meant);
}

// Reads the level from the options. A person who misspelt it wants a log, so it is that of
// warnings, and the first line says so. What else is wrong with options is told at any level.
static int choose_level(void) {
    const char *text = sp_options()->log;
    int level = text ? LEVEL_UNKNOWN : SP_LOG_OFF;
#define SP_LOG_MATCH(its_level, name)                                                              \
    if (text && strcmp(text, name) == 0)                                                           \
        level = its_level;
    SP_LOG_LEVELS(SP_LOG_MATCH)
#undef SP_LOG_MATCH
    int published = LEVEL_UNKNOWN;
    int effective = level == LEVEL_UNKNOWN ? SP_LOG_WARN : level;
    bool first = atomic_compare_exchange_strong(&chosen_level, &published, effective);
    if (first && level == LEVEL_UNKNOWN)
        sp_log_write("STREAMPOOL_LOG=%s is not a level (error, warn, info, debug); using warn",
                     text);
    if (first)
        tell_of_options();
    return effective;
}

bool sp_log_enabled(enum sp_log_level level) {
    int chosen = sp_load_relaxed(&chosen_level);
    if (chosen == LEVEL_UNKNOWN)
        chosen = choose_level();
    return (int)level <= chosen;
}

void sp_log_write(const char *format, ...) {
    int saved_errno = errno;
    char line[SP_LOG_LINE] = PREFIX;
    size_t start = sizeof(PREFIX) - 1;
    size_t room = sizeof(line) - start - 1; // the newline takes the place of the null at the end

    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(line + start, room + 1, format, arguments);
    va_end(arguments);
    if (written >= 0) {
        size_t length = start + sp_min((size_t)written, room);
        line[length] = '\n';
        // By the system call itself, in which no thread is cancelled: this one may hold a lock.
        // When standard error is closed there is nowhere to report that.
        syscall(SYS_write, STDERR_FILENO, line, length + 1);
    }
    errno = saved_errno;
}
