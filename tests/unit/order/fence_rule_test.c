#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/fence.h"

enum { TAKER = 7, OTHER = 8, FENCE = 5 };

// How a number of the fence's stream stands to the fence: short of it, at it, past it.
static const uint64_t around[] = {FENCE - 1, FENCE, FENCE + 1};

static struct sp_rule_facts nothing_known(void) {
    return (struct sp_rule_facts){.taker_slot = TAKER, .taker_first = 1};
}

static enum sp_rule decide(uint32_t slot, const struct sp_rule_facts *facts) {
    return sp_fence_rule((struct sp_fence){slot, FENCE}, facts);
}

// The whole table: each row stands for all facts that it leaves open (ANY), and the first that fits
// decides.
enum answer { NO, YES, ANY };
static const struct row {
    enum answer same;      // the fence is of the taking stream, in its present incarnation
    enum answer completed; // the fence is known to be complete
    enum answer ordered;   // the taker's clock is past the fence
    enum answer legacy;    // one is the legacy stream, the other a blocking one
    enum answer follow;    // policy
    enum answer fenced;    // an event stands behind the fence
    enum answer insert;    // policy
    enum sp_rule rule;
} truth[] = {
    {YES, ANY, ANY, ANY, ANY, ANY, ANY, SP_RULE_SAME_STREAM},
    {NO, YES, ANY, ANY, ANY, ANY, ANY, SP_RULE_COMPLETE},
    {NO, NO, YES, ANY, YES, ANY, ANY, SP_RULE_ORDERED},
    {NO, NO, NO, YES, YES, ANY, ANY, SP_RULE_ORDERED},
    {NO, NO, ANY, ANY, NO, YES, YES, SP_RULE_MADE_ORDERED},
    {NO, NO, NO, NO, YES, YES, YES, SP_RULE_MADE_ORDERED},
    {NO, NO, ANY, ANY, NO, NO, ANY, SP_RULE_NONE},
    {NO, NO, ANY, ANY, NO, YES, NO, SP_RULE_NONE},
    {NO, NO, NO, NO, YES, NO, ANY, SP_RULE_NONE},
    {NO, NO, NO, NO, YES, YES, NO, SP_RULE_NONE},
};

static bool fits(enum answer wanted, bool is) {
    return wanted == ANY || (wanted == YES) == is;
}

static bool row_fits(const struct row *row, const struct sp_rule_facts *facts, uint32_t slot) {
    bool same = slot == facts->taker_slot && facts->taker_first <= FENCE;
    return fits(row->same, same) && fits(row->completed, facts->known_completed >= FENCE) &&
           fits(row->ordered, facts->ordered_until >= FENCE) &&
           fits(row->legacy, facts->legacy_ordered) &&
           fits(row->follow, facts->follow_dependencies) &&
           fits(row->fenced, facts->fenced_until >= FENCE) &&
           fits(row->insert, facts->insert_dependencies);
}

// Exactly one row fits, for the table leaves nothing open and nothing to chance.
static void assert_table_says(const struct sp_rule_facts *facts, uint32_t slot, enum sp_rule rule) {
    int fitting = 0;
    for (size_t i = 0; i < sizeof truth / sizeof truth[0]; i++) {
        if (!row_fits(&truth[i], facts, slot))
            continue;
        fitting++;
        assert_int_equal(rule, truth[i].rule);
    }
    assert_int_equal(fitting, 1);
}

static void for_each_number(uint64_t **numbers, int count, const struct sp_rule_facts *facts) {
    if (count == 0) {
        assert_table_says(facts, TAKER, decide(TAKER, facts));
        assert_table_says(facts, OTHER, decide(OTHER, facts));
        return;
    }
    for (int i = 0; i < 3; i++) {
        *numbers[count - 1] = around[i];
        for_each_number(numbers, count - 1, facts);
    }
}

static void the_rule_is_its_truth_table(void **state) {
    (void)state;
    for (unsigned flags = 0; flags < 8; flags++) {
        struct sp_rule_facts facts = nothing_known();
        uint64_t *numbers[] = {&facts.taker_first, &facts.known_completed, &facts.ordered_until,
                               &facts.fenced_until};
        facts.legacy_ordered = flags & 1;
        facts.follow_dependencies = flags & 2;
        facts.insert_dependencies = flags & 4;
        for_each_number(numbers, 4, &facts);
    }
}

static void memory_of_another_stream_of_which_nothing_is_known_is_never_given(void **state) {
    (void)state;
    struct sp_rule_facts facts = nothing_known();
    facts.follow_dependencies = true;
    facts.insert_dependencies = true;
    for (uint64_t first = 1; first < 9; first++) {
        facts.taker_first = first;
        assert_int_equal(decide(OTHER, &facts), SP_RULE_NONE);
    }
}

static void rules_1_and_2_hold_under_every_policy(void **state) {
    (void)state;
    for (int policies = 0; policies < 4; policies++) {
        struct sp_rule_facts facts = nothing_known();
        facts.follow_dependencies = policies & 1;
        facts.insert_dependencies = policies & 2;
        assert_int_equal(decide(TAKER, &facts), SP_RULE_SAME_STREAM);
        facts.known_completed = FENCE;
        assert_int_equal(decide(OTHER, &facts), SP_RULE_COMPLETE);
    }
}

static void a_cheaper_rule_is_preferred(void **state) {
    (void)state;
    struct sp_rule_facts facts = nothing_known();
    facts.known_completed = facts.ordered_until = facts.fenced_until = FENCE;
    facts.follow_dependencies = facts.insert_dependencies = true;
    assert_int_equal(decide(TAKER, &facts), SP_RULE_SAME_STREAM);
    assert_int_equal(decide(OTHER, &facts), SP_RULE_COMPLETE);
    facts.known_completed = 0;
    assert_int_equal(decide(OTHER, &facts), SP_RULE_ORDERED);
    facts.ordered_until = 0;
    assert_int_equal(decide(OTHER, &facts), SP_RULE_MADE_ORDERED);
    facts.fenced_until = 0;
    assert_int_equal(decide(OTHER, &facts), SP_RULE_NONE);
}

static void an_earlier_incarnation_of_the_stream_is_another_stream(void **state) {
    (void)state;
    struct sp_rule_facts facts = nothing_known();
    facts.taker_first = FENCE + 1;
    assert_int_equal(decide(TAKER, &facts), SP_RULE_NONE);
    facts.known_completed = FENCE;
    assert_int_equal(decide(TAKER, &facts), SP_RULE_COMPLETE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_is_its_truth_table),
        cmocka_unit_test(memory_of_another_stream_of_which_nothing_is_known_is_never_given),
        cmocka_unit_test(rules_1_and_2_hold_under_every_policy),
        cmocka_unit_test(a_cheaper_rule_is_preferred),
        cmocka_unit_test(an_earlier_incarnation_of_the_stream_is_another_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
