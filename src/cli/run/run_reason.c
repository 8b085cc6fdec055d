#include "cli/run/run.h"

#include "dropin/format.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <streampool/streampool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ----------------------------------------------------------------------------------- the verdict

#define OURS(name)
#define OTHER(name)
#define CUDAS(name) +sp_run_count(end, "counts", #name)
uint64_t sp_run_cudas(const cJSON *end) {
#define ADD(name, group, what) group(name)
    return 0 SP_REPORT_COUNTS(ADD);
#undef ADD
}

static const char *say(char why[SP_RUN_REASON], const char *word, const char *text) {
    snprintf(why, SP_RUN_REASON, "%s", text);
    return word;
}

// Allocations that were left to a default pool of the driver's account for what it had. Those of
// captures are a graph's.
const char *sp_run_verdict(const struct sp_run_process *process, char why[SP_RUN_REASON]) {
    const cJSON *end = process->end, *devices = sp_run_list(end, "cuda"), *device;
    uint64_t ours = sp_run_count(end, "counts", "allocations"), cudas = sp_run_cudas(end);
    uint64_t left = sp_run_count(end, "counts", "cuda_unserved") +
                    sp_run_count(end, "counts", "cuda_unsupported");
    bool default_pool_had_some = false;
    cJSON_ArrayForEach(device, devices) {
        default_pool_had_some = default_pool_had_some || sp_run_number(device, "used_high") > 0;
    }
    if (!end)
        return say(why, "unknown", "it ended without a report");
    if (strcmp(sp_run_text(end, "started"), "refused") == 0) {
        snprintf(why, SP_RUN_REASON, "streampool couldn't start: %s",
                 poolGetErrorName((poolError_t)sp_run_number(end, "error")));
        return "no";
    }
    if (default_pool_had_some && left == 0)
        return say(why, "partly",
                   "CUDA's default pool had allocations that the drop-in didn't see");
    if (ours == 0 && cudas > 0)
        return say(why, "no", "all allocations stayed with CUDA's pools");
    return say(why, "yes",
               ours == 0 ? "there was no allocation to serve"
               : cJSON_GetArraySize(devices) == 0
                   ? "but the figures of CUDA's default pool can't be read"
               : cudas > 0 ? "but for the allocations that stay with CUDA's pools"
                           : "CUDA's default pool had nothing");
}

// ------------------------------------------------------------------------------ the program's file

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

static bool says_why_not_loaded(const char *program, char text[SP_RUN_REASON]) {
    int file = open_program(program);
    const char *why = why_not_loaded(file);
    if (file >= 0)
        close(file);
    if (why)
        snprintf(text, SP_RUN_REASON, "the drop-in was not loaded into %s: %s", program, why);
    return why;
}

// ------------------------------------------------------------------------------- what was reported

// Returns whether the machine has no driver, and says so. The variable names one for the library
// that stands in front of the driver.
static bool says_no_driver(const struct sp_run_request *request, char text[SP_RUN_REASON]) {
    const char *named = getenv("STREAMPOOL_DRIVER");
    if (request->sim || (request->mode == SP_RUN_LIBRARY && named && *named))
        return false;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!driver)
        snprintf(text, SP_RUN_REASON,
                 "there is no CUDA driver on this machine (%s); `streampool run --sim` takes a "
                 "simulated one",
                 dlerror());
    else
        dlclose(driver);
    return !driver;
}

static const char *why_nothing(const struct sp_run_request *request, bool is_loaded, bool has_end,
                               bool has_driver) {
    if (!is_loaded && request->mode == SP_RUN_LIBRARY)
        return "no process loaded libcuda.so.1 by that name from LD_LIBRARY_PATH: it doesn't use "
               "CUDA, has a path of its own to the driver, or changes the variable";
    if (!is_loaded)
        return "the drop-in was not loaded into any process: the program was started with another "
               "environment, or isn't linked with glibc";
    if (!has_end)
        return "no call of CUDA's pools was made, and no process told of its look-ups: each was "
               "killed, ended "
               "by _exit(), or started another program with another environment";
    if (has_driver)
        return "a driver was loaded, but no look-up of its functions was seen: a library that is "
               "loaded with RTLD_DEEPBIND or by dlmopen() reaches it directly";
    return "no process loaded libcuda.so.1 and none looked up a function of it: the program "
           "doesn't use CUDA, or has a copy of its own";
}

void sp_run_reason(const struct sp_run_request *request, const struct sp_run_reports *reports,
                   char text[SP_RUN_REASON]) {
    uint64_t lookups = 0, linked = 0;
    bool has_driver = false, has_end = false;
    for (size_t i = 0; i < reports->count; i++) {
        const cJSON *end = reports->list[i].end;
        struct sp_run_lookups one = sp_run_lookups(end);
        lookups += one.lookups;
        linked += one.linked;
        has_driver = has_driver || *sp_run_text(end, "driver");
        has_end = has_end || end;
    }
    if (reports->count == 0 && says_why_not_loaded(request->program[0], text))
        return;
    if (!has_driver && says_no_driver(request, text))
        return;
    if (lookups + linked > 0)
        snprintf(text, SP_RUN_REASON,
                 "no call of CUDA's pools was made; there were %" PRIu64
                 " look-ups of the driver's functions",
                 lookups);
    else
        strcpy(text, why_nothing(request, reports->count > 0, has_end, has_driver));
}
