#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/atomic.h"
#include "order/action.h"
#include "order/identity.h"
#include "order/resolve.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

static struct sp_stream *blocking_stream(void) {
    return known(simulated_blocking_stream());
}

static bool owes_for_own(struct sp_stream *stream, uint64_t sequence) {
    return sp_action_owed_for_own(stream, sequence, sp_progress_is_complete) == SP_OWED_OWN;
}

static bool owes_for(struct sp_stream *taker, const struct sp_stream *owner, uint64_t sequence) {
    struct sp_fence_set set = {.count = 1, .some = {{owner->slot, sequence}}};
    return sp_action_owed_for(taker, &set, sp_progress_is_complete) == SP_OWED_OTHERS;
}

static bool is_legacy_ordered(struct sp_stream *taker, const struct sp_stream *owner,
                              uint64_t sequence) {
    return sp_action_is_legacy_ordered(taker, (struct sp_fence){owner->slot, sequence});
}

static struct sp_outcome make_action(struct sp_stream *stream, enum sp_owed owed) {
    return sp_identity_of(stream)->act(stream, owed);
}

static bool has_ids(void) {
    return sp_driver->cuStreamGetId != NULL;
}

static uint64_t pending_records(CUstream stream) {
    return simcudaPending(stream);
}

// Another thread frees between the wait for the chain, with which an allocation begins, and the
// allocation's look at what it took.
static void a_wait_for_the_chain_is_no_action_behind_later_frees(void **state) {
    (void)state;
    if (has_ids())
        skip();
    struct sp_stream *stream = known(simulated_blocking_stream());
    uint64_t before = free_behind_work_on(stream);
    assert_true(owes_for_own(stream, before));
    assert_done(sp_identity_before_reuse(stream));
    uint64_t later = free_on(stream);
    assert_false(owes_for_own(stream, before));
    assert_true(owes_for_own(stream, later));
    assert_done(make_action(stream, SP_OWED_OWN));
    assert_false(owes_for_own(stream, later));
}

static void all_streams_act_but_non_blocking_ones(void **state) {
    (void)state;
    assert_true(sp_stream_acts(known(CU_STREAM_LEGACY)));
    assert_true(sp_stream_acts(blocking_stream()));
    assert_true(sp_stream_acts(known(CU_STREAM_PER_THREAD)));
    assert_int_equal(sp_stream_acts(known_stream()), !has_ids());
}

// The slot of a stream is given to one of another kind.
static void a_slot_acts_as_its_stream_does(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *alone = known_stream();
    assert_done(sp_end_stream(alone, alone->handle));
    assert_ptr_equal(blocking_stream(), alone);
    assert_true(sp_stream_acts(alone));
    assert_done(sp_end_stream(alone, alone->handle));
    assert_ptr_equal(known_stream(), alone);
    assert_false(sp_stream_acts(alone));
}

static void an_action_is_owed_for_own_memory_until_an_event_stands_behind_its_free(void **state) {
    (void)state;
    struct sp_stream *stream = blocking_stream();
    uint64_t sequence = free_on(stream);
    assert_true(owes_for_own(stream, sequence));
    assert_done(sp_mark_record(stream));
    assert_true(owes_for_own(stream, sequence)); // a bare question passes over a record
    assert_done(make_action(stream, SP_OWED_OWN));
    assert_false(owes_for_own(stream, sequence));
    assert_true(owes_for_own(stream, free_on(stream)));
}

// As memory of a slab does that was taken over: it carries a number that no free was recorded for.
static void an_action_is_owed_for_a_number_that_nothing_was_recorded_for(void **state) {
    (void)state;
    struct sp_stream *stream = blocking_stream();
    simulated_work(stream->handle);
    free_on(stream);
    uint64_t sequence = sp_progress_number(stream);
    sp_atomic_raise(&stream->freed, sequence);
    assert_true(owes_for_own(stream, sequence));
    assert_done(make_action(stream, SP_OWED_OWN));
    assert_false(owes_for_own(stream, sequence));
}

