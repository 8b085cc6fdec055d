#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/rule.h"

// Every row: who takes, from which number on it is his incarnation, how far the fence's stream is known to be complete,
// the fence, and what follows.
static const struct {
    uint32_t taker;
    uint64_t taker_first;
    uint64_t completed;
    struct sp_fence fence;
    enum sp_rule rule;
} truth[] = {
    // The stream's own fence: at once, unless it is of an earlier incarnation that is not complete.
    {7, 1, 0, {7, 1}, SP_RULE_SAME_STREAM},
    {7, 1, 4, {7, 5}, SP_RULE_SAME_STREAM},
    {7, 5, 0, {7, 5}, SP_RULE_SAME_STREAM},
    {7, 5, 0, {7, 6}, SP_RULE_SAME_STREAM},
    {7, 5, 0, {7, 4}, SP_RULE_NONE},
    {7, 5, 3, {7, 4}, SP_RULE_NONE},
    {7, 5, 4, {7, 4}, SP_RULE_COMPLETE},

    // Known complete: for everybody, the stream itself included.
    {7, 1, 5, {7, 5}, SP_RULE_COMPLETE},
    {7, 1, 9, {7, 5}, SP_RULE_COMPLETE},
    {7, 1, 5, {8, 5}, SP_RULE_COMPLETE},
    {7, 1, 9, {8, 5}, SP_RULE_COMPLETE},
    {7, 9, 5, {8, 5}, SP_RULE_COMPLETE},
    {7, 1, UINT64_MAX, {8, UINT64_MAX}, SP_RULE_COMPLETE},

    // Another stream's, pending: not now, whatever the taker's own numbers are.
    {7, 1, 0, {8, 1}, SP_RULE_NONE},
    {7, 1, 4, {8, 5}, SP_RULE_NONE},
    {7, 5, 4, {8, 5}, SP_RULE_NONE},
    {7, 1, 0, {0, UINT64_MAX}, SP_RULE_NONE},
    {0, 1, 4, {8, 5}, SP_RULE_NONE},
};

static void the_rule_is_its_truth_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof truth / sizeof truth[0]; i++) {
        struct sp_rule_facts facts = {truth[i].taker, truth[i].taker_first, truth[i].completed};
        assert_int_equal(sp_rule_decide(truth[i].fence, &facts), truth[i].rule);
    }
}

static void pending_memory_of_another_stream_is_never_given(void **state) {
    (void)state;
    for (uint64_t sequence = 1; sequence < 8; sequence++) {
        for (uint64_t completed = 0; completed < sequence; completed++) {
            for (uint64_t first = 1; first < 8; first++) {
                struct sp_rule_facts facts = {1, first, completed};
                assert_int_equal(sp_rule_decide((struct sp_fence){2, sequence}, &facts), SP_RULE_NONE);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_is_its_truth_table),
        cmocka_unit_test(pending_memory_of_another_stream_is_never_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
