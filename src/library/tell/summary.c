#include "tell/summary.h"

#include "base/cancel.h"
#include "base/options.h"
#include "region/device.h"
#include "region/figures.h"
#include "tell/gauge.h"
#include "tell/statistic.h"

#include <inttypes.h>
#include <streampool/lists.h>

// ------------------------------------------------------------------------------------- the figures

// A figure of the public lists. Sums of several pools have no gauges.
static const struct row {
    const char *name;
    enum poolMemPoolAttr attribute;
    bool is_gauge;
    const char *text;
} rows[] = {
#define STATISTIC_ROW(name, number, text) {#name, poolMemPoolStat##name, false, text},
#define GAUGE_ROW(name, number, text)     {#name, poolMemPoolStat##name, true, text},
    STREAMPOOL_POOL_STATISTICS(STATISTIC_ROW) STREAMPOOL_POOL_GAUGES(GAUGE_ROW)
#undef STATISTIC_ROW
#undef GAUGE_ROW
};
enum { ROWS = sizeof rows / sizeof rows[0] };

struct figures {
    uint64_t reserved, reserved_high;
    uint64_t used, used_high;
    uint64_t rows[ROWS];
};

static void read_figures(struct sp_pool *pool, struct figures *figures) {
    figures->reserved = sp_load_relaxed(&pool->reserved);
    figures->reserved_high = sp_load_relaxed(&pool->reserved_high);
    figures->used = sp_figures_used(pool);
    figures->used_high = sp_load_relaxed(&pool->figures.used_high);
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].is_gauge)
            sp_gauge_read(pool, rows[i].attribute, &figures->rows[i]);
        else
            sp_statistic_read(pool, rows[i].attribute, &figures->rows[i]);
    }
}

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

static uint64_t figure(const struct figures *figures, enum poolMemPoolAttr attribute) {
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].attribute == attribute)
            return figures->rows[i];
    }
    return 0;
}

static void print_rows(const struct figures *figures, FILE *out) {
    for (size_t i = 0; i < ROWS; i++) {
        if (figures->rows[i] != 0)
            fprintf(out, "  %20" PRIu64 "  %s: %s\n", figures->rows[i], rows[i].name, rows[i].text);
    }
}

static void print_time(const struct figures *figures, FILE *out) {
    fprintf(out, "  driver time: growth %s, remapping %s, trims %s, the library's thread %s\n",
            nanoseconds(figure(figures, poolMemPoolStatGrowthTime)).text,
            nanoseconds(figure(figures, poolMemPoolStatRemapTime)).text,
            nanoseconds(figure(figures, poolMemPoolStatTrimTime)).text,
            nanoseconds(figure(figures, poolMemPoolStatReaperTime)).text);
}

static void print_figures(const struct figures *figures, FILE *out) {
    fprintf(out, "  reserved: %s now, %s at most\n", sp_summary_bytes(figures->reserved).text,
            sp_summary_bytes(figures->reserved_high).text);
    fprintf(out, "  used: %s now, %s at most\n", sp_summary_bytes(figures->used).text,
            sp_summary_bytes(figures->used_high).text);
    print_time(figures, out);
    print_rows(figures, out);
}

bool sp_summary_print(struct sp_pool *pool, FILE *out) {
    SP_UNCANCELLED;
    struct figures figures = {0};
    read_figures(pool, &figures);
    fprintf(out, "%s %p of device %d\n",
            pool == pool->device->default_pool ? "default pool" : "pool",
            (void *)sp_load_relaxed(&pool->handle), pool->device->vmm.ordinal);
    print_figures(&figures, out);
    return fflush(out) == 0 && !ferror(out);
}

// --------------------------------------------------------------------------------- destroyed pools

static struct sp_lock destroyed_lock; // guards the two below
static uint64_t destroyed_pools;
static struct figures destroyed;

static void keep_most(uint64_t *most, uint64_t number) {
    if (*most < number)
        *most = number;
}

void sp_summary_note_destroyed(struct sp_pool *pool) {
    struct figures figures = {0};
    if (!sp_options()->stats)
        return;
    read_figures(pool, &figures);
    sp_lock_acquire(&destroyed_lock);
    destroyed_pools++;
    keep_most(&destroyed.reserved_high, figures.reserved_high);
    keep_most(&destroyed.used_high, figures.used_high);
    for (size_t i = 0; i < ROWS; i++) {
        if (!rows[i].is_gauge)
            destroyed.rows[i] += figures.rows[i];
    }
    sp_lock_release(&destroyed_lock);
}

void sp_summary_print_destroyed(FILE *out) {
    sp_lock_acquire(&destroyed_lock);
    if (destroyed_pools > 0) {
        fprintf(out, "%" PRIu64 " destroyed pools, when they were destroyed\n", destroyed_pools);
        fprintf(out, "  reserved: %s at most in one of them\n",
                sp_summary_bytes(destroyed.reserved_high).text);
        fprintf(out, "  used: %s at most in one of them\n",
                sp_summary_bytes(destroyed.used_high).text);
        print_time(&destroyed, out);
        print_rows(&destroyed, out);
    }
    sp_lock_release(&destroyed_lock);
}
