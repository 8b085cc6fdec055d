// The readers of images: what they find in real ones, and that any bytes end in an error or load.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "simcuda/common/random.h"
#include "simcuda/image/load.h"
#include "simcuda/image/packed.h"
#include "unit/simcuda/images.h"

#define PTX "// made by hand\n.version 8.0\n.target sm_90\n.address_size 64\n"

static struct sim_image image;

static int begin(void **state) {
    (void)state;
    image = (struct sim_image){0};
    return 0;
}

static int end(void **state) {
    (void)state;
    sim_image_destroy(&image);
    return 0;
}

static CUresult load(const void *bytes, size_t size) {
    sim_image_destroy(&image);
    return sim_image_load(&image, bytes, size);
}

static CUresult load_text(const char *text) {
    return load(text, strlen(text));
}

static const struct sim_image_kernel *kernel(const char *name) {
    const struct sim_image_kernel *found = sim_image_find(&image, name);
    assert_non_null(found);
    return found;
}

static void expect_parameter(const char *name, size_t index, uint32_t offset, uint32_t size) {
    const struct sim_image_kernel *found = kernel(name);
    assert_true(found->has_layout);
    assert_true(index < found->count);
    assert_int_equal(found->parameters[index].offset, offset);
    assert_int_equal(found->parameters[index].size, size);
}

// The kernels of images.h.
static void expect_real_kernels(void) {
    assert_int_equal(image.count, 2);
    assert_int_equal(kernel("scale")->count, 3);
    expect_parameter("scale", 0, 0, 16);
    expect_parameter("scale", 1, 16, 2);
    expect_parameter("scale", 2, 24, 8);
    assert_int_equal(kernel("scale")->max_threads, 256);
    assert_true(kernel("nothing")->has_layout);
    assert_int_equal(kernel("nothing")->count, 0);
    assert_int_equal(kernel("nothing")->max_threads, 0);
}

static void expect_an_end(CUresult result) {
    bool is_known = result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_IMAGE ||
                    result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_NO_BINARY_FOR_GPU;
    assert_true(is_known);
    for (size_t i = 0; i < image.count; i++) {
        const struct sim_image_kernel *found = &image.kernels[i];
        assert_true(i == 0 || strcmp(image.kernels[i - 1].name, found->name) < 0);
        for (size_t j = 0; j < found->count; j++)
            assert_true(found->parameters[j].offset + found->parameters[j].size <=
                        SIM_IMAGE_PARAMETER_BYTES);
    }
}

static unsigned char *unpack_cubin(void) {
    unsigned char *cubin = malloc(IMAGES_CUBIN_SIZE);
    assert_true(sim_image_packed_unpack(SIM_PACKING_LZ4, images_packed_cubin,
                                        sizeof(images_packed_cubin), cubin, IMAGES_CUBIN_SIZE));
    return cubin;
}

// -------------------------------------------------------------------------------------------- PTX

