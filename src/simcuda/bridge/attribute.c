// These calls set and tell what belongs to a stream: its priority, its device, its attributes.
#include "simcuda/bridge/bridge.h"
#include "simcuda/entry/attributes.h"
#include "simcuda/memory/device.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/queue.h"
#include "simcuda/queue/stream.h"

static CUresult find_for(const void *answer, CUstream handle, struct sim_queue **queue) {
    return answer ? sim_stream_queue(handle, queue) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamGetPriority(CUstream handle, int *priority) {
    struct sim_queue *queue;
    SIM_BEGIN(cuStreamGetPriority);
    CUresult result = find_for(priority, handle, &queue);
    if (result == CUDA_SUCCESS)
        *priority = queue->attributes.priority;
    SIM_END(cuStreamGetPriority, result);
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *device) {
    struct sim_queue *queue;
    SIM_BEGIN(cuStreamGetDevice);
    CUresult result = find_for(device, handle, &queue);
    if (result == CUDA_SUCCESS)
        *device = queue->context->device;
    SIM_END(cuStreamGetDevice, result);
}

static CUresult read(const struct sim_stream_attributes *from, CUstreamAttrID attribute,
                     CUstreamAttrValue *value) {
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        value->accessPolicyWindow = from->window;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        value->syncPolicy = from->policy;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        value->priority = from->priority;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        value->memSyncDomainMap = from->domain_map;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        value->memSyncDomain = from->domain;
        return CUDA_SUCCESS;
    default: // an attribute of launches alone
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue *value) {
    struct sim_queue *queue;
    SIM_BEGIN(cuStreamGetAttribute);
    CUresult result = find_for(value, handle, &queue);
    SIM_END(cuStreamGetAttribute,
            result == CUDA_SUCCESS ? read(&queue->attributes, attribute, value) : result);
}

static bool is_window(const CUaccessPolicyWindow *window, int device) {
    int largest = 0;
    sim_device_attribute(&largest, SIM_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, device);
    return window->num_bytes <= (size_t)largest && window->hitRatio >= 0 && window->hitRatio <= 1 &&
           (unsigned)window->hitProp <= CU_ACCESS_PROPERTY_PERSISTING &&
           (unsigned)window->missProp <= CU_ACCESS_PROPERTY_STREAMING;
}

static bool is_domain_map(CUlaunchMemSyncDomainMap map, int device) {
    int domains = 0;
    sim_device_attribute(&domains, SIM_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, device);
    return map.default_ < domains && map.remote < domains;
}

static bool is_valid(CUstreamAttrID attribute, const CUstreamAttrValue *value, int device) {
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        return is_window(&value->accessPolicyWindow, device);
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        return value->syncPolicy >= CU_SYNC_POLICY_AUTO &&
               value->syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: // one beyond the range is brought into it, as on an H200
        return true;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        return is_domain_map(value->memSyncDomainMap, device);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return (unsigned)value->memSyncDomain <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    default:
        return false;
    }
}

static void write(struct sim_stream_attributes *to, CUstreamAttrID attribute,
                  const CUstreamAttrValue *value) {
    switch (attribute) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        to->window = value->accessPolicyWindow;
        break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        to->policy = value->syncPolicy;
        break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        to->priority = sim_clamp_priority(value->priority);
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        to->domain_map = value->memSyncDomainMap;
        break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        to->domain = value->memSyncDomain;
        break;
    default:
        break;
    }
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute,
                              const CUstreamAttrValue *value) {
    struct sim_queue *queue;
    SIM_BEGIN(cuStreamSetAttribute);
    CUresult result = find_for(value, handle, &queue);
    if (result == CUDA_SUCCESS && !is_valid(attribute, value, queue->context->device))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        write(&queue->attributes, attribute, value);
    SIM_END(cuStreamSetAttribute, result);
}

CUresult cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle) {
    struct sim_queue *to, *from;
    SIM_BEGIN(cuStreamCopyAttributes);
    CUresult result = sim_stream_queue(to_handle, &to);
    if (result == CUDA_SUCCESS)
        result = sim_stream_queue(from_handle, &from);
    if (result == CUDA_SUCCESS && to->context != from->context)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        to->attributes = from->attributes;
    SIM_END(cuStreamCopyAttributes, result);
}
