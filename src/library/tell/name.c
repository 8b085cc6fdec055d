#include "tell/name.h"

#include "base/thread.h"
#include "region/device.h"

#include <stdio.h>
#include <string.h>

static struct sp_lock lock;   // guards what the program has called its pools
static _Atomic uint32_t made; // of pools that are no default pools

// The first pool of a device is its default pool, which has no number. Nor has an overflow: nothing
// is told of it by itself.
void sp_name_init(struct sp_pool *pool) {
    bool has_none = !pool->device->default_pool || pool == pool->device->default_pool ||
                    sp_load_relaxed(&pool->overflow_of);
    sp_store_relaxed(&pool->number, has_none ? 0 : sp_add_relaxed(&made, 1) + 1);
    sp_lock_acquire(&lock);
    pool->name[0] = '\0';
    sp_lock_release(&lock);
}

// A process may end in the handler of a signal, above a call that holds the lock.
struct sp_name sp_name_of(struct sp_pool *pool) {
    struct sp_name name = {""};
    uint32_t number = sp_load_relaxed(&pool->number);
    if (sp_lock_try_for(&lock, SP_SECOND)) {
        memcpy(name.text, pool->name, sizeof name.text);
        sp_lock_release(&lock);
    }
    if (*name.text == '\0' && number == 0) {
        char place[SP_PLACE_NAME];
        sp_place_text(&pool->device->vmm.place, place);
        snprintf(name.text, sizeof name.text, "default pool of %s", place);
    } else if (*name.text == '\0') {
        snprintf(name.text, sizeof name.text, "pool %u", (unsigned)number);
    }
    return name;
}

// Returns the length of the first character of a text in UTF-8, or 0 where it is none that can be
// printed on a line.
static size_t letter(const unsigned char *text) {
    static const uint32_t least[] = {0, ' ', 0xA0, 0x800, 0x10000}; // by length
    size_t length = *text < 0x80 ? 1 : *text < 0xE0 ? 2 : *text < 0xF0 ? 3 : 4;
    uint32_t code = length == 1 ? *text : *text & (0x7Fu >> length);
    if ((*text >= 0x80 && *text < 0xC2) || *text > 0xF4 || *text == 0x7F)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (text[i] & 0x3F);
    }
    bool is_surrogate = code >= 0xD800 && code < 0xE000;
    return code >= least[length] && code <= 0x10FFFF && !is_surrogate ? length : 0;
}

poolError_t sp_name_set(struct sp_pool *pool, const char *name) {
    size_t size = strnlen(name ? name : "", STREAMPOOL_NAME_BYTES);
    if (size == STREAMPOOL_NAME_BYTES)
        return sp_fail(poolErrorInvalidValue, "the name of a pool has at most %d bytes",
                       STREAMPOOL_NAME_BYTES - 1);
    for (size_t i = 0, length; i < size; i += length) {
        length = letter((const unsigned char *)name + i);
        if (length == 0)
            return sp_fail(poolErrorInvalidValue,
                           "byte %zu of the name is a control character or not UTF-8", i + 1);
    }
    sp_lock_acquire(&lock);
    memset(pool->name, 0, sizeof pool->name);
    if (size > 0)
        memcpy(pool->name, name, size);
    sp_lock_release(&lock);
    return poolSuccess;
}
