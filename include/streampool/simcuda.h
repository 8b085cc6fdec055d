/// @file
/// The control side of the simulated driver (libstreampool_simcuda.so): how a test, or anyone with
/// no GPU, sets up devices, injects failures, chooses when work completes, and reads what went
/// wrong.
///
/// The driver side is the CUDA driver's own entry points, exported by the same library. A program
/// links the library directly to call the functions below; a program that only loads it as its
/// driver (STREAMPOOL_DRIVER=sim) configures it by the environment variable STREAMPOOL_SIMCUDA.
///
/// **What is simulated.** Memory is real: kernels and copies translate device addresses through a
/// software page table and read and write bytes. Time is virtual: each driver call advances one
/// clock by a modelled cost, each piece of work has a duration, and a call that waits for work
/// jumps to its end. The virtual clock never looks at the host's, so the same calls always take the
/// same virtual time. simcudaThreadCost tells both times of a thread's calls apart.
///
/// **Reports.** Misuse that a real driver passes over in silence (a race, an unmap of memory in
/// use, a destroyed stream) is a report: a simcudaReportKind and a text. A report does not change
/// what the call returns.
///
/// **Modes.** Free: threads run as they will; nothing is promised about the interleaving.
/// Scheduled: one registered thread runs at a time and a seeded choice is made at each driver call
/// and at each lock of the library, so the same program with the same seed does the same.
///
/// **Errors.** Functions that return int return a CUresult: 0, or the driver's number.
///
/// **Threads.** Every function may be called from any thread, except simcudaReset. None may be
/// called from a function that the driver runs in a stream (cuLaunchHostFunc), except simcudaNow.
/// What the functions of registered kernels may call is said at simcudaRegisterKernel.
#ifndef STREAMPOOL_SIMCUDA_H
#define STREAMPOOL_SIMCUDA_H

#include <stddef.h>
#include <stdint.h>

/// This mark exports a function.
#if defined(__GNUC__)
#define SIMCUDA_API __attribute__((visibility("default")))
#else
#define SIMCUDA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The driver's context is declared as in cuda.h.
typedef struct CUctx_st *CUcontext;

/// The driver's stream is declared as in cuda.h.
typedef struct CUstream_st *CUstream;

// ----------------------------------------------------------------------------------- configuration

// A configuration says which devices there are, and how time and threads behave.

/// Limits the devices that can be simulated.
#define SIMCUDA_MAX_DEVICES 16

/// Says who decides which thread runs.
typedef enum simcudaMode {
    /// The host decides, and nothing is promised about the interleaving.
    simcudaModeFree = 0,
    /// The seed decides, and one registered thread runs at a time.
    simcudaModeScheduled = 1
} simcudaMode;

/// Says when work completes, as far as its order allows.
typedef enum simcudaCompletion {
    /// Work completes when the virtual clock reaches its end.
    simcudaCompletionEarliest = 0,
    /// Work completes only when a call waits for it, when its queue is full, or by hand.
    simcudaCompletionLatest = 1,
    /// Work completes as under earliest, each piece delayed by a random time.
    simcudaCompletionSeeded = 2
} simcudaCompletion;

/// Says what a device does with the virtual memory calls.
typedef enum simcudaVmm {
    /// The calls do what they should.
    simcudaVmmSupported = 0,
    /// The attribute says no, the calls return CUDA_ERROR_NOT_SUPPORTED.
    simcudaVmmMissing = 1,
    /// The attribute says yes, cuMemCreate and cuMemAddressReserve return NOT_SUPPORTED.
    simcudaVmmRefused = 2
} simcudaVmm;

/// Says what happens at a report, besides keeping it.
typedef enum simcudaOnReport {
    /// Nothing more happens.
    simcudaOnReportKeep = 0,
    /// A line is printed on standard error; leaks are looked for, and printed, at exit. What the
    /// library's pools keep for themselves until then is none.
    simcudaOnReportPrint = 1,
    /// The line is printed, then abort() is called; leaks at exit end the process with status 86,
    /// unless it fails with a status of its own.
    simcudaOnReportAbort = 2,
    /// Each finding is printed once, as it happens, in words for whoever wrote the program, and
    /// what
    /// is found is summed up at exit, leaks of the program included. If anything was found, the
    /// process ends with status 5, unless it fails with a status of its own. Blocks of memory are
    /// watched: see simcudaBlockBegin. The environment variable STREAMPOOL_SIMCUDA_JSON names a
    /// file, by its whole path, which gets all of it as JSON.
    simcudaOnReportCheck = 3
} simcudaOnReport;

