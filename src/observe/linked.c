// The way to the observer where it is linked together with the library.
#include "process/observe_table.h"

const struct sp_observe_table *sp_observe_load(const struct sp_observe_host *host) {
    return sp_observe_table(host);
}
