#include "simcuda/report/finding.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "simcuda/common/host.h"
#include "simcuda/common/stack.h"
#include "simcuda/common/thread.h"

#define PREFIX      "streampool check: "
#define LINE_LENGTH 1200
// A program that makes more mistakes than these is told their number.
#define MOST 1000

static struct sim_finding *findings;
static size_t finding_count;
static size_t finding_capacity;
static uint64_t beyond; // were not kept
static char *file;      // null: none is asked for

// A name that the program chose may hold anything, and a finding is one line.
static void make_printable(char *line) {
    for (; *line; line++) {
        if ((unsigned char)*line < ' ' || *line == 0x7F)
            *line = '?';
    }
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...) {
    char line[LINE_LENGTH] = PREFIX;
    size_t start = sizeof(PREFIX) - 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + start, sizeof(line) - start - 1, format, arguments);
    va_end(arguments);
    size_t length = strlen(line);
    make_printable(line);
    line[length] = '\n';
    syscall(SYS_write, STDERR_FILENO, line, length + 1);
}

static char *copy(const char *text) {
    size_t size = strlen(text) + 1;
    return memcpy(sim_allocate(size), text, size);
}

void sim_finding_begin(void) {
    const char *asked = getenv("STREAMPOOL_SIMCUDA_JSON");
    file = asked && *asked ? copy(asked) : NULL;
}

// ------------------------------------------------------------------------------------- being known

static bool is_number(const char *from, const char *at) {
    return (at[0] == '0' && at[1] == 'x') ||
           (at > from && at[-1] == '#' && at[0] >= '0' && at[0] <= '9');
}

// Returns the text without addresses and numbers of blocks.
static char *key_of(const char *text) {
    char *key = sim_allocate(strlen(text) + 1), *to = key;
    for (const char *at = text; *at;) {
        if (!is_number(text, at)) {
            *to++ = *at++;
            continue;
        }
        bool is_address = at[1] == 'x';
        at += is_address ? 2 : 0;
        at += strspn(at, is_address ? "0123456789abcdef" : "0123456789");
    }
    *to = '\0';
    return key;
}

static struct sim_finding *find(const char *kind, const char *key) {
    for (size_t i = 0; i < finding_count; i++) {
        if (strcmp(findings[i].kind, kind) == 0 && strcmp(findings[i].key, key) == 0)
            return &findings[i];
    }
    return NULL;
}

// ------------------------------------------------------------------------------------------ adding

static void keep_frames(struct sim_finding_side *kept, const struct sim_stack *stack) {
    char text[LINE_LENGTH];
    size_t first = sim_stack_first(stack);
    kept->frame_count = sim_stack_count(stack) - first;
    kept->frames = sim_allocate(kept->frame_count * sizeof *kept->frames);
    for (size_t i = 0; i < kept->frame_count; i++) {
        sim_stack_frame(stack, first + i, text, sizeof text);
        kept->frames[i] = copy(text);
    }
}

static void keep_side(struct sim_finding_side *kept, const struct sim_side *side) {
    char text[SIM_WHO_LENGTH], name[SIM_THREAD_NAME];
    *kept = (struct sim_finding_side){
        .thread = side->who.thread,
        .name = copy(side->name),
        .does = side->does,
        .address = side->address,
        .size = side->size,
    };
    if (side->who.kind != SIM_WHO_HOST)
        kept->stream = copy(sim_who_stream(&side->who, text));
    if (sim_thread_name(side->who.thread, name))
        kept->thread_name = copy(name);
    keep_frames(kept, side->who.stack);
}

static void say_stack(const struct sim_finding_side *side) {
    if (side->frame_count == 0)
        return;
    say("  where \"%s\" %s:", side->name, side->does);
    for (size_t i = 0; i < side->frame_count; i++)
        say("    at %s", side->frames[i]);
}