/// Describes a simulated device.
typedef struct simcudaDevice {
    /// Holds the bytes of its memory.
    uint64_t memory;
    /// Says what it does with the virtual memory calls.
    simcudaVmm vmm;
} simcudaDevice;

/// Says what is simulated. All times are nanoseconds of the virtual clock.
typedef struct simcudaConfig {
    /// Holds the number of devices, 0 to SIMCUDA_MAX_DEVICES; with 0, cuInit returns
    /// CUDA_ERROR_NO_DEVICE.
    uint64_t devices;
    /// Describes the devices.
    simcudaDevice device[SIMCUDA_MAX_DEVICES];
    /// Holds the bytes of the mapping unit: a power of two, 4096 or more.
    uint64_t granule;
    /// Holds the driver's version, 1000 * major + 10 * minor; newer entry points are hidden.
    uint64_t api;
    /// Limits the bytes of address space that may be reserved at a time; 0: what the host allows.
    uint64_t addressSpace;
    /// Limits the mappings that may exist at a time.
    uint64_t mappings;
    /// Limits the pieces of work that a stream holds before a call that adds one waits.
    uint64_t queue;
    /// Says who decides which thread runs.
    simcudaMode mode;
    /// Holds the seed of the scheduler and of seeded completion.
    uint64_t seed;
    /// Sets how often threads switch in scheduled mode: of so many points at which threads could
    /// switch, one is a switch.
    uint64_t burst;
    /// Says when work completes.
    simcudaCompletion completion;
    /// Limits the delay of seeded completion.
    uint64_t delay;
    /// Sets how many polls of a pending piece of work complete it under latest; 0: none do.
    uint64_t patience;
    /// Says what happens at a report.
    simcudaOnReport onReport;
    /// Says, if it is not 0, that each device can access the memory of every other one.
    uint64_t peers;
    /// Says where memory of cuMemAlloc lies: 0 for the lowest address that is free, or else the
    /// seed of a sequence by which each piece gets an address.
    uint64_t scatter;
    /// Says, if it is not 0, that a report which simcudaOnReportCheck prints has the call stacks of
    /// those that it names.
    uint64_t stacks;
    /// Holds the number of NUMA nodes that the host has: 1 to 64, numbered from 0.
    uint64_t nodes;
    /// Limits the bytes of host memory that the driver pins or manages at a time; 0: what the
    /// system gives. cuMemCreate at the host, cuMemHostAlloc, cuMemHostRegister and
    /// cuMemAllocManaged count.
    uint64_t hostMemory;
    /// Says what cuMemCreate does with memory of the host: simcudaVmmSupported, or
    /// simcudaVmmMissing, with which the attributes say no and the call returns NOT_SUPPORTED.
    simcudaVmm hostVmm;
} simcudaConfig;

/// Gives one simulated device of 16 GiB, that could access others' memory, granule 2 MiB, api
/// 13000, free mode, earliest completion, queues of 1024, and a host of one node.
///
/// @param[out] config Receives the configuration.
SIMCUDA_API void simcudaConfigDefault(simcudaConfig *config);

/// Changes `config` as a text says, which has settings with commas between them. Such a text is
///
///     devices=2,memory=141G,memory.1=8G,vmm.1=refused,granule=64K,api=10020,
///     address_space=1T,mappings=1000,queue=64,mode=scheduled,seed=7,burst=16,
///     completion=latest,delay=1000000,patience=0,reports=print,peers=0,
///     scatter=5,stacks=1,nodes=2,host_memory=64G,host_vmm=missing
///
/// `memory` and `vmm` (supported, missing, refused) set every device, `memory.N` and `vmm.N` one.
/// `mode` is free or scheduled, `completion` is earliest, latest or seeded, `reports` is keep,
/// print, abort or check, `host_vmm` is supported or missing. Sizes take a suffix K, M, G or T. The
/// environment variable STREAMPOOL_SIMCUDA holds such a text; cuInit fails with
/// CUDA_ERROR_INVALID_VALUE and a line on standard error when it can't be read. Errors:
/// INVALID_VALUE for an unknown setting, a bad value or a configuration that makes no sense; then
/// `problem` (of `size` bytes, may be null) says which, and `config` is unchanged.
///
/// @param text Holds the settings.
/// @param[in,out] config Is the configuration to change.
/// @param[out] problem Receives what is wrong with the text, ended by a null byte. May be null.
/// @param size Is the number of bytes that `problem` has room for.
SIMCUDA_API int simcudaConfigParse(const char *text, simcudaConfig *config, char *problem,
                                   size_t size);

