#include "cli/import/values.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KIND_BITS = 3, SMALLEST_CAPACITY = 256 };

// Indices and small numbers are below it.
#define INDEX_END ((uint32_t)1 << (32 - KIND_BITS))

enum { LIST_FIRST, LIST_LAST, LIST_COUNT, LIST_CELLS };
enum { CHUNK_NEXT, CHUNK_COUNT, CHUNK_VALUES };
enum { PAIR_WORD, PAIR_VALUE, PAIR_NEXT, PAIR_CELLS };
enum { NUMBER_CELLS = 2 };

static bool fail(struct sp_values *values, const char *trouble) {
    values->trouble = trouble;
    return false;
}

// Chunks and pairs are linked by their index, and 0 is none, so cell 0 is left out.
void sp_values_begin(struct sp_values *values, const uint64_t *read) {
    *values = (struct sp_values){.read = read};
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    values->bytes_most = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / 2 : UINT64_MAX;
}

void sp_values_array_release(struct sp_values_array *array) {
    free(array->cells);
    *array = (struct sp_values_array){.count = 0};
}

void sp_values_release(struct sp_values *values) {
    sp_values_array_release(&values->numbers);
    sp_values_array_release(&values->lists);
    sp_values_array_release(&values->items);
    sp_values_array_release(&values->dictionaries);
    sp_values_array_release(&values->pairs);
}

// ----------------------------------------------------------------------------------------- growing

static bool may_take(struct sp_values *values, uint64_t bytes) {
    if (bytes > SP_VALUES_FREE_BYTES &&
        (bytes - SP_VALUES_FREE_BYTES) / SP_VALUES_RATIO > *values->read)
        return fail(values, "this takes far more memory than a snapshot of its size does");
    return bytes <= values->bytes_most ||
           fail(values, "this takes more than half of the host's memory");
}

static bool grow(struct sp_values *values, struct sp_values_array *array, size_t wanted) {
    size_t capacity = array->capacity + array->capacity / 2 + SMALLEST_CAPACITY;
    if (capacity < wanted)
        capacity = wanted;
    uint64_t bytes = values->bytes + (capacity - array->capacity) * sizeof *array->cells;
    if (!may_take(values, bytes))
        return false;
    uint32_t *cells = reallocarray(array->cells, capacity, sizeof *cells);
    if (!cells)
        return fail(values, "out of host memory");
    array->cells = cells;
    array->capacity = capacity;
    values->bytes = bytes;
    return true;
}

bool sp_values_array_reserve(struct sp_values *values, struct sp_values_array *array,
                             size_t wanted) {
    return array->capacity - array->count >= wanted || grow(values, array, array->count + wanted);
}

// Adds zeroed cells, and returns the index of the first one; null without memory or an index.
static bool add_cells(struct sp_values *values, struct sp_values_array *array, size_t count,
                      size_t *first) {
    if (array->count == 0)
        count++;
    if (!sp_values_array_reserve(values, array, count))
        return false;
    if (array->count + count > UINT32_MAX)
        return fail(values, "the file has too many values");
    memset(array->cells + array->count, 0, count * sizeof *array->cells);
    *first = array->count == 0 ? 1 : array->count;
    array->count += count;
    return true;
}

static bool make(struct sp_values *values, struct sp_values_array *array, enum sp_value_kind kind,
                 size_t cells, sp_value *value) {
    size_t first;
    if (array->count / cells + 1 >= INDEX_END)
        return fail(values, "the file has too many values");
    if (!add_cells(values, array, cells, &first))
        return false;
    *value = (sp_value)((first - 1) / cells) << KIND_BITS | kind;
    return true;
}

static uint32_t payload(sp_value value) {
    return value >> KIND_BITS;
}

// The cells of the thing with this handle. Cell 0 of each array belongs to nothing.
static uint32_t *cells_of(const struct sp_values_array *array, size_t cells, sp_value value) {
    return array->cells + 1 + payload(value) * cells;
}

bool sp_values_number(struct sp_values *values, uint64_t number, sp_value *value) {
    if (number < INDEX_END) {
        *value = (sp_value)number << KIND_BITS | SP_VALUE_SMALL_NUMBER;
        return true;
    }
    if (!make(values, &values->numbers, SP_VALUE_NUMBER, NUMBER_CELLS, value))
        return false;
    memcpy(cells_of(&values->numbers, NUMBER_CELLS, *value), &number, sizeof number);
    return true;
}

bool sp_values_list(struct sp_values *values, sp_value *value) {
    return make(values, &values->lists, SP_VALUE_LIST, LIST_CELLS, value);
}

bool sp_values_dictionary(struct sp_values *values, sp_value *value) {
    return make(values, &values->dictionaries, SP_VALUE_DICTIONARY, 1, value);
}

sp_value sp_values_text(const char *text, size_t length) {
    enum sp_word word = sp_words_find(text, length);
    if (word == SP_WORD_COUNT)
        return sp_values_simple(SP_VALUE_OTHER);
    return (sp_value)word << KIND_BITS | SP_VALUE_WORD;
}

// ------------------------------------------------------------------------- lists and dictionaries

