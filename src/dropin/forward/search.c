#include "dropin/forward/search.h"
#include "dropin/forward/cache.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static bool visit_in(const char *folder, size_t length, const char *name,
                     bool (*visit)(const char *path)) {
    char path[PATH_MAX];
    if (length == 0) {
        folder = ".";
        length = 1;
    }
    if (length >= sizeof path)
        return false;
    int written = snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, name);
    return written > 0 && (size_t)written < sizeof path && visit(path);
}

static bool visit_folders(const char *folders, const char *name, bool (*visit)(const char *path)) {
    for (;;) {
        size_t length = strcspn(folders, ":;");
        if (visit_in(folders, length, name, visit))
            return true;
        if (folders[length] == 0)
            return false;
        folders += length + 1;
    }
}

bool sp_search_visit(const struct sp_search *search, const char *name,
                     bool (*visit)(const char *path)) {
    if (search->folders && *search->folders && visit_folders(search->folders, name, visit))
        return true;
    if (sp_cache_visit(search->cache, name, visit))
        return true;
    for (const char *const *folder = search->defaults; *folder; folder++) {
        if (visit_in(*folder, strlen(*folder), name, visit))
            return true;
    }
    return false;
}