/// Forgets everything (devices' memory, contexts, streams, events, reports, counters, faults) and
/// starts again with `config`; null: the default and the environment. The driver stays initialised
/// if it was. The caller sees to it that no other thread is in a driver call and that no
/// registered thread exists; handles and device addresses of before are void. Waits for a running
/// host function. Errors: INVALID_VALUE as simcudaConfigParse.
///
/// @param config Says what is simulated from now on. May be null.
SIMCUDA_API int simcudaReset(const simcudaConfig *config);

/// Gives the configuration in use.
///
/// @param[out] config Receives the configuration.
SIMCUDA_API void simcudaGetConfig(simcudaConfig *config);

// --------------------------------------------------------------------------- failures and counters

// A test makes calls of the driver fail, and counts them.

/// Says which calls fail.
typedef enum simcudaFaultSpan {
    /// That call fails.
    simcudaFaultOnce = 0,
    /// That call and every later one fail.
    simcudaFaultOnwards = 1
} simcudaFaultSpan;

/// Makes the nth call (from 1, counted from now) of an entry point return `error` and do nothing
/// else. `entry` is the documented name ("cuMemCreate"), null for the nth call of any entry point.
/// Several faults may be set. Errors: INVALID_VALUE for an unknown name, n = 0, error = 0, or more
/// than 16 faults.
///
/// @param entry Is the name of the entry point, or null.
/// @param n Counts the calls from now on, from 1.
/// @param span Says whether later calls fail too.
/// @param error Is the CUresult that the call returns.
SIMCUDA_API int simcudaFailCall(const char *entry, uint64_t n, simcudaFaultSpan span, int error);

/// Clears all faults.
SIMCUDA_API void simcudaFailClear(void);

/// Returns how many calls have been made to fail since the last clear.
SIMCUDA_API uint64_t simcudaFailCount(void);

/// Makes a context fail as after an illegal access, and with it all contexts of its device, as seen
/// on an H200: every later call on them, their streams and their events returns `error`, so does
/// the making of another context, also behind a reset, and pending work ends without effect.
/// Virtual memory calls go on. simcudaReset mends it. Errors: INVALID_CONTEXT.
///
/// @param context Is the context that fails.
/// @param error Is the CUresult that later calls return.
SIMCUDA_API int simcudaContextFail(CUcontext context, int error);

/// Returns how many calls of an entry point there were since the last reset, refused ones
/// included; null: of all. 0 for an unknown name.
///
/// @param entry Is the name of the entry point, or null.
SIMCUDA_API uint64_t simcudaCallCount(const char *entry);

/// Counts calls anew.
SIMCUDA_API void simcudaCallCountReset(void);

/// Returns a number that depends on every driver call of every registered thread, their order and
/// results. Two runs of one program in scheduled mode with one seed give the same.
SIMCUDA_API uint64_t simcudaTraceDigest(void);

// ----------------------------------------------------------------------------------------- reports

// A report tells of misuse. Other calls tell what is alive, and what memory holds.

