// By zlib in both cases: it writes a file with no compression, too.
#include "cli/import/trace_write.h"

#include "cli/program/complain.h"
#include "cli/program/place.h"
#include "cli/trace/record.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static bool is_gzipped(const char *path) {
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

static uint64_t earliest(const struct sp_mend_list *list) {
    uint64_t time = UINT64_MAX;
    for (size_t i = 0; i < list->count; i++)
        if (list->operations[i].time < time)
            time = list->operations[i].time;
    return time;
}

static bool write_operation(gzFile out, const struct sp_mend_operation *operation, uint64_t time) {
    return gzprintf(out, "%llu,%llu,%s,0x%llx,%llu,0x%llx\n", (unsigned long long)operation->thread,
                    (unsigned long long)time, sp_record_action_name(operation->action),
                    (unsigned long long)operation->pointer, (unsigned long long)operation->size,
                    (unsigned long long)operation->stream) > 0;
}

static bool write_all(gzFile out, const struct sp_mend *mend) {
    if (gzputs(out, SP_RECORD_HEADER "\n") < 0)
        return false;
    for (size_t i = 0; i < mend->older.count; i++)
        if (!write_operation(out, &mend->older.operations[i], 0))
            return false;
    uint64_t begin = earliest(&mend->rest);
    for (size_t i = 0; i < mend->rest.count; i++)
        if (!write_operation(out, &mend->rest.operations[i], mend->rest.operations[i].time - begin))
            return false;
    return true;
}

// Closes the descriptor, whatever happens. False with errno; 0 is zlib's want of memory.
static bool write_and_close(int descriptor, const char *mode, const struct sp_mend *mend) {
    gzFile out = gzdopen(descriptor, mode);
    if (!out) {
        close(descriptor);
        errno = ENOMEM;
        return false;
    }
    errno = 0;
    bool good = write_all(out, mend);
    int error = errno;
    if (gzclose(out) != Z_OK && good)
        return false;
    errno = error;
    return good;
}

bool sp_trace_write(const char *path, const struct sp_mend *mend) {
    struct sp_place place;
    bool good = sp_place_open(&place, path);
    if (good && write_and_close(place.descriptor, is_gzipped(path) ? "wb" : "wbT", mend))
        good = sp_place_keep(&place);
    else if (good) {
        sp_place_drop(&place);
        good = false;
    }
    return good || sp_complain("%s: %s", sp_place_name(path), strerror(errno ? errno : ENOMEM));
}
