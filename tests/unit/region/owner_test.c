#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inside/page_map.h"
#include "region/owner.h"

#define BASE ((uint64_t)1 << 40)

static struct sp_block block;
static struct sp_slab slab;

static int add_range(void **state) {
    (void)state;
    return sp_page_map_add(BASE, 64 * SP_PAGE_SIZE) ? 0 : -1;
}

static int clear(void **state) {
    (void)state;
    inside_page_map_clear();
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
    block = (struct sp_block){.address = BASE + 3 * SP_PAGE_SIZE + SP_ALIGNMENT,
                              .size = 4 * SP_PAGE_SIZE};
    sp_owner_set_block(&block);
    uintptr_t owner = sp_owner_of(block.address);
    assert_ptr_equal(sp_owner_block(owner), &block);
    assert_null(sp_owner_slab(owner));
    // Whoever asks compares the address.
    assert_int_equal(sp_owner_of(BASE + 3 * SP_PAGE_SIZE), owner);
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

static uint64_t cache_line(const void *pointer) {
    return (uint64_t)(uintptr_t)pointer / 64;
}

// All of a run of every class, for the word alone does not tell which of its pages an address is
// in.
static void the_word_of_a_slab_leads_to_what_was_asked_for_with_each_of_its_blocks(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++) {
        const struct sp_size_class *class = &sp_size_classes[i];
        block = (struct sp_block){.address = BASE + 5 * SP_PAGE_SIZE,
                                  .size = class->pages * SP_PAGE_SIZE};
        struct sp_slab *of_class = sp_slab_create(i);
        assert_non_null(of_class);
        sp_slab_set_run(of_class, &block);
        sp_owner_set_run(&block, of_class);
        for (uint32_t n = 0; n < class->blocks; n++) {
            uint64_t address = block.address + (uint64_t)n * class->block_size;
            uintptr_t owner = sp_owner_of_freed(address);
            assert_ptr_equal(sp_owner_slab(owner), of_class);
            assert_int_equal(cache_line(sp_owner_asked_line(owner, address)),
                             cache_line(&of_class->asked_each[n]));
        }
        sp_owner_set_run(&block, NULL);
        sp_slab_destroy(of_class);
    }
}

static void what_is_to_be_freed_has_the_same_word(void **state) {
    (void)state;
    assert_int_equal(sp_owner_of_freed(0), 0);
    assert_int_equal(sp_owner_of_freed(BASE), 0);
    block = (struct sp_block){.address = BASE + 3 * SP_PAGE_SIZE + SP_ALIGNMENT,
                              .size = 4 * SP_PAGE_SIZE};
    sp_owner_set_block(&block);
    assert_ptr_equal(sp_owner_block(sp_owner_of_freed(block.address)), &block);
}

#define owner_test(function) cmocka_unit_test_setup_teardown(function, add_range, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        owner_test(an_address_that_nobody_owns_has_no_word),
        owner_test(a_large_block_is_found_by_its_first_page),
        owner_test(a_slab_is_found_by_every_page_of_its_run_and_by_none_when_cleared),
        owner_test(the_word_of_a_slab_leads_to_what_was_asked_for_with_each_of_its_blocks),
        owner_test(what_is_to_be_freed_has_the_same_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
