#include "simcuda/image/elf.h"

#include <elf.h>
#include <string.h>

#include "simcuda/common/host.h"

#define MAGIC 0x464C457Fu // "\x7FELF"

// On NVIDIA's machine these are the type of the sections ".nv.info", and the mark of an entry in a
// symbol's `st_other`.
#define MACHINE_CUDA 190
#define SECTION_INFO 0x70000000u
#define SYMBOL_ENTRY 0x10

// An attribute is two bytes, format and number, and a value of two bytes; of this format the value
// is the number of bytes that follow.
#define FORMAT_SIZED 4

enum attribute {
    ATTRIBUTE_MAX_THREADS = 0x05,
    ATTRIBUTE_REQUIRED_THREADS = 0x10,
    ATTRIBUTE_PARAMETER = 0x17,
    ATTRIBUTE_PARAMETER_BYTES = 0x19, // of all
    ATTRIBUTE_PARAMETER_LARGE = 0x45, // as compilers write for more than 4 KiB
};

struct file {
    const unsigned char *bytes;
    size_t size;
    size_t sections; // offset of the first header
    size_t section_count;
    size_t *infos; // for each section: the one with its attributes; 0: there is none
};

static bool is_inside(const struct file *file, uint64_t offset, uint64_t size) {
    return offset <= file->size && size <= file->size - offset;
}

// The bytes need not be aligned.
static Elf64_Shdr section_at(const struct file *file, size_t index) {
    Elf64_Shdr section;
    memcpy(&section, file->bytes + file->sections + index * sizeof(section), sizeof(section));
    return section;
}

// A section whose bytes lie in the file.
static bool find_section(const struct file *file, size_t index, Elf64_Shdr *section) {
    if (index == 0 || index >= file->section_count)
        return false;
    *section = section_at(file, index);
    return section->sh_type != SHT_NOBITS && is_inside(file, section->sh_offset, section->sh_size);
}

static uint32_t word_at(const unsigned char *bytes) {
    uint32_t word;
    memcpy(&word, bytes, sizeof(word));
    return word;
}

static uint16_t half_at(const unsigned char *bytes) {
    uint16_t half;
    memcpy(&half, bytes, sizeof(half));
    return half;
}

// ------------------------------------------------------------------------------------- attributes

struct layout {
    bool is_understood;
    size_t entered; // parameters
    uint32_t bytes; // of all, as the attributes say
};

static void set_threads(struct sim_image_kernel *kernel, const unsigned char *value, size_t size) {
    uint64_t product = 1;
    for (size_t i = 0; i + 4 <= size && i < 12 && product <= UINT32_MAX; i += 4)
        product *= word_at(value + i);
    if (product <= UINT32_MAX)
        kernel->max_threads = (uint32_t)product;
}

// An index that is always 0, then the parameter's number and offset; its size stands in the upper
// 14 bits of the next word, or in the lower half of it where that has no room.
static void set_parameter(struct sim_image_kernel *kernel, enum attribute attribute,
                          const unsigned char *value, size_t size, struct layout *layout) {
    if (size < 12) {
        layout->is_understood = false;
        return;
    }
    uint32_t bytes =
        attribute == ATTRIBUTE_PARAMETER ? word_at(value + 8) >> 18 : half_at(value + 8);
    layout->entered++;
    if (!sim_image_set_parameter(kernel, half_at(value + 4), half_at(value + 6), bytes))
        layout->is_understood = false;
}

static void set(struct sim_image_kernel *kernel, enum attribute attribute,
                const unsigned char *value, size_t size, struct layout *layout) {
    switch (attribute) {
    case ATTRIBUTE_MAX_THREADS:
    case ATTRIBUTE_REQUIRED_THREADS:
        set_threads(kernel, value, size);
        return;
    case ATTRIBUTE_PARAMETER:
    case ATTRIBUTE_PARAMETER_LARGE:
        set_parameter(kernel, attribute, value, size, layout);
        return;
    case ATTRIBUTE_PARAMETER_BYTES:
        return;
    }
}

