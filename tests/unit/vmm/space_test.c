#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/page_map.h"
#include "fault/host_memory.h"
#include "inside/page_map.h"
#include "inside/space.h"
#include "unit/outcomes.h"
#include "unit/random.h"
#include "unit/vmm/scripted_driver.h"
#include "vmm/space.h"

#define GRANULE ((size_t)2 << 20)
#define TIB     ((size_t)1 << 40)

static struct sp_vmm_device device;
static struct sp_space space;

struct span {
    CUdeviceptr address;
    size_t size;
};

static void init(size_t range_size) {
    device =
        (struct sp_vmm_device){.granule = scripted.granule, .total_memory = scripted.total_memory};
    sp_space_init(&space, &device, range_size);
}

static int install(void **state) {
    (void)state;
    scripted_install();
    init(0);
    return 0;
}

static int close_space(void **state) {
    (void)state;
    inside_space_close(&space);
    inside_page_map_clear();
    return scripted.range_count == 0 && scripted.misuse == 0 ? 0 : -1;
}

static struct span take(size_t least, size_t wanted) {
    struct span span = {0, 0};
    assert_done(sp_space_take(&space, SP_SPAN_LOW, least, wanted, &span.address, &span.size));
    assert_true(span.size >= least && span.size <= wanted);
    assert_int_equal(span.address % scripted.granule, 0);
    assert_int_equal(span.size % scripted.granule, 0);
    return span;
}

static void give(struct span span) {
    sp_space_give(&space, span.address, span.size, true);
}

static void nothing_is_reserved_before_something_is_taken(void **state) {
    (void)state;
    assert_int_equal(scripted.calls[SCRIPTED_cuMemAddressReserve], 0);
}

static void the_first_range_is_sixteen_times_the_devices_memory(void **state) {
    (void)state;
    take(GRANULE, GRANULE);
    assert_int_equal(scripted.range_count, 1);
    assert_int_equal(scripted.ranges[0].size, 16 * scripted.total_memory);
    assert_int_equal(scripted.last_alignment, GRANULE);
}

static void the_first_range_is_at_most_sixteen_tebibytes(void **state) {
    (void)state;
    scripted.total_memory = SIZE_MAX / 8;
    init(0);
    take(GRANULE, GRANULE);
    assert_int_equal(scripted.ranges[0].size, 16 * TIB);
}

static void a_chosen_range_size_is_rounded_up_to_the_granule(void **state) {
    (void)state;
    init(5 * GRANULE + 1);
    take(GRANULE, GRANULE);
    assert_int_equal(scripted.ranges[0].size, 6 * GRANULE);
}

static void a_range_that_is_refused_is_halved_until_it_fits(void **state) {
    (void)state;
    scripted.most_reserved = 3 * GRANULE;
    init(16 * GRANULE);
    take(GRANULE, GRANULE);
    assert_int_equal(scripted.calls[SCRIPTED_cuMemAddressReserve], 4); // 16, 8, 4, 2
    assert_int_equal(scripted.ranges[0].size, 2 * GRANULE);
}

static void halving_stops_at_what_is_needed_and_not_below(void **state) {
    (void)state;
    scripted.most_reserved = 5 * GRANULE;
    init(16 * GRANULE);
    struct span span = take(5 * GRANULE, 16 * GRANULE);
    assert_int_equal(scripted.calls[SCRIPTED_cuMemAddressReserve], 3); // 16, 8, 5
    assert_int_equal(span.size, 5 * GRANULE);
}

static void a_reservation_that_fails_below_what_is_needed_is_an_error_with_a_name(void **state) {
    (void)state;
    CUdeviceptr address = 1;
    size_t size = 1;
    scripted.most_reserved = 4 * GRANULE;
    init(16 * GRANULE);
    assert_failed_in(sp_space_take(&space, SP_SPAN_LOW, 5 * GRANULE, 8 * GRANULE, &address, &size),
                     CUDA_ERROR_OUT_OF_MEMORY, "cuMemAddressReserve");
    assert_int_equal(scripted.range_count, 0);
    struct span span = take(4 * GRANULE, 8 * GRANULE); // and the space is usable
    assert_int_equal(span.size, 4 * GRANULE);
}

