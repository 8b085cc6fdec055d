// Memory for staging where the kernel refuses mbind, as in a container with the usual filter of
// system calls. The whole program runs under such a filter.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit/fixture/pool.h"

// False where the kernel has no such filters, or forbids this one.
static bool refuse_mbind(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mbind, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           syscall(SYS_mbind, NULL, 0, 0, NULL, 0, 0) == -1 && errno == EPERM;
}

static bool is_refused;

static poolError_t make(enum poolMemLocationType type, int id, unsigned short usage,
                        poolMemPool_t *pool) {
    const struct poolMemPoolProps props = {
        .allocType = poolMemAllocationTypePinned, .location = {type, id}, .usage = usage};
    if (!is_refused)
        skip();
    return poolMemPoolCreate(pool, &props);
}

static void a_node_has_no_memory_for_staging_and_the_refusal_says_why(void **state) {
    (void)state;
    poolMemPool_t pool = NULL;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(make(poolMemLocationTypeHostNuma, 0, poolMemPoolUsageStaging, &pool),
                         poolErrorNotSupported);
        assert_non_null(strstr(poolGetLastErrorDetail(), "NUMA node 0 (staging)"));
        assert_non_null(strstr(poolGetLastErrorDetail(), "mbind"));
        assert_null(pool);
    }
}

static void require_memory(poolMemPool_t pool) {
    CUstream stream = simulated_stream();
    void *block = fixture_malloc(pool, MIB(3), stream);
    memset(block, 1, MIB(3));
    fixture_free(block, stream);
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void the_whole_host_has_memory_for_staging(void **state) {
    (void)state;
    poolMemPool_t pool = NULL;
    assert_int_equal(make(poolMemLocationTypeHost, 0, poolMemPoolUsageStaging, &pool), poolSuccess);
    require_memory(pool);
}

static void a_node_has_other_memory(void **state) {
    (void)state;
    poolMemPool_t pool = NULL;
    assert_int_equal(make(poolMemLocationTypeHostNuma, 0, 0, &pool), poolSuccess);
    require_memory(pool);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_node_has_no_memory_for_staging_and_the_refusal_says_why),
        TEST(the_whole_host_has_memory_for_staging),
        TEST(a_node_has_other_memory),
    };
    is_refused = refuse_mbind();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
