#include "base/host_memory.h"

#include "base/number.h"
#include "base/thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *sp_host_memory_root = "";

enum { PATH_BYTES = 1024, FILE_BYTES = 2 * PATH_BYTES };

// ------------------------------------------------------------------------------------------ files

static FILE *open_file(const char *path) {
    char whole[2 * FILE_BYTES];
    snprintf(whole, sizeof whole, "%s%s", sp_host_memory_root, path);
    return fopen(whole, "re");
}

// Reads the number that a file begins with. False where there is no such file, or it has a word.
static bool read_number(const char *folder, const char *name, uint64_t *number) {
    char path[FILE_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = open_file(path);
    bool is_read = file && fscanf(file, "%" SCNu64, number) == 1;
    if (file)
        fclose(file);
    return is_read;
}

// Adds up the numbers behind some words of a file, in which a line has a word and a number, maybe
// behind others. `words` ends with null. False where there is no such line.
static bool sum_of(const char *path, const char *const words[], uint64_t unit, uint64_t *sum) {
    char line[256];
    bool any = false;
    FILE *file = open_file(path);
    *sum = 0;
    while (file && fgets(line, sizeof line, file)) {
        for (const char *const *word = words; *word; word++) {
            const char *at = strstr(line, *word);
            bool is_whole = at && (at == line || at[-1] == ' ') &&
                            (at[strlen(*word)] == ' ' || at[strlen(*word)] == ':');
            if (!is_whole)
                continue;
            *sum +=
                unit * strtoull(at + strlen(*word) + strspn(at + strlen(*word), ": "), NULL, 10);
            any = true;
        }
    }
    if (file)
        fclose(file);
    return any;
}

#define SUM(path, unit, sum, ...) sum_of(path, (const char *const[]){__VA_ARGS__, NULL}, unit, sum)

static void node_path(char path[PATH_BYTES], int node) {
    snprintf(path, PATH_BYTES, "/sys/devices/system/node/node%d/meminfo", node);
}

// ------------------------------------------------------------------------------------------- nodes

// Returns the bytes that the host counts and none of its nodes does: a virtual machine may have
// memory that comes to a node when it is used.
static uint64_t in_no_node(void) {
    char path[PATH_BYTES];
    int first, last, found;
    uint64_t total, own, sum = 0;
    SUM("/proc/meminfo", 1024, &total, "MemTotal");
    FILE *file = open_file("/sys/devices/system/node/online"); // such as 0-1,4
    for (; file && (found = fscanf(file, "%d-%d", &first, &last)) > 0; fgetc(file)) {
        for (last = found == 1 ? first : last; first <= last; first++) {
            node_path(path, first);
            sum += SUM(path, 1024, &own, "MemTotal") ? own : 0;
        }
    }
    if (file)
        fclose(file);
    return sum == 0 ? 0 : sp_excess(total, sum);
}

// -------------------------------------------------------------------------------------- containers

// A version of control groups: where a group's folder is, and what its files are called.
struct version {
    const char *mark; // in front of the group's path, in a line of /proc/self/cgroup
    const char *root;
    const char *limit, *use;
    const char *cached[2]; // what the kernel gives back before it ends a process
};

static const struct version versions[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file", "active_file"}},
    {":memory:",
     "/sys/fs/cgroup/memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file", "total_active_file"}},
};

static uint64_t left_in_group(const struct version *version, const char *folder) {
    char stat[FILE_BYTES];
    uint64_t limit, use, cached = 0;
    if (!read_number(folder, version->limit, &limit) || !read_number(folder, version->use, &use))
        return UINT64_MAX;
    snprintf(stat, sizeof stat, "%s/memory.stat", folder);
    SUM(stat, 1, &cached, version->cached[0], version->cached[1]);
    return sp_excess(limit, sp_excess(use, cached));
}

// The least that the process's group and those above it have left. In a container the path may be
// that of the host, and the container's own group the root.
static uint64_t left_in_groups(const struct version *version, char *path) {
    char folder[PATH_BYTES + 64];
    uint64_t left = UINT64_MAX;
    for (size_t length = strlen(path);; path[length] = '\0') {
        snprintf(folder, sizeof folder, "%s%s", version->root, path);
        left = sp_min(left, left_in_group(version, folder));
        if (length == 0)
            return left;
        const char *slash = strrchr(path, '/');
        length = slash ? (size_t)(slash - path) : 0;
    }
}

static uint64_t left_in_container(void) {
    char line[PATH_BYTES];
    uint64_t left = UINT64_MAX;
    FILE *file = open_file("/proc/self/cgroup");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
            char *mark = strstr(line, versions[i].mark);
            if (mark)
                left = sp_min(left, left_in_groups(&versions[i], mark + strlen(versions[i].mark)));
        }
    }
    if (file)
        fclose(file);
    return left;
}

// ------------------------------------------------------------------------------------------- calls

size_t sp_host_memory_total(int node) {
    SP_UNCANCELLED;
    char path[PATH_BYTES];
    uint64_t total;
    node_path(path, node);
    if (node >= 0 && SUM(path, 1024, &total, "MemTotal"))
        return (size_t)(total + in_no_node());
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

struct sp_host_memory_left sp_host_memory_left(int node) {
    SP_UNCANCELLED;
    char path[PATH_BYTES];
    uint64_t left;
    struct sp_host_memory_left least = {UINT64_MAX, "nothing"};
    if (SUM("/proc/meminfo", 1024, &left, "MemAvailable"))
        least = (struct sp_host_memory_left){left, "the memory of the host"};
    node_path(path, node);
    // Files of tmpfs can't be given back. FilePages has them, and the lists of cached files don't.
    if (node >= 0 &&
        SUM(path, 1024, &left, "MemFree", "Active(file)", "Inactive(file)", "SReclaimable") &&
        (left += in_no_node()) < least.bytes)
        least = (struct sp_host_memory_left){left, "the memory of the NUMA node"};
    left = left_in_container();
    if (left < least.bytes)
        least = (struct sp_host_memory_left){left, "the memory limit of the container (cgroup)"};
    return least;
}
