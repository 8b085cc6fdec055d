// Stands for mark.h until whoever includes it follows.
#include "order/mark.h"