/// Names the kinds of report. SIMCUDA_REPORTS lists them with their names.
typedef enum simcudaReportKind {
    /// Two pieces of work touch the same byte of physical or host memory, one writes, and nothing
    /// orders them; or the host is one of both (simcudaHostAccess).
    simcudaReport_race = 0,
    /// Work touches a device address that is not mapped, or a copy or set was called for such,
    /// which
    /// the call refuses.
    simcudaReport_fault = 1,
    /// Work touches a mapping without the access that cuMemSetAccess gives.
    simcudaReport_noAccess = 2,
    /// The kernel sp_check found bytes other than those expected.
    simcudaReport_checkFailed = 3,
    /// cuMemUnmap was called for memory that pending work names, or work that the host does not
    /// know to be complete.
    simcudaReport_unmapInUse = 4,
    /// cuMemMap was called where a mapping is.
    simcudaReport_mapOverMapping = 5,
    /// A size or address is no multiple of the granule.
    simcudaReport_wrongGranule = 6,
    /// cuMemUnmap or cuMemSetAccess was called for a part of a mapping, or where none is.
    simcudaReport_partOfMapping = 7,
    /// cuMemMap was called for a part of a handle, or at an offset.
    simcudaReport_partOfHandle = 8,
    /// An address lies outside every reserved range, or a range is none that was reserved so.
    simcudaReport_notReserved = 9,
    /// cuMemAddressFree was called for a range that holds mappings.
    simcudaReport_freeMappedRange = 10,
    /// A memory handle does not exist or was released.
    simcudaReport_badMemoryHandle = 11,
    /// cuMemFree or cuMemFreeAsync was called for a device address that cuMemAlloc did not give,
    /// or twice; likewise cuMemFreeHost.
    simcudaReport_badFree = 12,
    /// A call names a stream that was destroyed, or never existed.
    simcudaReport_useOfDestroyedStream = 13,
    /// A call names an event that was destroyed, or never existed.
    simcudaReport_useOfDestroyedEvent = 14,
    /// A call names a context that was destroyed, or never existed.
    simcudaReport_useOfDestroyedContext = 15,
    /// A call that is not allowed at that time broke a stream capture.
    simcudaReport_captureUnsafeCall = 16,
    /// In scheduled mode, a lock of the library stays held and its owner can not run. The process
    /// aborts.
    simcudaReport_deadlock = 17,
    /// Something is still alive at the leak check.
    simcudaReport_leak = 18,
    /// A copy read bytes of the host that the host had changed after the call that asked for the
    /// copy. Looked for while reports are printed, in copies whose source only the host can have
    /// changed: no host function, no wait for a word of memory and no write of one was pending at
    /// the call.
    simcudaReport_sourceChanged = 19,
    /// cuMemFreeHost or cuMemHostUnregister was called for memory that pending work names, or work
    /// that the host does not know to be complete.
    simcudaReport_hostMemoryInUse = 20,
    /// A registered kernel reads or writes bytes that its touches function did not name.
    simcudaReport_undeclaredAccess = 21,
    /// Work touches bytes past the end of a block that it names, or bytes of a pool that are no
    /// block's. Found under simcudaOnReportCheck, as the next two.
    simcudaReport_outOfBounds = 22,
    /// Work touches bytes of a block that was freed before.
    simcudaReport_useAfterFree = 23,
    /// A block is freed, and nothing orders that after work that touches it.
    simcudaReport_earlyFree = 24
} simcudaReportKind;

// clang-format off

/// A row X(enumerator, number, name) stands for each simcudaReportKind, for programs that go
/// through all of them. The enumerator stands without its prefix `simcudaReport_`; the name is that
/// of reports on standard error and of simcudaReportCount.
#define SIMCUDA_REPORTS(X) \
    X(race, 0, "race") \
    X(fault, 1, "fault") \
    X(noAccess, 2, "no-access") \
    X(checkFailed, 3, "check-failed") \
    X(unmapInUse, 4, "unmap-in-use") \
    X(mapOverMapping, 5, "map-over-mapping") \
    X(wrongGranule, 6, "wrong-granule") \
    X(partOfMapping, 7, "part-of-mapping") \
    X(partOfHandle, 8, "part-of-handle") \
    X(notReserved, 9, "not-reserved") \
    X(freeMappedRange, 10, "free-mapped-range") \
    X(badMemoryHandle, 11, "bad-memory-handle") \
    X(badFree, 12, "bad-free") \
    X(useOfDestroyedStream, 13, "use-of-destroyed-stream") \
    X(useOfDestroyedEvent, 14, "use-of-destroyed-event") \
    X(useOfDestroyedContext, 15, "use-of-destroyed-context") \
    X(captureUnsafeCall, 16, "capture-unsafe-call") \
    X(deadlock, 17, "deadlock") \
    X(leak, 18, "leak") \
    X(sourceChanged, 19, "source-changed") \
    X(hostMemoryInUse, 20, "host-memory-in-use") \
    X(undeclaredAccess, 21, "undeclared-access") \
    X(outOfBounds, 22, "out-of-bounds") \
    X(useAfterFree, 23, "use-after-free") \
    X(earlyFree, 24, "early-free")

// clang-format on

/// Returns how many reports there are of a kind (its name; null: of all kinds) since the last
/// clear.
///
/// @param kind Is the name of a kind in SIMCUDA_REPORTS, or null.
SIMCUDA_API uint64_t simcudaReportCount(const char *kind);

/// Returns the name of the kind of the report with this index, oldest first; null when there is
/// none. The first 256 are kept.
///
/// @param index Counts the reports from 0.
SIMCUDA_API const char *simcudaReportName(uint64_t index);

/// Returns the text of the report with this index, which is valid until the next clear or reset.
///
/// @param index Counts the reports from 0.
SIMCUDA_API const char *simcudaReportText(uint64_t index);

/// Forgets all reports.
SIMCUDA_API void simcudaReportClear(void);

