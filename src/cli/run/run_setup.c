#include "cli/run/run.h"

#include "cli/program/complain.h"
#include "cli/program/device.h"
#include "cli/program/output.h"
#include "dropin/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ------------------------------------------------------------------------- where the libraries are

// Paths are relative to the folder of the libraries: installed, and in the build folder.
static const struct place {
    const char *variable;
    const char *separators;     // of the variable, which has no way to quote them
    const char *first, *second; // where the library lies
    bool is_folder;             // the variable has the folder of the library
} places[] = {
    [SP_RUN_PRELOAD] = {"LD_PRELOAD", ": ", "libstreampool_dropin.so", "libstreampool_dropin.so",
                        false},
    [SP_RUN_LIBRARY] = {"LD_LIBRARY_PATH", ":;", "streampool/dropin/libcuda.so.1",
                        "dropin/libcuda.so.1", true},
};

// ----------------------------------------------------------------------------------- the variables

static bool set(const char *variable, const char *value) {
    return setenv(variable, value, 1) == 0 ||
           sp_complain("can't set %s: %s", variable, strerror(errno));
}

// Sets a variable to two texts, of which one may be null or "".
static bool join(const char *variable, const char *first, const char *separator,
                 const char *second) {
    char *joined = NULL;
    bool both = first && *first && second && *second;
    if (asprintf(&joined, "%s%s%s", first ? first : "", both ? separator : "",
                 second ? second : "") < 0)
        return sp_complain("out of host memory");
    bool good = set(variable, joined);
    free(joined);
    return good;
}

// Puts a path in front of a variable's others.
static bool add_path(const char *variable, const char *separators, const char *path) {
    if (strpbrk(path, separators))
        return sp_complain("%s: %s can't have a path with a blank, a colon or a semicolon", path,
                           variable);
    return join(variable, path, ":", getenv(variable));
}

// The path has no links, so that a program which is run with it can change to another folder.
static bool set_library(enum sp_run_mode mode) {
    const struct place *place = &places[mode];
    char first[PATH_MAX], second[PATH_MAX], path[PATH_MAX];
    if (!sp_installed_path(place->first, first) || !sp_installed_path(place->second, second))
        return false;
    if (!realpath(first, path) && !realpath(second, path))
        return sp_complain("%s: %s: the drop-in is not built, or not installed", first,
                           strerror(errno));
    if (place->is_folder)
        *strrchr(path, '/') = '\0';
    return add_path(place->variable, place->separators, path);
}

// The folder's names lead to the file by whose path the library loads it, so that a copy of the
// library in the program takes the same one.
static bool set_simulated(void) {
    char name[PATH_MAX], driver[PATH_MAX], folder[PATH_MAX];
    if (!sp_installed_path("streampool/sim/libcuda.so.1", name))
        return false;
    bool is_there = realpath(name, driver);
    if (is_there)
        *strrchr(name, '/') = '\0';
    if (!is_there || !realpath(name, folder))
        return sp_complain("%s: %s: the simulated driver is not built, or not installed", name,
                           strerror(errno));
    return add_path("LD_LIBRARY_PATH", ":;", folder) && set("STREAMPOOL_DRIVER", driver);
}

// --------------------------------------------------------------------------------------- the trace

// Splits a file's name where the process's number goes: before ".csv", ".csv.gz" and the like.
static size_t stem_length(const char *file) {
    size_t length = strlen(file);
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    if (length > 3 && strcmp(file + length - 3, ".gz") == 0)
        length -= 3;
    for (const char *dot = file + length - 1; dot > name; dot--) {
        if (*dot == '.')
            return (size_t)(dot - file);
    }
    return length;
}

// The file in an absolute folder: the program may change to another one.
static bool absolute(const char *file, char path[PATH_MAX]) {
    char folder[PATH_MAX] = "";
    if (file[0] != '/' && !getcwd(folder, sizeof folder))
        return false;
    return snprintf(path, PATH_MAX, "%s%s%s", folder, *folder ? "/" : "", file) < PATH_MAX;
}

