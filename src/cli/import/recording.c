#include "cli/import/recording.h"

#include "cli/import/jsonvalues.h"
#include "cli/import/pickle.h"
#include "cli/import/rmmlog.h"
#include "cli/trace/source.h"

static enum sp_recording_format format_by_content(struct sp_source *source) {
    enum { LOOKED_AT = 512 };
    const unsigned char *bytes;
    size_t count = sp_source_peek(source, LOOKED_AT, &bytes);
    if (sp_pickle_begins(bytes, count))
        return SP_RECORDING_PICKLE;
    return sp_jsonvalues_begins(bytes, count) ? SP_RECORDING_JSON : SP_RECORDING_RMM;
}

static bool read_snapshot(const struct sp_recording_options *options,
                          enum sp_recording_format format, struct sp_source *source,
                          struct sp_mend *mend, struct sp_trace_error *error) {
    struct sp_values values;
    sp_value root;
    sp_values_begin(&values, &source->offset);
    bool good = format == SP_RECORDING_JSON ? sp_jsonvalues_read(source, &values, &root, error)
                                            : sp_pickle_read(source, &values, &root, error);
    good = good && sp_snapshot_read(&values, root, &options->snapshot, mend, error);
    sp_values_release(&values);
    sp_source_close(source);
    return good;
}

static bool asks_for_snapshot(const struct sp_recording_options *options) {
    return options->snapshot.of_segments || options->snapshot.device != SP_SNAPSHOT_ANY_DEVICE;
}

static bool read_rmmlog(const struct sp_recording_options *options, struct sp_source *source,
                        struct sp_mend *mend, struct sp_trace_error *error) {
    if (!asks_for_snapshot(options))
        return sp_rmmlog_read(source, mend, error);
    snprintf(error->reason, sizeof error->reason,
             "--device-index and --segments are for snapshots, and this is no snapshot");
    sp_source_close(source);
    return false;
}

static bool read_by_format(const char *path, const struct sp_recording_options *options,
                           struct sp_mend *mend, struct sp_trace_error *error) {
    struct sp_source source;
    const char *reason;
    if (!sp_source_open(&source, path, &reason)) {
        snprintf(error->reason, sizeof error->reason, "%s", reason);
        return false;
    }
    enum sp_recording_format format = options->format;
    if (format == SP_RECORDING_BY_CONTENT)
        format = format_by_content(&source);
    return format == SP_RECORDING_RMM ? read_rmmlog(options, &source, mend, error)
                                      : read_snapshot(options, format, &source, mend, error);
}

bool sp_recording_read(const char *path, const struct sp_recording_options *options,
                       struct sp_mend *mend, struct sp_trace_error *error) {
    *error = (struct sp_trace_error){.line = 0};
    return read_by_format(path, options, mend, error) && sp_mend_finish(mend, error);
}
