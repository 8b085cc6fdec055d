// The control side of the simulated driver (libstreampool_simcuda.so): how a test, or anyone with
// no GPU, sets up devices, injects failures, chooses when work completes, and reads what went
// wrong.
//
// The driver side is the CUDA driver's own entry points, exported by the same library. A program
// links the library directly to call the functions below; a program that only loads it as its
// driver (STREAMPOOL_DRIVER=sim) configures it by the environment variable STREAMPOOL_SIMCUDA.
//
// What is simulated. Memory is real: kernels and copies translate device addresses through a
// software page
//              table and read and write bytes. Time is virtual: each driver call advances one clock
//              by a modelled cost, each piece of work has a duration, and a call that waits for
//              work jumps to its end. Nothing is read from the host's clock, so nothing is as fast
//              or as slow as a GPU.
// Reports.     Misuse that a real driver passes over in silence (a race, an unmap of memory in use,
//              a destroyed stream) is a report: a kind out of SIMCUDA_REPORTS and a text. A report
//              does not change what the call returns.
// Modes.       Free: threads run as they will; nothing is promised about the interleaving.
//              Scheduled: one registered thread runs at a time and a seeded choice is made at each
//              driver call and at each lock of the library, so the same program with the same seed
//              does the same.
// Errors.      Functions that return int return a CUresult: 0, or the driver's number.
// Threads.     Every function may be called from any thread, except simcudaReset. None may be
//              called from a function that the driver runs in a stream (cuLaunchHostFunc), except
//              simcudaNow.
#ifndef STREAMPOOL_SIMCUDA_H
#define STREAMPOOL_SIMCUDA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SIMCUDA_API __attribute__((visibility("default")))
#else
#define SIMCUDA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The driver's handles, declared as cuda.h declares them.
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;

// ----------------------------------------------------------------------------------- configuration

#define SIMCUDA_MAX_DEVICES 16

typedef enum simcudaMode { simcudaModeFree = 0, simcudaModeScheduled = 1 } simcudaMode;

// When work completes, as far as its order allows.
typedef enum simcudaCompletion {
    simcudaCompletionEarliest = 0, // when the virtual clock reaches its end
    // Only when a call waits for it, when its queue is full, or by hand.
    simcudaCompletionLatest = 1,
    simcudaCompletionSeeded = 2 // like earliest, each piece delayed by a random time
} simcudaCompletion;

// What a device does with the virtual memory calls.
typedef enum simcudaVmm {
    simcudaVmmSupported = 0,
    simcudaVmmMissing = 1, // the attribute says no, the calls return CUDA_ERROR_NOT_SUPPORTED
    // The attribute says yes, cuMemCreate and cuMemAddressReserve return NOT_SUPPORTED.
    simcudaVmmRefused = 2
} simcudaVmm;

// What happens at a report, besides keeping it.
typedef enum simcudaOnReport {
    simcudaOnReportKeep = 0,
    // A line on standard error; leaks are looked for, and printed, at exit.
    simcudaOnReportPrint = 1,
    // The line, then abort(); leaks at exit end the process with status 86.
    simcudaOnReportAbort = 2
} simcudaOnReport;

typedef struct simcudaDevice {
    uint64_t memory; // bytes
    simcudaVmm vmm;
} simcudaDevice;

// All bytes are powers of 1024; all times are nanoseconds of the virtual clock.
typedef struct simcudaConfig {
    uint64_t devices; // 0 to SIMCUDA_MAX_DEVICES; with 0, cuInit returns CUDA_ERROR_NO_DEVICE
    simcudaDevice device[SIMCUDA_MAX_DEVICES];
    uint64_t granule; // mapping unit: a power of two, 4096 or more
    // Driver version, 1000 * major + 10 * minor; newer entry points are hidden.
    uint64_t api;
    uint64_t addressSpace; // bytes that may be reserved at a time; 0: what the host allows
    uint64_t mappings;     // mappings that may exist at a time
    uint64_t queue;        // pieces of work that a stream holds before a call that adds one waits
    simcudaMode mode;
    uint64_t seed; // of the scheduler and of seeded completion
    // Scheduled mode: of so many points at which threads could switch, one is a switch.
    uint64_t burst;
    simcudaCompletion completion;
    uint64_t delay; // seeded completion: the longest delay
    // Under latest, this many polls of a pending piece of work complete it; 0: never.
    uint64_t patience;
    simcudaOnReport onReport;
    uint64_t peers; // not 0: each device can access the memory of every other one
} simcudaConfig;

