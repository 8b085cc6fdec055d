#include "simcuda/image/ptx.h"

#include <string.h>

// A token is a word, with the dot before it if it has one, or any other byte. At the text's end it
// is empty.
struct token {
    const char *begin;
    size_t length;
};

struct reader {
    const char *at;
    const char *end;
    struct token token;
};

static bool is_of_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static size_t left(const struct reader *reader) {
    return (size_t)(reader->end - reader->at);
}

// Moves behind the next place of a text; to the end when there is none.
static void skip_behind(struct reader *reader, const char *text) {
    size_t length = strlen(text);
    while (left(reader) >= length && memcmp(reader->at, text, length) != 0)
        reader->at++;
    reader->at = left(reader) >= length ? reader->at + length : reader->end;
}

static bool begins_with(const struct reader *reader, const char *text) {
    return left(reader) >= strlen(text) && memcmp(reader->at, text, strlen(text)) == 0;
}

// Moves over one piece of white space, a comment or a string.
static bool skip(struct reader *reader) {
    if (left(reader) > 0 && is_space(*reader->at)) {
        reader->at++;
    } else if (begins_with(reader, "//")) {
        skip_behind(reader, "\n");
    } else if (begins_with(reader, "/*")) {
        reader->at += 2;
        skip_behind(reader, "*/");
    } else if (begins_with(reader, "\"")) {
        reader->at++;
        skip_behind(reader, "\"");
    } else {
        return false;
    }
    return true;
}

static void next(struct reader *reader) {
    while (skip(reader))
        ;
    const char *begin = reader->at;
    if (left(reader) > 0)
        reader->at++;
    if (reader->at > begin && (is_of_word(*begin) || *begin == '.')) {
        while (left(reader) > 0 && is_of_word(*reader->at))
            reader->at++;
    }
    reader->token = (struct token){begin, (size_t)(reader->at - begin)};
}

static bool is(const struct reader *reader, const char *text) {
    return reader->token.length == strlen(text) &&
           memcmp(reader->token.begin, text, reader->token.length) == 0;
}

static bool is_end(const struct reader *reader) {
    return reader->token.length == 0;
}

// A number of the text, with the base that it says, at most SIM_IMAGE_PARAMETER_BYTES: none that is
// larger means anything here.
static bool number(const struct token *token, uint64_t *value) {
    const char *digits = "0123456789abcdef";
    uint64_t base = 10, sum = 0;
    size_t i = 0;
    if (token->length > 2 && token->begin[0] == '0' && (token->begin[1] | 0x20) == 'x') {
        base = 16;
        i = 2;
    }
    for (; i < token->length; i++) {
        char c = token->begin[i];
        const char *digit = memchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c, (size_t)base);
        if (!digit)
            break;
        sum = sum * base + (uint64_t)(digit - digits);
        if (sum > SIM_IMAGE_PARAMETER_BYTES)
            return false;
    }
    *value = sum;
    return i == token->length || (i + 1 == token->length && token->begin[i] == 'U');
}

static bool next_number(struct reader *reader, uint64_t *value) {
    next(reader);
    return !is_end(reader) && number(&reader->token, value);
}

// ------------------------------------------------------------------------------------- parameters

struct parameter {
    uint64_t align;
    uint64_t size;   // of an element
    uint64_t count;  // of elements
    bool is_pointer; // what is said behind .ptr is of the memory that it points to
};

// The bytes of a type by its name: ".u64", ".f16x2", ".texref"; 0 for a word that is no type.
static uint64_t type_size(const struct token *token) {
    struct token digits = {token->begin + 2, token->length - 2};
    uint64_t bits;
    if (token->length < 3 || token->begin[0] != '.')
        return 0;
    if (token->length > 4 && memcmp(token->begin + token->length - 3, "ref", 3) == 0)
        return sizeof(uint64_t);
    if (!strchr("bfsu", token->begin[1]))
        return 0;
    bool is_pair = digits.length > 2 && memcmp(digits.begin + digits.length - 2, "x2", 2) == 0;
    digits.length -= is_pair ? 2 : 0;
    return number(&digits, &bits) && bits % 8 == 0 ? bits / 8 * (is_pair ? 2 : 1) : 0;
}

