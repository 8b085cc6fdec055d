#include "herd.h"

#include "samples.h"

#include "cli/program/draw.h"

#include <stdlib.h>

int herd_make(struct herd *herd, size_t count, size_t size) {
    *herd = (struct herd){malloc(count * sizeof(void *)), count, size};
    for (size_t i = 0; herd->blocks && i < count; i++)
        herd->blocks[i] = NULL;
    return herd->blocks ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}

int herd_fill(struct herd *herd, const struct subject *subject, CUstream stream) {
    int error = 0;
    for (size_t i = 0; i < herd->count && !error; i++)
        error = subject->allocate(subject, &herd->blocks[i], herd->size, stream);
    return error;
}

// Draws blocks, no two the same, to the front of the table.
static void draw(struct herd *herd, size_t drawn, uint64_t seed) {
    for (size_t i = 0; i < drawn; i++) {
        size_t other = i + sp_draw(seed, i) % (herd->count - i);
        void *block = herd->blocks[other];
        herd->blocks[other] = herd->blocks[i];
        herd->blocks[i] = block;
    }
}

static int replace(const struct herd *herd, const struct subject *subject, void **block,
                   CUstream stream) {
    int error = subject_release(subject, *block, herd->size, stream);
    *block = NULL;
    return error ? error : subject->allocate(subject, block, herd->size, stream);
}

static int replace_all(const struct herd *herd, const struct subject *subject, size_t count,
                       CUstream stream) {
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error = replace(herd, subject, &herd->blocks[i], stream);
    return error;
}

int herd_pairs(struct herd *herd, const struct subject *subject, CUstream stream, size_t pairs,
               uint64_t seed, double *each) {
    size_t drawn = herd->count < pairs ? herd->count : pairs;
    double spent = 0;
    int error = 0;
    for (size_t done = 0; done < pairs && !error; done += drawn) {
        draw(herd, drawn, seed + done);
        double begin = samples_clock();
        error = replace_all(herd, subject, drawn, stream);
        spent += samples_clock() - begin;
    }
    *each = spent / (double)pairs;
    return error;
}

int herd_end(struct herd *herd, const struct subject *subject, CUstream stream) {
    int first = 0;
    for (size_t i = 0; herd->blocks && i < herd->count; i++) {
        int error =
            herd->blocks[i] ? subject_release(subject, herd->blocks[i], herd->size, stream) : 0;
        first = first ? first : error;
    }
    free(herd->blocks);
    herd->blocks = NULL;
    return first;
}
