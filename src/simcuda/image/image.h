// An image is what a module is loaded from: PTX text, a cubin (an ELF file), or a fatbin, which
// holds several of both. What is read of it are the names of its kernels and the layout of their
// parameters; code isn't looked at.
//
// Images come from programs, so any bytes may be one. A reader gets the bytes and their number,
// checks each offset against it, and ends in an error or with what it found.
//
//   kernels are sorted by name, and each name is there once
//   a parameter lies in [offset, offset + size), and ends at SIM_IMAGE_PARAMETER_BYTES or before
#ifndef STREAMPOOL_SIMCUDA_IMAGE_IMAGE_H
#define STREAMPOOL_SIMCUDA_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A kernel's parameters have at most so many bytes.
#define SIM_IMAGE_PARAMETER_BYTES 32764

struct sim_image_parameter {
    uint32_t offset;
    uint32_t size;
};

struct sim_image_kernel {
    char *name;
    size_t order;    // in which the reader found it
    bool has_layout; // or else the image doesn't say what its parameters are
    struct sim_image_parameter *parameters;
    size_t count;
    uint32_t architecture; // that its PTX is written for, 52 for sm_52; 0: it isn't said
    uint32_t max_threads;  // of a block, as the kernel was compiled for; 0: any number
};

struct sim_image {
    struct sim_image_kernel *kernels;
    size_t count;
    size_t capacity;
};

// Says whether bytes begin with a magic number of four bytes. It reads no byte behind one that
// differs: a text may be shorter.
bool sim_image_has_magic(const void *bytes, size_t size, uint32_t magic);

// Adds a kernel with no parameters, which the caller completes before it adds another one. The name
// is copied.
struct sim_image_kernel *sim_image_add(struct sim_image *image, const char *name, size_t length);
// Enters the parameter with this index; those before it that are not entered yet have no bytes.
// False when it ends too late.
bool sim_image_set_parameter(struct sim_image_kernel *kernel, size_t index, uint64_t offset,
                             uint64_t size);
// Sorts the kernels. Of those with the same name the first one stays.
void sim_image_sort(struct sim_image *image);
// Returns the kernel of a name, after they were sorted; null when there is none.
const struct sim_image_kernel *sim_image_find(const struct sim_image *image, const char *name);
void sim_image_destroy(struct sim_image *image);

#endif
