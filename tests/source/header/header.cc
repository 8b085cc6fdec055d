// The public header in C++: what holds in C, compiled as C++.
#include "header.c"
