#include "tell/tell.h"

#include "base/number.h"
#include "base/options.h"
#include "base/thread.h"
#include "region/device.h"
#include "region/figures.h"
#include "tell/statistic.h"

#include <inttypes.h>

static _Atomic bool keeps_destroyed;
static struct sp_lock lock;              // guards `destroyed`
static struct sp_tell_pool destroyed[2]; // those that never had memory, and the others

struct sp_tell_pool sp_tell_read(struct sp_pool *pool) {
    struct sp_tell_pool told = {
        .kind = pool == pool->device->default_pool ? SP_TELL_DEFAULT : SP_TELL_OTHER,
        .device = pool->device->vmm.ordinal,
        .count = 1,
        .used_high = sp_load_relaxed(&pool->figures.used_high),
        .reserved_high = sp_load_relaxed(&pool->reserved_high),
    };
    for (size_t i = 0; i < SP_TELL_STATISTICS; i++)
        sp_statistic_read(pool, sp_statistic_entries[i].attribute, &told.statistics[i]);
    return told;
}

void sp_tell_add(struct sp_tell_pool *sum, const struct sp_tell_pool *pool) {
    sum->count += pool->count;
    sp_raise(&sum->used_high, pool->used_high);
    sp_raise(&sum->reserved_high, pool->reserved_high);
    for (size_t i = 0; i < SP_TELL_STATISTICS; i++)
        sum->statistics[i] += pool->statistics[i];
}

void sp_tell_keep_destroyed(void) {
    sp_store_relaxed(&keeps_destroyed, true);
}

bool sp_tell_keeps_destroyed(void) {
    return sp_load_relaxed(&keeps_destroyed) || sp_options()->stats;
}

void sp_tell_note_destroyed(struct sp_pool *pool) {
    struct sp_tell_pool told = sp_tell_read(pool);
    sp_lock_acquire(&lock);
    sp_tell_add(&destroyed[told.reserved_high > 0], &told);
    sp_lock_release(&lock);
}

bool sp_tell_visit(void (*visit)(const struct sp_tell_pool *pool, void *data), void *data) {
    struct sp_device *device = NULL;
    bool whole = true;
    while (whole && (device = sp_device_next(device))) {
        if (!sp_lock_try_for(&device->lock, SP_SECOND))
            return false;
        SP_LIST_FOR_EACH_OF(struct sp_pool, pool, listing.link, &device->pools) {
            if (sp_load_relaxed(&pool->destroyed) || sp_load_relaxed(&pool->reserved_high) == 0)
                continue;
            whole = sp_lock_try_for(&pool->lock, SP_SECOND); // reading takes it
            if (!whole)
                break;
            sp_lock_release(&pool->lock);
            struct sp_tell_pool told = sp_tell_read(pool);
            visit(&told, data);
        }
        sp_lock_release(&device->lock);
    }
    if (!whole || !sp_lock_try_for(&lock, SP_SECOND))
        return false;
    struct sp_tell_pool told = destroyed[1];
    sp_lock_release(&lock);
    told.kind = SP_TELL_DESTROYED;
    told.device = -1;
    if (told.count > 0)
        visit(&told, data);
    return true;
}

static struct sp_tell_words in_units(double amount, double step, const char *const *units,
                                     size_t count) {
    struct sp_tell_words words;
    size_t unit = 0;
    while (amount >= step && unit < count - 1) {
        amount /= step;
        unit++;
    }
    snprintf(words.text, sizeof words.text, unit == 0 ? "%.0f %s" : "%.2f %s", amount, units[unit]);
    return words;
}

struct sp_tell_words sp_tell_bytes(uint64_t number) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    return in_units((double)number, 1024, units, sizeof units / sizeof units[0]);
}

static struct sp_tell_words nanoseconds(uint64_t number) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    return in_units((double)number, 1000, units, sizeof units / sizeof units[0]);
}

static void print_figure(FILE *out, size_t index, uint64_t figure) {
    const struct sp_statistic_entry *entry = &sp_statistic_entries[index];
    if (figure != 0)
        fprintf(out, "  %20" PRIu64 "  %s: %s\n", figure, entry->name, entry->text);
}

static void print_statistics(FILE *out, const struct sp_tell_pool *told) {
    fprintf(out, "  driver time: growth %s, remapping %s, trims %s, the library's thread %s\n",
            nanoseconds(told->statistics[SP_TELL_GrowthTime]).text,
            nanoseconds(told->statistics[SP_TELL_RemapTime]).text,
            nanoseconds(told->statistics[SP_TELL_TrimTime]).text,
            nanoseconds(told->statistics[SP_TELL_ReaperTime]).text);
    for (size_t i = 0; i < SP_TELL_STATISTICS; i++)
        print_figure(out, i, told->statistics[i]);
}

bool sp_tell_print(struct sp_pool *pool, FILE *out) {
    SP_UNCANCELLED;
    struct sp_tell_pool told = sp_tell_read(pool);
    fprintf(out, "%s %p of device %d\n", told.kind == SP_TELL_DEFAULT ? "default pool" : "pool",
            (void *)sp_load_relaxed(&pool->handle), told.device);
    fprintf(out, "  reserved: %s now, %s at most\n",
            sp_tell_bytes(sp_load_relaxed(&pool->reserved)).text,
            sp_tell_bytes(told.reserved_high).text);
    fprintf(out, "  used: %s now, %s at most\n", sp_tell_bytes(sp_figures_used(pool)).text,
            sp_tell_bytes(told.used_high).text);
    print_statistics(out, &told);
    for (size_t i = SP_TELL_STATISTICS; sp_statistic_entries[i].name; i++) {
        uint64_t figure = 0;
        sp_statistic_read(pool, sp_statistic_entries[i].attribute, &figure);
        print_figure(out, i, figure);
    }
    return fflush(out) == 0 && !ferror(out);
}

void sp_tell_print_destroyed(FILE *out) {
    sp_lock_acquire(&lock);
    struct sp_tell_pool sum = destroyed[0];
    sp_tell_add(&sum, &destroyed[1]);
    sp_lock_release(&lock);
    if (sum.count == 0)
        return;
    fprintf(out, "%" PRIu64 " destroyed pools, when they were destroyed\n", sum.count);
    fprintf(out, "  reserved: %s at most in one of them\n", sp_tell_bytes(sum.reserved_high).text);
    fprintf(out, "  used: %s at most in one of them\n", sp_tell_bytes(sum.used_high).text);
    print_statistics(out, &sum);
}
