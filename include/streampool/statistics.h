/// @file
/// The statistics of a pool, with what each of them tells, for programs that print or compare them.
///
/// A statistic is read by poolMemPoolGetAttribute, as a uint64_t. Its enumerator, `poolMemPoolStat`
/// and the name of its row, is one of enum poolMemPoolAttr, since that is what the call takes.
/// poolMemPoolGetStatisticName gives its name, poolMemPoolPrintStatistics prints all of a pool. The
/// lists are used as those of lists.h are:
///
///     #define PRINT(name, number, text) printf("%d %s: %s\n", number, #name, text);
///     STREAMPOOL_POOL_STATISTICS(PRINT)
///     #undef PRINT
#ifndef STREAMPOOL_STATISTICS_H
#define STREAMPOOL_STATISTICS_H

#include <streampool/streampool.h>

// clang-format off

// -------------------------------------------------------------------------------------- statistics

/// A row X(name, number, text) stands for each statistic that counts. The name is that of the
/// enumerator without its prefix `poolMemPoolStat`. The text is what is counted.
#define STREAMPOOL_POOL_STATISTICS(X) \
    X(ReuseSameStream, 1100, "allocations from memory that was last used on the same stream") \
    X(ReuseComplete, 1101, "allocations from memory that was known to be complete or never used") \
    X(ReuseOrdered, 1102, "allocations from memory of another stream that the stream runs after") \
    X(ReuseFoundComplete, 1103, "allocations from memory that a query found complete") \
    X(ReuseMadeOrdered, 1104, \
      "allocations from memory of another stream for which a wait was inserted") \
    X(Growths, 1105, "allocations for which new memory was mapped, and none a second time") \
    X(GrowthsAfterTrim, 1106, "growths that first had caches given back to the device") \
    X(WaitsInserted, 1107, "waits inserted into the program's streams") \
    X(ContextFences, 1108, "waits for all work that a context had been given") \
    X(HostWaits, 1109, "allocations that waited on the host") \
    X(OtherRegion, 1110, "allocations from memory that is kept for blocks of another size") \
    X(EventsRecorded, 1111, "private events recorded by allocations and frees") \
    X(Failures, 1112, "allocations that found no memory") \
    X(Remaps, 1113, "allocations from memory in pieces that was mapped once more, side by side") \
    X(KeptViewsUsed, 1114, \
      "remaps that used an earlier mapping again, with no driver call") \
    X(RemappedExtents, 1115, "extents that were mapped once more") \
    X(RemappedBytes, 1116, "bytes of the extents that were mapped once more") \
    X(RemapTime, 1117, "nanoseconds that allocations spent on mapping extents once more") \
    X(GrowthTime, 1118, "nanoseconds that allocations spent on mapping new memory") \
    X(ZombiesBuried, 1120, "zombies that were unmapped, by whatever thread") \
    X(BytesReleasedByReaper, 1121, "bytes that the library's own thread gave back to the device") \
    X(ReaperTime, 1122, \
      "nanoseconds that the library's own thread spent on unmapping and releasing") \
    X(LastQuestions, 1123, \
      "queries that were made before an allocation would have been refused, or while it " \
      "waited on the host") \
    X(LegacyFences, 1124, "waits for all that the blocking streams of a context had been given") \
    X(ContextWaits, 1125, \
      "allocations that waited on the host for all that a context had been given") \
    X(BytesTrimmed, 1126, "bytes that calls gave back to the device") \
    X(TrimTime, 1127, "nanoseconds that calls spent on giving memory back to the device") \
    X(WaitsForGrowth, 1128, \
      "allocations that waited in stream order where the pool would have grown") \
    X(GrowthsAfterWaits, 1129, \
      "growths beyond GrowthBeyondUse on streams that had waited too often in a row") \
    X(ReuseHost, 1130, "allocations that got memory of the host in the place of the device's")

/// A row X(name, number, text) stands for each statistic that tells how a pool stands at the
/// moment. The name is that of the enumerator without its prefix `poolMemPoolStat`. The text is
/// what it tells.
#define STREAMPOOL_POOL_GAUGES(X) \
    X(KeptViews, 1200, "views of memory in pieces that are kept mapped") \
    X(KeptMappings, 1201, "mappings of extents in kept views") \
    X(Zombies, 1202, \
      "zombies: views of memory in pieces that are unmapped when their work has completed") \
    X(AddressSpace, 1203, "bytes of address space that the pool holds") \
    X(LargestFree, 1204, "the largest block that any stream is given as it lies") \
    X(LargestRemapped, 1205, \
      "the largest block that any stream is given without new memory, by remapping, too") \
    X(PinnedBytes, 1206, "free bytes in extents that are partly in use") \
    X(PendingBytes, 1207, "free bytes that pending work may still use, as far as the pool knows") \
    X(Extents, 1208, "extents that are mapped: pieces of memory that are given back whole") \
    X(PinningBlocks, 1209, \
      "blocks in use and slabs that pin: they lie in extents of which half or more is free") \
    X(PinningBytes, 1210, "bytes of these blocks and slabs") \
    X(LargestPinning, 1211, "the largest of these blocks and slabs") \
    X(HostReserved, 1212, "bytes of the host's memory that the pool holds by HostOverflowMax") \
    X(EvictedBytes, 1213, "bytes of extents that the pool has and that are evicted")

// clang-format on

#endif
