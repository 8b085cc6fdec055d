// In a folder of its own, which stands for the host's root.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/host_memory.h"
#include "unit/fixture/host_root.h"

#define MIB(n) ((uint64_t)(n) << 20)

static void leaves(int node, uint64_t bytes, const char *by) {
    struct sp_host_memory_left left = sp_host_memory_left(node);
    assert_int_equal(left.bytes, bytes);
    assert_string_equal(left.by, by);
}

static const char host[] = "the memory of the host";
static const char container[] = "the memory limit of the container (cgroup)";

// ----------------------------------------------------------------------------------- host and node

static void where_nothing_can_be_read_nothing_limits(void **state) {
    (void)state;
    leaves(-1, UINT64_MAX, "nothing");
    leaves(0, UINT64_MAX, "nothing");
}

static void the_host_leaves_what_is_available(void **state) {
    (void)state;
    host_root_write("/proc/meminfo",
                    "MemTotal: 9000 kB\nMemFree: 100 kB\nMemAvailable:    2048 kB\n");
    leaves(-1, MIB(2), host);
    leaves(0, MIB(2), host);
}

static void a_node_leaves_what_is_free_and_what_caches_files(void **state) {
    (void)state;
    host_root_write("/proc/meminfo", "MemAvailable: 102400 kB\n");
    host_root_write("/sys/devices/system/node/node1/meminfo",
                    "Node 1 MemTotal:       65536 kB\nNode 1 MemFree:        1024 kB\n"
                    "Node 1 Active:         7777 kB\nNode 1 Active(anon):   7777 kB\n"
                    "Node 1 Active(file):    512 kB\nNode 1 Inactive(file): 1536 kB\n"
                    "Node 1 SReclaimable:   4096 kB\n");
    leaves(1, MIB(7), "the memory of the NUMA node");
    leaves(0, MIB(100), host);
    leaves(-1, MIB(100), host);
}

// The kernel can't give these back, unless it has swap space.
static void files_in_memory_of_a_node_are_not_left_over(void **state) {
    (void)state;
    host_root_write("/sys/devices/system/node/node1/meminfo",
                    "Node 1 MemFree:        1024 kB\nNode 1 Inactive(file): 1024 kB\n"
                    "Node 1 FilePages:      5120 kB\nNode 1 Shmem:          4096 kB\n");
    leaves(1, MIB(2), "the memory of the NUMA node");
}

static void a_node_that_has_more_than_the_host_limits_nothing(void **state) {
    (void)state;
    host_root_write("/proc/meminfo", "MemAvailable: 1024 kB\n");
    host_root_write("/sys/devices/system/node/node0/meminfo", "Node 0 MemFree: 2048 kB\n");
    leaves(0, MIB(1), host);
}

static void write_node(int node, const char *text) {
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", node);
    host_root_write(path, text);
}

// A virtual machine gets it while it is used.
static void a_node_may_get_what_the_host_counts_and_no_node_has(void **state) {
    (void)state;
    host_root_write("/proc/meminfo", "MemTotal: 16384 kB\nMemAvailable: 14336 kB\n");
    host_root_write("/sys/devices/system/node/online", "0-1,3\n");
    write_node(0, "Node 0 MemTotal: 2048 kB\nNode 0 MemFree: 1024 kB\n");
    write_node(1, "Node 1 MemTotal: 2048 kB\nNode 1 MemFree: 0 kB\n");
    write_node(3, "Node 3 MemTotal: 4096 kB\nNode 3 MemFree: 4096 kB\n");
    leaves(0, MIB(9), "the memory of the NUMA node");
    leaves(1, MIB(8), "the memory of the NUMA node");
    leaves(3, MIB(12), "the memory of the NUMA node");
    assert_int_equal(sp_host_memory_total(0), MIB(10));
    assert_int_equal(sp_host_memory_total(3), MIB(12));
    host_root_write("/proc/meminfo", "MemTotal: 8192 kB\nMemAvailable: 14336 kB\n");
    leaves(0, MIB(1), "the memory of the NUMA node");
    assert_int_equal(sp_host_memory_total(0), MIB(2));
    host_root_write("/proc/meminfo", "MemTotal: 4096 kB\nMemAvailable: 14336 kB\n");
    assert_int_equal(sp_host_memory_total(0), MIB(2));
}

static void the_total_is_the_nodes_or_else_the_hosts(void **state) {
    (void)state;
    size_t of_host = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    host_root_write("/sys/devices/system/node/node1/meminfo", "Node 1 MemTotal: 65536 kB\n");
    assert_int_equal(sp_host_memory_total(1), MIB(64));
    assert_int_equal(sp_host_memory_total(0), of_host);
    assert_int_equal(sp_host_memory_total(-1), of_host);
}

// ---------------------------------------------------------------------------------------
// containers

static void write_group(const char *folder, const char *limit, const char *use, const char *stat) {
    char path[256];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", folder);
    host_root_write(path, limit);
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.current", folder);
    host_root_write(path, use);
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.stat", folder);
    if (stat)
        host_root_write(path, stat);
}

static void the_group_of_the_process_has_a_limit(void **state) {
    (void)state;
    host_root_write("/proc/meminfo", "MemAvailable: 1048576 kB\n");
    host_root_write("/proc/self/cgroup", "0::/user/mine\n");
    write_group("/user/mine", "104857600\n", "41943040\n", NULL); // 100 and 40 MiB
    leaves(-1, MIB(60), container);
    leaves(0, MIB(60), container);
}

