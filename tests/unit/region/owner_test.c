#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

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

// ------------------------------------------------------------------------------------ loose blocks

#define PAGE(n) (BASE + (uint64_t)(n)*SP_PAGE_SIZE)

static struct sp_block loose_at(uint64_t address, uint64_t size) {
    return (struct sp_block){.address = address, .size = size, .state = SP_BLOCK_LIVE};
}

static void hand_out(struct sp_block *to) {
    assert_true(sp_owner_has_room(to->address, to->size));
    sp_owner_set_block(to);
}

static void assert_owned(struct sp_block *by) {
    assert_ptr_equal(sp_owner_block(sp_owner_of(by->address)), by);
    assert_ptr_equal(sp_owner_block(sp_owner_of_freed(by->address)), by);
    assert_null(sp_owner_slab(sp_owner_of(by->address)));
}

static void loose_blocks_that_begin_in_one_page_are_each_found(void **state) {
    (void)state;
    struct sp_block blocks[3] = {loose_at(PAGE(2), 512), loose_at(PAGE(2) + 512, 2048),
                                 loose_at(PAGE(3) - 512, 57344)};
    for (int i = 0; i < 3; i++)
        hand_out(&blocks[i]);
    for (int i = 0; i < 3; i++)
        assert_owned(&blocks[i]);
    assert_int_equal(sp_owner_of(PAGE(2) + 1024), 0);
    assert_ptr_equal(sp_owner_of(PAGE(2) + 511), &blocks[0]); // whoever asks compares the address
    assert_int_equal(sp_owner_of(PAGE(3)), 0);
}

static void a_large_block_is_still_found_when_a_loose_one_comes_before_it(void **state) {
    (void)state;
    struct sp_block large = loose_at(PAGE(2) + 4096, 2 * SP_PAGE_SIZE);
    struct sp_block loose = loose_at(PAGE(2), 4096), next = loose_at(PAGE(4) + 4096, 512);
    hand_out(&large);
    hand_out(&loose);
    hand_out(&next);
    assert_owned(&large);
    assert_owned(&loose);
    assert_owned(&next);
}

static void so_is_one_that_comes_to_begin_beside_it(void **state) {
    (void)state;
    struct sp_block loose = loose_at(PAGE(2), 4096);
    struct sp_block large = loose_at(PAGE(2) + 4096, 2 * SP_PAGE_SIZE);
    hand_out(&loose);
    hand_out(&large);
    assert_owned(&large);
    assert_owned(&loose);
}

// What was in the page before is out of date, whatever it says.
static void a_page_of_loose_blocks_becomes_a_slabs_and_is_one_of_loose_blocks_again(void **state) {
    (void)state;
    struct sp_block loose = loose_at(PAGE(2) + 1024, 512), again = loose_at(PAGE(2) + 512, 512);
    struct sp_block large = loose_at(PAGE(1), 3 * SP_PAGE_SIZE);
    hand_out(&loose);
    block = (struct sp_block){.address = PAGE(2), .size = SP_PAGE_SIZE};
    sp_owner_set_run(&block, &slab);
    assert_ptr_equal(sp_owner_slab(sp_owner_of(loose.address)), &slab);
    sp_owner_set_run(&block, NULL);
    assert_int_equal(sp_owner_of(loose.address), 0);
    hand_out(&again);
    assert_owned(&again);
    hand_out(&large);
    assert_owned(&large);
    hand_out(&again);
    assert_owned(&again);
}

enum { THREADS = 4, OF_THREAD = 16, PAGES = 32 };
static struct sp_block of_threads[THREADS][PAGES][OF_THREAD];

static void *hand_out_many(void *argument) {
    struct sp_block(*mine)[OF_THREAD] = argument;
    for (int page = 0; page < PAGES; page++) {
        for (int i = 0; i < OF_THREAD; i++)
            sp_owner_set_block(&mine[page][i]);
    }
    return NULL;
}

// Of each page the last block of one thread is a large one.
static void threads_hand_out_blocks_of_one_page_at_once(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    assert_true(sp_owner_has_room(BASE, 512));
    for (int page = 0; page < PAGES; page++) {
        for (uint64_t i = 0; i < THREADS * OF_THREAD; i++)
            of_threads[i % THREADS][page][i / THREADS] = loose_at(
                PAGE(2 * page) + i * 512, i + 1 < THREADS * OF_THREAD ? 512 : SP_PAGE_SIZE);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hand_out_many, of_threads[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS * PAGES * OF_THREAD; i++)
        assert_owned(&of_threads[0][0][0] + i);
}

#define owner_test(function) cmocka_unit_test_setup_teardown(function, add_range, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        owner_test(an_address_that_nobody_owns_has_no_word),
        owner_test(a_large_block_is_found_by_its_first_page),
        owner_test(a_slab_is_found_by_every_page_of_its_run_and_by_none_when_cleared),
        owner_test(the_word_of_a_slab_leads_to_what_was_asked_for_with_each_of_its_blocks),
        owner_test(what_is_to_be_freed_has_the_same_word),
        owner_test(loose_blocks_that_begin_in_one_page_are_each_found),
        owner_test(a_large_block_is_still_found_when_a_loose_one_comes_before_it),
        owner_test(so_is_one_that_comes_to_begin_beside_it),
        owner_test(a_page_of_loose_blocks_becomes_a_slabs_and_is_one_of_loose_blocks_again),
        owner_test(threads_hand_out_blocks_of_one_page_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