/// Tells what is alive. Primary contexts count while they are retained.
typedef struct simcudaLive {
    /// Tells the number of contexts.
    uint64_t contexts;
    /// Tells the number of streams.
    uint64_t streams;
    /// Tells the number of events.
    uint64_t events;
    /// Tells the number of modules and libraries.
    uint64_t modules;
    /// Tells the number of graphs.
    uint64_t graphs;
    /// Tells the number of allocations of cuMemAlloc.
    uint64_t allocations;
    /// Tells the number of ranges of cuMemAddressReserve.
    uint64_t ranges;
    /// Tells the number of handles of cuMemCreate, not yet released.
    uint64_t handles;
    /// Tells the number of mappings.
    uint64_t mappings;
    /// Tells the number of pieces of physical memory of cuMemCreate, released or not.
    uint64_t extents;
    /// Tells the number of allocations of cuMemHostAlloc and cuMemAllocHost.
    uint64_t pinned;
    /// Tells the number of pieces of host memory that cuMemHostRegister pinned.
    uint64_t registered;
    /// Tells the number of allocations of cuMemAllocManaged.
    uint64_t managed;
} simcudaLive;

/// Gives what is alive.
///
/// @param[out] live Receives the numbers.
SIMCUDA_API void simcudaGetLive(simcudaLive *live);

/// Makes one report of kind "leak" for each live thing except contexts. Returns how many there are.
SIMCUDA_API uint64_t simcudaLeakCheck(void);

/// Returns the physical bytes of cuMemCreate that are in use on a device, or of the host (released
/// but still mapped ones too); 0 for a bad device. Memory of cuMemAlloc is left out here, and
/// counts in cuMemGetInfo.
///
/// @param device Is the ordinal of the device, or -1 for the host.
SIMCUDA_API uint64_t simcudaMemoryInUse(int device);

/// Returns the most bytes that simcudaMemoryInUse has been at any time since the last reset of the
/// peak; 0 for a bad device.
///
/// @param device Is the ordinal of the device, or -1 for the host.
SIMCUDA_API uint64_t simcudaMemoryPeak(int device);

/// Sets each device's peak, and the host's, to the bytes in use.
SIMCUDA_API void simcudaMemoryPeakReset(void);

/// Reads bytes of device memory at once, in no order with any work and with no check for races.
/// Errors: INVALID_VALUE when a byte is not mapped.
///
/// @param[out] to Receives the bytes.
/// @param address Is the device address of the first byte.
/// @param size Is the number of bytes.
SIMCUDA_API int simcudaPeek(void *to, uint64_t address, size_t size);

/// Writes bytes of device memory at once, in no order with any work and with no check for races. It
/// stands for what another device would do. Errors:
/// INVALID_VALUE when a byte is not mapped.
///
/// @param address Is the device address of the first byte.
/// @param from Holds the bytes.
/// @param size Is the number of bytes.
SIMCUDA_API int simcudaPoke(uint64_t address, const void *from, size_t size);

// ------------------------------------------------------------------------------------------ blocks

// Under simcudaOnReportCheck the driver watches blocks: memory that the program was given and may
// use until it frees it. It knows those of cuMemAlloc. An allocator that hands out parts of memory
// tells of its own here; streampool's pools do. Work that leaves its block, that uses one after its
// free, or that a free doesn't wait for, is a report when it is enqueued, or at the free.

/// Returns 1 under simcudaOnReportCheck, else 0. An allocator that need not tell may ask once.
SIMCUDA_API int simcudaIsChecking(void);

/// Tells of a block that the program is given, before it can use it. Nothing happens unless
/// simcudaIsChecking. Where bytes of it are those of a block that lives, that one is forgotten.
///
/// @param address Is the device address of its first byte.
/// @param size Is the number of bytes that the program may use. 0 does nothing.
SIMCUDA_API void simcudaBlockBegin(uint64_t address, uint64_t size);

/// Says that the free that comes is behind the work that a stream has now, besides that of the
/// stream in whose order it is. May be called for several streams. An address at which no block
/// begins does nothing.
///
/// @param address Is that of the block that is about to be freed.
/// @param stream Is the other stream.
SIMCUDA_API void simcudaBlockBehind(uint64_t address, CUstream stream);

/// Tells that the program frees a block in the order of a stream, before its bytes can be anybody
/// else's. An address of an allocator's memory at which no block begins is a
/// report of kind "bad-free".
///
/// @param address Is the device address of its first byte.
/// @param stream Is the stream in whose order it is freed.
SIMCUDA_API void simcudaBlockEnd(uint64_t address, CUstream stream);

/// Tells that the program frees a block at once, in no stream's order, as simcudaBlockEnd does: it
/// must know that all work which touches the block is complete.
///
/// @param address Is the device address of its first byte.
SIMCUDA_API void simcudaBlockEndAtOnce(uint64_t address);