static void a_text_without_a_version_is_no_image(void **state) {
    (void)state;
    assert_int_equal(load_text(""), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(load_text("// .version 8.0\n"), CUDA_ERROR_INVALID_IMAGE);
    assert_int_equal(load_text(".visible .entry f() { ret; }"), CUDA_ERROR_INVALID_IMAGE);
    assert_null(image.kernels);
}

static void a_text_ends_at_its_null_byte(void **state) {
    static const char text[] = PTX ".entry before() {}\n\0.entry behind() {}\n";
    (void)state;
    assert_int_equal(load(text, sizeof(text)), CUDA_SUCCESS);
    assert_int_equal(image.count, 1);
    assert_null(sim_image_find(&image, "behind"));
}

static void an_entry_is_found_by_its_name(void **state) {
    (void)state;
    assert_int_equal(load_text(PTX
                               ".visible .entry _Z3addPfi(.param .u64 a, .param .u32 b)\n{ret;}\n"
                               ".entry $plain\n{ret;}\n.weak .entry %percent(){ret;}"),
                     CUDA_SUCCESS);
    assert_int_equal(image.count, 3);
    assert_int_equal(kernel("_Z3addPfi")->count, 2);
    assert_int_equal(kernel("$plain")->count, 0);
    assert_int_equal(kernel("%percent")->count, 0);
}

static void a_function_of_the_device_is_no_kernel(void **state) {
    (void)state;
    assert_int_equal(load_text(PTX ".func (.param .b32 r) f(.param .b64 p) { ret; }\n"
                                   ".extern .func g();\n.entry k() { .entry inner(); }"),
                     CUDA_SUCCESS);
    assert_int_equal(image.count, 1);
    kernel("k");
}

static void comments_and_strings_hide_what_is_in_them(void **state) {
    (void)state;
    assert_int_equal(load_text(PTX "// .entry a()\n/* .entry b() { */\n.file 1 \".entry c() {\"\n"
                                   ".entry /* name */ d /**/ ( // none\n ) { }"),
                     CUDA_SUCCESS);
    assert_int_equal(image.count, 1);
    kernel("d");
}

static void parameters_lie_where_their_types_and_alignments_say(void **state) {
    (void)state;
    assert_int_equal(load_text(PTX ".entry k(.param .u8 a, .param .f64 b, .param .align 2 .b8 c[3],"
                                   ".param .align 16 .b8 d[4][0x10], .param .f16x2 e,"
                                   ".param .u64 .ptr .global .align 64 f, .param .texref g,"
                                   ".param .b128 h,.param.s16 i){}"),
                     CUDA_SUCCESS);
    expect_parameter("k", 0, 0, 1);
    expect_parameter("k", 1, 8, 8);
    expect_parameter("k", 2, 16, 3);
    expect_parameter("k", 3, 32, 64);
    expect_parameter("k", 4, 96, 4);
    expect_parameter("k", 5, 104, 8);
    expect_parameter("k", 6, 112, 8);
    expect_parameter("k", 7, 128, 16);
    expect_parameter("k", 8, 144, 2);
}

static void the_largest_block_is_the_product_of_its_sides(void **state) {
    (void)state;
    assert_int_equal(load_text(PTX ".entry a() .maxntid 32, 4, 2 .minnctapersm 2 { }\n"
                                   ".entry b() .reqntid 64 { }\n.entry c() { }"),
                     CUDA_SUCCESS);
    assert_int_equal(kernel("a")->max_threads, 256);
    assert_int_equal(kernel("b")->max_threads, 64);
    assert_int_equal(kernel("c")->max_threads, 0);
}

static void a_declaration_counts_once_with_its_definition(void **state) {
    (void)state;
    assert_int_equal(load_text(PTX ".entry k(.param .u64 a);\n.entry k(.param .u64 a) { }"),
                     CUDA_SUCCESS);
    assert_int_equal(image.count, 1);
    assert_int_equal(kernel("k")->count, 1);
}

static void an_entry_that_cannot_be_understood_makes_the_text_invalid(void **state) {
    static const char *const texts[] = {
        ".entry",
        ".entry (",
        ".entry k(",
        ".entry k(.param",
        ".entry k(.param .u64",
        ".entry k(.param .u64 a",
        ".entry k(.param .u64 a,",
        ".entry k(.param .u64 a)",
        ".entry k(.param a) {}",
        ".entry k(.param .u0 a) {}",
        ".entry k(.param .u7 a) {}",
        ".entry k(.param .b8 a[]) {}",
        ".entry k(.param .b8 a[0]) {}",
        ".entry k(.param .b8 a[32765]) {}",
        ".entry k(.param .b8 a[99999999999999999999]) {}",
        ".entry k(.param .b8 a[30000], .param .b8 b[30000]) {}",
        ".entry k(.param .align 3 .b8 a[4]) {}",
        ".entry k(.param .align 0 .b8 a[4]) {}",
        ".entry k() .maxntid {}",
        ".entry k() .maxntid 30000, 30000, 30000 {}",
        ".entry k() {",
    };
    char text[400];
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        snprintf(text, sizeof(text), "%s%s", PTX, texts[i]);
        if (load_text(text) != CUDA_ERROR_INVALID_PTX)
            fail_msg("loads: %s", texts[i]);
    }
}

// ----------------------------------------------------------------------------- cubins and fatbins

static void a_cubin_tells_its_kernels_and_their_parameters(void **state) {
    unsigned char *cubin = unpack_cubin();
    (void)state;
    assert_int_equal(load(cubin, IMAGES_CUBIN_SIZE), CUDA_SUCCESS);
    expect_real_kernels();
    free(cubin);
}

