#include "tell/summary.h"

#include "base/cancel.h"
#include "base/options.h"
#include "region/device.h"
#include "region/figures.h"
#include "tell/gauge.h"
#include "tell/tell.h"

#include <inttypes.h>

// The figures of the public lists: the statistics in their order, and then the gauges.
static const struct entry {
    const char *name;
    enum poolMemPoolAttr attribute;
    const char *text;
} entries[] = {
#define ENTRY(name, number, text) {#name, poolMemPoolStat##name, text},
    STREAMPOOL_POOL_STATISTICS(ENTRY) STREAMPOOL_POOL_GAUGES(ENTRY)
#undef ENTRY
};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

// --------------------------------------------------------------------------------------- the words

// An amount in the largest unit of which there is one at least.
static struct sp_summary_words in_units(double amount, double step, const char *const *units,
                                        size_t count) {
    struct sp_summary_words words;
    size_t unit = 0;
    while (amount >= step && unit < count - 1) {
        amount /= step;
        unit++;
    }
    snprintf(words.text, sizeof words.text, unit == 0 ? "%.0f %s" : "%.2f %s", amount, units[unit]);
    return words;
}

struct sp_summary_words sp_summary_bytes(uint64_t number) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    return in_units((double)number, 1024, units, sizeof units / sizeof units[0]);
}

static struct sp_summary_words nanoseconds(uint64_t number) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    return in_units((double)number, 1000, units, sizeof units / sizeof units[0]);
}

static void print_entry(FILE *out, const struct entry *entry, uint64_t figure) {
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
        print_entry(out, &entries[i], told->statistics[i]);
}

static void print_gauges(FILE *out, struct sp_pool *pool) {
    for (size_t i = SP_TELL_STATISTICS; i < ENTRIES; i++) {
        uint64_t figure = 0;
        sp_gauge_read(pool, entries[i].attribute, &figure);
        print_entry(out, &entries[i], figure);
    }
}

// --------------------------------------------------------------------------------------- the pools

bool sp_summary_print(struct sp_pool *pool, FILE *out) {
    SP_UNCANCELLED;
    struct sp_tell_pool told = sp_tell_read(pool);
    fprintf(out, "%s %p of device %d\n", told.kind == SP_TELL_DEFAULT ? "default pool" : "pool",
            (void *)sp_load_relaxed(&pool->handle), told.device);
    fprintf(out, "  reserved: %s now, %s at most\n",
            sp_summary_bytes(sp_load_relaxed(&pool->reserved)).text,
            sp_summary_bytes(told.reserved_high).text);
    fprintf(out, "  used: %s now, %s at most\n", sp_summary_bytes(sp_figures_used(pool)).text,
            sp_summary_bytes(told.used_high).text);
    print_statistics(out, &told);
    print_gauges(out, pool);
    return fflush(out) == 0 && !ferror(out);
}

static struct sp_lock lock; // guards `destroyed`
static struct sp_tell_pool destroyed;

void sp_summary_note_destroyed(struct sp_pool *pool) {
    if (!sp_options()->stats)
        return;
    struct sp_tell_pool told = sp_tell_read(pool);
    sp_lock_acquire(&lock);
    sp_tell_add(&destroyed, &told);
    sp_lock_release(&lock);
}

void sp_summary_print_destroyed(FILE *out) {
    sp_lock_acquire(&lock);
    if (destroyed.count > 0) {
        fprintf(out, "%" PRIu64 " destroyed pools, when they were destroyed\n", destroyed.count);
        fprintf(out, "  reserved: %s at most in one of them\n",
                sp_summary_bytes(destroyed.reserved_high).text);
        fprintf(out, "  used: %s at most in one of them\n",
                sp_summary_bytes(destroyed.used_high).text);
        print_statistics(out, &destroyed);
    }
    sp_lock_release(&lock);
}
