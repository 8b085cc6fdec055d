// How a copy is cut: parts and slices have every byte of it once, and nothing else.
#include "copy/fixture.h"

#include "copy/shape.h"
#include "random/numbers.h"

#include <stdlib.h>
#include <string.h>

enum { SEEDS = 250, MOST = 3 << 20 };

struct drawn {
    size_t width, height, host_pitch, device_pitch, chunk;
};

static struct drawn draw(uint64_t seed) {
    struct numbers numbers = {seed};
    struct drawn drawn;
    drawn.width = 1 + numbers_below(&numbers, (uint64_t)1 << numbers_below(&numbers, 22));
    drawn.height = 1 + numbers_below(&numbers, MOST / drawn.width + 1);
    drawn.host_pitch = drawn.width + (numbers_below(&numbers, 2) ? numbers_below(&numbers, 50) : 0);
    drawn.device_pitch =
        drawn.width + (numbers_below(&numbers, 2) ? numbers_below(&numbers, 50) : 0);
    drawn.chunk = KIB(64) * (1 + numbers_below(&numbers, 40));
    return drawn;
}

// How often each byte of the host's rows is copied.
static void count(unsigned char *counts, const struct sp_shape *shape,
                  const struct sp_piece *piece) {
    for (size_t row = 0; row < piece->height; row++) {
        for (size_t i = 0; i < piece->width; i++)
            counts[piece->host + row * shape->host_pitch + i]++;
    }
}

static void check_part(const struct sp_shape *shape, const struct sp_piece *part, size_t chunk,
                       unsigned char *counts) {
    size_t staging = 0;
    assert_true(part->width * part->height <= chunk);
    assert_int_equal(part->host / shape->host_pitch, part->device / shape->device_pitch);
    for (size_t i = 0; i < sp_shape_slices(shape, part); i++) {
        struct sp_piece slice = sp_shape_slice(shape, part, i);
        assert_int_equal(slice.staging, staging);
        staging += slice.width * slice.height;
        count(counts, shape, &slice);
    }
    assert_int_equal(staging, part->width * part->height);
}

static void every_byte_is_in_one_slice(void **state) {
    (void)state;
    unsigned char *counts = malloc(MOST * 60);
    assert_non_null(counts);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct drawn drawn = draw(seed);
        size_t span = (drawn.height - 1) * drawn.host_pitch + drawn.width;
        struct sp_shape shape = sp_shape_of(drawn.width, drawn.height, drawn.host_pitch,
                                            drawn.device_pitch, drawn.chunk);
        if (span > (size_t)MOST * 2)
            continue;
        memset(counts, 0, span);
        assert_int_equal(sp_shape_bytes(&shape), drawn.width * drawn.height);
        for (size_t i = 0; i < shape.parts; i++) {
            struct sp_piece part = sp_shape_part(&shape, i);
            check_part(&shape, &part, drawn.chunk, counts);
        }
        for (size_t i = 0; i < span; i++)
            assert_int_equal(counts[i], i % drawn.host_pitch < drawn.width);
    }
    free(counts);
}

// So that a thread copies them at once.
static void rows_without_gaps_are_one(void **state) {
    (void)state;
    struct sp_shape shape = sp_shape_of(5, 1000, 5, 5, KIB(64));
    assert_true(shape.height == 1 && shape.width == 5000 && shape.parts == 1);
    shape = sp_shape_of(5, 1000, 6, 5, KIB(64));
    assert_true(shape.height == 1000 && shape.width == 5 && shape.parts == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_in_one_slice),
        cmocka_unit_test(rows_without_gaps_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