static void a_program_for_the_host_is_no_image(void **state) {
    (void)state;
    assert_int_equal(sim_image_load_file(&image, "/proc/self/exe"), CUDA_ERROR_INVALID_IMAGE);
}

static void a_cubin_that_ends_early_is_no_image(void **state) {
    unsigned char *cubin = unpack_cubin();
    (void)state;
    for (size_t size = 0; size < IMAGES_CUBIN_NEEDED; size += size < 200 ? 1 : 97) {
        unsigned char *part = malloc(size ? size : 1);
        memcpy(part, cubin, size);
        assert_int_not_equal(load(part, size), CUDA_SUCCESS);
        free(part);
    }
    free(cubin);
}

static void a_fatbin_with_lz4_is_unpacked(void **state) {
    (void)state;
    assert_int_equal(load(images_fatbin_lz4, sizeof(images_fatbin_lz4)), CUDA_SUCCESS);
    expect_real_kernels();
}

static void a_fatbin_with_zstandard_is_unpacked_where_the_system_can(void **state) {
    (void)state;
    if (!sim_image_packed_is_known(SIM_PACKING_ZSTD)) {
        assert_int_equal(load(images_fatbin_zstd, sizeof(images_fatbin_zstd)),
                         CUDA_ERROR_NO_BINARY_FOR_GPU);
        return;
    }
    assert_int_equal(load(images_fatbin_zstd, sizeof(images_fatbin_zstd)), CUDA_SUCCESS);
    expect_real_kernels();
}

// A fatbin is made of a header and parts, each of which has a header too.
struct fatbin {
    unsigned char bytes[16384];
    size_t size;
};

static void put(struct fatbin *fatbin, const void *bytes, size_t size) {
    memcpy(fatbin->bytes + fatbin->size, bytes, size);
    fatbin->size += size;
}

static void put_number(struct fatbin *fatbin, uint64_t value, size_t size) {
    put(fatbin, &value, size);
}

static void begin_fatbin(struct fatbin *fatbin) {
    fatbin->size = 0;
    put_number(fatbin, 0xBA55ED50u, 4);
    put_number(fatbin, 1, 2);
    put_number(fatbin, 16, 2);
    put_number(fatbin, 0, 8);
}

static void add_part(struct fatbin *fatbin, unsigned kind, uint64_t flags, const void *bytes,
                     size_t size, size_t unpacked) {
    put_number(fatbin, kind, 2);
    put_number(fatbin, 0x101, 2);
    put_number(fatbin, 64, 4);
    put_number(fatbin, size, 8);
    put_number(fatbin, unpacked ? size : 0, 4);
    for (int i = 0; i < 5; i++)
        put_number(fatbin, 0, 4);
    put_number(fatbin, flags, 8);
    put_number(fatbin, 0, 8);
    put_number(fatbin, unpacked, 8);
    put(fatbin, bytes, size);
    uint64_t total = fatbin->size - 16;
    memcpy(fatbin->bytes + 8, &total, sizeof(total));
}

static void a_fatbin_has_the_kernels_of_all_its_parts(void **state) {
    static const char text[] = PTX ".entry only_here(.param .u32 n) {}\n.entry scale() {}";
    static struct fatbin fatbin;
    unsigned char *cubin = unpack_cubin();
    (void)state;
    begin_fatbin(&fatbin);
    add_part(&fatbin, 2, 0, cubin, IMAGES_CUBIN_SIZE, 0);
    add_part(&fatbin, 1, 0, text, sizeof(text), 0);
    free(cubin);
    assert_int_equal(load(fatbin.bytes, fatbin.size), CUDA_SUCCESS);
    assert_int_equal(image.count, 3);
    expect_parameter("only_here", 0, 0, 4);
    assert_int_equal(kernel("scale")->count, 3); // the first one counts
}

static void a_fatbin_with_a_packed_cubin_is_unpacked(void **state) {
    static struct fatbin fatbin;
    (void)state;
    begin_fatbin(&fatbin);
    add_part(&fatbin, 2, 0x2000, images_packed_cubin, sizeof(images_packed_cubin),
             IMAGES_CUBIN_SIZE);
    assert_int_equal(load(fatbin.bytes, fatbin.size), CUDA_SUCCESS);
    expect_real_kernels();
}

