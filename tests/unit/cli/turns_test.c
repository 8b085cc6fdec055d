// Turns with players that are made up: who is opened, played and closed, and what is a round.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/play/turns.h"

enum { TRACES = 3 };

// ------------------------------------------------------------------------ players that are made up

// The names of the traces whose players were opened, played and closed, with a letter before each.
static char calls[256];
static const struct sp_trace *fails_to_open, *fails_to_run;

static void note(char what, const struct sp_player *player) {
    size_t length = strlen(calls);
    calls[length] = what;
    strcpy(calls + length + 1, player->play.trace->name);
}

bool sp_player_open(struct sp_player *player, const struct sp_play *play) {
    *player = (struct sp_player){.play = *play};
    if (play->trace == fails_to_open)
        return false;
    note(play->held_by_other ? 'o' : 'O', player);
    return true;
}

void sp_player_close(struct sp_player *player) {
    note('c', player);
}

bool sp_player_run(struct sp_player *player, unsigned pass, struct sp_result *result) {
    *result = (struct sp_result){.trace = player->play.trace->name, .pass = pass};
    note('r', player);
    return player->play.trace != fails_to_run;
}

bool sp_stage_fail(struct sp_stage *stage, const char *format, ...) {
    strcpy(stage->reason, format);
    return false;
}

void sp_progress_next(struct sp_progress *progress, const char *label) {
    progress->label = label;
}

// --------------------------------------------------------------------------------------- the tests

static char names[TRACES][2] = {"a", "b", "c"};
static struct sp_trace list[TRACES] = {{.name = names[0]}, {.name = names[1]}, {.name = names[2]}};
static const struct sp_traces traces = {.list = list, .count = TRACES};
static struct sp_progress progress;
static struct sp_stage stage;
static const struct sp_play play = {.stage = &stage, .progress = &progress, .held_bytes = 7};

static int begin(void **state) {
    (void)state;
    calls[0] = '\0';
    fails_to_open = fails_to_run = NULL;
    return 0;
}

static void a_pass_plays_each_trace_in_order_while_all_are_open(void **state) {
    (void)state;
    struct sp_turns turns;
    struct sp_result results[TRACES];
    assert_true(sp_turns_open(&turns, &play, &traces));
    assert_true(sp_turns_run(&turns, 1, results));
    assert_true(sp_turns_run(&turns, 2, results));
    sp_turns_close(&turns);
    assert_string_equal(calls,
                        "Oaoboc"
                        "rarbrc"
                        "rarbrc"
                        "cccbca");
    assert_string_equal(results[2].trace, "c");
    assert_int_equal(results[2].pass, 2);
}

static void a_player_that_cant_be_opened_has_those_before_it_closed(void **state) {
    (void)state;
    struct sp_turns turns;
    fails_to_open = &list[2];
    assert_false(sp_turns_open(&turns, &play, &traces));
    assert_string_equal(calls,
                        "Oaob"
                        "cbca");
    assert_int_equal(turns.trace, 2);
}

static void a_turn_that_fails_ends_the_pass(void **state) {
    (void)state;
    struct sp_turns turns;
    struct sp_result results[TRACES];
    fails_to_run = &list[1];
    assert_true(sp_turns_open(&turns, &play, &traces));
    assert_false(sp_turns_run(&turns, 1, results));
    assert_int_equal(turns.trace, 1);
    sp_turns_close(&turns);
    assert_string_equal(calls,
                        "Oaoboc"
                        "rarb"
                        "cccbca");
}

// --------------------------------------------------------------------------------------- the round

// What the turns of three passes reserve: the first pass needs the most, and the third the least.
static const uint64_t reserved[3][TRACES] = {{50, 90, 70}, {40, 60, 80}, {30, 20, 10}};
static const uint64_t live[TRACES] = {5, 9, 7};

static const uint64_t reserved_in_round[3][TRACES] = {{50, 90, 90}, {90, 70, 80}, {80, 80, 30}};
static const uint64_t live_in_round[3][TRACES] = {{5, 9, 9}, {9, 9, 9}, {9, 9, 9}};

static void a_round_has_one_turn_of_each_trace(void **state) {
    (void)state;
    struct sp_turns turns = {.count = TRACES};
    struct sp_result results[3][TRACES] = {0};
    for (unsigned pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < TRACES; i++) {
            results[pass][i].live_peak_bytes = live[i];
            results[pass][i].reserved_peak_bytes = reserved[pass][i];
        }
        sp_turns_round(&turns, pass + 1, results[pass]);
        for (size_t i = 0; i < TRACES; i++) {
            const struct sp_result *result = &results[pass][i];
            assert_int_equal(result->turn, i + 1);
            assert_int_equal(result->live_peak_bytes, live_in_round[pass][i]);
            assert_int_equal(result->reserved_peak_bytes, reserved_in_round[pass][i]);
            assert_int_equal(result->turn_live_peak_bytes, live[i]);
            assert_int_equal(result->turn_reserved_peak_bytes, reserved[pass][i]);
        }
    }
}

static void the_round_of_one_trace_is_its_turn(void **state) {
    (void)state;
    struct sp_turns turns = {.count = 1};
    struct sp_result results[2] = {{.live_peak_bytes = 5, .reserved_peak_bytes = 9},
                                   {.live_peak_bytes = 4, .reserved_peak_bytes = 8}};
    sp_turns_round(&turns, 1, &results[0]);
    sp_turns_round(&turns, 2, &results[1]);
    assert_int_equal(results[1].turn, 1);
    assert_int_equal(results[1].live_peak_bytes, 4);
    assert_int_equal(results[1].reserved_peak_bytes, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_pass_plays_each_trace_in_order_while_all_are_open, begin),
        cmocka_unit_test_setup(a_player_that_cant_be_opened_has_those_before_it_closed, begin),
        cmocka_unit_test_setup(a_turn_that_fails_ends_the_pass, begin),
        cmocka_unit_test(a_round_has_one_turn_of_each_trace),
        cmocka_unit_test(the_round_of_one_trace_is_its_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
