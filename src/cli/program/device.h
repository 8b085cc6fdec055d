// Which driver the program runs on, and the device that it uses.
//
// The program and the library load a driver each for themselves; both open what STREAMPOOL_DRIVER
// names. So the choice is made by setting that variable, before either has loaded anything.
#ifndef STREAMPOOL_CLI_DEVICE_H
#define STREAMPOOL_CLI_DEVICE_H

#include "driver/driver.h"

#include <limits.h>
#include <stdbool.h>

enum sp_device_choice { SP_DEVICE_AUTO, SP_DEVICE_GPU, SP_DEVICE_SIM };

struct sp_device {
    const struct sp_driver *driver;
    int ordinal;
    CUdevice handle;
    CUcontext context; // the primary one, retained and current in the calling thread
    char name[256];
};

// Makes the choice and loads the driver. Says on standard error why it could not, and where `auto`
// fell back to the simulated driver. Call it once, before any call of the library.
bool sp_device_choose(enum sp_device_choice choice, const struct sp_driver **driver);

// True once `auto` has fallen back to the simulated driver.
bool sp_device_fell_back(void);

bool sp_device_is_simulated(const struct sp_driver *driver);

// The exit status when no GPU can be used, and the simulated driver wasn't asked for.
enum { SP_EXIT_NO_GPU = 3 };

// Returns the exit status of a program that was to use this choice and can't: SP_EXIT_NO_GPU, or
// EXIT_FAILURE where the choice or the environment asked for the simulated driver.
int sp_device_failure(enum sp_device_choice choice);

// Takes device 0, with its primary context. Says on standard error why it could not.
bool sp_device_open(struct sp_device *device, const struct sp_driver *driver);
void sp_device_close(struct sp_device *device);

// Makes the choice, loads the driver and takes the device. Returns the exit status for the program
// when that fails, and standard error says why; else EXIT_SUCCESS.
int sp_device_take(struct sp_device *device, enum sp_device_choice choice);

// Makes the path of a file that is installed with the program, such as the simulated driver. Its
// name is relative to the folder of the libraries, which is at the same place relative to the
// program in the build folder and in every prefix. False with a complaint when the program can't
// find out where it lies itself. The file may be missing.
bool sp_installed_path(const char *name, char path[PATH_MAX]);

int sp_device_attribute(const struct sp_driver *driver, CUdevice device,
                        CUdevice_attribute attribute);

// "13.0" for 13000, into a buffer of SP_VERSION_TEXT bytes.
#define SP_VERSION_TEXT 16
const char *sp_version_text(int version, char text[SP_VERSION_TEXT]);

#endif
