#include "devheap/chunks.h"

#include <stdlib.h>
#include <string.h>

bool sp_heap_chunks_begin(struct sp_heap_chunks *chunks, uint32_t units) {
    *chunks = (struct sp_heap_chunks){.units = units};
    chunks->at = calloc(units, sizeof *chunks->at);
    return chunks->at != NULL;
}

void sp_heap_chunks_end(struct sp_heap_chunks *chunks) {
    free(chunks->at);
    chunks->at = NULL;
}

static uint64_t end_of(const struct sp_heap_chunk *chunk) {
    return chunk->address + chunk->units * SP_HEAP_UNIT_BYTES;
}

static uint32_t gap_at(const struct sp_heap_chunks *chunks, uint32_t first) {
    uint32_t end = first;
    while (end < chunks->units && chunks->at[end].state == SP_HEAP_CHUNK_NONE)
        end++;
    return end - first;
}

static uint32_t gap_before(const struct sp_heap_chunks *chunks, uint32_t end) {
    uint32_t first = end;
    while (first > 0 && chunks->at[first - 1].state == SP_HEAP_CHUNK_NONE)
        first--;
    return end - first;
}

uint32_t sp_heap_chunks_next(const struct sp_heap_chunks *chunks, uint32_t from) {
    while (from < chunks->units && (chunks->at[from].state == SP_HEAP_CHUNK_NONE ||
                                    chunks->at[from].state == SP_HEAP_CHUNK_BODY))
        from++;
    return from;
}

// A place beside a chunk that the memory is beside. False where there is none that has room for
// all.
static bool place_beside(const struct sp_heap_chunks *chunks, uint64_t address, uint32_t units,
                         uint32_t *first) {
    uint32_t unit = sp_heap_chunks_next(chunks, 0);
    for (; unit < chunks->units; unit = sp_heap_chunks_next(chunks, unit + 1)) {
        const struct sp_heap_chunk *chunk = &chunks->at[unit];
        if (chunk->state != SP_HEAP_CHUNK_OPEN)
            continue;
        uint32_t behind = unit + chunk->units;
        bool follows = end_of(chunk) == address && gap_at(chunks, behind) >= units;
        bool precedes = address + units * SP_HEAP_UNIT_BYTES == chunk->address &&
                        gap_before(chunks, unit) >= units;
        *first = follows ? behind : unit - units;
        if (follows || precedes)
            return true;
    }
    return false;
}

// The first gap that has room for all, else the largest one.
static uint32_t place_in_gap(const struct sp_heap_chunks *chunks, uint32_t units, uint32_t *fit) {
    uint32_t best = 0;
    *fit = 0;
    for (uint32_t unit = 0; unit < chunks->units && *fit < units;) {
        uint32_t gap = gap_at(chunks, unit);
        if (gap > *fit) {
            *fit = gap;
            best = unit;
        }
        unit += gap != 0 ? gap : 1;
    }
    if (*fit > units)
        *fit = units;
    return best;
}

uint32_t sp_heap_chunks_place(const struct sp_heap_chunks *chunks, uint64_t address, uint32_t units,
                              uint32_t least, uint32_t *fit) {
    uint32_t first;
    *fit = units;
    if (place_beside(chunks, address, units, &first))
        return first;
    first = place_in_gap(chunks, units, fit);
    if (*fit < least)
        *fit = 0;
    return first;
}

void sp_heap_chunks_add(struct sp_heap_chunks *chunks, uint32_t first, uint32_t units,
                        uint64_t address) {
    chunks->at[first] = (struct sp_heap_chunk){address, units, 0, SP_HEAP_CHUNK_OPEN};
    for (uint32_t i = 1; i < units; i++)
        chunks->at[first + i].state = SP_HEAP_CHUNK_BODY;
    chunks->taken += units;
}

void sp_heap_chunks_remove(struct sp_heap_chunks *chunks, uint32_t first) {
    uint32_t units = chunks->at[first].units;
    memset(&chunks->at[first], 0, units * sizeof *chunks->at);
    chunks->taken -= units;
}

bool sp_heap_chunks_joined(const struct sp_heap_chunks *chunks, uint32_t first) {
    uint32_t before = first;
    if (first == 0)
        return false;
    do
        before--;
    while (before > 0 && chunks->at[before].state == SP_HEAP_CHUNK_BODY);
    return chunks->at[before].state == SP_HEAP_CHUNK_OPEN &&
           end_of(&chunks->at[before]) == chunks->at[first].address;
}

bool sp_heap_chunks_leads(const struct sp_heap_chunks *chunks, uint32_t first) {
    uint32_t next = first + chunks->at[first].units;
    return next < chunks->units && chunks->at[next].state == SP_HEAP_CHUNK_OPEN &&
           end_of(&chunks->at[first]) == chunks->at[next].address;
}
