#include "simcuda/image/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "simcuda/common/host.h"

bool sim_image_has_magic(const void *bytes, size_t size, uint32_t magic) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < sizeof(magic); i++) {
        if (i == size || at[i] != (magic >> 8 * i & 0xFF))
            return false;
    }
    return true;
}

struct sim_image_kernel *sim_image_add(struct sim_image *image, const char *name, size_t length) {
    SIM_RESERVE_ONE(image->kernels, image->count, image->capacity);
    struct sim_image_kernel *kernel = &image->kernels[image->count];
    *kernel = (struct sim_image_kernel){.order = image->count, .name = sim_allocate(length + 1)};
    memcpy(kernel->name, name, length);
    image->count++;
    return kernel;
}

bool sim_image_set_parameter(struct sim_image_kernel *kernel, size_t index, uint64_t offset,
                             uint64_t size) {
    if (index >= SIM_IMAGE_PARAMETER_BYTES || offset > SIM_IMAGE_PARAMETER_BYTES ||
        size > SIM_IMAGE_PARAMETER_BYTES - offset)
        return false;
    if (index >= kernel->count) {
        kernel->parameters =
            sim_reallocate(kernel->parameters, index + 1, sizeof(*kernel->parameters));
        memset(&kernel->parameters[kernel->count], 0,
               (index + 1 - kernel->count) * sizeof(*kernel->parameters));
        kernel->count = index + 1;
    }
    kernel->parameters[index] =
        (struct sim_image_parameter){.offset = (uint32_t)offset, .size = (uint32_t)size};
    return true;
}

static int compare(const void *one, const void *other) {
    const struct sim_image_kernel *a = one, *b = other;
    int names = strcmp(a->name, b->name);
    return names ? names : sp_compare(a->order, b->order);
}

static void destroy_kernel(struct sim_image_kernel *kernel) {
    sim_free(kernel->name);
    sim_free(kernel->parameters);
}

void sim_image_sort(struct sim_image *image) {
    size_t kept = 0;
    if (image->count == 0)
        return;
    qsort(image->kernels, image->count, sizeof(*image->kernels), compare);
    for (size_t i = 1; i < image->count; i++) {
        if (strcmp(image->kernels[kept].name, image->kernels[i].name) == 0)
            destroy_kernel(&image->kernels[i]);
        else
            image->kernels[++kept] = image->kernels[i];
    }
    image->count = kept + 1;
}

static int compare_name(const void *name, const void *kernel) {
    return strcmp(name, ((const struct sim_image_kernel *)kernel)->name);
}

const struct sim_image_kernel *sim_image_find(const struct sim_image *image, const char *name) {
    if (image->count == 0)
        return NULL;
    return bsearch(name, image->kernels, image->count, sizeof(*image->kernels), compare_name);
}

void sim_image_destroy(struct sim_image *image) {
    for (size_t i = 0; i < image->count; i++)
        destroy_kernel(&image->kernels[i]);
    sim_free(image->kernels);
    *image = (struct sim_image){0};
}