// One simulated device of 16 GiB, that could access others' memory, granule 2 MiB, api 13000, free
// mode, earliest completion, queues of 1024.
SIMCUDA_API void simcudaConfigDefault(simcudaConfig *config);

// Changes `config` as a text says: settings with commas between them, such as
//
//   devices=2,memory=141G,memory.1=8G,vmm.1=refused,granule=64K,api=10020,address_space=1T,mappings=1000,
//   queue=64,mode=scheduled,seed=7,burst=16,completion=latest,delay=1000000,patience=0,reports=print,peers=0
//
// `memory` and `vmm` (supported, missing, refused) set every device, `memory.N` and `vmm.N` one.
// `mode` is free or scheduled, `completion` is earliest, latest or seeded, `reports` is keep, print
// or abort. Sizes take a suffix K, M, G or T. The environment variable STREAMPOOL_SIMCUDA holds
// such a text; cuInit fails with CUDA_ERROR_INVALID_VALUE and a line on standard error when it
// can't be read. Errors: INVALID_VALUE for an unknown setting, a bad value or a configuration that
// makes no sense; then `problem` (of `size` bytes, may be null) says which, and `config` is
// unchanged.
SIMCUDA_API int simcudaConfigParse(const char *text, simcudaConfig *config, char *problem,
                                   size_t size);

// Forgets everything (devices' memory, contexts, streams, events, reports, counters, faults) and
// starts again with `config`; null: the default and the environment. The driver stays initialised
// if it was. The caller sees to it that no other thread is in a driver call and that no registered
// thread exists; handles and device addresses of before are void. Waits for a running host
// function. Errors: INVALID_VALUE as simcudaConfigParse.
SIMCUDA_API int simcudaReset(const simcudaConfig *config);

// The configuration in use.
SIMCUDA_API void simcudaGetConfig(simcudaConfig *config);

// --------------------------------------------------------------------------- failures and counters

typedef enum simcudaFaultSpan {
    simcudaFaultOnce = 0,
    simcudaFaultOnwards = 1 // that call and every later one
} simcudaFaultSpan;

// Makes the nth call (from 1, counted from now) of an entry point return `error` and do nothing
// else. `entry` is the documented name ("cuMemCreate"), null for the nth call of any entry point.
// Several faults may be set. Errors: INVALID_VALUE for an unknown name, n = 0, error = 0, or more
// than 16 faults.
SIMCUDA_API int simcudaFailCall(const char *entry, uint64_t n, simcudaFaultSpan span, int error);
SIMCUDA_API void simcudaFailClear(void);
// How many calls have been made to fail since the last clear.
SIMCUDA_API uint64_t simcudaFailCount(void);

// Makes a context fail as after an illegal access: every later call on it, its streams and its
// events returns `error`, and its pending work ends without effect. Errors: INVALID_CONTEXT.
SIMCUDA_API int simcudaContextFail(CUcontext context, int error);

// Calls of an entry point since the last reset, refused ones included; null: of all. 0 for an
// unknown name.
SIMCUDA_API uint64_t simcudaCallCount(const char *entry);
SIMCUDA_API void simcudaCallCountReset(void);

// A number that depends on every driver call of every registered thread, their order and results.
// Two runs of one program in scheduled mode with one seed give the same.
SIMCUDA_API uint64_t simcudaTraceDigest(void);

// ----------------------------------------------------------------------------------------- reports

