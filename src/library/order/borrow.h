// Stands for stream_cache.h until whoever includes it follows.
#include "order/stream_cache.h"
