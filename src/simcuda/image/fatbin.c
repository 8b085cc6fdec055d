#include "simcuda/image/fatbin.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "simcuda/image/elf.h"
#include "simcuda/image/packed.h"
#include "simcuda/image/ptx.h"

#define MAGIC 0xBA55ED50u

#define KIND_PTX 1
#define KIND_ELF 2

#define FLAG_LZ4  0x2000u
#define FLAG_ZSTD 0x8000u

// No part is as large as this when it is unpacked.
#define MAX_UNPACKED ((uint64_t)1 << 30)

// A fatbin is this header, and then parts up to its size.
struct header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_size;
    uint64_t size; // of what follows the header
};

// A part is a header, of which this is the beginning, and then its bytes. They are padded: those
// that are compressed are fewer than the size says.
struct part {
    uint16_t kind;
    uint16_t version;
    uint32_t header_size;
    uint64_t size;
    uint32_t packed_size;
    uint32_t unknown[5]; // where names and options are, and the architecture
    uint64_t flags;
    uint64_t unused;
    uint64_t unpacked_size;
};

_Static_assert(sizeof(struct header) == 16 && sizeof(struct part) == 64,
               "headers are as they lie in a fatbin");

// This tells what became of a fatbin's parts.
struct outcome {
    size_t read;
    size_t damaged;
    size_t unknown; // compressed in a way that isn't known
};

static CUresult read_plain(struct sim_image *image, uint16_t kind, const void *bytes, size_t size) {
    return kind == KIND_PTX ? sim_image_ptx_read(image, bytes, size)
                            : sim_image_elf_read(image, bytes, size);
}

static CUresult read_packed(struct sim_image *image, const struct part *part,
                            enum sim_packing packing, const void *bytes) {
    CUresult result = CUDA_ERROR_INVALID_IMAGE;
    if (part->packed_size > part->size || part->unpacked_size > MAX_UNPACKED)
        return CUDA_ERROR_INVALID_IMAGE;
    void *unpacked = malloc(part->unpacked_size + 1);
    if (!unpacked)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (sim_image_packed_unpack(packing, bytes, part->packed_size, unpacked, part->unpacked_size))
        result = read_plain(image, part->kind, unpacked, part->unpacked_size);
    free(unpacked);
    return result;
}

static enum sim_packing packing_of(const struct part *part) {
    if (part->flags & FLAG_ZSTD)
        return SIM_PACKING_ZSTD;
    return part->flags & FLAG_LZ4 ? SIM_PACKING_LZ4 : SIM_PACKING_NONE;
}

static void read_part(struct sim_image *image, const struct part *part, const void *bytes,
                      struct outcome *outcome) {
    enum sim_packing packing = packing_of(part);
    CUresult result;
    if (part->kind != KIND_PTX && part->kind != KIND_ELF)
        return;
    if (!sim_image_packed_is_known(packing)) {
        outcome->unknown++;
        return;
    }
    result = packing == SIM_PACKING_NONE ? read_plain(image, part->kind, bytes, part->size)
                                         : read_packed(image, part, packing, bytes);
    outcome->read += result == CUDA_SUCCESS;
    outcome->damaged += result != CUDA_SUCCESS;
}

// False when a part doesn't lie in the fatbin.
static bool read_parts(struct sim_image *image, const unsigned char *at, size_t size,
                       struct outcome *outcome) {
    struct part part;
    while (size > 0) {
        if (size < sizeof(part))
            return false;
        memcpy(&part, at, sizeof(part));
        if (part.header_size < sizeof(part) || part.header_size > size ||
            part.size > size - part.header_size)
            return false;
        read_part(image, &part, at + part.header_size, outcome);
        at += part.header_size + part.size;
        size -= part.header_size + part.size;
    }
    return true;
}

bool sim_image_fatbin_is(const void *bytes, size_t size) {
    return sim_image_has_magic(bytes, size, MAGIC);
}

CUresult sim_image_fatbin_read(struct sim_image *image, const void *bytes, size_t size) {
    struct header header;
    struct outcome outcome = {0};
    if (!sim_image_fatbin_is(bytes, size) || size < sizeof(header))
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&header, bytes, sizeof(header));
    if (header.header_size < sizeof(header) || header.header_size > size ||
        header.size > size - header.header_size)
        return CUDA_ERROR_INVALID_IMAGE;
    if (!read_parts(image, (const unsigned char *)bytes + header.header_size, header.size,
                    &outcome))
        return CUDA_ERROR_INVALID_IMAGE;
    if (outcome.read > 0)
        return CUDA_SUCCESS;
    if (outcome.unknown > 0)
        sp_log_write(
            "simulated driver: a fatbin can't be loaded, as it is compressed with "
            "Zstandard and there is no libzstd.so.1: install it, or build with nvcc "
            "--no-compress");
    return outcome.damaged > 0 ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_NO_BINARY_FOR_GPU;
}