// X(enumerator, name, what it means)
// clang-format off
#define SIMCUDA_REPORTS(X) \
    X(race, "race", "two pieces of work touch the same physical byte, one writes, and nothing orders them") \
    X(fault, "fault", "work touches a device address that is not mapped") \
    X(noAccess, "no-access", "work touches a mapping without the access that cuMemSetAccess gives") \
    X(checkFailed, "check-failed", "the kernel sp_check found bytes other than those expected") \
    X(unmapInUse, "unmap-in-use", "cuMemUnmap of what pending work names, or work that the host does not know to be complete") \
    X(mapOverMapping, "map-over-mapping", "cuMemMap where a mapping is") \
    X(wrongGranule, "wrong-granule", "a size or address is no multiple of the granule") \
    X(partOfMapping, "part-of-mapping", "cuMemUnmap or cuMemSetAccess on a part of a mapping, or where none is") \
    X(partOfHandle, "part-of-handle", "cuMemMap of a part of a handle, or at an offset") \
    X(notReserved, "not-reserved", "an address outside every reserved range, or not a range as it was reserved") \
    X(freeMappedRange, "free-mapped-range", "cuMemAddressFree of a range that holds mappings") \
    X(badMemoryHandle, "bad-memory-handle", "a memory handle that does not exist or was released") \
    X(badFree, "bad-free", "cuMemFree or cuMemFreeAsync of a device address that cuMemAlloc did not give, or twice; likewise cuMemFreeHost") \
    X(useOfDestroyedStream, "use-of-destroyed-stream", "a stream that was destroyed, or never existed") \
    X(useOfDestroyedEvent, "use-of-destroyed-event", "an event that was destroyed, or never existed") \
    X(useOfDestroyedContext, "use-of-destroyed-context", "a context that was destroyed, or never existed") \
    X(captureUnsafeCall, "capture-unsafe-call", "a call that is not allowed now broke a stream capture") \
    X(deadlock, "deadlock", "scheduled mode: a lock of the library stays held and its owner can not run; aborts") \
    X(leak, "leak", "something is still alive at the leak check")
// clang-format on

typedef enum simcudaReportKind {
#define SIMCUDA_ENUMERATE_REPORT(enumerator, name, meaning) simcudaReport_##enumerator,
    SIMCUDA_REPORTS(SIMCUDA_ENUMERATE_REPORT)
#undef SIMCUDA_ENUMERATE_REPORT
} simcudaReportKind;

// How many reports there are of a kind (its name; null: of all kinds) since the last clear.
SIMCUDA_API uint64_t simcudaReportCount(const char *kind);
// Kind and text of the report with this index, oldest first; null when there is none. The first 256
// are kept, and the texts are valid until the next clear or reset.
SIMCUDA_API const char *simcudaReportName(uint64_t index);
SIMCUDA_API const char *simcudaReportText(uint64_t index);
SIMCUDA_API void simcudaReportClear(void);

// What is alive. Primary contexts count while they are retained.
typedef struct simcudaLive {
    uint64_t contexts;
    uint64_t streams;
    uint64_t events;
    uint64_t modules;
    uint64_t graphs;
    uint64_t allocations; // of cuMemAlloc
    uint64_t ranges;      // of cuMemAddressReserve
    uint64_t handles;     // of cuMemCreate, not yet released
    uint64_t mappings;
    uint64_t extents; // physical memory of cuMemCreate, released or not
    uint64_t pinned;  // of cuMemHostAlloc
} simcudaLive;

SIMCUDA_API void simcudaGetLive(simcudaLive *live);
// Makes one report of kind "leak" for each live thing except contexts, and returns how many.
SIMCUDA_API uint64_t simcudaLeakCheck(void);

// Physical bytes of cuMemCreate in use on a device now (released but still mapped ones too), and
// the most at any time since the last reset of the peak, which sets it to the bytes in use. What
// cuMemAlloc took is left out here, and counts in cuMemGetInfo. 0 for a bad device.
SIMCUDA_API uint64_t simcudaMemoryInUse(int device);
SIMCUDA_API uint64_t simcudaMemoryPeak(int device);
SIMCUDA_API void simcudaMemoryPeakReset(void);

