// Stands for abi_test.c where no toolkit is installed that knows all that abi.h declares.
#include <stdio.h>

int main(void) {
    puts("skipped: no cuda.h of CUDA 13.0 or later was found");
    return 77;
}
