#include "simcuda/kernel/module.h"

#include "base/list.h"
#include "simcuda/common/host.h"
#include "simcuda/common/thread.h"
#include "simcuda/kernel/function.h"

struct CUmod_st {
    const struct sim_context *context; // null: a library
    struct sim_image image;
    CUresult failure;                // to read the image
    struct sim_function **functions; // in the order of the image's kernels
    bool is_for_pools;               // the pools' library has loaded it
    struct sp_list link;
};

static struct sp_list modules = {&modules, &modules};

static struct CUmod_st *module_at(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct CUmod_st, link);
}

static void destroy(struct CUmod_st *module) {
    for (size_t i = 0; i < module->image.count; i++) {
        if (module->functions[i])
            sim_function_give(module->functions[i]);
    }
    sim_free(module->functions);
    sim_image_destroy(&module->image);
    sp_list_remove(&module->link);
    sim_free(module);
}

static bool add_functions(struct CUmod_st *module) {
    for (size_t i = 0; i < module->image.count; i++) {
        module->functions[i] = sim_function_take(module, &module->image.kernels[i]);
        if (!module->functions[i])
            return false;
    }
    return true;
}

CUresult sim_module_create(const struct sim_context *context, struct sim_image *image,
                           CUresult failure, CUmodule *result) {
    struct CUmod_st *module = sim_allocate(sizeof(*module));
    module->context = context;
    module->image = *image;
    module->failure = failure;
    module->is_for_pools = sim_is_for_library();
    module->functions = sim_allocate(image->count * sizeof(struct sim_function *));
    sp_list_push_back(&modules, &module->link);
    *image = (struct sim_image){0};
    if (!add_functions(module)) {
        destroy(module);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *result = module;
    return CUDA_SUCCESS;
}

static struct CUmod_st *find(const void *handle) {
    SP_LIST_FOR_EACH(link, &modules) {
        if (module_at(link) == handle)
            return module_at(link);
    }
    return NULL;
}

const struct CUmod_st *sim_module_of(CUmodule handle) {
    return find(handle);
}

const struct CUmod_st *sim_module_of_library(CUlibrary handle) {
    const struct CUmod_st *module = find(handle);
    return module && !module->context ? module : NULL;
}

CUfunction sim_module_function(const struct CUmod_st *module, const char *name) {
    const struct sim_image_kernel *kernel = sim_image_find(&module->image, name);
    if (!kernel)
        return NULL;
    return sim_function_handle(module->functions[kernel - module->image.kernels]);
}

CUfunction sim_module_function_at(const struct CUmod_st *module, size_t index) {
    return index < module->image.count ? sim_function_handle(module->functions[index]) : NULL;
}

size_t sim_module_function_count(const struct CUmod_st *module) {
    return module->image.count;
}

CUresult sim_module_failure(const struct CUmod_st *module) {
    return module->failure;
}

bool sim_module_is_library(const struct CUmod_st *module) {
    return !module->context;
}

bool sim_module_serves(const struct CUmod_st *module, const struct sim_context *context) {
    return !module->context || module->context == context;
}

CUresult sim_module_unload(CUmodule handle) {
    struct CUmod_st *module = find(handle);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!module->context)
        return CUDA_ERROR_NOT_PERMITTED;
    destroy(module);
    return CUDA_SUCCESS;
}

CUresult sim_module_unload_library(CUlibrary handle) {
    struct CUmod_st *module = find(handle);
    if (!module || module->context)
        return CUDA_ERROR_INVALID_HANDLE;
    destroy(module);
    return CUDA_SUCCESS;
}

void sim_module_unload_all(const struct sim_context *context) {
    SP_LIST_FOR_EACH_SAFE(link, &modules) {
        if (module_at(link)->context == context)
            destroy(module_at(link));
    }
}

uint64_t sim_module_count(void) {
    uint64_t count = 0;
    SP_LIST_FOR_EACH(link, &modules)
        count++;
    return count;
}

uint64_t sim_module_count_for_pools(void) {
    uint64_t count = 0;
    SP_LIST_FOR_EACH(link, &modules)
        count += module_at(link)->is_for_pools;
    return count;
}

void sim_module_reset(void) {
    SP_LIST_FOR_EACH_SAFE(link, &modules)
        destroy(module_at(link));
    sim_function_reset();
}