// Reads or writes bytes of device memory at once, in no order with any work and with no check for
// races. Writing stands for what another device would do. Errors: INVALID_VALUE when a byte is not
// mapped.
SIMCUDA_API int simcudaPeek(void *to, uint64_t address, size_t size);
SIMCUDA_API int simcudaPoke(uint64_t address, const void *from, size_t size);

// ----------------------------------------------------------------------------------- work and time

typedef enum simcudaAccessKind { simcudaAccessRead = 0, simcudaAccessWrite = 1 } simcudaAccessKind;

typedef struct simcudaAccess {
    uint64_t address;
    uint64_t size;
    simcudaAccessKind kind;
} simcudaAccess;

// A piece of work that does nothing but touch bytes for a time; a write leaves the bytes as they
// are.
typedef struct simcudaWork {
    const char *name; // for reports; copied
    uint64_t duration;
    const simcudaAccess *accesses; // copied
    size_t count;
} simcudaWork;

// Adds it to a stream, as a kernel launch does. Errors: those of cuLaunchKernel.
SIMCUDA_API int simcudaEnqueue(CUstream stream, const simcudaWork *work);

// Pieces of work of a stream that are not complete; of all streams, destroyed ones included.
SIMCUDA_API uint64_t simcudaPending(CUstream stream);
SIMCUDA_API uint64_t simcudaPendingAll(void);

// Completes the first n pending pieces of a stream, or all work, and what they depend on. The host
// does not learn of it: it is only what the device did meanwhile. A host function is started, and
// its end is waited for.
SIMCUDA_API int simcudaComplete(CUstream stream, uint64_t n);
SIMCUDA_API void simcudaCompleteAll(void);

// How many calls had to wait for a place in a full queue.
SIMCUDA_API uint64_t simcudaQueueFullCount(void);

// The virtual clock, in nanoseconds since the reset; and the time that passes without a driver
// call.
SIMCUDA_API uint64_t simcudaNow(void);
SIMCUDA_API void simcudaAdvance(uint64_t nanoseconds);

// ---------------------------------------------------------------------------------- scheduled mode

typedef void (*simcudaThreadFunction)(void *argument);

// Runs `count` threads, thread i with arguments[i] (null: with null), and returns when all have
// returned. In scheduled mode they are registered in order before the first one starts, so the run
// depends on the seed alone; in free mode they are plain threads. Errors: OUT_OF_MEMORY when a
// thread can't be started; those before it have run.
SIMCUDA_API int simcudaRunThreads(simcudaThreadFunction function, void *const *arguments,
                                  size_t count);

// 1 in scheduled mode, else 0. A library that would start a thread of its own can ask: the
// scheduler does not know that thread, so what it does falls at random points of the others' order.
SIMCUDA_API int simcudaIsScheduled(void);

// Puts the calling thread under the scheduler, and takes it out. A thread that is not registered is
// never held up and takes no part in the choice. A registered thread that waits for another by
// other means than a driver call or a lock of the library (a join, a condition variable) stands
// between simcudaThreadBlock and simcudaThreadUnblock meanwhile. None does anything in free mode.
SIMCUDA_API void simcudaThreadRegister(void);
SIMCUDA_API void simcudaThreadUnregister(void);
SIMCUDA_API void simcudaThreadBlock(void);
SIMCUDA_API void simcudaThreadUnblock(void);

// A point at which the scheduler may switch threads.
SIMCUDA_API void simcudaYield(void);

// The library's lock calls it: contended 0 before it takes a lock (a point at which to switch), 1
// when it found the lock held (another thread must run). Returns at once in free mode and for a
// thread that is not registered.
SIMCUDA_API void simcudaLockEvent(int contended);

#ifdef __cplusplus
}
#endif

#endif
