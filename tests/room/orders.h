// The orders in which a program frees its blocks.
#ifndef STREAMPOOL_TESTS_ROOM_ORDERS_H
#define STREAMPOOL_TESTS_ROOM_ORDERS_H

#include "room/scene.h"

extern const char *const orders_names[ORDERS];

// Draws an order and sorts the live blocks by it.
void orders_sort(struct scene *scene);

#endif
