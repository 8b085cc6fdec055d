#include "about.h"

#include <stdbool.h>
#include <stdio.h>
#include <streampool/lists.h>
#include <string.h>

#define TEXT(value)    #value
#define TEXT_OF(macro) TEXT(macro)

const char about_library[] = TEXT_OF(STREAMPOOL_VERSION_MAJOR) "." TEXT_OF(
    STREAMPOOL_VERSION_MINOR) "." TEXT_OF(STREAMPOOL_VERSION_PATCH);
const char about_build[] = STREAMPOOL_BUILD; // by CMake

static const struct attribute {
    const char *name;
    enum poolMemPoolAttr number;
    size_t size;
} attributes[] = {
#define ATTRIBUTE(name, number, type) {#name, name, sizeof(type)},
    STREAMPOOL_POOL_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
};

// The others are figures, or what the pool was made with.
static bool is_setting(const struct attribute *attribute) {
    return attribute->number <= poolMemPoolAttrReleaseThreshold ||
           attribute->number >= poolMemPoolAttrUnfencedBytesMax;
}

static const char *without_prefix(const char *name) {
    static const char *const prefixes[] = {"poolMemPoolAttr", "poolMemPool"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return name + strlen(prefixes[i]);
    return name;
}

static poolError_t read(poolMemPool_t pool, const struct attribute *attribute, uint64_t *value) {
    int small = 0;
    bool is_small = attribute->size == sizeof small;
    poolError_t error =
        poolMemPoolGetAttribute(pool, attribute->number, is_small ? (void *)&small : (void *)value);
    if (is_small)
        *value = (uint64_t)small;
    return error;
}

static poolError_t list(poolMemPool_t pool, char text[ABOUT_TEXT]) {
    size_t length = 0;
    poolError_t error = poolSuccess;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0] && error == poolSuccess; i++) {
        uint64_t value = 0;
        if (!is_setting(&attributes[i]) || length >= ABOUT_TEXT)
            continue;
        error = read(pool, &attributes[i], &value);
        length +=
            (size_t)snprintf(text + length, ABOUT_TEXT - length, "%s%s %llu", length ? ", " : "",
                             without_prefix(attributes[i].name), (unsigned long long)value);
    }
    return error;
}

int about_defaults(char text[ABOUT_TEXT]) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, 0}};
    poolMemPool_t pool;
    poolError_t error = poolMemPoolCreate(&pool, &props);
    if (error != poolSuccess)
        return (int)error;
    error = list(pool, text);
    poolError_t destroyed = poolMemPoolDestroy(pool);
    return (int)(error != poolSuccess ? error : destroyed);
}
