#include "simcuda/image/load.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simcuda/image/elf.h"
#include "simcuda/image/fatbin.h"
#include "simcuda/image/ptx.h"

// The wrapper around a fatbin in a program that nvcc has built.
struct wrapper {
    uint32_t magic;
    uint32_t version;
    const void *fatbin;
    const void *unused;
};

#define WRAPPER_MAGIC 0x466243B1u

static CUresult read_any(struct sim_image *image, const void *bytes, size_t size) {
    if (sim_image_elf_is(bytes, size))
        return sim_image_elf_read(image, bytes, size);
    if (sim_image_fatbin_is(bytes, size))
        return sim_image_fatbin_read(image, bytes, size);
    return sim_image_ptx_read(image, bytes, size);
}

CUresult sim_image_load(struct sim_image *image, const void *bytes, size_t size) {
    *image = (struct sim_image){0};
    CUresult result = read_any(image, bytes, size);
    if (result == CUDA_SUCCESS)
        sim_image_sort(image);
    else
        sim_image_destroy(image);
    return result;
}

// ----------------------------------------------------------------------------------------- memory

// Returns how many bytes can be read from an address on. The list is sorted, and neighbours in it
// count as one. Where the system has no such list, an image ends where its own headers say.
static size_t readable_from(uintptr_t address) {
    char line[512];
    uintptr_t begin, end, reached = address;
    char reads;
    FILE *list = fopen("/proc/self/maps", "re");
    if (!list)
        return PTRDIFF_MAX;
    while (fgets(line, sizeof(line), list)) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %c", &begin, &end, &reads) != 3 ||
            reads != 'r' || end <= reached)
            continue;
        if (begin > reached)
            break;
        reached = end;
    }
    fclose(list);
    return reached - address;
}

static const void *unwrap(const void *address) {
    struct wrapper wrapper;
    size_t size = readable_from((uintptr_t)address);
    if (size < sizeof(wrapper) || !sim_image_has_magic(address, size, WRAPPER_MAGIC))
        return address;
    memcpy(&wrapper, address, sizeof(wrapper));
    return wrapper.fatbin;
}

CUresult sim_image_load_memory(struct sim_image *image, const void *address) {
    const void *begin = unwrap(address);
    return sim_image_load(image, begin, readable_from((uintptr_t)begin));
}

// ------------------------------------------------------------------------------------------- file

static CUresult load_mapped(struct sim_image *image, int file, size_t size) {
    if (size == 0)
        return CUDA_ERROR_INVALID_IMAGE;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = sim_image_load(image, bytes, size);
    munmap(bytes, size);
    return result;
}

CUresult sim_image_load_file(struct sim_image *image, const char *path) {
    struct stat status;
    CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
    *image = (struct sim_image){0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return CUDA_ERROR_FILE_NOT_FOUND;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        result = load_mapped(image, file, (size_t)status.st_size);
    close(file);
    return result;
}
