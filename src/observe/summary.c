#include "observe/summary.h"

#include "observe/file.h"
#include "observe/host.h"
#include "observe/json.h"
#include "observe/live.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static const struct sp_options *asked;
static const char *named;   // the file for JSON, or null: text is asked for, or nothing
static char path[PATH_MAX]; // the same in its folder

// The folder's name may have a percent sign, which stands for itself.
static bool add_folder(char to[PATH_MAX], size_t *length) {
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder))
        return false;
    for (const char *at = folder; *at && *length < PATH_MAX - 3; at++) {
        if (*at == '%')
            to[(*length)++] = '%';
        to[(*length)++] = *at;
    }
    to[(*length)++] = '/';
    return true;
}

void sp_summary_begin(const struct sp_options *options) {
    size_t length = 0;
    asked = options;
    named = asked->stats && strncmp(asked->stats, "json:", 5) == 0 ? asked->stats + 5 : NULL;
    if (named && *named != '/' && !add_folder(path, &length))
        length = 0;
    size_t room = sizeof path - length;
    if (named && (size_t)snprintf(path + length, room, "%s", named) >= room) {
        sp_host->log("%s can't be written: %s", named, strerror(ENAMETOOLONG));
        named = NULL;
    }
}

// ------------------------------------------------------------------------------------------- JSON

static void add_figures(struct sp_json *json, const char *key, const struct sp_tell_pool *told,
                        size_t from, size_t to) {
    static const char *const names[] = {
#define NAME(name, number, text) #name,
        STREAMPOOL_POOL_STATISTICS(NAME) STREAMPOOL_POOL_GAUGES(NAME)
#undef NAME
    };
    sp_json_open(json, key, '{');
    for (size_t i = from; i < to; i++)
        sp_json_number(json, names[i], told->figures[i]);
    sp_json_close(json, '}');
}

static void add_pool(const struct sp_tell_pool *told, void *to) {
    static const char *const kinds[] = {[SP_TELL_DEFAULT] = "default",
                                        [SP_TELL_OTHER] = "other",
                                        [SP_TELL_DESTROYED] = "destroyed"};
    struct sp_json *json = to;
    bool is_there = told->kind != SP_TELL_DESTROYED;
    sp_json_open(json, NULL, '{');
    sp_json_text(json, "name", told->name.text);
    sp_json_text(json, "kind", kinds[told->kind]);
    if (told->device >= 0)
        sp_json_number(json, "device", (uint64_t)told->device);
    if (is_there)
        sp_json_text(json, "place", told->place.text);
    sp_json_number(json, "count", told->count);
    if (is_there) {
        sp_json_number(json, "used_bytes", told->used);
        sp_json_number(json, "reserved_bytes", told->reserved);
    }
    sp_json_number(json, "used_high_bytes", told->used_high);
    sp_json_number(json, "reserved_high_bytes", told->reserved_high);
    add_figures(json, "statistics", told, 0, SP_TELL_STATISTICS);
    if (is_there)
        add_figures(json, "gauges", told, SP_TELL_STATISTICS, SP_TELL_FIGURES);
    sp_json_close(json, '}');
}

static void add_live(struct sp_json *json, const struct sp_observe_figures *live) {
    sp_json_open(json, "not_freed", '{');
    sp_json_number(json, "blocks", live->blocks);
    sp_json_number(json, "bytes", live->bytes);
    sp_json_number(json, "bytes_high", live->bytes_high);
    sp_json_number(json, "unnoted_blocks", live->unnoted);
    sp_json_close(json, '}');
}

// The pools are read first, as it is known behind them only if all could be.
static void write_json(FILE *out, const struct sp_observe_figures *live,
                       enum sp_summary_when when) {
    char *pools = NULL;
    size_t size = 0;
    struct sp_json list = {.out = open_memstream(&pools, &size)};
    struct sp_json whole = {.out = out};
    bool all = list.out && sp_host->visit_pools(SP_TELL_GAUGES, add_pool, &list);
    if (list.out && fclose(list.out) != 0)
        all = false;
    sp_json_open(&whole, NULL, '{');
    sp_json_number(&whole, "process", (uint64_t)getpid());
    sp_json_text(&whole, "when", when == SP_SUMMARY_AT_END ? "end" : "signal");
    if (all) {
        sp_json_open(&whole, "pools", '[');
        fwrite(pools, 1, size, out);
        sp_json_close(&whole, ']');
    } else {
        sp_json_null(&whole, "pools");
    }
    add_live(&whole, live);
    sp_json_close(&whole, '}');
    fputc('\n', out);
    free(pools);
}

static void put_json(const struct sp_observe_figures *live, enum sp_summary_when when) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out)
        write_json(out, live, when);
    if (!out || fclose(out) != 0)
        sp_host->log("the statistics can't be written: no host memory");
    else if (strcmp(named, "-") == 0) {
        fwrite(text, 1, size, stdout);
        fflush(stdout);
    } else {
        sp_file_put(path, text, size);
    }
    free(text);
}

// ------------------------------------------------------------------------------------------ leaks

