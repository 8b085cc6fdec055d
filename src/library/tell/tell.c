#include "tell/tell.h"

#include "base/number.h"
#include "base/options.h"
#include "base/thread.h"
#include "region/device.h"
#include "region/figures.h"
#include "tell/pinning.h"
#include "tell/statistic.h"

#include <inttypes.h>

static _Atomic bool keeps_destroyed;
static struct sp_lock lock; // guards `destroyed`
static struct sp_tell_pool destroyed = {.kind = SP_TELL_DESTROYED, .device = -1};

// Four gauges come of one look, which may be long.
static bool is_of_pinning(size_t figure) {
    return figure == SP_TELL_PinnedBytes ||
           (figure >= SP_TELL_PinningBlocks && figure <= SP_TELL_LargestPinning);
}

static void read_pinning(struct sp_pool *pool, uint64_t figures[SP_TELL_FIGURES]) {
    sp_lock_acquire(&pool->map_lock);
    sp_lock_acquire(&pool->lock);
    const struct sp_pinning pinning = sp_pinning_look(pool);
    sp_lock_release(&pool->lock);
    sp_lock_release(&pool->map_lock);
    figures[SP_TELL_PinnedBytes] = pinning.pinned;
    figures[SP_TELL_PinningBlocks] = pinning.blocks;
    figures[SP_TELL_PinningBytes] = pinning.bytes;
    figures[SP_TELL_LargestPinning] = pinning.largest;
}

static struct sp_tell_pool read_pool(struct sp_pool *pool, enum sp_tell_depth depth) {
    struct sp_tell_pool told = {
        .kind = pool == pool->device->default_pool ? SP_TELL_DEFAULT : SP_TELL_OTHER,
        .name = sp_name_of(pool),
        .device = pool->device->vmm.ordinal,
        .count = 1,
        .used = sp_figures_used_whole(pool),
        .reserved = sp_figures_resident(pool),
        .reserved_high = sp_load_relaxed(&pool->reserved_high),
    };
    size_t count = depth == SP_TELL_COUNTS ? SP_TELL_STATISTICS : SP_TELL_FIGURES;
    sp_place_text(&pool->device->vmm.place, told.place.text);
    // The figure may be a bound that is above what several threads have used (region/figures.h).
    const struct sp_pool *overflow = sp_load_acquire(&pool->overflow);
    uint64_t of_host = overflow ? sp_load_relaxed(&overflow->reserved_high) : 0;
    told.used_high =
        sp_min(sp_figures_used_high_whole(pool), sp_max(told.reserved_high + of_host, told.used));
    for (size_t i = 0; i < count; i++)
        if (!is_of_pinning(i))
            sp_statistic_read(pool, sp_statistic_entries[i].attribute, &told.figures[i]);
    if (depth == SP_TELL_GAUGES)
        read_pinning(pool, told.figures);
    return told;
}

static bool was_used(const struct sp_tell_pool *told) {
    return told->reserved_high > 0 || told->figures[SP_TELL_Failures] > 0 ||
           told->figures[SP_TELL_ReuseHost] > 0;
}

void sp_tell_keep_destroyed(void) {
    sp_store_relaxed(&keeps_destroyed, true);
}

bool sp_tell_keeps_destroyed(void) {
    return sp_load_relaxed(&keeps_destroyed) || sp_options()->stats || sp_options()->stats_signal;
}

void sp_tell_note_destroyed(struct sp_pool *pool) {
    struct sp_tell_pool told = read_pool(pool, SP_TELL_COUNTS);
    if (!was_used(&told))
        return;
    sp_lock_acquire(&lock);
    destroyed.count++;
    sp_raise(&destroyed.used_high, told.used_high);
    sp_raise(&destroyed.reserved_high, told.reserved_high);
    for (size_t i = 0; i < SP_TELL_STATISTICS; i++)
        destroyed.figures[i] += told.figures[i];
    sp_lock_release(&lock);
}

