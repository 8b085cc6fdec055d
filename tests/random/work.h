// Work that writes a block's pattern and checks it: every byte is named, so that a simulated driver
// sees each unordered access, and kernels write and read the bytes.
#ifndef STREAMPOOL_TESTS_RANDOM_WORK_H
#define STREAMPOOL_TESTS_RANDOM_WORK_H

#include "random/world.h"

void work_load(struct context *context);

// Sometimes after work that takes its time. The stream is claimed.
void work_fill(struct thread *thread, struct block *block, struct stream *stream);
void work_check(struct thread *thread, struct block *block, struct stream *stream);

// By the host itself, at once: no work that touches the block is pending.
void work_fill_by_host(struct thread *thread, struct block *block);
void work_check_by_host(struct thread *thread, const struct block *block);

void work_spin(struct thread *thread, struct stream *stream);

#endif