// Values that come one by one (as pickles of protocol 0 have them) go into the last chunk, if it is
// the one that was made last.
static bool extend_last_chunk(struct sp_values *values, uint32_t *list, const sp_value *added,
                              size_t count) {
    struct sp_values_array *items = &values->items;
    size_t last = list[LIST_LAST];
    if (last == 0 || last + CHUNK_VALUES + items->cells[last + CHUNK_COUNT] != items->count)
        return false;
    size_t first;
    if (!add_cells(values, items, count, &first))
        return false;
    memcpy(items->cells + first, added, count * sizeof *added);
    items->cells[last + CHUNK_COUNT] += (uint32_t)count;
    return true;
}

static bool add_chunk(struct sp_values *values, uint32_t *list, const sp_value *added,
                      size_t count) {
    struct sp_values_array *items = &values->items;
    size_t chunk;
    if (!add_cells(values, items, CHUNK_VALUES + count, &chunk))
        return false;
    items->cells[chunk + CHUNK_COUNT] = (uint32_t)count;
    memcpy(items->cells + chunk + CHUNK_VALUES, added, count * sizeof *added);
    if (list[LIST_LAST] == 0)
        list[LIST_FIRST] = (uint32_t)chunk;
    else
        items->cells[list[LIST_LAST] + CHUNK_NEXT] = (uint32_t)chunk;
    list[LIST_LAST] = (uint32_t)chunk;
    return true;
}

bool sp_values_append(struct sp_values *values, sp_value list, const sp_value *added,
                      size_t count) {
    if (sp_values_kind_of(list) != SP_VALUE_LIST)
        return fail(values, "this appends to what is no list");
    uint32_t *cells = cells_of(&values->lists, LIST_CELLS, list);
    if (count == 0)
        return true;
    if (!extend_last_chunk(values, cells, added, count) && !add_chunk(values, cells, added, count))
        return false;
    cells[LIST_COUNT] += (uint32_t)count;
    return true;
}

// The pair with this word; null when there is none.
static uint32_t *find_pair(const struct sp_values *values, sp_value dictionary, uint32_t word) {
    uint32_t next = *cells_of(&values->dictionaries, 1, dictionary);
    while (next != 0) {
        uint32_t *pair = values->pairs.cells + next;
        if (pair[PAIR_WORD] == word)
            return pair;
        next = pair[PAIR_NEXT];
    }
    return NULL;
}

// A dictionary has at most one pair for each word, so that looking one up takes bounded time.
bool sp_values_set(struct sp_values *values, sp_value dictionary, sp_value key, sp_value value) {
    if (sp_values_kind_of(dictionary) != SP_VALUE_DICTIONARY)
        return fail(values, "this sets a key of what is no dictionary");
    if (sp_values_kind_of(key) != SP_VALUE_WORD)
        return true;
    uint32_t *pair = find_pair(values, dictionary, payload(key));
    if (pair) {
        pair[PAIR_VALUE] = value;
        return true;
    }
    size_t first;
    if (!add_cells(values, &values->pairs, PAIR_CELLS, &first))
        return false;
    uint32_t *head = cells_of(&values->dictionaries, 1, dictionary);
    pair = values->pairs.cells + first;
    pair[PAIR_WORD] = payload(key);
    pair[PAIR_VALUE] = value;
    pair[PAIR_NEXT] = *head;
    *head = (uint32_t)first;
    return true;
}

// ----------------------------------------------------------------------------------------- looking

sp_value sp_values_find(const struct sp_values *values, sp_value dictionary, enum sp_word key) {
    if (sp_values_kind_of(dictionary) != SP_VALUE_DICTIONARY)
        return sp_values_simple(SP_VALUE_ABSENT);
    const uint32_t *pair = find_pair(values, dictionary, key);
    return pair ? pair[PAIR_VALUE] : sp_values_simple(SP_VALUE_ABSENT);
}

bool sp_values_number_of(const struct sp_values *values, sp_value value, uint64_t *number) {
    switch (sp_values_kind_of(value)) {
    case SP_VALUE_SMALL_NUMBER:
        *number = payload(value);
        return true;
    case SP_VALUE_NUMBER:
        memcpy(number, cells_of(&values->numbers, NUMBER_CELLS, value), sizeof *number);
        return true;
    default:
        return false;
    }
}

enum sp_word sp_values_word_of(sp_value value) {
    return sp_values_kind_of(value) == SP_VALUE_WORD ? (enum sp_word)payload(value) : SP_WORD_COUNT;
}

size_t sp_values_length(const struct sp_values *values, sp_value list) {
    bool is_list = sp_values_kind_of(list) == SP_VALUE_LIST;
    return is_list ? cells_of(&values->lists, LIST_CELLS, list)[LIST_COUNT] : 0;
}

bool sp_values_next(const struct sp_values *values, sp_value list,
                    struct sp_values_position *position, sp_value *value) {
    if (!position->begun) {
        position->begun = true;
        position->chunk = sp_values_length(values, list) > 0
                              ? cells_of(&values->lists, LIST_CELLS, list)[LIST_FIRST]
                              : 0;
    }
    if (position->chunk == 0)
        return false;
    const uint32_t *chunk = values->items.cells + position->chunk;
    *value = chunk[CHUNK_VALUES + position->index];
    if (++position->index == chunk[CHUNK_COUNT]) {
        position->index = 0;
        position->chunk = chunk[CHUNK_NEXT];
    }
    return true;
}