static void keep(const char *kind, const char *text, char *key, const struct sim_side *sides,
                 size_t count) {
    SIM_RESERVE_ONE(findings, finding_count, finding_capacity);
    struct sim_finding *finding = &findings[finding_count++];
    *finding = (struct sim_finding){
        .kind = kind, .text = copy(text), .key = key, .count = 1, .side_count = count};
    say("%s: %s", kind, text);
    for (size_t i = 0; i < count; i++) {
        keep_side(&finding->sides[i], &sides[i]);
        say_stack(&finding->sides[i]);
    }
}

void sim_finding_add(const char *kind, const char *text, const struct sim_side *sides,
                     size_t count) {
    char *key = key_of(text);
    struct sim_finding *known = find(kind, key);
    if (!known && finding_count < MOST) {
        keep(kind, text, key, sides, count);
        return;
    }
    sim_free(key);
    if (known)
        known->count++;
    else
        beyond++;
}

static void drop_side(struct sim_finding_side *side) {
    for (size_t i = 0; i < side->frame_count; i++)
        sim_free(side->frames[i]);
    sim_free(side->frames);
    sim_free(side->stream);
    sim_free(side->thread_name);
    sim_free(side->name);
}

void sim_finding_clear(void) {
    for (size_t i = 0; i < finding_count; i++) {
        for (size_t side = 0; side < findings[i].side_count; side++)
            drop_side(&findings[i].sides[side]);
        sim_free(findings[i].text);
        sim_free(findings[i].key);
    }
    sim_free(findings);
    findings = NULL;
    finding_count = finding_capacity = 0;
    beyond = 0;
}

// -------------------------------------------------------------------------------------- summing up

static bool is_first_of_kind(size_t index) {
    for (size_t i = 0; i < index; i++) {
        if (strcmp(findings[i].kind, findings[index].kind) == 0)
            return false;
    }
    return true;
}

static uint64_t count_kind(const char *kind) {
    uint64_t count = 0;
    for (size_t i = 0; i < finding_count; i++)
        count += strcmp(findings[i].kind, kind) == 0;
    return count;
}

static void say_kinds(void) {
    char kinds[LINE_LENGTH] = "", others[40] = "";
    uint64_t mistakes = finding_count + beyond;
    for (size_t i = 0; i < finding_count; i++) {
        size_t used = strlen(kinds);
        if (is_first_of_kind(i))
            snprintf(kinds + used, sizeof kinds - used, "%s%s %" PRIu64, used > 0 ? ", " : "",
                     findings[i].kind, count_kind(findings[i].kind));
    }
    if (beyond > 0)
        snprintf(others, sizeof others, ", not printed %" PRIu64, beyond);
    say("%" PRIu64 " mistake%s found: %s%s", mistakes, mistakes == 1 ? "" : "s", kinds, others);
}

// A name that ends with a slash is a folder's, in which each process has a file of its own.
static const char *name_file(const char *given, char path[PATH_MAX]) {
    size_t length = strlen(given);
    if (given[length - 1] != '/')
        return given;
    int printed = snprintf(path, PATH_MAX, "%s%ld.json", given, (long)getpid());
    return printed < PATH_MAX ? path : given;
}

static void write_file(void) {
    char path[PATH_MAX];
    if (!file)
        return;
    if (*file != '/')
        say("STREAMPOOL_SIMCUDA_JSON=%s is ignored: it names a file by its whole path", file);
    else if (!sim_finding_write(name_file(file, path), findings, finding_count))
        say("%s can't be written: %s", file, strerror(errno));
}

uint64_t sim_finding_sum_up(void) {
    for (size_t i = 0; i < finding_count; i++) {
        if (findings[i].count > 1)
            say("found %" PRIu64 " times: %s: %s", findings[i].count, findings[i].kind,
                findings[i].text);
    }
    if (finding_count == 0)
        say("no mistake found");
    else
        say_kinds();
    write_file();
    return finding_count + beyond;
}
