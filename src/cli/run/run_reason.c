#include "cli/run/run_reason.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---------------------------------------------------------------------------------- the program's
// file

// Finds it as execvp() does. -1 where it isn't found.
static int open_program(const char *name) {
    const char *search = getenv("PATH");
    char path[PATH_MAX];
    if (strchr(name, '/'))
        return open(name, O_RDONLY | O_CLOEXEC);
    while (search && *search) {
        size_t length = strcspn(search, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)length, search, name);
        if (access(path, X_OK) == 0)
            return open(path, O_RDONLY | O_CLOEXEC);
        search += length + (search[length] == ':');
    }
    return -1;
}

static bool has_interpreter(int file, const Elf64_Ehdr *header) {
    for (int i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr part;
        off_t place = (off_t)(header->e_phoff + (uint64_t)i * sizeof part);
        if (pread(file, &part, sizeof part, place) != (ssize_t)sizeof part)
            return true; // a file that can't be judged
        if (part.p_type == PT_INTERP)
            return true;
    }
    return false;
}

// Returns why the dynamic linker doesn't load the drop-in into a program of this file; null where
// nothing of the kind is seen.
static const char *why_not_loaded(int file) {
    Elf64_Ehdr header;
    struct stat status;
    if (file < 0)
        return NULL;
    if (fstat(file, &status) == 0 && status.st_mode & (S_ISUID | S_ISGID))
        return "it has raised privileges (set-uid, set-gid)";
    if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
        return "it isn't a program for x86-64";
    return has_interpreter(file, &header) ? NULL : "it is linked statically, with libc";
}

static bool says_why_not_loaded(const struct sp_run_request *request,
                                char text[SP_RUN_REASON_TEXT]) {
    int file = open_program(request->program[0]);
    const char *why = why_not_loaded(file);
    if (file >= 0)
        close(file);
    if (why)
        snprintf(text, SP_RUN_REASON_TEXT, "the drop-in was not loaded into %s: %s",
                 request->program[0], why);
    return why;
}

static void say_not_loaded(const struct sp_run_request *request, char text[SP_RUN_REASON_TEXT]) {
    if (request->mode == SP_RUN_LIBRARY)
        snprintf(text, SP_RUN_REASON_TEXT,
                 "no process loaded libcuda.so.1 by that name from LD_LIBRARY_PATH: it doesn't use "
                 "CUDA, has a path of its own to the driver, or changes the variable");
    else
        snprintf(text, SP_RUN_REASON_TEXT,
                 "the drop-in was not loaded into any process: the program was started with "
                 "another environment, or isn't linked with glibc");
}

// ---------------------------------------------------------------------------------- what was
// reported

static struct sp_run_lookups all_lookups(const struct sp_run_reports *reports) {
    struct sp_run_lookups all = {0, 0, 0};
    for (size_t i = 0; i < reports->count; i++) {
        struct sp_run_lookups one = sp_run_reports_lookups(reports->list[i].end);
        all.lookups += one.lookups;
        all.ours += one.ours;
        all.linked += one.linked;
    }
    return all;
}

static bool any_driver(const struct sp_run_reports *reports) {
    for (size_t i = 0; i < reports->count; i++)
        if (*sp_run_reports_text(reports->list[i].end, "driver"))
            return true;
    return false;
}

static bool all_ended_without_report(const struct sp_run_reports *reports) {
    for (size_t i = 0; i < reports->count; i++)
        if (reports->list[i].end)
            return false;
    return true;
}

// Returns whether the machine has no driver, and says so. The variable names one for the library
// that stands in front of the driver.
static bool says_no_driver(const struct sp_run_request *request, char text[SP_RUN_REASON_TEXT]) {
    const char *named = getenv("STREAMPOOL_DRIVER");
    if (request->mode == SP_RUN_LIBRARY && named && *named)
        return false;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!driver)
        snprintf(text, SP_RUN_REASON_TEXT, "there is no CUDA driver on this machine (%s)",
                 dlerror());
    else
        dlclose(driver);
    return !driver;
}

void sp_run_reason(const struct sp_run_request *request, const struct sp_run_reports *reports,
                   char text[SP_RUN_REASON_TEXT]) {
    struct sp_run_lookups all = all_lookups(reports);
    if (reports->count == 0 && says_why_not_loaded(request, text))
        return;
    if (!any_driver(reports) && says_no_driver(request, text))
        return;
    if (reports->count == 0)
        say_not_loaded(request, text);
    else if (all.lookups + all.linked > 0)
        snprintf(text, SP_RUN_REASON_TEXT,
                 "no pool call was made; there were %" PRIu64 " look-ups of the driver's functions",
                 all.lookups);
    else if (all_ended_without_report(reports))
        snprintf(text, SP_RUN_REASON_TEXT,
                 "no pool call was made, and no process told of its look-ups: each was killed, "
                 "ended by _exit(), or started another program with another environment");
    else if (any_driver(reports))
        snprintf(text, SP_RUN_REASON_TEXT,
                 "a driver was loaded, but no look-up of its functions was seen: a library that is "
                 "loaded with RTLD_DEEPBIND or by dlmopen() reaches it directly");
    else
        snprintf(text, SP_RUN_REASON_TEXT,
                 "no process loaded libcuda.so.1 and none looked up a function of it: the program "
                 "doesn't use CUDA, or has a copy of its own");
}
