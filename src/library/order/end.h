// Stands for resolve.h until whoever includes it follows.
#include "order/resolve.h"
