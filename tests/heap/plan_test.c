#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "heap/bed.h"

// The most that a heap with slabs of 1 << shift bytes may hold.
static uint64_t most_of(uint32_t shift) {
    return shift == POOL_HEAP_SHIFT_MAX ? SP_HEAP_BYTES_MOST : (uint64_t)SP_HEAP_SLABS_AIM << shift;
}

static void sizes_go_up_by_classes_of_a_half_and_a_whole(void **state) {
    (void)state;
    static const uint32_t first[] = {16, 32, 48, 64, 96, 128, 192, 256, 384, 512};
    for (uint32_t shift = POOL_HEAP_SHIFT_MIN; shift <= POOL_HEAP_SHIFT_MAX; shift++) {
        struct bed bed;
        bed_open(&bed, most_of(shift), 0);
        assert_int_equal(bed.plan.shift, shift);
        for (uint32_t i = 0; i < sizeof first / sizeof first[0]; i++)
            assert_int_equal(bed.book->cls[i].size, first[i]);
        assert_int_equal(bed.book->cls[bed.plan.classes - 1].size, 1u << (shift - 1));
        bed_shut(&bed);
    }
}

static void a_request_has_the_smallest_class_that_is_enough(void **state) {
    (void)state;
    struct bed bed;
    bed_open(&bed, SP_HEAP_BYTES_MOST, 0);
    uint32_t cls = 0;
    for (uint64_t bytes = 1; bytes <= BED_MIB(1); bytes++) {
        cls += bytes > bed.book->cls[cls].size;
        if (ph_class_of(bytes) != cls)
            fail_msg("%llu bytes have class %u", (unsigned long long)bytes, ph_class_of(bytes));
    }
    assert_int_equal(cls, bed.plan.classes - 1);
    for (uint64_t bytes = BED_MIB(1) + 1; bytes <= BED_MIB(2); bytes++) {
        if (ph_class_of(bytes) < bed.plan.classes)
            fail_msg("%llu bytes have class %u", (unsigned long long)bytes, ph_class_of(bytes));
    }
    for (uint32_t power = 22; power < 64; power++) {
        assert_true(ph_class_of(UINT64_C(1) << power) >= bed.plan.classes);
        assert_true(ph_class_of((UINT64_C(1) << power) - 1) >= bed.plan.classes);
    }
    assert_true(ph_class_of(UINT64_MAX) >= bed.plan.classes);
    bed_shut(&bed);
}

static void blocks_of_a_slab_lie_in_it_behind_their_bits(void **state) {
    (void)state;
    for (uint32_t shift = POOL_HEAP_SHIFT_MIN; shift <= POOL_HEAP_SHIFT_MAX; shift++) {
        struct bed bed;
        bed_open(&bed, most_of(shift), 0);
        for (uint32_t cls = 0; cls < bed.plan.classes; cls++) {
            const struct ph_class *c = &bed.book->cls[cls];
            uint32_t words = (c->blocks + 31) / 32;
            uint64_t end = c->begin + (uint64_t)c->blocks * c->size;
            assert_true(end <= bed_slab_bytes(&bed));
            assert_true(end + c->size > bed_slab_bytes(&bed));
            assert_true(c->begin % 512 == 0);
            assert_true(c->begin == 0 ? c->blocks <= POOL_HEAP_BITS_INLINE : words * 4 <= c->begin);
            assert_true(c->blocks >= 2 && c->room >= 1 && c->room < c->blocks);
            assert_true(c->probes >= words && (c->probes & (c->probes - 1)) == 0);
            assert_true(words <= 1 << 12); // the key of a free has 12 bits for the word
        }
        bed_shut(&bed);
    }
}

// A part of a book: begins, ends.
struct part {
    uint64_t begin, end;
};

static struct part part(const void *begin, uint64_t bytes) {
    uint64_t at = (uint64_t)(uintptr_t)begin;
    return (struct part){at, at + bytes};
}

static int compare(const void *a, const void *b) {
    const struct part *one = a, *other = b;
    return (one->begin > other->begin) - (one->begin < other->begin);
}

static size_t add_set(struct part *parts, size_t count, const struct ph_book *book,
                      const struct ph_set *set) {
    uint32_t leaves = (book->slabs + 63) / 64;
    parts[count++] = part(set->leaves, leaves * sizeof(uint64_t));
    parts[count++] = part(set->middle, (leaves + 63) / 64 * sizeof(uint64_t));
    return count;
}

static void check_parts(const struct sp_heap_plan *plan, uint64_t bytes) {
    static struct part parts[8 + 4 * POOL_HEAP_CLASSES];
    struct ph_book *book = calloc(1, plan->book_bytes);
    assert_non_null(book);
    sp_heap_plan_write(plan, (uint64_t)(uintptr_t)book, book);
    size_t count = 0;
    parts[count++] = part(book, sizeof *book);
    parts[count++] = part(book->slab, book->slabs * sizeof *book->slab);
    parts[count++] = part(book->current, book->classes * book->groups * sizeof *book->current);
    parts[count++] = part(book->place, book->places * sizeof *book->place);
    parts[count++] = part(book->joined, (book->slabs + 63) / 64 * sizeof *book->joined);
    count = add_set(parts, count, book, &book->free);
    for (uint32_t cls = 0; cls < book->classes; cls++) {
        count = add_set(parts, count, book, &book->any[cls]);
        count = add_set(parts, count, book, &book->room[cls]);
    }
    qsort(parts, count, sizeof parts[0], compare);
    assert_true(parts[0].begin == (uint64_t)(uintptr_t)book);
    for (size_t i = 1; i < count; i++)
        assert_true(parts[i - 1].end <= parts[i].begin);
    assert_true(parts[count - 1].end == (uint64_t)(uintptr_t)book + plan->book_bytes);
    assert_true((uint64_t)book->slabs << book->shift >= bytes);
    assert_true((uint64_t)(book->slabs - 1) << book->shift < bytes);
    assert_true(book->slabs <= POOL_HEAP_SLABS_MAX);
    assert_true(book->places >= 4 * book->slabs && (book->places & (book->places - 1)) == 0);
    assert_true(book->groups >= 1 && book->groups <= POOL_HEAP_GROUPS_MAX);
    free(book);
}

static void the_parts_of_a_book_lie_side_by_side_at_every_size(void **state) {
    (void)state;
    for (uint64_t bytes = SP_HEAP_BYTES_LEAST; bytes <= SP_HEAP_BYTES_MOST; bytes *= 2) {
        for (int more = -1; more <= 1; more++) {
            uint64_t odd = bytes + (uint64_t)(int64_t)more;
            if (odd < SP_HEAP_BYTES_LEAST || odd > SP_HEAP_BYTES_MOST)
                continue;
            struct sp_heap_plan plan = sp_heap_plan_make(odd);
            check_parts(&plan, odd);
        }
    }
}

static void the_book_takes_little_beside_what_it_is_for(void **state) {
    (void)state;
    for (uint64_t bytes = BED_MIB(64); bytes <= SP_HEAP_BYTES_MOST; bytes *= 2)
        assert_true(sp_heap_plan_make(bytes).book_bytes < bytes / 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_go_up_by_classes_of_a_half_and_a_whole),
        cmocka_unit_test(a_request_has_the_smallest_class_that_is_enough),
        cmocka_unit_test(blocks_of_a_slab_lie_in_it_behind_their_bits),
        cmocka_unit_test(the_parts_of_a_book_lie_side_by_side_at_every_size),
        cmocka_unit_test(the_book_takes_little_beside_what_it_is_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
