// Handles are numbers that don't depend on where the host puts the elements.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "simcuda/common/slab.h"

struct thing {
    struct sim_slab_element element;
    uint64_t content;
};

enum { CAPACITY = 8 };

static struct sim_slab make_slab(enum sim_slab_kind kind) {
    struct sim_slab slab;
    assert_true(sim_slab_init(&slab, kind, sizeof(struct thing), CAPACITY));
    return slab;
}

static uintptr_t take(struct sim_slab *slab) {
    static uint64_t identity;
    void *element = sim_slab_take(slab);
    assert_non_null(element);
    sim_slab_publish(element, ++identity);
    return sim_slab_handle(slab, element);
}

static void the_same_steps_give_the_same_handles_at_any_address(void **state) {
    (void)state;
    struct sim_slab first = make_slab(SIM_SLAB_OF_STREAMS);
    struct sim_slab second = make_slab(SIM_SLAB_OF_STREAMS);
    assert_ptr_not_equal(first.base, second.base);
    for (int i = 0; i < 3; i++)
        assert_int_equal(take(&first), take(&second));
    free(first.base);
    free(second.base);
}

static void a_handle_is_found_while_its_element_lives(void **state) {
    (void)state;
    struct sim_slab slab = make_slab(SIM_SLAB_OF_EVENTS);
    uintptr_t gone = take(&slab), kept = take(&slab);
    void *element = sim_slab_find(&slab, gone);
    assert_ptr_equal(element, slab.base);
    sim_slab_give(&slab, element);
    assert_null(sim_slab_find(&slab, gone));
    assert_null(sim_slab_at(&slab, 0));
    assert_true(sim_slab_knows(&slab, gone));
    assert_ptr_equal(sim_slab_find(&slab, kept), sim_slab_at(&slab, 1));
    free(slab.base);
}

static void what_is_no_handle_of_the_slab_is_not_found(void **state) {
    (void)state;
    struct sim_slab slab = make_slab(SIM_SLAB_OF_EVENTS), others = make_slab(SIM_SLAB_OF_CONTEXTS);
    uintptr_t handle = take(&slab);
    const uintptr_t wrong[] = {0,
                               1,
                               handle + 1,
                               handle - sizeof(struct thing),
                               handle + CAPACITY * sizeof(struct thing),
                               take(&others),
                               (uintptr_t)slab.base};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_null(sim_slab_find(&slab, wrong[i]));
        assert_false(sim_slab_knows(&slab, wrong[i]));
    }
    assert_false(sim_slab_knows(&slab, handle + sizeof(struct thing))); // never handed out
    free(slab.base);
    free(others.base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_steps_give_the_same_handles_at_any_address),
        cmocka_unit_test(a_handle_is_found_while_its_element_lives),
        cmocka_unit_test(what_is_no_handle_of_the_slab_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
