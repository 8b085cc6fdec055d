#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/context.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

static uint64_t id_of(CUcontext context) {
    uint64_t id = 0;
    assert_done(sp_context_id(context, &id));
    assert_int_not_equal(id, 0);
    return id;
}

static void use(CUcontext context) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
}

static CUcontext new_context(void) {
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxPopCurrent(&context), CUDA_SUCCESS);
    return context;
}

static void destroy(CUcontext context) {
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
}

static void reset_primary_context(void) {
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_ptr_equal(context, simulated_context());
}

static void a_context_keeps_its_id_and_another_one_has_another(void **state) {
    (void)state;
    CUcontext other = new_context();
    uint64_t id = id_of(simulated_context());
    assert_int_not_equal(id_of(other), id);
    assert_int_equal(id_of(simulated_context()), id);
}

static void a_context_at_an_earlier_ones_handle_has_another_id(void **state) {
    (void)state;
    CUcontext first = new_context();
    uint64_t earlier = id_of(first);
    destroy(first);
    assert_ptr_equal(new_context(), first);
    assert_int_not_equal(id_of(first), earlier);
    earlier = id_of(simulated_context());
    for (int i = 0; i < 3; i++) {
        reset_primary_context();
        uint64_t later = id_of(simulated_context());
        assert_int_not_equal(later, earlier);
        earlier = later;
    }
}

static void a_context_is_gone_once_it_was_destroyed(void **state) {
    (void)state;
    CUcontext context = new_context();
    uint64_t id = id_of(context);
    assert_false(sp_context_is_gone(context, id));
    destroy(context);
    assert_true(sp_context_is_gone(context, id));
    assert_ptr_equal(new_context(), context);
    assert_true(sp_context_is_gone(context, id));
    uint64_t later = id_of(context);
    assert_true(sp_context_is_gone(context, id));
    assert_false(sp_context_is_gone(context, later));
}

static void a_context_is_gone_once_it_was_reset(void **state) {
    (void)state;
    uint64_t id = id_of(simulated_context());
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    assert_true(sp_context_is_gone(simulated_context(), id));
    reset_primary_context();
    assert_true(sp_context_is_gone(simulated_context(), id));
}

static void no_context_need_be_current(void **state) {
    (void)state;
    CUcontext context = new_context();
    use(NULL);
    uint64_t id = id_of(context);
    assert_int_equal(id_of(context), id);
    assert_false(sp_context_is_gone(context, id));
    destroy(context);
    assert_true(sp_context_is_gone(context, id));
}

static void many_contexts_are_told_apart(void **state) {
    (void)state;
    enum { MANY = 300 };
    static CUcontext contexts[MANY];
    static uint64_t ids[MANY];
    for (int i = 0; i < MANY; i++) {
        contexts[i] = new_context();
        ids[i] = id_of(contexts[i]);
    }
    for (int i = 0; i < MANY; i += 2)
        destroy(contexts[i]);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(sp_context_is_gone(contexts[i], ids[i]), i % 2 == 0);
}

static void the_current_contexts_id_is_known_once_a_stream_was_met(void **state) {
    (void)state;
    CUcontext context = NULL;
    uint64_t id = 1;
    const struct sp_stream *stream = known_stream();
    assert_done(sp_context_current(&context, &id));
    assert_ptr_equal(context, simulated_context());
    assert_int_equal(id, stream->context_id);
    assert_true(sp_context_is_current(stream->context, stream->context_id));
    reset_primary_context();
    use(simulated_context());
    assert_false(sp_context_is_current(stream->context, stream->context_id));
    use(NULL);
    assert_done(sp_context_current(&context, &id));
    assert_null(context);
    assert_int_equal(id, 0);
}

#define context_test(function)                                                                     \
    cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        context_test(a_context_keeps_its_id_and_another_one_has_another),
        context_test(a_context_at_an_earlier_ones_handle_has_another_id),
        context_test(a_context_is_gone_once_it_was_destroyed),
        context_test(a_context_is_gone_once_it_was_reset),
        context_test(no_context_need_be_current),
        context_test(many_contexts_are_told_apart),
        context_test(the_current_contexts_id_is_known_once_a_stream_was_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
