// Stands for poll.h until whoever includes it follows.
#include "order/poll.h"
