// Stands for registry.h until whoever includes it follows.
#include "order/registry.h"