static void a_span_gets_what_was_wanted_while_there_is_room(void **state) {
    (void)state;
    init(16 * GRANULE);
    assert_int_equal(take(GRANULE, 10 * GRANULE).size, 10 * GRANULE);
    assert_int_equal(take(GRANULE, 10 * GRANULE).size, 6 * GRANULE);
    assert_int_equal(scripted.range_count, 1);
}

static void a_further_range_is_reserved_when_one_is_used_up(void **state) {
    (void)state;
    init(4 * GRANULE);
    struct span first = take(4 * GRANULE, 4 * GRANULE);
    struct span second = take(4 * GRANULE, 4 * GRANULE);
    assert_int_equal(scripted.range_count, 2);
    assert_true(second.address >= first.address + first.size ||
                first.address >= second.address + second.size);
    assert_non_null(sp_page_map_find(first.address));
    assert_non_null(sp_page_map_find(second.address + second.size - 1));
}

static void a_span_larger_than_the_range_size_gets_a_range_of_its_own(void **state) {
    (void)state;
    init(4 * GRANULE);
    assert_int_equal(take(7 * GRANULE, 7 * GRANULE).size, 7 * GRANULE);
    assert_int_equal(scripted.ranges[0].size, 7 * GRANULE);
}

static void spans_that_were_given_back_merge_and_are_taken_again(void **state) {
    (void)state;
    init(9 * GRANULE);
    struct span spans[3];
    for (int i = 0; i < 3; i++)
        spans[i] = take(3 * GRANULE, 3 * GRANULE);
    give(spans[0]);
    give(spans[2]);
    give(spans[1]);
    assert_int_equal(take(9 * GRANULE, 9 * GRANULE).address, scripted.ranges[0].address);
    assert_int_equal(scripted.range_count, 1);
}

static void spans_of_neighbouring_ranges_do_not_merge(void **state) {
    (void)state;
    init(4 * GRANULE);
    struct span first = take(4 * GRANULE, 4 * GRANULE);
    struct span second = take(4 * GRANULE, 4 * GRANULE);
    assert_int_equal(first.address + first.size, second.address);
    give(first);
    give(second);
    assert_int_equal(take(5 * GRANULE, 8 * GRANULE).size, 5 * GRANULE);
    assert_int_equal(scripted.range_count, 3);
}

static struct span take_at(enum sp_span_place place, size_t size) {
    struct span span = {0, 0};
    assert_done(sp_space_take(&space, place, size, size, &span.address, &span.size));
    return span;
}

static void a_span_is_extended_by_what_is_free_behind_it_and_no_more(void **state) {
    (void)state;
    init(16 * GRANULE);
    struct span first = take(GRANULE, GRANULE);
    CUdeviceptr end = first.address + first.size;
    assert_int_equal(sp_space_extend(&space, end, GRANULE, 2 * GRANULE), 2 * GRANULE);
    end += 2 * GRANULE;
    assert_int_equal(take(4 * GRANULE, 4 * GRANULE).address, end);
    assert_int_equal(sp_space_extend(&space, end, GRANULE, GRANULE), 0);
    end += 4 * GRANULE;
    assert_int_equal(sp_space_extend(&space, end, 10 * GRANULE, 20 * GRANULE), 0);
    assert_int_equal(sp_space_extend(&space, end, 9 * GRANULE, 20 * GRANULE), 9 * GRANULE);
    assert_int_equal(sp_space_extend(&space, end + 9 * GRANULE, GRANULE, GRANULE), 0);
    assert_true(inside_space_check(&space));
}

// Their mappings are no neighbours to the driver.
static void a_span_is_not_extended_into_another_range(void **state) {
    (void)state;
    init(4 * GRANULE);
    struct span first = take(4 * GRANULE, 4 * GRANULE);
    struct span second = take(4 * GRANULE, 4 * GRANULE);
    assert_int_equal(first.address + first.size, second.address);
    give(second);
    assert_int_equal(sp_space_extend(&space, second.address, GRANULE, GRANULE), 0);
}

static void the_end_of_a_span_can_be_given_back(void **state) {
    (void)state;
    init(8 * GRANULE);
    struct span span = take(4 * GRANULE, 4 * GRANULE);
    struct span last = take(4 * GRANULE, 4 * GRANULE);
    sp_space_give(&space, span.address + GRANULE, 3 * GRANULE, false); // beside nothing free
    assert_true(inside_space_check(&space));
    assert_int_equal(take(3 * GRANULE, 3 * GRANULE).address, span.address + GRANULE);
    give((struct span){span.address + GRANULE, 3 * GRANULE});
    give(last);
    span.size = GRANULE;
    give(span);
    assert_true(inside_space_check(&space));
    assert_int_equal(take(8 * GRANULE, 8 * GRANULE).address, span.address);
}

