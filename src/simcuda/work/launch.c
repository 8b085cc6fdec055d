#include "simcuda/work/launch.h"

#include "simcuda/queue/capture.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/queue.h"
#include "simcuda/queue/stream.h"
#include "simcuda/report/report.h"
#include "simcuda/work/work.h"

static CUresult drop_job(struct sim_job *job, CUresult result) {
    sim_job_drop(job);
    return result;
}

// The queue may have to be waited for, and its stream be destroyed meanwhile.
static CUresult add(struct sim_queue *queue, struct sim_job *job, struct sim_item **item) {
    sim_queue_hold(queue);
    CUresult result = sim_work_add(queue, job, NULL, 0, item);
    sim_queue_drop(queue);
    return result;
}

CUresult sim_launch_item(CUstream stream, const char *call, struct sim_job *job,
                         struct sim_item **item) {
    struct sim_queue *queue;
    bool captured = false;
    *item = NULL;
    CUresult result = sim_stream_queue(stream, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_capture_work(queue, call, &captured);
    if (result != CUDA_SUCCESS || captured)
        return drop_job(job, result);
    return add(queue, job, item);
}

CUresult sim_launch(CUstream stream, const char *call, struct sim_job *job) {
    struct sim_item *item;
    CUresult result = sim_launch_item(stream, call, job, &item);
    sim_item_drop(item);
    return result;
}

CUresult sim_launch_synchronous(struct sim_job *job, struct sim_item **item) {
    struct sim_queue *queue;
    *item = NULL;
    CUresult result = sim_stream_queue(NULL, &queue);
    if (result == CUDA_SUCCESS)
        result = sim_capture_check_queue(queue, sim_report_call());
    if (result != CUDA_SUCCESS)
        return drop_job(job, result);
    return add(queue, job, item);
}
