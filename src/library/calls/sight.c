#include "calls/sight.h"

#include "process/given_up.h"
#include "region/collect.h"
#include "region/device.h"
#include "supply/trim.h"

struct sp_shortage sp_sight_shortage(const struct sp_request *request, struct sp_outcome lacking,
                                     size_t asked) {
    struct sp_device *device = request->pool->device;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_sharing(device, pool)))
        sp_trim_lost(pool);
    sp_collect_all(request->pool);
    struct sp_shortage shortage = sp_shortage_look(request, lacking, asked);
    if (shortage.on_device < shortage.needed) {
        while ((pool = sp_device_next_sharing(device, pool)))
            sp_collect_all(pool);
        sp_shortage_look_at_others(&shortage);
    }
    sp_given_up_reap(device); // what was destroyed while the walks stood on it
    return shortage;
}
