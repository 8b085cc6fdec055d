// An observer of another build than the library's. Whoever calls more of it than the entry crashes.
#include "process/observe_table.h"

__attribute__((visibility("default"))) const struct sp_observe_table *
sp_observe_table(const struct sp_observe_host *host) {
    static const struct sp_observe_table table = {
        .stamp = {SP_OBSERVE_RELEASE + OTHER_RELEASE, sizeof table + OTHER_SIZE,
                  sizeof(struct sp_observe_stream) + OTHER_STREAM,
                  sizeof(struct sp_observe_figures), sizeof(struct sp_tell_pool),
                  sizeof(struct sp_options), SP_OBSERVE_ACTION_COUNT},
    };
    return host->stamp.size == 0 ? NULL : &table;
}