// ----------------------------------------------------------------------------------- work and time

// A test adds work to streams, completes it, and moves the clock.

/// Says what work does with bytes.
typedef enum simcudaAccessKind {
    /// The work reads the bytes.
    simcudaAccessRead = 0,
    /// The work writes the bytes.
    simcudaAccessWrite = 1
} simcudaAccessKind;

/// Names bytes that work touches.
typedef struct simcudaAccess {
    /// Holds the device address of the first byte.
    uint64_t address;
    /// Holds the number of bytes.
    uint64_t size;
    /// Says what the work does with them.
    simcudaAccessKind kind;
} simcudaAccess;

/// Describes a piece of work that does nothing but touch bytes for a time; a write leaves the
/// bytes as they are.
typedef struct simcudaWork {
    /// Names the work in reports. The text is copied.
    const char *name;
    /// Holds the nanoseconds of the virtual clock that the work takes.
    uint64_t duration;
    /// Names the bytes that the work touches. The list is copied.
    const simcudaAccess *accesses;
    /// Holds the length of the list.
    size_t count;
} simcudaWork;

/// Tells that the calling thread touches bytes of host memory now: pageable, pinned, registered,
/// mapped or managed. Reports a race, if work that the host doesn't know to be complete touches
/// them, too, at this address or another one where they are mapped, and one of both writes. The
/// host knows of work by a synchronise or a query that finds it complete, of its stream, its device
/// or an event behind it. No report is made for bytes that no copy and no kernel touches.
///
/// A driver can't see what a host does with its memory, so a test says it: before it reads what a
/// copy wrote, or writes what a copy reads. Waits for nothing and lets no time pass.
///
/// @param address Is the host address of the first byte.
/// @param size Is the number of bytes.
/// @param kind Says what the thread does with them.
SIMCUDA_API void simcudaHostAccess(const void *address, size_t size, simcudaAccessKind kind);

/// Adds work to a stream, as a kernel launch does. Errors: those of cuLaunchKernel.
///
/// @param stream Is the stream that does the work.
/// @param work Describes the work. It is read during the call only.
SIMCUDA_API int simcudaEnqueue(CUstream stream, const simcudaWork *work);

/// Returns how many pieces of work of a stream are not complete.
///
/// @param stream Is the stream to count in.
SIMCUDA_API uint64_t simcudaPending(CUstream stream);

/// Returns how many pieces of work of all streams, destroyed ones included, are not complete.
SIMCUDA_API uint64_t simcudaPendingAll(void);

/// Completes the first n pending pieces of a stream, and what they depend on. The host does not
/// learn of it: it is only what the device did meanwhile. A host function is started, and its end
/// is waited for. Errors: INVALID_HANDLE when `stream` is no stream; the error of its context when
/// that has failed.
///
/// @param stream Is the stream whose work completes.
/// @param n Is the number of pieces.
SIMCUDA_API int simcudaComplete(CUstream stream, uint64_t n);

/// Completes all work, as simcudaComplete does.
SIMCUDA_API void simcudaCompleteAll(void);

/// Returns how many calls had to wait for a place in a full queue.
SIMCUDA_API uint64_t simcudaQueueFullCount(void);

/// Returns the virtual clock, in nanoseconds since the reset.
SIMCUDA_API uint64_t simcudaNow(void);

/// Tells what a thread's driver calls cost, in nanoseconds.
typedef struct simcudaCost {
    /// Tells what the virtual clock passed in the calls: what they cost on an H200 by the model,
    /// waits for work included. Where a call sleeps until another thread acts, it has in it what
    /// that thread's calls cost meanwhile.
    uint64_t modelled;
    /// Tells the host's time in the calls, and in reading the host's clock for that, while
    /// simcudaMeterHost was on. So a program that subtracts it from a time of its own on
    /// CLOCK_MONOTONIC is left with the time that it did not spend in this driver.
    uint64_t host;
} simcudaCost;

/// Begins or ends to measure the host's time in driver calls, of all threads. It is off at first,
/// because reading the clock twice takes longer than many a call. To begin takes some hundred
/// microseconds, in which the cost of such readings is measured; no other thread may be in a driver
/// call then. A reset changes nothing about it.
///
/// @param on Is 0 to end and anything else to begin.
SIMCUDA_API void simcudaMeterHost(int on);

/// Tells what the driver calls of the calling thread have cost since its first one or the reset.
/// The difference of two answers is what the calls between them cost.
///
/// @param[out] cost Receives both times.
SIMCUDA_API void simcudaThreadCost(simcudaCost *cost);