// Whoever reads a pool takes its locks, and what the process's end has interrupted may hold them.
static bool can_be_read(struct sp_pool *pool) {
    if (!sp_lock_try_for(&pool->map_lock, SP_SECOND))
        return false;
    bool is_free = sp_lock_try_for(&pool->lock, SP_SECOND);
    if (is_free)
        sp_lock_release(&pool->lock);
    sp_lock_release(&pool->map_lock);
    return is_free;
}

bool sp_tell_visit(enum sp_tell_depth depth,
                   void (*visit)(const struct sp_tell_pool *pool, void *data), void *data) {
    struct sp_device *device = NULL;
    bool whole = true;
    while (whole && (device = sp_device_next(device))) {
        if (!sp_lock_try_for(&device->lock, SP_SECOND))
            return false;
        SP_LIST_FOR_EACH_OF(struct sp_pool, pool, listing.link, &device->pools) {
            if (sp_load_relaxed(&pool->destroyed) || sp_load_relaxed(&pool->overflow_of))
                continue;
            whole = can_be_read(pool);
            if (!whole)
                break;
            struct sp_tell_pool told = read_pool(pool, depth);
            if (was_used(&told))
                visit(&told, data);
        }
        sp_lock_release(&device->lock);
    }
    if (!whole || !sp_lock_try_for(&lock, SP_SECOND))
        return false;
    struct sp_tell_pool told = destroyed;
    sp_lock_release(&lock);
    snprintf(told.name.text, sizeof told.name.text, "%" PRIu64 " destroyed pool%s", told.count,
             told.count == 1 ? "" : "s");
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

// Times in the driver are told together.
static const struct {
    size_t figure;
    const char *words;
} times[] = {{SP_TELL_GrowthTime, "growth"},
             {SP_TELL_RemapTime, "remapping"},
             {SP_TELL_TrimTime, "trims"},
             {SP_TELL_ReaperTime, "the library's thread"}};
enum { TIMES = sizeof times / sizeof times[0] };

static bool is_time(size_t figure) {
    size_t i = 0;
    while (i < TIMES && times[i].figure != figure)
        i++;
    return i < TIMES;
}

static void print_times(FILE *out, const struct sp_tell_pool *told) {
    const char *before = "  driver time: ";
    for (size_t i = 0; i < TIMES; i++) {
        uint64_t time = told->figures[times[i].figure];
        if (time == 0)
            continue;
        fprintf(out, "%s%s %s", before, times[i].words, nanoseconds(time).text);
        before = ", ";
    }
    if (*before == ',')
        fputc('\n', out);
}

static void print_peaks(FILE *out, const struct sp_tell_pool *told) {
    struct sp_tell_words reserved = sp_tell_bytes(told->reserved_high);
    struct sp_tell_words used = sp_tell_bytes(told->used_high);
    if (told->kind == SP_TELL_DESTROYED)
        fprintf(out, "  reserved: %s at most in one of them\n  used: %s at most in one of them\n",
                reserved.text, used.text);
    else
        fprintf(out, "  reserved: %s now, %s at most\n  used: %s now, %s at most\n",
                sp_tell_bytes(told->reserved).text, reserved.text, sp_tell_bytes(told->used).text,
                used.text);
}

// The time in the driver is told in units, and so not once more in nanoseconds.
void sp_tell_print_visited(const struct sp_tell_pool *told, FILE *out) {
    fprintf(out, "%s%s", told->name.text,
            told->kind == SP_TELL_DESTROYED ? ", when they were destroyed" : "");
    if (told->kind == SP_TELL_OTHER)
        fprintf(out, " of %s", told->place.text);
    fputc('\n', out);
    print_peaks(out, told);
    print_times(out, told);
    for (size_t i = 0; i < SP_TELL_FIGURES; i++)
        if (told->figures[i] != 0 && !is_time(i))
            fprintf(out, "  %20" PRIu64 "  %s: %s\n", told->figures[i],
                    sp_statistic_entries[i].name, sp_statistic_entries[i].text);
}

bool sp_tell_print(struct sp_pool *pool, FILE *out) {
    SP_UNCANCELLED;
    struct sp_tell_pool told = read_pool(pool, SP_TELL_GAUGES);
    sp_tell_print_visited(&told, out);
    return fflush(out) == 0 && !ferror(out);
}
