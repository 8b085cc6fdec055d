#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/thread.h"
#include "unit/base/child.h"

struct seen {
    bool watching;
    bool before;
    bool in_child;
    bool in_grandchild;
    bool after_in_parent;
};

static struct child_outcome outcome;

static void look_in_child(void *result) {
    *(bool *)result = sp_fork_is_child();
}

static void look_in_child_and_grandchild(void *result) {
    struct seen *seen = result;
    struct child_outcome inner;
    seen->in_child = sp_fork_is_child();
    if (!child_run(look_in_child, &seen->in_grandchild, sizeof(seen->in_grandchild), &inner))
        _exit(1);
}

static void fork_while_watched(void *result) {
    struct seen *seen = result;
    struct seen of_child;
    static struct child_outcome inner;
    seen->watching = sp_fork_watch() && sp_fork_watch();
    seen->before = sp_fork_is_child();
    if (!child_run(look_in_child_and_grandchild, &of_child, sizeof(of_child), &inner) ||
        inner.status != 0)
        _exit(1);
    seen->in_child = of_child.in_child;
    seen->in_grandchild = of_child.in_grandchild;
    seen->after_in_parent = sp_fork_is_child();
}

static struct seen look_while_watched(void) {
    struct seen seen;
    assert_true(child_run(fork_while_watched, &seen, sizeof(seen), &outcome));
    assert_int_equal(outcome.status, 0);
    assert_true(seen.watching);
    return seen;
}

static void a_child_of_a_watching_process_knows_that_it_is_forked(void **state) {
    (void)state;
    assert_true(look_while_watched().in_child);
}

static void so_does_its_own_child(void **state) {
    (void)state;
    assert_true(look_while_watched().in_grandchild);
}

static void the_parent_is_not_forked_before_or_after(void **state) {
    (void)state;
    struct seen seen = look_while_watched();
    assert_false(seen.before);
    assert_false(seen.after_in_parent);
}

static void a_child_of_a_process_that_does_not_watch_is_a_process_like_any_other(void **state) {
    (void)state;
    bool forked = true;
    assert_true(child_run(look_in_child, &forked, sizeof(forked), &outcome));
    assert_false(forked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_of_a_watching_process_knows_that_it_is_forked),
        cmocka_unit_test(so_does_its_own_child),
        cmocka_unit_test(the_parent_is_not_forked_before_or_after),
        cmocka_unit_test(a_child_of_a_process_that_does_not_watch_is_a_process_like_any_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
