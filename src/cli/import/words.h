// The words of a PyTorch snapshot that an import knows: names of keys, and values of those that are
// texts. A reader turns each text of the file into the number of its word, and forgets all others.
#ifndef STREAMPOOL_CLI_WORDS_H
#define STREAMPOOL_CLI_WORDS_H

#include <stddef.h>

//   X(enumerator, text)
#define SP_WORDS(X)                                                                                \
    X(SEGMENTS, "segments")                                                                        \
    X(DEVICE_TRACES, "device_traces")                                                              \
    X(DEVICE, "device")                                                                            \
    X(ADDRESS, "address")                                                                          \
    X(TOTAL_SIZE, "total_size")                                                                    \
    X(STREAM, "stream")                                                                            \
    X(IS_EXPANDABLE, "is_expandable")                                                              \
    X(BLOCKS, "blocks")                                                                            \
    X(SIZE, "size")                                                                                \
    X(REQUESTED_SIZE, "requested_size")                                                            \
    X(STATE, "state")                                                                              \
    X(ACTIVE_ALLOCATED, "active_allocated")                                                        \
    X(ACTION, "action")                                                                            \
    X(ADDR, "addr")                                                                                \
    X(TIME_US, "time_us")                                                                          \
    X(ALLOC, "alloc")                                                                              \
    X(FREE_REQUESTED, "free_requested")                                                            \
    X(FREE_COMPLETED, "free_completed")                                                            \
    X(SEGMENT_ALLOC, "segment_alloc")                                                              \
    X(SEGMENT_FREE, "segment_free")                                                                \
    X(SEGMENT_MAP, "segment_map")                                                                  \
    X(SEGMENT_UNMAP, "segment_unmap")                                                              \
    X(SNAPSHOT, "snapshot")                                                                        \
    X(OOM, "oom")

#define SP_WORD_ENUMERATOR(name, text) SP_WORD_##name,
enum sp_word { SP_WORDS(SP_WORD_ENUMERATOR) SP_WORD_COUNT };
#undef SP_WORD_ENUMERATOR

// No word is longer.
enum { SP_WORDS_LENGTH_MAX = 32 };

// SP_WORD_COUNT for a text that is no word.
enum sp_word sp_words_find(const char *text, size_t length);
const char *sp_words_text(enum sp_word word);

#endif
