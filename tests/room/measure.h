// What others can have of what is free.
#ifndef STREAMPOOL_TESTS_ROOM_MEASURE_H
#define STREAMPOOL_TESTS_ROOM_MEASURE_H

#include "room/scene.h"

// At a quiet point: another stream of a pool, another pool, and, once all pools are given up,
// cuMemAlloc get all that is free but for what the promise excepts. Fails where they don't.
void measure(struct scene *scene);

#endif
