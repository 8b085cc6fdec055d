// Mistakes that --check finds: each process that uses the simulated driver writes a file into a
// folder that is made for that, and here they are put together.
#include "cli/run/run.h"

#include "cli/program/complain.h"
#include "cli/program/output.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sp_run_check_begin(const char *folder) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/", folder) >= (int)sizeof path ||
        setenv("STREAMPOOL_SIMCUDA_JSON", path, 1) != 0)
        return sp_complain("STREAMPOOL_SIMCUDA_JSON: %s", strerror(ENAMETOOLONG));
    return true;
}

static cJSON *read_file(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    cJSON *found = file && getdelim(&text, &room, '\0', file) > 0 ? cJSON_Parse(text) : NULL;
    if (file)
        fclose(file);
    free(text);
    return found;
}

static bool add_number(cJSON *object, const char *name, double number) {
    cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!item)
        return cJSON_AddNumberToObject(object, name, number);
    cJSON_SetNumberValue(item, item->valuedouble + number);
    return true;
}

// Adds what one process has found.
static bool add(cJSON *whole, cJSON *one, long process) {
    cJSON *counts = cJSON_GetObjectItemCaseSensitive(whole, "counts");
    cJSON *findings = cJSON_GetObjectItemCaseSensitive(whole, "findings");
    cJSON *from = cJSON_GetObjectItemCaseSensitive(one, "findings"), *finding;
    const cJSON *count;
    bool good = add_number(whole, "mistakes", (double)sp_run_number(one, "mistakes"));
    cJSON_ArrayForEach(count, sp_run_list(one, "counts")) {
        good = good && add_number(counts, count->string, count->valuedouble);
    }
    while (good && (finding = cJSON_DetachItemFromArray(from, 0)) != NULL)
        good = cJSON_AddNumberToObject(finding, "process", (double)process) &&
               cJSON_AddItemToArray(findings, finding);
    return good;
}

// Takes a file out of the folder. A process that was killed while it wrote leaves half of one.
static bool take(cJSON *whole, const char *folder, const char *name) {
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cJSON *one = read_file(path);
    bool good = !one || add(whole, one, strtol(name, NULL, 10));
    cJSON_Delete(one);
    unlink(path);
    return good;
}

static int is_file(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

// Takes all files out of the folder, and the folder away.
static bool gather(cJSON *whole, const char *folder) {
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_file, alphasort);
    bool good = count >= 0;
    for (int i = 0; i < count; i++) {
        good = take(whole, folder, entries[i]->d_name) && good;
        free(entries[i]);
    }
    free(entries);
    rmdir(folder);
    return good;
}

bool sp_run_check_end(const struct sp_run_request *request, const char *folder,
                      uint64_t *mistakes) {
    cJSON *whole = cJSON_CreateObject();
    bool good = cJSON_AddNumberToObject(whole, "mistakes", 0) &&
                cJSON_AddObjectToObject(whole, "counts") &&
                cJSON_AddArrayToObject(whole, "findings");
    good = gather(whole, folder) && good;
    char *text = good && request->found ? cJSON_Print(whole) : NULL;
    *mistakes = sp_run_number(whole, "mistakes");
    if (!good || (request->found && !text))
        good = sp_complain("out of host memory");
    else if (text)
        good = sp_output_write(request->found, text);
    cJSON_free(text);
    cJSON_Delete(whole);
    return good;
}
