#include "api/known.h"

bool sp_known_is_seen(CUstream handle) {
    struct sp_stream *stream = sp_remember_find(handle);
    if (!sp_seen_has(handle))
        return false;
    if (stream)
        sp_store_relaxed(&stream->seen, true);
    return true;
}

poolError_t sp_known_stream(CUstream handle, int known, struct sp_stream **stream) {
    bool is_seen = known & poolPromiseStreamDestroy;
    *stream = is_seen ? sp_remember_find(handle) : NULL;
    if (*stream)
        return poolSuccess;
    poolError_t error = sp_api_stream(handle, NULL, stream);
    if (error == poolSuccess && is_seen)
        sp_remember_stream(*stream, handle);
    return error;
}
