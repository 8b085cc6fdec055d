#include "cli/program/origin.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char digits[] = "0123456789";

// A version is a word of numbers with points between them.
static bool is_version(const char *word, size_t length) {
    size_t whole = strspn(word, digits);
    return whole > 0 && whole < length && word[whole] == '.' &&
           strspn(word, "0123456789.") >= length && strchr(digits, word[length - 1]);
}

// The words of the line differ from driver to driver, and behind them stand the version and the
// date of its build.
bool sp_origin_find_version(const char *text, char version[SP_ORIGIN_TEXT]) {
    const char *line = strstr(text, "NVRM version:");
    const char *end = line ? line + strcspn(line, "\n") : NULL;
    for (const char *word = line; word && word < end; word += strspn(word, " \t")) {
        size_t length = strcspn(word, " \t\n");
        if (length < SP_ORIGIN_TEXT && is_version(word, length)) {
            snprintf(version, SP_ORIGIN_TEXT, "%.*s", (int)length, word);
            return true;
        }
        word += length;
    }
    return false;
}

static void read_driver_version(char version[SP_ORIGIN_TEXT]) {
    char text[1024];
    snprintf(version, SP_ORIGIN_TEXT, "unknown");
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (!file)
        return;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    sp_origin_find_version(text, version);
}

struct sp_origin sp_origin_of(const struct sp_device *device) {
    struct sp_origin origin = {.driver_version = "simulated", .streampool = SP_PROGRAM_VERSION};
    char version[SP_VERSION_TEXT];
    time_t now = time(NULL);
    struct tm today = {0};
    if (!sp_device_is_simulated(device->driver))
        read_driver_version(origin.driver_version);
    snprintf(origin.cuda_version, SP_ORIGIN_TEXT, "%s",
             sp_version_text(device->driver->version, version));
    gmtime_r(&now, &today);
    strftime(origin.date, SP_ORIGIN_TEXT, "%Y-%m-%d", &today);
    return origin;
}