// What caches files is given back before a process is ended.
static void files_that_a_group_caches_are_left_over(void **state) {
    (void)state;
    host_root_write("/proc/self/cgroup", "0::/mine\n");
    write_group("/mine", "104857600\n", "41943040\n",
                "anon 1\nfile 20971520\ninactive_anon 5\nactive_anon 5\n"
                "inactive_file 10485760\nactive_file 5242880\nworkingset_refault_file 9\n");
    leaves(-1, MIB(75), container);
}

static void more_cached_than_in_use_leaves_all(void **state) {
    (void)state;
    host_root_write("/proc/self/cgroup", "0::/mine\n");
    write_group("/mine", "104857600\n", "1048576\n", "inactive_file 10485760\n");
    leaves(-1, MIB(100), container);
}

static void a_group_that_is_over_its_limit_leaves_nothing(void **state) {
    (void)state;
    host_root_write("/proc/self/cgroup", "0::/mine\n");
    write_group("/mine", "1048576\n", "2097152\n", NULL);
    leaves(-1, 0, container);
}

static void the_tightest_of_nested_groups_counts(void **state) {
    (void)state;
    host_root_write("/proc/self/cgroup", "0::/outer/middle/inner\n");
    write_group("/outer/middle/inner", "max\n", "1\n", NULL);
    write_group("/outer/middle", "104857600\n", "1048576\n", NULL);
    leaves(-1, MIB(99), container);
    write_group("/outer", "20971520\n", "10485760\n", NULL);
    leaves(-1, MIB(10), container);
    write_group("/outer/middle/inner", "5242880\n", "0\n", NULL);
    leaves(-1, MIB(5), container);
}

// In a container the path is the host's, and nothing is there.
static void the_root_is_the_containers_own_group(void **state) {
    (void)state;
    host_root_write("/proc/self/cgroup", "0::/of/the/host\n");
    write_group("", "104857600\n", "1048576\n", NULL);
    leaves(-1, MIB(99), container);
    host_root_write("/proc/self/cgroup", "0::/\n");
    leaves(-1, MIB(99), container);
}

static void a_group_without_a_limit_limits_nothing(void **state) {
    (void)state;
    host_root_write("/proc/meminfo", "MemAvailable: 1024 kB\n");
    host_root_write("/proc/self/cgroup", "0::/mine\n");
    leaves(-1, MIB(1), host); // no files
    write_group("/mine", "max\n", "1\n", NULL);
    leaves(-1, MIB(1), host);
    host_root_write("/sys/fs/cgroup/other/memory.max", "1\n");
    leaves(-1, MIB(1), host);
}

static void a_limit_without_a_use_limits_nothing(void **state) {
    (void)state;
    host_root_write("/proc/self/cgroup", "0::/mine\n");
    host_root_write("/sys/fs/cgroup/mine/memory.max", "1048576\n");
    leaves(-1, UINT64_MAX, "nothing");
}

static void groups_of_version_1_have_limits_too(void **state) {
    (void)state;
    host_root_write("/proc/self/cgroup",
                    "12:devices:/docker/a\n9:memory:/docker/a\n1:name=systemd:/docker/a\n0::/\n");
    host_root_write("/sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes", "104857600\n");
    host_root_write("/sys/fs/cgroup/memory/docker/a/memory.usage_in_bytes", "41943040\n");
    host_root_write("/sys/fs/cgroup/memory/docker/a/memory.stat",
                    "inactive_file 1\ntotal_inactive_file 10485760\ntotal_active_file 5242880\n");
    leaves(-1, MIB(75), container);
    host_root_write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    host_root_write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1048576\n");
    leaves(-1, MIB(75), container);
}

static void the_tighter_of_both_versions_counts(void **state) {
    (void)state;
    host_root_write("/proc/self/cgroup", "9:memory:/a\n0::/b\n");
    host_root_write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "104857600\n");
    host_root_write("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "0\n");
    write_group("/b", "52428800\n", "0\n", NULL);
    leaves(-1, MIB(50), container);
    write_group("/b", "209715200\n", "0\n", NULL);
    leaves(-1, MIB(100), container);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, host_root_setup, host_root_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(where_nothing_can_be_read_nothing_limits),
        TEST(the_host_leaves_what_is_available),
        TEST(a_node_leaves_what_is_free_and_what_caches_files),
        TEST(files_in_memory_of_a_node_are_not_left_over),
        TEST(a_node_that_has_more_than_the_host_limits_nothing),
        TEST(a_node_may_get_what_the_host_counts_and_no_node_has),
        TEST(the_total_is_the_nodes_or_else_the_hosts),
        TEST(the_group_of_the_process_has_a_limit),
        TEST(files_that_a_group_caches_are_left_over),
        TEST(more_cached_than_in_use_leaves_all),
        TEST(a_group_that_is_over_its_limit_leaves_nothing),
        TEST(the_tightest_of_nested_groups_counts),
        TEST(the_root_is_the_containers_own_group),
        TEST(a_group_without_a_limit_limits_nothing),
        TEST(a_limit_without_a_use_limits_nothing),
        TEST(groups_of_version_1_have_limits_too),
        TEST(the_tighter_of_both_versions_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
