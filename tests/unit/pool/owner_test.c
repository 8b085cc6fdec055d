#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pool/owner.h"

#define BASE ((uint64_t)1 << 40)

static struct sp_block block;
static struct sp_slab slab;

static int add_range(void **state) {
    (void)state;
    return sp_page_map_add(BASE, 64 * SP_PAGE_SIZE) ? 0 : -1;
}

static int clear(void **state) {
    (void)state;
    sp_page_map_clear();
    return 0;
}

static void an_address_that_nobody_owns_has_no_word(void **state) {
    (void)state;
    assert_int_equal(sp_owner_of(BASE), 0);
    assert_int_equal(sp_owner_of(BASE - 1), 0);
    assert_int_equal(sp_owner_of(0), 0);
    assert_int_equal(sp_owner_of(UINT64_MAX), 0);
    assert_null(sp_owner_slab(0));
    assert_null(sp_owner_block(0));
}

static void a_large_block_is_found_by_its_first_page(void **state) {
    (void)state;
    block = (struct sp_block){.address = BASE + 3 * SP_PAGE_SIZE + SP_ALIGNMENT, .size = 4 * SP_PAGE_SIZE};
    sp_owner_set_block(&block);
    uintptr_t owner = sp_owner_of(block.address);
    assert_ptr_equal(sp_owner_block(owner), &block);
    assert_null(sp_owner_slab(owner));
    assert_int_equal(sp_owner_of(BASE + 3 * SP_PAGE_SIZE), owner); // whoever asks compares the address
    assert_int_equal(sp_owner_of(BASE + 4 * SP_PAGE_SIZE), 0);
    assert_int_equal(sp_owner_of(BASE + 2 * SP_PAGE_SIZE), 0);
}

static void a_slab_is_found_by_every_page_of_its_run_and_by_none_when_cleared(void **state) {
    (void)state;
    block = (struct sp_block){.address = BASE + 8 * SP_PAGE_SIZE, .size = 7 * SP_PAGE_SIZE};
    sp_owner_set_run(&block, &slab);
    for (uint64_t page = 8; page < 15; page++) {
        assert_ptr_equal(sp_owner_slab(sp_owner_of(BASE + page * SP_PAGE_SIZE + 77)), &slab);
        assert_null(sp_owner_block(sp_owner_of(BASE + page * SP_PAGE_SIZE)));
    }
    assert_int_equal(sp_owner_of(BASE + 8 * SP_PAGE_SIZE - 1), 0);
    assert_int_equal(sp_owner_of(BASE + 15 * SP_PAGE_SIZE), 0);
    sp_owner_set_run(&block, NULL);
    for (uint64_t page = 8; page < 15; page++)
        assert_int_equal(sp_owner_of(BASE + page * SP_PAGE_SIZE), 0);
}

#define owner_test(function) cmocka_unit_test_setup_teardown(function, add_range, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        owner_test(an_address_that_nobody_owns_has_no_word),
        owner_test(a_large_block_is_found_by_its_first_page),
        owner_test(a_slab_is_found_by_every_page_of_its_run_and_by_none_when_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