// A list of more helps nobody.
enum { GROUPS_PRINTED = 1000 };

// Blocks that were allocated by one call stack, which stand one after the other; or one of which no
// stack is kept.
struct group {
    const struct sp_live_block *largest;
    size_t count;
    uint64_t bytes;
};

// Equal stacks are kept once. A stack has its larger blocks first.
static int by_stack(const void *a, const void *b) {
    const struct sp_live_block *left = a, *right = b;
    if (left->stack != right->stack)
        return (uintptr_t)left->stack < (uintptr_t)right->stack ? -1 : 1;
    if (left->size != right->size)
        return left->size > right->size ? -1 : 1;
    return (left->address > right->address) - (left->address < right->address);
}

static int by_bytes(const void *a, const void *b) {
    const struct group *left = a, *right = b;
    if (left->bytes != right->bytes)
        return left->bytes > right->bytes ? -1 : 1;
    uint64_t first = left->largest->address, second = right->largest->address;
    return (first > second) - (first < second);
}

// Makes the groups of a list that is sorted by stacks. Returns their number.
static size_t make_groups(const struct sp_live_block *list, size_t count, struct group *groups) {
    size_t made = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !list[i].stack || list[i].stack != list[i - 1].stack)
            groups[made++] = (struct group){.largest = &list[i]};
        groups[made - 1].count++;
        groups[made - 1].bytes += list[i].size;
    }
    return made;
}

static void print_group(FILE *out, const struct group *group) {
    const struct sp_live_block *block = group->largest;
    fputs("  ", out);
    if (group->count > 1)
        fprintf(out, "%zu blocks, %" PRIu64 " bytes together; the largest is ", group->count,
                group->bytes);
    fprintf(out, "0x%" PRIx64 ": %" PRIu64 " bytes, ", block->address, block->size);
    if (block->default_stream)
        fputs(block->default_stream, out);
    else
        fprintf(out, "stream %" PRIu64, block->stream);
    fprintf(out, ", thread %" PRIu64 "\n", block->thread);
    if (block->stack)
        sp_stack_print(block->stack, out);
}

static void print_groups(FILE *out, const struct group *groups, size_t count) {
    size_t blocks = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (i < GROUPS_PRINTED) {
            print_group(out, &groups[i]);
        } else {
            blocks += groups[i].count;
            bytes += groups[i].bytes;
        }
    }
    if (count > GROUPS_PRINTED)
        fprintf(out, "  and %zu more with less: %zu blocks, %" PRIu64 " bytes together\n",
                count - GROUPS_PRINTED, blocks, bytes);
}

static void print_leaks(FILE *out) {
    size_t count;
    struct sp_live_block *list = sp_live_list(&count);
    struct group *groups = list ? calloc(count, sizeof *groups) : NULL;
    if (groups) {
        qsort(list, count, sizeof *list, by_stack);
        size_t made = make_groups(list, count, groups);
        qsort(groups, made, sizeof *groups, by_bytes);
        print_groups(out, groups, made);
    }
    free(groups);
    free(list);
}

// --------------------------------------------------------------------------------------- the whole

static void print_pool(const struct sp_tell_pool *told, void *out) {
    sp_host->print_pool(told, out);
}

static void print_pools(FILE *out) {
    fprintf(out, "streampool: summary of process %ld\n", (long)getpid());
    if (!sp_host->visit_pools(SP_TELL_GAUGES, print_pool, out))
        fputs("streampool: the rest can't be read, as a call holds on to a pool\n", out);
}

static void print_live(FILE *out, const struct sp_observe_figures *live,
                       enum sp_summary_when when) {
    fprintf(out, "streampool: %s: %" PRIu64 " block%s of %s together; %s at most at once\n",
            when == SP_SUMMARY_AT_END ? "never freed" : "not freed yet", live->blocks,
            live->blocks == 1 ? "" : "s", sp_host->words_of_bytes(live->bytes).text,
            sp_host->words_of_bytes(live->bytes_high).text);
    if (live->unnoted > 0)
        fprintf(out, "streampool: %" PRIu64 " blocks aren't in these figures: no host memory\n",
                live->unnoted);
}

// The text is put together first, as a reader of standard error may be slow, and a visit holds
// locks.
static void print(const struct sp_observe_figures *live, enum sp_summary_when when) {
    bool is_end = when == SP_SUMMARY_AT_END, is_json = named;
    bool pools = asked->stats ? !is_json : !is_end, leaks = is_end && asked->leaks;
    char *text = NULL;
    size_t size = 0;
    FILE *out = pools || leaks ? open_memstream(&text, &size) : NULL;
    if (!out)
        return;
    if (pools)
        print_pools(out);
    print_live(out, live, when);
    if (leaks)
        print_leaks(out);
    if (fclose(out) == 0)
        fwrite(text, 1, size, stderr);
    free(text);
}

void sp_summary_write(enum sp_summary_when when) {
    struct sp_observe_figures live;
    sp_live_read(&live);
    if (named)
        put_json(&live, when);
    print(&live, when);
}