// The absolute path of the trace of one process, which ends up in the file that was asked for when
// it is the only one. False when it is too long.
static bool path_of_trace(const char *record, const char *process, char path[PATH_MAX]) {
    char file[PATH_MAX];
    if (!absolute(record, file))
        return false;
    size_t stem = stem_length(file);
    return snprintf(path, PATH_MAX, "%.*s.%s%s", (int)stem, file, process, file + stem) < PATH_MAX;
}

// In the variable a percent sign is written twice.
static bool double_percents(const char *path, char doubled[PATH_MAX]) {
    size_t length = 0;
    for (; *path && length < PATH_MAX - 2; path++) {
        if (*path == '%')
            doubled[length++] = '%';
        doubled[length++] = *path;
    }
    doubled[length] = '\0';
    return *path == '\0';
}

// The trace is renamed to this file in the end, which would replace a device or a pipe.
static bool set_trace(const char *record) {
    char doubled[PATH_MAX], path[PATH_MAX];
    struct stat status;
    bool is_absolute = absolute(record, path), is_there = is_absolute && stat(path, &status) == 0;
    if (is_absolute)
        errno = is_there && S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    if (!is_absolute || (is_there && !S_ISREG(status.st_mode)) || !sp_place_try(path))
        return sp_complain("--record %s: %s", record, strerror(errno));
    if (!double_percents(record, doubled) || !path_of_trace(doubled, "%p", path))
        return sp_complain("--record %s: %s", record, strerror(ENAMETOOLONG));
    return set("STREAMPOOL_TRACE", path);
}

// --------------------------------------------------------------------------------- all of them

// The user's settings stay in front, so that ours hold.
static bool set_checks(const char *found, bool stacks) {
    char path[PATH_MAX];
    errno = ENAMETOOLONG;
    if (!join("STREAMPOOL_SIMCUDA", getenv("STREAMPOOL_SIMCUDA"), ",",
              stacks ? "reports=check,stacks=1" : "reports=check"))
        return false;
    return !found || (absolute(found, path) && sp_place_try(path)) ||
           sp_complain("--check=%s: %s", found, strerror(errno));
}

// The drop-in's folder is in front of the simulated driver's.
bool sp_run_setup(const struct sp_run_request *request, const char *report) {
    return (!request->sim || set_simulated()) &&
           (!request->check || set_checks(request->found, request->stacks)) &&
           set_library(request->mode) && set(SP_REPORT_VARIABLE, report) &&
           (!request->settings ||
            join("STREAMPOOL_POOL", getenv("STREAMPOOL_POOL"), ",", request->settings)) &&
           (!request->record || set_trace(request->record));
}

// ------------------------------------------------------------------- the traces, behind the run

// Adds the trace of a process, if there is one. Numbers of processes come again.
static bool add(cJSON *paths, const char *record, pid_t id) {
    char number[32], path[PATH_MAX];
    const cJSON *one;
    snprintf(number, sizeof number, "%ld", (long)id);
    if (!path_of_trace(record, number, path) || access(path, F_OK) != 0)
        return true;
    cJSON_ArrayForEach(one, paths) {
        if (strcmp(one->valuestring, path) == 0)
            return true;
    }
    return cJSON_AddItemToArray(paths, cJSON_CreateString(path));
}

bool sp_run_find_traces(cJSON *paths, const char *record, const struct sp_run_reports *reports) {
    bool good = paths;
    for (size_t i = 0; good && record && i < reports->count; i++)
        good = add(paths, record, reports->list[i].id);
    if (good && cJSON_GetArraySize(paths) == 1) {
        const char *only = paths->child->valuestring;
        if (rename(only, record) != 0)
            return sp_complain("%s can't be renamed to %s: %s", only, record, strerror(errno));
        good = cJSON_ReplaceItemInArray(paths, 0, cJSON_CreateString(record));
    }
    return good || sp_complain("out of host memory");
}
