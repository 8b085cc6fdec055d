#include "heap/size_class.h"

#define UNITS(size) ((size) / SP_ALIGNMENT)
#define CLASS(size, pages)                                                                         \
    {size, pages, (uint32_t)((pages)*SP_PAGE_SIZE / (size)),                                       \
     ((1ull << 32) + UNITS(size) - 1) / UNITS(size)},

// clang-format off
const struct sp_size_class sp_size_classes[SP_CLASS_COUNT] = {SP_SIZE_CLASSES(CLASS)};
// clang-format on
