#include <string.h>

#include "unit/random.h"
#include "unit/simcuda/fixture.h"

static simcudaConfig config;

static int defaults(void **state) {
    (void)state;
    simcudaConfigDefault(&config);
    return 0;
}

static void every_setting_is_understood(void **state) {
    (void)state;
    OK(simcudaConfigParse(
        "devices=3,memory=8G,memory.2=141G,vmm=missing,vmm.0=refused,granule=64K,api=10020,"
        "address_space=1T,mappings=1000,queue=64,mode=scheduled,seed=7,completion=latest,"
        "delay=5,patience=0,burst=8,reports=print,peers=0,scatter=9,stacks=1,nodes=4,"
        "host_memory=3G,host_vmm=missing",
        &config, NULL, 0));
    assert_int_equal(config.devices, 3);
    assert_true(config.device[1].memory == (uint64_t)8 << 30);
    assert_true(config.device[2].memory == (uint64_t)141 << 30);
    assert_int_equal(config.device[0].vmm, simcudaVmmRefused);
    assert_int_equal(config.device[1].vmm, simcudaVmmMissing);
    assert_int_equal(config.granule, 65536);
    assert_int_equal(config.api, 10020);
    assert_true(config.addressSpace == (uint64_t)1 << 40);
    assert_int_equal(config.mappings, 1000);
    assert_int_equal(config.queue, 64);
    assert_int_equal(config.mode, simcudaModeScheduled);
    assert_int_equal(config.seed, 7);
    assert_int_equal(config.completion, simcudaCompletionLatest);
    assert_int_equal(config.delay, 5);
    assert_int_equal(config.patience, 0);
    assert_int_equal(config.burst, 8);
    assert_int_equal(config.peers, 0);
    assert_int_equal(config.scatter, 9);
    assert_int_equal(config.stacks, 1);
    assert_int_equal(config.nodes, 4);
    assert_true(config.hostMemory == (uint64_t)3 << 30);
    assert_int_equal(config.hostVmm, simcudaVmmMissing);
    assert_int_equal(config.onReport, simcudaOnReportPrint);
}

static void an_empty_text_changes_nothing(void **state) {
    simcudaConfig before = config;
    (void)state;
    OK(simcudaConfigParse("", &config, NULL, 0));
    assert_memory_equal(&config, &before, sizeof(config));
}

static void a_bad_setting_is_named_and_changes_nothing(void **state) {
    static const char *const bad[] = {
        "speed=7",        "devices",      "devices=",         "devices=two",      "devices=17",
        "granule=3M",     "granule=1024", "mode=quick",       "memory.16=1G",     "memory.x=1G",
        "seed.1=7",       "api=1",        "queue=0",          "completion=",      "vmm.1=perhaps",
        "reports=loudly", "=3",           "delay=0",          "burst=0",          "nodes=0",
        "nodes=65",       "nodes.0=1",    "host_memory=much", "host_vmm=refused",
    };
    simcudaConfig before = config;
    char problem[200];
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        problem[0] = '\0';
        FAILS(simcudaConfigParse(bad[i], &config, problem, sizeof(problem)),
              CUDA_ERROR_INVALID_VALUE);
        assert_true(strlen(problem) > 0);
        assert_memory_equal(&config, &before, sizeof(config));
    }
    FAILS(simcudaConfigParse("devices=2,granule=3", &config, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(config.devices, 1);
}

static void a_reset_refuses_a_configuration_that_makes_no_sense(void **state) {
    (void)state;
    config.granule = 12345;
    FAILS(simcudaReset(&config), CUDA_ERROR_INVALID_VALUE);
}

static void a_reset_gives_what_was_configured(void **state) {
    simcudaConfig now;
    int count;
    size_t bytes;
    (void)state;
    OK(simcudaConfigParse("devices=2,memory.1=141G", &config, NULL, 0));
    OK(simcudaReset(&config));
    simcudaGetConfig(&now);
    assert_int_equal(now.devices, 2);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    assert_int_equal(count, 2);
    OK(cuDeviceTotalMem_v2(&bytes, 1));
    assert_true(bytes == (size_t)141 << 30);
}

// Bytes of a good text are changed, dropped and doubled.
static void damage(char *text, uint64_t *seed) {
    for (uint64_t n = 1 + random_below(seed, 6); n > 0; n--) {
        size_t length = strlen(text), at = (size_t)random_below(seed, length + 1);
        if (random_below(seed, 3) == 0)
            text[at] = (char)random_below(seed, 256);
        else if (random_below(seed, 2) == 0 && at < length)
            memmove(text + at, text + at + 1, length - at);
        else
            memmove(text + at + 1, text + at, length - at + 1);
    }
}

static void any_text_is_understood_or_refused_whole(void **state) {
    (void)state;
    unsigned understood = 0, refused = 0;
    for (uint64_t i = 1; i <= 20000; i++) {
        char text[300] =
            "devices=3,memory=8G,vmm.0=refused,granule=64K,api=10020,queue=64,"
            "mode=scheduled,completion=latest,delay=5,reports=print,stacks=1",
             problem[64] = "";
        uint64_t seed = i;
        damage(text, &seed);
        simcudaConfigDefault(&config);
        simcudaConfig before = config, again = config;
        int result = simcudaConfigParse(text, &config, problem, sizeof problem);
        assert_int_equal(simcudaConfigParse(text, &again, NULL, 0), result);
        assert_memory_equal(&again, &config, sizeof config);
        if (result == CUDA_SUCCESS) {
            understood++;
            continue;
        }
        refused++;
        assert_int_equal(result, CUDA_ERROR_INVALID_VALUE);
        assert_true(strlen(problem) > 0 && strlen(problem) < sizeof problem);
        assert_memory_equal(&config, &before, sizeof config);
    }
    assert_true(understood > 100 && refused > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_setting_is_understood, defaults),
        cmocka_unit_test_setup(an_empty_text_changes_nothing, defaults),
        cmocka_unit_test_setup(a_bad_setting_is_named_and_changes_nothing, defaults),
        cmocka_unit_test_setup(any_text_is_understood_or_refused_whole, defaults),
        cmocka_unit_test_setup(a_reset_refuses_a_configuration_that_makes_no_sense, defaults),
        cmocka_unit_test_setup(a_reset_gives_what_was_configured, defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
