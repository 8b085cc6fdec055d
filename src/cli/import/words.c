#include "cli/import/words.h"

#include <string.h>

static const struct {
    const char *text;
    size_t length;
} words[] = {
#define WORD_ROW(name, text) {text, sizeof(text) - 1},
    SP_WORDS(WORD_ROW)
#undef WORD_ROW
};

#define WORD_FITS(name, text)                                                                      \
    _Static_assert(sizeof(text) - 1 <= SP_WORDS_LENGTH_MAX, "a word is too long");
SP_WORDS(WORD_FITS)
#undef WORD_FITS

enum sp_word sp_words_find(const char *text, size_t length) {
    for (size_t i = 0; i < SP_WORD_COUNT; i++)
        if (words[i].length == length && memcmp(words[i].text, text, length) == 0)
            return (enum sp_word)i;
    return SP_WORD_COUNT;
}

const char *sp_words_text(enum sp_word word) {
    return words[word].text;
}