/// Lets so many nanoseconds of the virtual clock pass without a driver call.
///
/// @param nanoseconds Is the time that passes.
SIMCUDA_API void simcudaAdvance(uint64_t nanoseconds);

// ----------------------------------------------------------------------------------------- kernels

// No code of a GPU runs here. A program registers functions of the host that do its kernels' work.

/// Tells the functions of a registered kernel of a launch.
typedef struct simcudaLaunch {
    /// Holds the name of the kernel.
    const char *name;
    /// Holds the grid's size in blocks: x, y, z.
    unsigned int grid[3];
    /// Holds a block's size in threads: x, y, z.
    unsigned int block[3];
    /// Holds the bytes of dynamic shared memory of a block.
    unsigned int sharedBytes;
    /// Holds the ordinal of the device that runs the kernel.
    int device;
    /// Points to the values of the parameters, as cuLaunchKernel takes them. They were copied at
    /// the launch, and are aligned to 16 bytes.
    const void *const *parameters;
    /// Holds the bytes of each parameter.
    const size_t *parameterSizes;
    /// Holds the number of parameters. It is 0 when neither the image nor simcudaKernelOptions says
    /// what they are.
    size_t parameterCount;
    /// Is what the kernel was registered with.
    void *userData;
} simcudaLaunch;

/// Collects what a launch touches, while a touches function runs.
typedef struct simcudaTouches simcudaTouches;

/// Does the work of a launch, for the whole grid, when the launch completes. Returns 0, or the
/// CUresult that the kernel fails with: its context has that error from then on. Reads and writes
/// the device's memory by simcudaRead and simcudaWrite.
typedef int (*simcudaKernelFunction)(const simcudaLaunch *launch);

/// Says, at the launch, which bytes it reads and writes and how long it takes, by simcudaTouch and
/// simcudaTake.
typedef void (*simcudaTouchesFunction)(const simcudaLaunch *launch, simcudaTouches *touches);

/// Says more of a kernel that is registered.
typedef struct simcudaKernelOptions {
    /// Is given to the functions in simcudaLaunch. It must be valid until the last launch is
    /// complete.
    void *userData;
    /// Holds the number of parameters, if `parameterSizes` is not null.
    size_t parameterCount;
    /// Holds the bytes of each parameter, for an image that doesn't say: then the kernel's
    /// functions would get none. The images of nvcc always do, and then this is passed over. May be
    /// null. The list is copied.
    const size_t *parameterSizes;
} simcudaKernelOptions;

/// Registers a kernel of the program by its name, so that it computes here too. Every launch of a
/// kernel with this name counts, whatever module or library it was loaded from, from this call on;
/// work that was launched before stays as it is. A kernel that is registered already is replaced.
/// Kernels may be registered before cuInit, and a reset leaves them registered.
///
/// A launch does its work at once when it completes, after what it touches was looked at as that of
/// any work is: races, faults and missing access are reported. Without a function it touches and
/// does nothing. Without a touches function it touches each allocation, pinned or on a device, and
/// mapping that its parameters point to, whole. By its accesses simcudaRead and simcudaWrite are
/// checked: a report of kind "undeclared-access" names the first of a launch that lies outside.
///
/// Both functions run in whichever thread's call makes the launch or lets it complete, one at a
/// time, and no other thread gets into the driver meanwhile; so they may not wait for another
/// thread. They may call simcudaRead, simcudaWrite, simcudaTouch, simcudaTake and simcudaNow. Calls
/// of the driver return CUDA_ERROR_NOT_PERMITTED there; other functions of this header end the
/// process with a line that says why. Does not block otherwise. Any thread may call it. Errors:
/// INVALID_VALUE for no name or an empty one, or for bad options.
///
/// @param name Is the kernel's name in its image; that of a C++ function is mangled
///     ("_Z5saxpyPfPKffi"), unless it is extern "C". It is copied.
/// @param function Does the work. May be null.
/// @param touches Says what is touched. May be null.
/// @param options Says more. May be null.
SIMCUDA_API int simcudaRegisterKernel(const char *name, simcudaKernelFunction function,
                                      simcudaTouchesFunction touches,
                                      const simcudaKernelOptions *options);

/// Takes back what simcudaRegisterKernel did for a name. Work that was launched before still calls
/// the kernel's function. Any thread may call it. Errors: INVALID_VALUE for no name, NOT_FOUND when
/// none is registered by this one.
///
/// @param name Is the name that was registered.
SIMCUDA_API int simcudaUnregisterKernel(const char *name);