static void a_damaged_part_is_passed_over_if_another_one_loads(void **state) {
    static const char text[] = PTX ".entry k() {}";
    static struct fatbin fatbin;
    (void)state;
    begin_fatbin(&fatbin);
    add_part(&fatbin, 2, 0, "no ELF", 6, 0);
    assert_int_equal(load(fatbin.bytes, fatbin.size), CUDA_ERROR_INVALID_IMAGE);
    add_part(&fatbin, 1, 0, text, sizeof(text), 0);
    assert_int_equal(load(fatbin.bytes, fatbin.size), CUDA_SUCCESS);
    assert_int_equal(image.count, 1);
}

static void a_fatbin_with_no_part_for_a_device_has_no_binary(void **state) {
    static struct fatbin fatbin;
    (void)state;
    begin_fatbin(&fatbin);
    assert_int_equal(load(fatbin.bytes, fatbin.size), CUDA_ERROR_NO_BINARY_FOR_GPU);
    add_part(&fatbin, 8, 0, "other", 5, 0);
    assert_int_equal(load(fatbin.bytes, fatbin.size), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void a_part_that_says_that_it_is_too_large_is_damaged(void **state) {
    static struct fatbin fatbin;
    (void)state;
    begin_fatbin(&fatbin);
    add_part(&fatbin, 1, 0x2000, "\x10x", 2, (size_t)1 << 40);
    assert_int_equal(load(fatbin.bytes, fatbin.size), CUDA_ERROR_INVALID_IMAGE);
}

static void a_block_of_lz4_is_unpacked_to_its_exact_size_only(void **state) {
    static const unsigned char block[] = {0x32, 'a', 'b', 'c', 3, 0, 0x10, '!'};
    char to[16] = "";
    (void)state;
    assert_true(sim_image_packed_unpack(SIM_PACKING_LZ4, block, sizeof(block), to, 10));
    assert_memory_equal(to, "abcabcabc!", 10);
    assert_false(sim_image_packed_unpack(SIM_PACKING_LZ4, block, sizeof(block), to, 9));
    assert_false(sim_image_packed_unpack(SIM_PACKING_LZ4, block, sizeof(block), to, 11));
    assert_false(sim_image_packed_unpack(SIM_PACKING_LZ4, block, sizeof(block) - 1, to, 10));
}

static void a_match_from_before_the_beginning_is_refused(void **state) {
    static const unsigned char before[] = {0x10, 'a', 2, 0};
    static const unsigned char nowhere[] = {0x10, 'a', 0, 0};
    char to[16];
    (void)state;
    assert_false(sim_image_packed_unpack(SIM_PACKING_LZ4, before, sizeof(before), to, 5));
    assert_false(sim_image_packed_unpack(SIM_PACKING_LZ4, nowhere, sizeof(nowhere), to, 5));
}

// ---------------------------------------------------------------------------- memory and files

static void the_wrapper_of_a_program_leads_to_its_fatbin(void **state) {
    const struct {
        uint32_t magic, version;
        const void *fatbin, *unused;
    } wrapper = {0x466243B1u, 1, images_fatbin_lz4, NULL};
    (void)state;
    assert_int_equal(sim_image_load_memory(&image, &wrapper), CUDA_SUCCESS);
    expect_real_kernels();
}

static void a_wrapper_around_nothing_is_no_image(void **state) {
    const struct {
        uint32_t magic, version;
        const void *fatbin, *unused;
    } wrapper = {0x466243B1u, 1, (const void *)16, NULL};
    (void)state;
    assert_int_equal(sim_image_load_memory(&image, &wrapper), CUDA_ERROR_INVALID_IMAGE);
}

// Pages of which the last one can't be read.
struct fence {
    unsigned char *pages;
    size_t size;
};

static struct fence build_fence(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct fence fence = {.size = (size + page - 1) / page * page + page};
    fence.pages =
        mmap(NULL, fence.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(fence.pages, MAP_FAILED);
    assert_int_equal(mprotect(fence.pages + fence.size - page, page, PROT_NONE), 0);
    return fence;
}

// The bytes end right before the fence.
static const void *put_before(struct fence fence, const void *bytes, size_t size) {
    unsigned char *at = fence.pages + fence.size - (size_t)sysconf(_SC_PAGESIZE) - size;
    memcpy(at, bytes, size);
    return at;
}

static void nothing_is_read_behind_the_memory_that_an_image_lies_in(void **state) {
    static const char text[] = PTX ".entry k() {}";
    struct fence fence = build_fence(IMAGES_CUBIN_SIZE);
    unsigned char *cubin = unpack_cubin();
    (void)state;
    const void *at = put_before(fence, text, sizeof(text) - 1);
    assert_int_equal(sim_image_load_memory(&image, at), CUDA_SUCCESS);
    sim_image_destroy(&image);
    for (size_t size = 1; size < IMAGES_CUBIN_SIZE; size += 61) {
        at = put_before(fence, cubin, size);
        expect_an_end(sim_image_load_memory(&image, at));
        sim_image_destroy(&image);
    }
    at = put_before(fence, cubin, IMAGES_CUBIN_SIZE);
    assert_int_equal(sim_image_load_memory(&image, at), CUDA_SUCCESS);
    munmap(fence.pages, fence.size);
    free(cubin);
}

static void an_address_that_cannot_be_read_is_no_image(void **state) {
    (void)state;
    assert_int_equal(sim_image_load_memory(&image, (const void *)8), CUDA_ERROR_INVALID_IMAGE);
}

static void a_file_is_read_whole(void **state) {
    char path[] = "/tmp/image_test_XXXXXX";
    int file = mkstemp(path);
    (void)state;
    assert_int_equal(write(file, images_fatbin_lz4, sizeof(images_fatbin_lz4)),
                     sizeof(images_fatbin_lz4));
    close(file);
    assert_int_equal(sim_image_load_file(&image, path), CUDA_SUCCESS);
    unlink(path);
    expect_real_kernels();
}

static void a_file_that_is_not_there_or_empty_is_refused(void **state) {
    char path[] = "/tmp/image_test_XXXXXX";
    (void)state;
    close(mkstemp(path));
    assert_int_equal(sim_image_load_file(&image, path), CUDA_ERROR_INVALID_IMAGE);
    unlink(path);
    assert_int_equal(sim_image_load_file(&image, path), CUDA_ERROR_FILE_NOT_FOUND);
    assert_int_equal(sim_image_load_file(&image, "/tmp"), CUDA_ERROR_FILE_NOT_FOUND);
}

// -------------------------------------------------------------------------------------- any bytes

#define ROUNDS 4000

static struct sim_random chance;

// A few changes: a byte drawn by lot, a bit, a number that is a limit, a piece moved, an early end.
static size_t mutate(unsigned char *bytes, size_t size) {
    static const uint64_t limits[] = {0, 1, 0x7F, 0xFFFF, 0x7FFFFFFF, UINT32_MAX, UINT64_MAX};
    for (uint64_t changes = sim_random_below(&chance, 8) + 1; changes > 0; changes--) {
        size_t at = sim_random_below(&chance, size);
        size_t width = (size_t)1 << sim_random_below(&chance, 4);
        size_t from = sim_random_below(&chance, size);
        width = width < size - at ? width : size - at;
        switch (sim_random_below(&chance, 5)) {
        case 0:
            bytes[at] = (unsigned char)sim_random_below(&chance, 256);
            break;
        case 1:
            bytes[at] ^= (unsigned char)(1u << sim_random_below(&chance, 8));
            break;
        case 2:
            memcpy(bytes + at, &limits[sim_random_below(&chance, 7)], width);
            break;
        case 3:
            memmove(bytes + at, bytes + from, width < size - from ? width : size - from);
            break;
        default:
            size = sim_random_below(&chance, 16) ? size : at + 1;
        }
    }
    return size;
}

// The bytes lie in memory of their own, of exactly their number, so that a sanitizer sees each read
// behind them.
static void fuzz(const void *bytes, size_t size, uint64_t seed) {
    size_t loaded = 0;
    chance.state = seed;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char *mutant = malloc(size);
        memcpy(mutant, bytes, size);
        size_t left = mutate(mutant, size);
        unsigned char *exact = malloc(left);
        memcpy(exact, mutant, left);
        free(mutant);
        CUresult result = load(exact, left);
        expect_an_end(result);
        loaded += result == CUDA_SUCCESS;
        free(exact);
    }
    assert_true(loaded > 0 && loaded < ROUNDS); // the changes are neither harmless nor all the same
}

static void any_ptx_ends_in_an_error_or_loads(void **state) {
    static const char text[] = PTX
        ".global .align 4 .b8 table[4] = {1, 2, 3, 4};\n.visible .entry scale(\n"
        ".param .align 8 .b8 p_0[16],\n.param .u16 p_1,\n.param .u64 .ptr .align 4 p_2\n)\n"
        ".maxntid 256, 1, 1\n{\n/* body */ ret; // end\n}\n.entry nothing() { }\n";
    (void)state;
    fuzz(text, sizeof(text), 1);
}

static void any_cubin_ends_in_an_error_or_loads(void **state) {
    unsigned char *cubin = unpack_cubin();
    (void)state;
    fuzz(cubin, IMAGES_CUBIN_SIZE, 2);
    free(cubin);
}

static void any_fatbin_ends_in_an_error_or_loads(void **state) {
    static struct fatbin fatbin;
    (void)state;
    fuzz(images_fatbin_lz4, sizeof(images_fatbin_lz4), 3);
    if (sim_image_packed_is_known(SIM_PACKING_ZSTD))
        fuzz(images_fatbin_zstd, sizeof(images_fatbin_zstd), 4);
    begin_fatbin(&fatbin);
    add_part(&fatbin, 2, 0x2000, images_packed_cubin, sizeof(images_packed_cubin),
             IMAGES_CUBIN_SIZE);
    fuzz(fatbin.bytes, fatbin.size, 5);
}

// As programs have them: nothing says how long they are.
static void any_bytes_in_memory_end_in_an_error_or_load(void **state) {
    struct fence fence = build_fence(IMAGES_CUBIN_SIZE);
    unsigned char *cubin = unpack_cubin();
    unsigned char *mutant = malloc(IMAGES_CUBIN_SIZE);
    (void)state;
    chance.state = 6;
    for (int i = 0; i < ROUNDS / 8; i++) {
        memcpy(mutant, cubin, IMAGES_CUBIN_SIZE);
        const void *at = put_before(fence, mutant, mutate(mutant, IMAGES_CUBIN_SIZE));
        expect_an_end(sim_image_load_memory(&image, at));
        sim_image_destroy(&image);
    }
    munmap(fence.pages, fence.size);
    free(mutant);
    free(cubin);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_text_without_a_version_is_no_image),
        TEST(a_text_ends_at_its_null_byte),
        TEST(an_entry_is_found_by_its_name),
        TEST(a_function_of_the_device_is_no_kernel),
        TEST(comments_and_strings_hide_what_is_in_them),
        TEST(parameters_lie_where_their_types_and_alignments_say),
        TEST(the_largest_block_is_the_product_of_its_sides),
        TEST(a_declaration_counts_once_with_its_definition),
        TEST(an_entry_that_cannot_be_understood_makes_the_text_invalid),
        TEST(a_cubin_tells_its_kernels_and_their_parameters),
        TEST(a_program_for_the_host_is_no_image),
        TEST(a_cubin_that_ends_early_is_no_image),
        TEST(a_fatbin_with_lz4_is_unpacked),
        TEST(a_fatbin_with_zstandard_is_unpacked_where_the_system_can),
        TEST(a_fatbin_has_the_kernels_of_all_its_parts),
        TEST(a_fatbin_with_a_packed_cubin_is_unpacked),
        TEST(a_damaged_part_is_passed_over_if_another_one_loads),
        TEST(a_fatbin_with_no_part_for_a_device_has_no_binary),
        TEST(a_part_that_says_that_it_is_too_large_is_damaged),
        TEST(a_block_of_lz4_is_unpacked_to_its_exact_size_only),
        TEST(a_match_from_before_the_beginning_is_refused),
        TEST(the_wrapper_of_a_program_leads_to_its_fatbin),
        TEST(a_wrapper_around_nothing_is_no_image),
        TEST(nothing_is_read_behind_the_memory_that_an_image_lies_in),
        TEST(an_address_that_cannot_be_read_is_no_image),
        TEST(a_file_is_read_whole),
        TEST(a_file_that_is_not_there_or_empty_is_refused),
        TEST(any_ptx_ends_in_an_error_or_loads),
        TEST(any_cubin_ends_in_an_error_or_loads),
        TEST(any_fatbin_ends_in_an_error_or_loads),
        TEST(any_bytes_in_memory_end_in_an_error_or_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
