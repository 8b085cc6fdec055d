// streampool info: what is there, what is missing, and whether the library works with it.
#include "cli/absence.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/quantity.h"

#include <stdio.h>
#include <stdlib.h>
#include <streampool/streampool.h>

static error_t parse(int key, char *argument, struct argp_state *state) {
    enum sp_device_choice *choice = state->input;
    if (key != 'd')
        return ARGP_ERR_UNKNOWN;
    *choice = sp_device_choice_of(argument, state);
    return 0;
}

static void print_line(const char *what, const char *value) {
    printf("%-20s  %s\n", what, value);
}

static void print_driver(const struct sp_driver *driver) {
    char version[SP_VERSION_TEXT];
    print_line("driver", driver->path);
    print_line("CUDA version", sp_version_text(driver->version, version));
    if (driver->api_version != driver->version)
        print_line("entry points up to", sp_version_text(driver->api_version, version));
    if (sp_device_is_simulated(driver))
        print_line("kind", "simulated: no GPU, and times mean nothing");
}

// ------------------------------------------------------------------------------------- the devices

static void print_attribute(const struct sp_driver *driver, CUdevice device, const char *what,
                            CUdevice_attribute attribute) {
    print_line(what, sp_device_attribute(driver, device, attribute) ? "yes" : "no");
}

static void print_capability(const struct sp_driver *driver, CUdevice device) {
    int major = sp_device_attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    int minor = sp_device_attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    printf("%-20s  %d.%d\n", "  compute capability", major, minor);
}

// Free memory is known only inside a context, which costs a moment and some of that memory.
static void print_free_memory(const struct sp_driver *driver, CUdevice device) {
    CUcontext context;
    CUresult result = driver->cuDevicePrimaryCtxRetain(&context, device);
    if (result != CUDA_SUCCESS) {
        printf("%-20s  no context: %s\n", "  free memory", sp_driver_error_name(result));
        return;
    }
    size_t free = 0, total = 0;
    char text[SP_QUANTITY_TEXT];
    result = driver->cuCtxPushCurrent(context);
    if (result == CUDA_SUCCESS) {
        result = driver->cuMemGetInfo(&free, &total);
        driver->cuCtxPopCurrent(&context);
    }
    print_line("  free memory",
               result == CUDA_SUCCESS ? sp_bytes_text(free, text) : sp_driver_error_name(result));
    driver->cuDevicePrimaryCtxRelease(device);
}

static void print_memory(const struct sp_driver *driver, CUdevice device) {
    size_t total = 0;
    char text[SP_QUANTITY_TEXT];
    CUresult result = driver->cuDeviceTotalMem(&total, device);
    print_line("  memory",
               result == CUDA_SUCCESS ? sp_bytes_text(total, text) : sp_driver_error_name(result));
}

static void print_granule(const struct sp_driver *driver, int ordinal) {
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal},
    };
    size_t granule = 0;
    char text[SP_QUANTITY_TEXT];
    CUresult result =
        driver->cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    print_line("  granule", result == CUDA_SUCCESS ? sp_bytes_text(granule, text)
                                                   : sp_driver_error_name(result));
}

// The library's own word on it, since a device can claim what it then refuses.
static bool print_verdict(int ordinal) {
    poolMemPool_t pool;
    poolError_t error = poolDeviceGetDefaultMemPool(&pool, ordinal);
    if (error == poolSuccess)
        print_line("  streampool", "works");
    else
        printf("%-20s  does not work: %s: %s\n", "  streampool", poolGetErrorName(error),
               poolGetLastErrorDetail());
    return error == poolSuccess;
}

static bool print_device(const struct sp_driver *driver, int ordinal) {
    CUdevice device;
    char name[256];
    CUresult result = driver->cuDeviceGet(&device, ordinal);
    if (result == CUDA_SUCCESS)
        result = driver->cuDeviceGetName(name, sizeof name, device);
    printf("\ndevice %-13d  %s\n", ordinal,
           result == CUDA_SUCCESS ? name : sp_driver_error_name(result));
    if (result != CUDA_SUCCESS)
        return false;
    print_memory(driver, device);
    print_free_memory(driver, device);
    print_capability(driver, device);
    print_granule(driver, ordinal);
    print_attribute(driver, device, "  virtual memory",
                    CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
    print_attribute(driver, device, "  file descriptors",
                    CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
    print_attribute(driver, device, "  CUDA's own pools",
                    CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
    return print_verdict(ordinal);
}

// How many devices the library works on.
static int print_devices(const struct sp_driver *driver) {
    int count = 0, working = 0;
    CUresult result = driver->cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS || count == 0)
        print_line("devices", result == CUDA_SUCCESS ? "none" : sp_driver_error_name(result));
    for (int ordinal = 0; ordinal < count; ordinal++)
        working += print_device(driver, ordinal);
    return working;
}

// --------------------------------------------------------------------------------- what is missing

static void print_missing(const struct sp_driver *driver) {
    char version[SP_VERSION_TEXT];
    size_t missing = 0;
    for (size_t i = 0; i < sp_driver_entry_count; i++) {
        const struct sp_driver_entry *entry = &sp_driver_entries[i];
        if (!sp_entry_is_missing(driver, entry))
            continue;
        if (missing++ == 0)
            puts("\nmissing entry points");
        printf("  %-26s  %-8s  CUDA %-4s  %s\n", entry->name, sp_need_name(entry->need),
               sp_version_text(entry->version, version), sp_absence_meaning(entry));
    }
    if (missing == 0)
        puts("\nmissing entry points  none");
}

int sp_command_info(int argc, char **argv) {
    static const struct argp_option options[] = {SP_DEVICE_OPTION, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Shows the driver and the devices, every entry point that the driver lacks and what "
            "that means. "
            "The "
            "exit status is 0 when the library works on a device, else 1.",
    };
    enum sp_device_choice choice = SP_DEVICE_AUTO;
    if (argp_parse(&argp, argc, argv, 0, NULL, &choice) != 0)
        return EXIT_FAILURE;

    const struct sp_driver *driver;
    if (!sp_device_choose(choice, &driver))
        return EXIT_FAILURE;
    print_driver(driver);
    int working = print_devices(driver);
    print_missing(driver);
    if (fflush(stdout) != 0)
        sp_complain("standard output can't be written");
    else if (working > 0)
        return EXIT_SUCCESS;
    else
        sp_complain("the library works on none of the devices");
    return EXIT_FAILURE;
}
