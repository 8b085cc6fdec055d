// A program that is linked with the simulated driver, and has calls of both of its sides.
#include <streampool/simcuda.h>

#include <stdio.h>

int cuInit(unsigned int flags);
int cuDeviceGetCount(int *count);

int main(void) {
    simcudaConfig config;
    int count = 0;
    simcudaConfigDefault(&config);
    config.devices = 3;
    if (simcudaReset(&config) != 0 || cuInit(0) != 0 || cuDeviceGetCount(&count) != 0 ||
        count != 3) {
        fprintf(stderr, "%d devices are simulated, not 3\n", count);
        return 1;
    }
    return 0;
}
