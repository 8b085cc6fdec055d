// sp_values holds what a snapshot says, as far as an import asks for it: lists, dictionaries,
// numbers from 0 to 2^64 - 1 and words (words.h). All other values are "other", and a dictionary
// keeps only what stands under a word, since nobody looks for anything else.
//
// Values are handed around as handles of 32 bits. What they name lies in a few arrays, which grow
// and are released together, so a value costs no malloc and a list can hold itself. Nothing here
// recurses. Not thread safe.
//
// Memory: all arrays together take at most SP_VALUES_FREE_BYTES + SP_VALUES_RATIO times the bytes
// that were read of the file, and half of the host's memory. What goes beyond is refused: snapshots
// take up to 5 times their size.
#ifndef STREAMPOOL_CLI_VALUES_H
#define STREAMPOOL_CLI_VALUES_H

#include "cli/import/words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SP_VALUES_RATIO = 12, SP_VALUES_FREE_BYTES = 1 << 20 };

enum sp_value_kind {
    SP_VALUE_ABSENT, // no value; zeroed memory is this
    SP_VALUE_OTHER,
    SP_VALUE_MARK, // for a reader's stack; no value
    SP_VALUE_WORD,
    SP_VALUE_SMALL_NUMBER, // it is in the handle
    SP_VALUE_NUMBER,
    SP_VALUE_LIST,
    SP_VALUE_DICTIONARY,
};

// The kind in the lowest three bits, the rest above: a word, a small number, or an index.
typedef uint32_t sp_value;

struct sp_values_array {
    uint32_t *cells;
    size_t count;
    size_t capacity;
};

struct sp_values {
    struct sp_values_array numbers;      // two cells each
    struct sp_values_array lists;        // three cells each: first chunk, last chunk, count
    struct sp_values_array items;        // chunks: the next chunk, how many values, the values
    struct sp_values_array dictionaries; // one cell each: the first pair
    struct sp_values_array pairs;        // three cells each: word, value, the next pair
    const uint64_t *read;                // how many bytes of the file were read
    uint64_t bytes;                      // of all arrays, those of the reader included
    uint64_t bytes_most;                 // half of the host's memory
    const char *trouble;                 // the last failure, in words
};

// `read` is looked at whenever an array grows.
void sp_values_begin(struct sp_values *values, const uint64_t *read);
void sp_values_release(struct sp_values *values);

// All functions that return false leave the reason in `trouble`, and the values as they were.

// Makes room for `wanted` more cells. The array may be a reader's own; it is released by
// sp_values_array_release().
bool sp_values_array_reserve(struct sp_values *values, struct sp_values_array *array,
                             size_t wanted);
void sp_values_array_release(struct sp_values_array *array);

static inline sp_value sp_values_simple(enum sp_value_kind kind) {
    return (sp_value)kind;
}
static inline enum sp_value_kind sp_values_kind_of(sp_value value) {
    return (enum sp_value_kind)(value & 7);
}

bool sp_values_number(struct sp_values *values, uint64_t number, sp_value *value);
bool sp_values_list(struct sp_values *values, sp_value *value);
bool sp_values_dictionary(struct sp_values *values, sp_value *value);

// A word, or "other".
sp_value sp_values_text(const char *text, size_t length);

// Appends values to a list.
bool sp_values_append(struct sp_values *values, sp_value list, const sp_value *added, size_t count);

// Puts a value under a key, in the place of another that is there. Forgets it if the key is no
// word.
bool sp_values_set(struct sp_values *values, sp_value dictionary, sp_value key, sp_value value);

// ------------------------------------------------------------------------------------- looking

// The value under a word; SP_VALUE_ABSENT when there is none, or when this is no dictionary.
sp_value sp_values_find(const struct sp_values *values, sp_value dictionary, enum sp_word key);

// False when it is no number.
bool sp_values_number_of(const struct sp_values *values, sp_value value, uint64_t *number);

// SP_WORD_COUNT when it is no word.
enum sp_word sp_values_word_of(sp_value value);

// A list's length; 0 when it is no list.
size_t sp_values_length(const struct sp_values *values, sp_value list);

// Walks a list. `position` is null at first; false behind the last value.
struct sp_values_position {
    bool begun;
    uint32_t chunk;
    uint32_t index;
};
bool sp_values_next(const struct sp_values *values, sp_value list,
                    struct sp_values_position *position, sp_value *value);

#endif
