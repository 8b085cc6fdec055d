// Stands for learn.h until whoever includes it follows.
#include "order/learn.h"