static void nothing_is_owed_for_memory_that_is_complete(void **state) {
    (void)state;
    struct sp_stream *stream = blocking_stream();
    uint64_t sequence = free_on(stream);
    assert_done(sp_synchronize_context());
    assert_false(owes_for_own(stream, sequence));
}

static void an_action_is_owed_for_memory_of_the_other_side(void **state) {
    (void)state;
    struct sp_stream *legacy = known(CU_STREAM_LEGACY);
    struct sp_stream *stream = blocking_stream();
    uint64_t of_stream = free_behind_work_on(stream);
    uint64_t of_legacy = free_behind_work_on(legacy);
    assert_done(sp_mark_record(legacy));
    assert_true(owes_for(legacy, stream, of_stream));
    assert_true(owes_for(stream, legacy, of_legacy));
    assert_false(owes_for(known_stream(), legacy, of_legacy));
    assert_done(sp_synchronize_context());
    assert_false(owes_for(legacy, stream, of_stream));
    assert_false(owes_for(stream, legacy, of_legacy));
}

static void each_fence_of_a_block_counts_for_what_is_owed(void **state) {
    (void)state;
    struct sp_stream *legacy = known(CU_STREAM_LEGACY);
    struct sp_stream *others[] = {known_stream(), blocking_stream()};
    struct sp_fence free_of_debt = {others[0]->slot, free_behind_work_on(others[0])};
    struct sp_fence owed_for = {others[1]->slot, free_behind_work_on(others[1])};
    struct sp_fence_set sets[] = {{.count = 2, .some = {free_of_debt, owed_for}},
                                  {.count = 2, .some = {owed_for, free_of_debt}}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(sp_action_owed_for(legacy, &sets[i], sp_progress_is_complete),
                         SP_OWED_OTHERS);
}

// Though nothing was freed or learned since the last one.
static void an_action_behind_the_other_side_is_a_new_one(void **state) {
    (void)state;
    struct sp_stream *stream = blocking_stream();
    simulated_work(CU_STREAM_LEGACY);
    for (uint64_t i = 1; i < 4; i++) {
        assert_done(make_action(stream, SP_OWED_OTHERS));
        assert_true(pending_records(stream->handle) >= i);
    }
}

static void an_action_behind_own_frees_uses_the_record_that_is_there(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *stream = blocking_stream();
    simulated_work(CU_STREAM_LEGACY);
    uint64_t sequence = free_on(stream);
    assert_done(sp_mark_record(stream));
    uint64_t before = simcudaCallCount("cuEventRecord");
    assert_done(make_action(stream, SP_OWED_OWN));
    assert_int_equal(simcudaCallCount("cuEventRecord"), before);
    assert_false(owes_for_own(stream, sequence));
    assert_int_equal(sp_driver->cuStreamQuery(stream->handle), CUDA_ERROR_NOT_READY);
}

static void a_bare_question_sees_the_action(void **state) {
    (void)state;
    struct sp_stream *stream = blocking_stream();
    simulated_work(CU_STREAM_LEGACY);
    assert_int_equal(sp_driver->cuStreamQuery(stream->handle), CUDA_SUCCESS);
    assert_done(make_action(stream, SP_OWED_OTHERS));
    assert_int_equal(sp_driver->cuStreamQuery(stream->handle), CUDA_ERROR_NOT_READY);
    simulated_finish(CU_STREAM_LEGACY);
    assert_int_equal(sp_driver->cuStreamQuery(stream->handle), CUDA_SUCCESS);
}

// Nobody waits for the legacy stream's action: so it is one event, and no mark.
static void all_actions_of_the_legacy_stream_record_one_event(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *legacy = known(CU_STREAM_LEGACY);
    uint64_t created = simcudaCallCount("cuEventCreate");
    for (int i = 0; i < 3; i++) {
        uint64_t sequence = free_on(legacy);
        uint64_t recorded = simcudaCallCount("cuEventRecord");
        assert_true(owes_for_own(legacy, sequence));
        assert_done(make_action(legacy, i == 1 ? SP_OWED_OTHERS : SP_OWED_OWN));
        assert_int_equal(simcudaCallCount("cuEventRecord"), recorded + 1);
        assert_false(owes_for_own(legacy, sequence));
        assert_null(sp_mark_covering(legacy, sequence));
    }
    assert_int_equal(simcudaCallCount("cuEventCreate"), created + 1);
}

static void an_action_of_the_legacy_stream_that_fails_is_owed_again(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *legacy = known(CU_STREAM_LEGACY);
    uint64_t sequence = free_on(legacy);
    simcudaFailCall("cuEventCreate", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    assert_of_driver(make_action(legacy, SP_OWED_OWN), CUDA_ERROR_OUT_OF_MEMORY);
    assert_true(owes_for_own(legacy, sequence));
    simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    assert_of_driver(make_action(legacy, SP_OWED_OWN), CUDA_ERROR_OUT_OF_MEMORY);
    assert_true(owes_for_own(legacy, sequence));
    simcudaFailClear();
    assert_done(make_action(legacy, SP_OWED_OWN));
    assert_false(owes_for_own(legacy, sequence));
}

static void memory_of_the_legacy_stream_is_ordered_once_its_action_stands_behind_it(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *legacy = known(CU_STREAM_LEGACY);
    struct sp_stream *stream = blocking_stream();
    uint64_t sequence = free_behind_work_on(legacy);
    assert_false(is_legacy_ordered(stream, legacy, sequence));
    assert_done(make_action(legacy, SP_OWED_OWN));
    assert_true(is_legacy_ordered(stream, legacy, sequence));
    assert_false(is_legacy_ordered(known_stream(), legacy, sequence));
    assert_false(is_legacy_ordered(stream, legacy, free_on(legacy)));
}

static void memory_of_the_legacy_stream_is_ordered_once_an_event_stands_behind_it(void **state) {
    (void)state;
    struct sp_stream *legacy = known(CU_STREAM_LEGACY);
    struct sp_stream *stream = blocking_stream();
    uint64_t sequence = free_behind_work_on(legacy);
    assert_int_equal(is_legacy_ordered(stream, legacy, sequence), !has_ids());
    assert_done(sp_mark_record(legacy));
    assert_true(is_legacy_ordered(stream, legacy, sequence));
    assert_false(is_legacy_ordered(known_stream(), legacy, sequence));
}

static void a_question_with_no_answer_is_no_event_behind_it(void **state) {
    (void)state;
    struct sp_stream *legacy = known(CU_STREAM_LEGACY);
    struct sp_stream *stream = blocking_stream();
    uint64_t sequence = free_behind_work_on(legacy);
    assert_pending(sp_synchronize_query, legacy, legacy->handle);
    assert_int_equal(is_legacy_ordered(stream, legacy, sequence), !has_ids());
}

static void require_frees_pending_beside_legacy_work(struct sp_stream *stream) {
    simulated_work(CU_STREAM_LEGACY);
    uint64_t sequence = free_on(stream);
    assert_pending(sp_synchronize_query, stream, stream->handle);
    assert_pending(sp_synchronize_ask, stream);
    assert_false(is_complete(stream, sequence));
    simulated_finish(CU_STREAM_LEGACY);
    assert_complete(sp_synchronize_query, stream, stream->handle);
    assert_true(is_complete(stream, sequence));
    assert_false(is_synchronized(stream, sequence));
}

static void
a_query_of_an_idle_blocking_stream_leaves_its_frees_pending_beside_legacy_work(void **state) {
    (void)state;
    require_frees_pending_beside_legacy_work(blocking_stream());
}

static void and_so_does_one_of_a_per_thread_default_stream(void **state) {
    (void)state;
    require_frees_pending_beside_legacy_work(known(CU_STREAM_PER_THREAD));
}

static void a_synchronise_of_a_blocking_stream_waits_for_what_its_frees_stand_behind(void **state) {
    (void)state;
    struct sp_stream *stream = blocking_stream();
    simulated_work(CU_STREAM_LEGACY);
    uint64_t sequence = free_on(stream);
    assert_done(sp_synchronize_stream(stream, stream->handle));
    assert_int_equal(simcudaPending(CU_STREAM_LEGACY), 0);
    assert_true(is_synchronized(stream, sequence));
}

static void with_nothing_freed_a_blocking_stream_is_only_asked(void **state) {
    (void)state;
    struct sp_stream *stream = blocking_stream();
    simulated_work(CU_STREAM_LEGACY);
    assert_complete(sp_synchronize_query, stream, stream->handle);
    assert_done(sp_synchronize_stream(stream, stream->handle));
    assert_true(simcudaPending(CU_STREAM_LEGACY) > 0);
}

static void a_record_that_can_not_be_made_leaves_the_frees_pending(void **state) {
    (void)state;
    if (!has_ids())
        skip();
    struct sp_stream *stream = blocking_stream();
    uint64_t sequence = free_on(stream);
    simcudaFailCall("cuEventCreate", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    assert_done(sp_synchronize_stream(stream, stream->handle));
    assert_complete(sp_synchronize_query, stream, stream->handle);
    assert_of_driver(make_action(stream, SP_OWED_OWN), CUDA_ERROR_OUT_OF_MEMORY);
    assert_false(is_complete(stream, sequence));
    simcudaFailClear();
}

#define action_test(name) cmocka_unit_test_setup_teardown(name, simulated_setup, simulated_teardown)

static void require_legacy_order(bool recorded, const bool ordered[3][3]) {
    for (int a = 0; a < 3; a++) {
        for (int b = 0; b < 3; b++)
            assert_int_equal(
                sp_action_orders((enum sp_stream_kind)a, (enum sp_stream_kind)b, recorded),
                ordered[a][b]);
    }
}

// From the stream of the first index to that of the second.
static void the_legacy_stream_is_ordered_with_blocking_streams_alone(void **state) {
    (void)state;
    static const bool ordered[3][3] = {
        [SP_STREAM_LEGACY][SP_STREAM_BLOCKING] = true,
        [SP_STREAM_BLOCKING][SP_STREAM_LEGACY] = true,
    };
    require_legacy_order(true, ordered);
}

static void memory_of_the_legacy_stream_needs_an_event_behind_its_free(void **state) {
    (void)state;
    static const bool ordered[3][3] = {
        [SP_STREAM_BLOCKING][SP_STREAM_LEGACY] = true,
    };
    require_legacy_order(false, ordered);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_legacy_stream_is_ordered_with_blocking_streams_alone),
        cmocka_unit_test(memory_of_the_legacy_stream_needs_an_event_behind_its_free),
        action_test(a_wait_for_the_chain_is_no_action_behind_later_frees),
        action_test(all_streams_act_but_non_blocking_ones),
        action_test(a_slot_acts_as_its_stream_does),
        action_test(an_action_is_owed_for_own_memory_until_an_event_stands_behind_its_free),
        action_test(an_action_is_owed_for_a_number_that_nothing_was_recorded_for),
        action_test(nothing_is_owed_for_memory_that_is_complete),
        action_test(an_action_is_owed_for_memory_of_the_other_side),
        action_test(each_fence_of_a_block_counts_for_what_is_owed),
        action_test(an_action_behind_the_other_side_is_a_new_one),
        action_test(an_action_behind_own_frees_uses_the_record_that_is_there),
        action_test(a_bare_question_sees_the_action),
        action_test(all_actions_of_the_legacy_stream_record_one_event),
        action_test(an_action_of_the_legacy_stream_that_fails_is_owed_again),
        action_test(memory_of_the_legacy_stream_is_ordered_once_its_action_stands_behind_it),
        action_test(memory_of_the_legacy_stream_is_ordered_once_an_event_stands_behind_it),
        action_test(a_question_with_no_answer_is_no_event_behind_it),
        action_test(a_query_of_an_idle_blocking_stream_leaves_its_frees_pending_beside_legacy_work),
        action_test(and_so_does_one_of_a_per_thread_default_stream),
        action_test(a_synchronise_of_a_blocking_stream_waits_for_what_its_frees_stand_behind),
        action_test(with_nothing_freed_a_blocking_stream_is_only_asked),
        action_test(a_record_that_can_not_be_made_leaves_the_frees_pending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
