// The forms that a character may have are those of table 3-7 of the Unicode standard: no character
// in more bytes than it needs, no half of a surrogate pair, none above U+10FFFF. iconv lets the
// last pass.
#include "cli/program/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd";

struct range {
    unsigned char least, most;
};

// A form has the values that the first two bytes of a character may have; the bytes behind those
// continue it. Characters of one byte have no form here.
static const struct form {
    struct range first, second;
    size_t length;
} forms[] = {
    {{0xc2, 0xdf}, {0x80, 0xbf}, 2}, {{0xe0, 0xe0}, {0xa0, 0xbf}, 3},
    {{0xe1, 0xec}, {0x80, 0xbf}, 3}, {{0xed, 0xed}, {0x80, 0x9f}, 3},
    {{0xee, 0xef}, {0x80, 0xbf}, 3}, {{0xf0, 0xf0}, {0x90, 0xbf}, 4},
    {{0xf1, 0xf3}, {0x80, 0xbf}, 4}, {{0xf4, 0xf4}, {0x80, 0x8f}, 4},
};

static bool is_in(unsigned char byte, struct range range) {
    return byte >= range.least && byte <= range.most;
}

// Returns the length in bytes of the character that the text begins with; 0 when it begins with
// none. The null byte at the end of the text continues nothing, so no byte behind it is read.
static size_t length_of_character(const char *text) {
    static const struct range continuation = {0x80, 0xbf};
    const unsigned char *bytes = (const unsigned char *)text;
    if (bytes[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t length = 0;
        if (is_in(bytes[0], forms[i].first) && is_in(bytes[1], forms[i].second))
            length = 2;
        while (length > 0 && length < forms[i].length && is_in(bytes[length], continuation))
            length++;
        if (length == forms[i].length)
            return length;
    }
    return 0;
}

char *sp_utf8_of(const char *text) {
    static const size_t longest = sizeof replacement - 1;
    char *copy = malloc(longest * strlen(text) + 1), *end = copy;
    while (copy && *text) {
        size_t length = length_of_character(text);
        memcpy(end, length > 0 ? text : replacement, length > 0 ? length : longest);
        end += length > 0 ? length : longest;
        text += length > 0 ? length : 1;
    }
    if (copy)
        *end = '\0';
    return copy;
}
