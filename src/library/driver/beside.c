#include "driver/beside.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A line of the file is "BEGIN-END MODE OFFSET DEVICE NUMBER PATH".
static bool is_of_line(const void *address, const char *line) {
    char *rest;
    uintptr_t begin = strtoull(line, &rest, 16), end = strtoull(rest + (*rest == '-'), NULL, 16);
    return begin <= (uintptr_t)address && (uintptr_t)address < end;
}

static bool take_path(const char *line, char path[PATH_MAX]) {
    const char *begin = strchr(line, '/');
    size_t length = begin ? strcspn(begin, "\n") : 0;
    if (length == 0 || length >= PATH_MAX)
        return false;
    memcpy(path, begin, length);
    path[length] = '\0';
    return true;
}

// Finds the file that this code is in, by the kernel: it tells the path of the file itself, behind
// all links. The dynamic linker's may be relative to a folder that the program has left.
static bool find_file(char path[PATH_MAX]) {
    static const char here;
    char *line = NULL;
    size_t room = 0;
    bool found = false, is_it = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !is_it && getline(&line, &room, maps) > 0) {
        is_it = is_of_line(&here, line);
        found = is_it && take_path(line, path);
    }
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

bool sp_beside_path(const char *name, char path[PATH_MAX]) {
    char file[PATH_MAX];
    if (!find_file(file))
        return false;
    size_t folder = (size_t)(strrchr(file, '/') + 1 - file);
    if (folder + strlen(name) >= PATH_MAX)
        return false;
    memcpy(path, file, folder);
    strcpy(path + folder, name);
    return true;
}
