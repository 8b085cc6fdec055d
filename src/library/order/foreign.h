// Stands for stream.h until whoever includes it follows.
#include "order/stream.h"

#define sp_foreign_free           sp_stream_free_foreign
#define sp_foreign_frees_in_order sp_stream_frees_foreign