static void spans_lie_where_they_are_to_be(void **state) {
    (void)state;
    struct span low = take_at(SP_SPAN_LOW, GRANULE);
    CUdeviceptr begin = scripted.ranges[0].address;
    CUdeviceptr end = begin + scripted.ranges[0].size;
    CUdeviceptr middle = low.address + GRANULE + (end - low.address - GRANULE) / 2;
    assert_int_equal(low.address, begin);
    assert_int_equal(take_at(SP_SPAN_LOW, GRANULE).address, begin + GRANULE);
    assert_int_equal(take_at(SP_SPAN_HIGH, GRANULE).address, end - GRANULE);
    CUdeviceptr roomy = take_at(SP_SPAN_ROOMY, GRANULE).address;
    assert_true(roomy > middle - 2 * GRANULE && roomy < middle + 2 * GRANULE);
    CUdeviceptr next = take_at(SP_SPAN_ROOMY, GRANULE).address; // in the middle of one half
    assert_true(
        sp_space_extend(&space, roomy + GRANULE, scripted.total_memory, scripted.total_memory) > 0);
    assert_true(
        sp_space_extend(&space, next + GRANULE, scripted.total_memory, scripted.total_memory) > 0);
    give(low);
    assert_int_equal(take_at(SP_SPAN_HIGH, GRANULE).address, begin); // a gap is used before all
    assert_int_equal(take_at(SP_SPAN_LOW, 2 * GRANULE).address, begin + 2 * GRANULE);
    assert_true(inside_space_check(&space));
}

// Beside a range that is small no half has room.
static void a_roomy_span_in_a_small_range_begins_its_largest_piece(void **state) {
    (void)state;
    init(64 * GRANULE);
    struct span spans[3] = {take(8 * GRANULE, 8 * GRANULE), take(8 * GRANULE, 8 * GRANULE), {0, 0}};
    give(spans[0]);
    spans[2] = take_at(SP_SPAN_ROOMY, 4 * GRANULE);
    assert_int_equal(spans[2].address, spans[1].address + spans[1].size);
    assert_int_equal(take_at(SP_SPAN_ROOMY, 44 * GRANULE).address,
                     spans[2].address + spans[2].size);
    assert_int_equal(take_at(SP_SPAN_ROOMY, 8 * GRANULE).address, spans[0].address);
    assert_int_equal(scripted.range_count, 1);
}

enum { UNITS = 40, HELD = 12 };

struct model {
    struct span held[HELD];
    int count;
};

static void assert_apart(const struct model *model) {
    for (int i = 0; i < model->count; i++) {
        for (int j = i + 1; j < model->count; j++) {
            const struct span *a = &model->held[i];
            const struct span *b = &model->held[j];
            assert_true(a->address + a->size <= b->address || b->address + b->size <= a->address);
        }
    }
}

static void random_takes_and_gives_never_overlap_and_lose_nothing(void **state) {
    (void)state;
    static struct model model;
    uint64_t seed = 17;
    // So that some spans are wide, and room is for some.
    scripted.total_memory = 3 * UNITS * GRANULE / 16;
    init(UNITS * GRANULE);
    for (int step = 0; step < 3000; step++) {
        enum sp_span_place place = (enum sp_span_place)random_below(&seed, 3);
        struct span *one =
            &model.held[model.count ? random_below(&seed, (uint64_t)model.count) : 0];
        if (model.count > 0 && random_below(&seed, 4) == 0) {
            one->size += sp_space_extend(&space, one->address + one->size, GRANULE, 2 * GRANULE);
        } else if (model.count > 0 && one->size > GRANULE && random_below(&seed, 4) == 0) {
            one->size -= GRANULE;
            sp_space_give(&space, one->address + one->size, GRANULE, false);
        } else if (model.count < HELD && random_below(&seed, 2) == 0) {
            size_t least = (1 + random_below(&seed, 3)) * GRANULE;
            size_t wanted = least + random_below(&seed, 4) * GRANULE;
            struct span *more = &model.held[model.count++];
            assert_done(sp_space_take(&space, place, least, wanted, &more->address, &more->size));
        } else if (model.count > 0) {
            int which = (int)random_below(&seed, (uint64_t)model.count);
            give(model.held[which]);
            model.held[which] = model.held[--model.count];
        }
        assert_apart(&model);
        assert_true(inside_space_check(&space));
    }
    assert_int_equal(scripted.misuse, 0);
    while (model.count > 0)
        give(model.held[--model.count]);
    assert_int_equal(take(scripted.ranges[0].size, scripted.ranges[0].size).size,
                     scripted.ranges[0].size);
}

