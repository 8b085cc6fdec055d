#include "vmm/place.h"

#include <stdio.h>

bool sp_place_is_same(const struct sp_place *a, const struct sp_place *b) {
    return a->location.type == b->location.type && a->location.id == b->location.id &&
           a->is_managed == b->is_managed && a->is_staged == b->is_staged;
}

int sp_place_node(const struct sp_place *place) {
    return place->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ? place->location.id : -1;
}

void sp_place_text(const struct sp_place *place, char name[SP_PLACE_NAME]) {
    const char *kind = place->is_managed ? " (managed)" : place->is_staged ? " (staging)" : "";
    switch ((int)place->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        snprintf(name, SP_PLACE_NAME, "device %d%s", place->location.id, kind);
        break;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        snprintf(name, SP_PLACE_NAME, "NUMA node %d%s", place->location.id, kind);
        break;
    case CU_MEM_LOCATION_TYPE_HOST:
        snprintf(name, SP_PLACE_NAME, "the host%s", kind);
        break;
    default:
        snprintf(name, SP_PLACE_NAME, "any place%s", kind);
    }
}