// Bytes that no parameter accounts for are parameters in a form that isn't known here.
static bool is_complete(const struct sim_image_kernel *kernel, const struct layout *layout) {
    bool accounts = layout->bytes == 0 || kernel->count > 0;
    return layout->is_understood && layout->entered == kernel->count && accounts;
}

static void read_attributes(struct sim_image_kernel *kernel, const unsigned char *at, size_t size) {
    struct layout layout = {.is_understood = true};
    while (size >= 4) {
        uint16_t value = half_at(at + 2);
        size_t bytes = at[0] == FORMAT_SIZED ? value : 0;
        if (bytes > size - 4)
            break;
        if (at[0] == FORMAT_SIZED)
            set(kernel, (enum attribute)at[1], at + 4, bytes, &layout);
        else if (at[1] == ATTRIBUTE_PARAMETER_BYTES)
            layout.bytes = value;
        at += 4 + bytes;
        size -= 4 + bytes;
    }
    kernel->has_layout = is_complete(kernel, &layout);
}

// ---------------------------------------------------------------------------------------- symbols

static void map_infos(struct file *file) {
    file->infos = sim_allocate(file->section_count * sizeof(*file->infos));
    for (size_t i = 1; i < file->section_count; i++) {
        Elf64_Shdr section = section_at(file, i);
        if (section.sh_type == SECTION_INFO && section.sh_info < file->section_count)
            file->infos[section.sh_info] = i;
    }
}

static void add_kernel(const struct file *file, struct sim_image *image, const char *name,
                       size_t length, size_t text) {
    Elf64_Shdr info;
    struct sim_image_kernel *kernel = sim_image_add(image, name, length);
    if (text < file->section_count && find_section(file, file->infos[text], &info))
        read_attributes(kernel, file->bytes + info.sh_offset, info.sh_size);
}

// False when a name ends outside of the table of names.
static bool add_symbol(const struct file *file, struct sim_image *image, const Elf64_Sym *symbol,
                       const Elf64_Shdr *names) {
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !(symbol->st_other & SYMBOL_ENTRY))
        return true;
    if (symbol->st_name >= names->sh_size)
        return false;
    const char *name = (const char *)file->bytes + names->sh_offset + symbol->st_name;
    size_t room = names->sh_size - symbol->st_name;
    size_t length = strnlen(name, room);
    if (length == 0 || length == room)
        return false;
    add_kernel(file, image, name, length, symbol->st_shndx);
    return true;
}

static bool add_symbols(const struct file *file, struct sim_image *image, const Elf64_Shdr *table) {
    Elf64_Shdr names;
    if (!find_section(file, table->sh_link, &names))
        return false;
    for (size_t i = 0; i < table->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, file->bytes + table->sh_offset + i * sizeof(symbol), sizeof(symbol));
        if (!add_symbol(file, image, &symbol, &names))
            return false;
    }
    return true;
}

// A file has one table of symbols, or none.
static bool add_all(const struct file *file, struct sim_image *image) {
    for (size_t i = 1; i < file->section_count; i++) {
        Elf64_Shdr table;
        if (section_at(file, i).sh_type == SHT_SYMTAB)
            return find_section(file, i, &table) && add_symbols(file, image, &table);
    }
    return true;
}

static bool is_cubin(const Elf64_Ehdr *header) {
    return header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
           header->e_machine == MACHINE_CUDA && header->e_shentsize == sizeof(Elf64_Shdr);
}

bool sim_image_elf_is(const void *bytes, size_t size) {
    return sim_image_has_magic(bytes, size, MAGIC);
}

CUresult sim_image_elf_read(struct sim_image *image, const void *bytes, size_t size) {
    struct file file = {.bytes = bytes, .size = size};
    Elf64_Ehdr header;
    if (!sim_image_elf_is(bytes, size) || size < sizeof(header))
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&header, bytes, sizeof(header));
    file.sections = header.e_shoff;
    file.section_count = header.e_shnum;
    if (!is_cubin(&header) ||
        !is_inside(&file, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)))
        return CUDA_ERROR_INVALID_IMAGE;
    map_infos(&file);
    bool is_read = add_all(&file, image);
    sim_free(file.infos);
    return is_read ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