static void a_range_that_can_not_be_noted_is_given_back(void **state) {
    (void)state;
    for (uint64_t nth = 1; nth <= 3; nth++) {
        CUdeviceptr address = 0;
        size_t size = 0;
        uint64_t failed = 0;
        host_memory_enter(nth, false);
        struct sp_outcome outcome =
            sp_space_take(&space, SP_SPAN_LOW, GRANULE, GRANULE, &address, &size);
        host_memory_leave(&failed);
        assert_int_equal(failed, 1);
        assert_cause(outcome, SP_NO_HOST_MEMORY);
        assert_int_equal(scripted.range_count, 0);
        assert_int_equal(sp_page_range_count, 0);
    }
    take(GRANULE, GRANULE);
}

static void a_range_beyond_what_the_page_map_holds_is_an_error_and_given_back(void **state) {
    (void)state;
    CUdeviceptr address = 0;
    size_t size = 0;
    init(GRANULE);
    for (int i = 0; i < SP_PAGE_MAP_MAX_RANGES; i++)
        take(GRANULE, GRANULE);
    assert_int_equal(scripted.range_count, SP_PAGE_MAP_MAX_RANGES);
    assert_cause(sp_space_take(&space, SP_SPAN_LOW, GRANULE, GRANULE, &address, &size),
                 SP_NO_HOST_MEMORY);
    assert_int_equal(scripted.range_count, SP_PAGE_MAP_MAX_RANGES);
}

static void giving_back_needs_no_host_memory(void **state) {
    (void)state;
    uint64_t failed = 0;
    init(4 * GRANULE);
    struct span first = take(GRANULE, GRANULE);
    struct span second = take(GRANULE, GRANULE);
    host_memory_enter(1, false);
    give(first);
    host_memory_leave(&failed);
    assert_int_equal(failed, 0);
    give(second);
    assert_int_equal(take(4 * GRANULE, 4 * GRANULE).address, first.address);
    assert_int_equal(scripted.range_count, 1);
}

#define space_test(function) cmocka_unit_test_setup_teardown(function, install, close_space)

int main(void) {
    const struct CMUnitTest tests[] = {
        space_test(nothing_is_reserved_before_something_is_taken),
        space_test(the_first_range_is_sixteen_times_the_devices_memory),
        space_test(the_first_range_is_at_most_sixteen_tebibytes),
        space_test(a_chosen_range_size_is_rounded_up_to_the_granule),
        space_test(a_range_that_is_refused_is_halved_until_it_fits),
        space_test(halving_stops_at_what_is_needed_and_not_below),
        space_test(a_reservation_that_fails_below_what_is_needed_is_an_error_with_a_name),
        space_test(a_span_gets_what_was_wanted_while_there_is_room),
        space_test(a_further_range_is_reserved_when_one_is_used_up),
        space_test(a_span_larger_than_the_range_size_gets_a_range_of_its_own),
        space_test(spans_that_were_given_back_merge_and_are_taken_again),
        space_test(spans_of_neighbouring_ranges_do_not_merge),
        space_test(a_span_is_extended_by_what_is_free_behind_it_and_no_more),
        space_test(a_span_is_not_extended_into_another_range),
        space_test(the_end_of_a_span_can_be_given_back),
        space_test(spans_lie_where_they_are_to_be),
        space_test(a_roomy_span_in_a_small_range_begins_its_largest_piece),
        space_test(random_takes_and_gives_never_overlap_and_lose_nothing),
        space_test(a_range_that_can_not_be_noted_is_given_back),
        space_test(a_range_beyond_what_the_page_map_holds_is_an_error_and_given_back),
        space_test(giving_back_needs_no_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