static bool read_word(struct reader *reader, struct parameter *parameter) {
    uint64_t value;
    if (is(reader, "[")) {
        if (!next_number(reader, &value) || value == 0)
            return false;
        parameter->count *= value;
        next(reader);
        return is(reader, "]") && parameter->count <= SIM_IMAGE_PARAMETER_BYTES;
    }
    if (is(reader, ".align")) {
        if (!next_number(reader, &value) || value == 0 || (value & (value - 1)) != 0)
            return false;
        parameter->align = parameter->is_pointer ? parameter->align : value;
    } else if (is(reader, ".ptr")) {
        parameter->is_pointer = true;
    } else if (parameter->size == 0) {
        parameter->size = type_size(&reader->token);
    }
    return true;
}

// Reads one parameter up to the comma or the bracket behind it, and enters it where the one before
// it ends.
static bool read_parameter(struct reader *reader, struct sim_image_kernel *kernel,
                           uint64_t *position) {
    struct parameter parameter = {.count = 1};
    for (; !is(reader, ",") && !is(reader, ")"); next(reader)) {
        if (is_end(reader) || !read_word(reader, &parameter))
            return false;
    }
    if (parameter.size == 0)
        return false;
    uint64_t align = parameter.align ? parameter.align : parameter.size;
    uint64_t offset = (*position + align - 1) / align * align;
    uint64_t size = parameter.size * parameter.count;
    *position = offset + size;
    return sim_image_set_parameter(kernel, kernel->count, offset, size);
}

static bool read_parameters(struct reader *reader, struct sim_image_kernel *kernel) {
    uint64_t position = 0;
    next(reader);
    if (is(reader, ")"))
        return true;
    while (read_parameter(reader, kernel, &position)) {
        if (is(reader, ")"))
            return true;
        next(reader);
    }
    return false;
}

// ---------------------------------------------------------------------------------------- entries

// A block's size: up to three numbers with commas between them.
static bool read_threads(struct reader *reader, struct sim_image_kernel *kernel) {
    uint64_t product = 1, value;
    do {
        if (!next_number(reader, &value))
            return false;
        product *= value;
        next(reader);
    } while (is(reader, ",") && product <= UINT32_MAX);
    kernel->max_threads = (uint32_t)product;
    return product <= UINT32_MAX;
}

// Between the parameters and the body stand directives; a declaration has no body.
static bool read_directives(struct reader *reader, struct sim_image_kernel *kernel) {
    while (!is(reader, "{") && !is(reader, ";")) {
        if (is_end(reader))
            return false;
        if (!is(reader, ".maxntid") && !is(reader, ".reqntid"))
            next(reader);
        else if (!read_threads(reader, kernel))
            return false;
    }
    return true;
}

// The token is ".entry"; afterwards it is the brace of the body, or the declaration's end.
static bool read_entry(struct reader *reader, struct sim_image *image) {
    next(reader);
    if (is_end(reader) || !is_of_word(reader->token.begin[0]))
        return false;
    struct sim_image_kernel *kernel =
        sim_image_add(image, reader->token.begin, reader->token.length);
    kernel->has_layout = true;
    next(reader);
    if (is(reader, "(")) {
        if (!read_parameters(reader, kernel))
            return false;
        next(reader);
    }
    return read_directives(reader, kernel);
}

// Returns the number of a target, 90 of "sm_90a"; 0 for one that has none.
static uint32_t architecture_of(const struct token *token) {
    uint32_t value = 0;
    if (token->length < 4 || memcmp(token->begin, "sm_", 3) != 0)
        return 0;
    for (size_t i = 3; i < token->length && i < 9; i++) {
        if (token->begin[i] < '0' || token->begin[i] > '9')
            break;
        value = 10 * value + (uint32_t)(token->begin[i] - '0');
    }
    return value;
}

CUresult sim_image_ptx_read(struct sim_image *image, const char *text, size_t size) {
    struct reader reader = {.at = text, .end = text + strnlen(text, size)};
    bool has_version = false, is_target = false;
    uint32_t architecture = 0;
    size_t depth = 0;
    for (next(&reader); !is_end(&reader); next(&reader)) {
        has_version = has_version || is(&reader, ".version");
        if (!has_version)
            return CUDA_ERROR_INVALID_IMAGE;
        if (is_target)
            architecture = architecture_of(&reader.token);
        is_target = is(&reader, ".target");
        if (depth == 0 && is(&reader, ".entry")) {
            if (!read_entry(&reader, image))
                return CUDA_ERROR_INVALID_PTX;
            image->kernels[image->count - 1].architecture = architecture;
        }
        if (is(&reader, "{"))
            depth++;
        if (is(&reader, "}") && depth > 0)
            depth--;
    }
    if (!has_version)
        return CUDA_ERROR_INVALID_IMAGE;
    return depth == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}
