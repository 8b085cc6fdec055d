// Live blocks and their stacks: host memory is bounded by what lives.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/live.h"
#include "random/numbers.h"

static int held; // pieces of host memory

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
    held++;
    return __real_malloc(size);
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
    held -= memory != NULL;
    __real_free(memory);
}

// ------------------------------------------------------------------------------ stacks that differ

// A turn has two frames.
enum { TURNS = 6, PATHS = 1 << TURNS, FRAMES = 2 * TURNS };

static struct sp_stack *walk(unsigned path, int turns);

// What comes behind the call keeps the frame.
__attribute__((noinline)) static struct sp_stack *left(unsigned path, int turns) {
    struct sp_stack *stack = walk(path, turns);
    __asm__ volatile("" : "+r"(stack));
    return stack;
}

__attribute__((noinline)) static struct sp_stack *right(unsigned path, int turns) {
    struct sp_stack *stack = walk(path, turns);
    __asm__ volatile("" : "+r"(stack));
    return stack;
}

__attribute__((noinline)) static struct sp_stack *walk(unsigned path, int turns) {
    struct sp_stack *stack;
    if (turns == 0)
        stack = sp_stack_here(__builtin_return_address(0), FRAMES);
    else
        stack = path & 1 ? left(path >> 1, turns - 1) : right(path >> 1, turns - 1);
    __asm__ volatile("" : "+r"(stack));
    return stack;
}

// The first stack of a process has the system load what it takes.
static int begin(void **state) {
    (void)state;
    sp_stack_drop(walk(0, TURNS));
    held = 0;
    return 0;
}

// ------------------------------------------------------------------------------------------- tests

static void a_stack_is_kept_as_long_as_something_refers_to_it(void **state) {
    (void)state;
    struct sp_stack *one = walk(1, TURNS), *other = walk(2, TURNS), *same = walk(1, TURNS);
    assert_ptr_equal(one, same);
    assert_ptr_not_equal(one, other);
    assert_int_equal(held, 2);
    sp_stack_drop(other);
    sp_stack_drop(one);
    assert_int_equal(held, 1);
    sp_stack_keep(same);
    sp_stack_drop(same);
    sp_stack_drop(same);
    assert_int_equal(held, 0);
    sp_stack_drop(NULL);
}

static void a_freed_block_leaves_nothing(void **state) {
    (void)state;
    struct sp_live_block block = {.address = 4096, .size = 1, .stack = walk(3, TURNS)};
    sp_live_add(&block);
    assert_int_equal(held, 2);
    sp_live_end(sp_live_take(4096));
    assert_int_equal(held, 0);
}

enum { PLACES = 32, STEPS = 4000, NOT_LIVE = -1 };

// The path by which the block of each place was allocated.
static int paths[PLACES];

static uint64_t address_of(size_t place) {
    return 4096 * (place + 1);
}

static void allocate(size_t place, unsigned path) {
    struct sp_live_block block = {
        .address = address_of(place), .size = path + 1, .stack = walk(path, TURNS)};
    sp_live_add(&block);
    paths[place] = (int)path;
}

static void end(size_t place) {
    sp_live_end(sp_live_take(address_of(place)));
    paths[place] = NOT_LIVE;
}

static void require_what_lives(void) {
    int blocks = 0, stacks = 0;
    bool has[PATHS] = {false};
    for (size_t i = 0; i < PLACES; i++) {
        if (paths[i] == NOT_LIVE)
            continue;
        blocks++;
        stacks += !has[paths[i]];
        has[paths[i]] = true;
    }
    assert_int_equal(held, blocks + stacks);
}

// Draws allocations, of which some find the address of a block that ended unseen, and frees, of
// which some fail.
static void memory_is_that_of_what_lives(void **state) {
    (void)state;
    struct numbers numbers = {1};
    for (size_t i = 0; i < PLACES; i++)
        paths[i] = NOT_LIVE;
    for (unsigned step = 0; step < STEPS; step++) {
        size_t place = numbers_below(&numbers, PLACES);
        if (paths[place] == NOT_LIVE || numbers_once_in(&numbers, 4))
            allocate(place, (unsigned)numbers_below(&numbers, PATHS));
        else if (numbers_once_in(&numbers, 4))
            sp_live_put_back(sp_live_take(address_of(place)));
        else
            end(place);
        require_what_lives();
    }
    for (size_t i = 0; i < PLACES; i++)
        end(i);
    assert_int_equal(held, 0);
}

static void what_is_listed_keeps_its_stack(void **state) {
    (void)state;
    char before[4096] = "", behind[4096] = "";
    size_t count;
    allocate(0, 5);
    struct sp_live_block *list = sp_live_list(&count);
    assert_int_equal(count, 1);
    FILE *out = fmemopen(before, sizeof before, "w");
    sp_stack_print(list[0].stack, out);
    fclose(out);
    end(0);
    assert_int_equal(held, 1); // the stack
    out = fmemopen(behind, sizeof behind, "w");
    sp_stack_print(list[0].stack, out);
    fclose(out);
    assert_string_equal(before, behind);
    sp_stack_drop(list[0].stack);
    free(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_stack_is_kept_as_long_as_something_refers_to_it, begin),
        cmocka_unit_test_setup(a_freed_block_leaves_nothing, begin),
        cmocka_unit_test_setup(memory_is_that_of_what_lives, begin),
        cmocka_unit_test_setup(what_is_listed_keeps_its_stack, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