/// Returns the name of a kernel that was launched and not registered, with this index in the order
/// of their first launches; null when there is none. It is valid until the next reset. Such a
/// launch does nothing, and counts as reading and writing each allocation and mapping that its
/// parameters point to; memory of the library's pools is left out, as their blocks are not known
/// here. Where reports are printed, a line on standard error names each such kernel once. It is no
/// report: the program is not wrong. Any thread may call it.
///
/// @param index Counts the kernels from 0.
SIMCUDA_API const char *simcudaUnregisteredKernel(uint64_t index);

/// Adds bytes to what a launch touches. For a touches function only, any number of times. An access
/// of no bytes counts for nothing.
///
/// @param touches Is what the function was given.
/// @param address Is the device address of the first byte.
/// @param size Is the number of bytes.
/// @param kind Says what the kernel does with them. Bytes that are written may be read, too.
SIMCUDA_API void simcudaTouch(simcudaTouches *touches, uint64_t address, uint64_t size,
                              simcudaAccessKind kind);

/// Sets how long a launch takes. For a touches function only; without it the launch takes as long
/// as an H200 takes to touch as many bytes: 2 µs, and 1 µs for 4 MB.
///
/// @param touches Is what the function was given.
/// @param nanoseconds Is the time by the virtual clock.
SIMCUDA_API void simcudaTake(simcudaTouches *touches, uint64_t nanoseconds);

/// Reads bytes of device memory for a kernel. For the functions of a kernel only, in their own
/// thread. A touches function reads what the memory holds at the launch, in no order with any work
/// and with no check: arrays of pointers, say. Errors: INVALID_VALUE for null or outside of such a
/// function; ILLEGAL_ADDRESS when the launch doesn't touch all of the bytes (see
/// simcudaRegisterKernel), or when one is not mapped.
///
/// @param launch Is what the function was given.
/// @param[out] to Receives the bytes.
/// @param address Is the device address of the first byte.
/// @param size Is the number of bytes.
SIMCUDA_API int simcudaRead(const simcudaLaunch *launch, void *to, uint64_t address, size_t size);

/// Writes bytes of device memory for a kernel. For a kernel's own function only, in its thread.
/// Errors: as those of simcudaRead, and NOT_PERMITTED in a touches function.
///
/// @param launch Is what the function was given.
/// @param address Is the device address of the first byte.
/// @param from Holds the bytes.
/// @param size Is the number of bytes.
SIMCUDA_API int simcudaWrite(const simcudaLaunch *launch, uint64_t address, const void *from,
                             size_t size);

// ---------------------------------------------------------------------------------- scheduled mode

// In scheduled mode the seed decides which thread runs. Threads tell the scheduler of themselves.

/// A thread runs a function of this type.
typedef void (*simcudaThreadFunction)(void *argument);

/// Runs `count` threads, thread i with arguments[i] (null: with null), and returns when all have
/// returned. In scheduled mode they are registered in order before the first one starts, so the
/// run depends on the seed alone; in free mode they are plain threads. Errors: OUT_OF_MEMORY when
/// a thread can't be started; those before it have run.
///
/// @param function Is what each thread runs.
/// @param arguments Holds what each thread passes to it. May be null.
/// @param count Is the number of threads.
SIMCUDA_API int simcudaRunThreads(simcudaThreadFunction function, void *const *arguments,
                                  size_t count);

/// Returns 1 in scheduled mode, else 0. A library that would start a thread of its own can ask:
/// the scheduler does not know that thread, so what it does falls at random points of the others'
/// order.
SIMCUDA_API int simcudaIsScheduled(void);

/// Puts the calling thread under the scheduler. A thread that is not registered is never held up
/// and takes no part in the choice. Does nothing in free mode.
SIMCUDA_API void simcudaThreadRegister(void);

/// Takes the calling thread out from under the scheduler. Does nothing in free mode.
SIMCUDA_API void simcudaThreadUnregister(void);

/// Begins a wait of a registered thread for another one by other means than a driver call or a
/// lock of the library: a join, a condition variable. Does nothing in free mode.
SIMCUDA_API void simcudaThreadBlock(void);

/// Ends the wait that simcudaThreadBlock began.
SIMCUDA_API void simcudaThreadUnblock(void);

/// Lets the scheduler switch threads.
SIMCUDA_API void simcudaYield(void);

/// The library's lock calls it: contended 0 before it takes a lock (a point at which to switch), 1
/// when it found the lock held (another thread must run). Does nothing in free mode and for a
/// thread that is not registered.
///
/// @param contended Is 0 or 1.
SIMCUDA_API void simcudaLockEvent(int contended);

#ifdef __cplusplus
}
#endif

#endif
