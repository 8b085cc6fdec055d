// Mutants: the library with one mistake in it, to show that the tests would see it.
//
// SP_MUTATED(name, wrong, right) is `right`, and in a build with -DSP_MUTANT=<the mutant's number> it is `wrong`. Such
// builds are for tests alone (the option STREAMPOOL_MUTANT; tests/random/mutants.sh builds them all); in every other one the
// macro is `right` and nothing else. The list stands here once; a mutant may need more than one place.
#ifndef STREAMPOOL_BASE_MUTANT_H
#define STREAMPOOL_BASE_MUTANT_H

// X(name, number, what is wrong)
// clang-format off
#define SP_MUTANTS(X) \
    X(OffByOne, 1, "a free is stamped with the number before its own") \
    X(ClosedLate, 2, "a record closes its number after the driver's call instead of before") \
    X(SynchronizeClosedLate, 3, "so does a synchronise") \
    X(FenceJoinLeftOut, 4, "joined memory carries the fences of its first part only") \
    X(ClockJoinLeftOut, 5, "a wait teaches the stream of the mark's number, not of the mark's clock") \
    X(JoinedEarly, 6, "the clock is joined before the wait is enqueued, and stays so when that fails") \
    X(SnapshotLate, 7, "a wait joins the recorded stream's clock and number as they are at the wait") \
    X(CurrentClockPublished, 8, "a completed mark publishes the stream's clock as it is now") \
    X(EventTrusted, 9, "a wait for a user's event joins its mark without waiting for the mark") \
    X(HandleForId, 10, "a stream is told by its handle where the driver has ids") \
    X(FreeUnrecorded, 11, "without ids, a free doesn't record the chain") \
    X(ChainNotAwaited, 12, "without ids, an allocation doesn't wait for the chain") \
    X(AcquisitionLost, 13, "a free drops the fences that its memory was taken with") \
    X(LegacyInClock, 14, "the legacy stream's order enters the clock of a blocking stream's mark") \
    X(UnfencedSeen, 15, "memory that no event stands behind is taken by another stream") \
    X(FenceSetCut, 16, "a fence set holds one fence") \
    X(FailedWaitPublishes, 17, "a wait that the driver refused is learned from") \
    X(FailedSynchronizePublishes, 18, "a synchronise that the driver refused is learned from") \
    X(DeadEventUsed, 19, "a context at the handle of a dead one is taken for it, with its events") \
    X(LastSequenceLowered, 20, "a slab's last number is that of the free that came last") \
    X(PrunedByRecorded, 21, "a fence counts as complete once an event was recorded behind it") \
    X(StaleMark, 22, "a fence is waited for by the oldest mark, whether that stands behind it or not") \
    X(CheapestRule, 23, "the cheapest rule of a fence set decides, not the dearest") \
    X(FirstWaitOnly, 24, "of several waits that are needed, one is inserted") \
    X(SlotReusedEarly, 25, "the slot of a destroyed stream is used again while its frees are pending") \
    X(AcquiredForgotten, 26, "so it is while memory that it was given by order is pending") \
    X(ChainUncovered, 27, "without ids, what a stream was ordered behind isn't chained") \
    X(MarkWithoutChain, 28, "without ids, a mark doesn't wait for the chain") \
    X(SlabFencesLost, 29, "a slab's run goes back without the fences of what others returned to it") \
    X(ReturnedAccepted, 30, "a slab takes back what others returned before it may") \
    X(QueryPublishes, 31, "a query of a pending stream is taken for its completion") \
    X(ContextClosedLate, 32, "a fence of the whole context closes the numbers after its record") \
    X(ContextFenceTrusted, 33, "a fence of the whole context is learned from without the wait for it") \
    X(OtherContextsEvent, 34, "an event of another context is waited for, which may have gone with that context") \
    X(LivingTakenForDead, 35, "a new stream ends those of every other context, as if that had been destroyed") \
    X(LivingContextEnded, 36, "a context that is alive is taken for one that was destroyed") \
    X(UnmappedEarly, 37, "a stitched view is unmapped while work through it is pending") \
    X(AliasWithoutAccess, 38, "a stitched view is mapped without the access call") \
    X(SurplusTwice, 39, "what is left over of a stitched view's last extent stays free and is handed out with it") \
    X(KeptWhileBusy, 40, "a kept view is used while another stream has work pending on one of its extents") \
    X(PieceFencesLost, 41, "a stitched block carries the fences of its first piece only") \
    X(BlockFencesLost, 42, "the pieces of a stitched block go back without the fence of its free") \
    X(OneUseRemembered, 43, "of what used a stitched view only the last is waited for before it is unmapped") \
    X(ReleasedUnderAlias, 44, "an extent is released while a stitched view of it stands") \
    X(EvictedInUse, 45, "a view is evicted while a block lies in it") \
    X(ReleasedRunFound, 46, "a kept view still counts on an extent that was released") \
    X(FirstPieceAwaited, 47, "of pending pieces that are joined behind waits, only the first is waited for") \
    X(BorrowerNotAwaited, 48, "a stream is destroyed while another thread that has borrowed it asks it") \
    X(HandleRemembered, 49, "no thread forgets the handle of a destroyed stream: the new one at it is taken for that") \
    X(DefaultRemembered, 50, "default streams are remembered by their handles, in whatever context") \
    X(EntryBelieved, 51, "what a thread remembers in the place of a handle is taken for that handle's stream") \
    X(PromisedAgain, 52, "a promise that is made again finds what was remembered before it was taken back") \
    X(PromiseOfCurrent, 53, "a free goes by the promises of the current pool, not of the pointer's") \
    X(PrimedTwice, 54, "a synchronise leaves twice what was primed") \
    X(PrimedInUse, 55, "what is in use counts as free when a synchronise leaves what was primed") \
    X(PrimedForever, 56, "a trim leaves the pool primed") \
    X(PeakForgotten, 57, "a release delay holds what was in use last, not at most") \
    X(DelayShortened, 58, "a release delay ends a synchronise early") \
    X(SentinelBelieved, 60, "without ids, a context is taken to be the one that it was, without asking") \
    X(OwnerNotAwaited, 61, "who ends an ownership doesn't wait until the owner has come out") \
    X(ContextRemembered, 62, "default streams are still remembered when it is no longer promised that there is one context") \
    X(LegacyOfAnyContext, 63, "the legacy stream that a thread has named last is taken for that of its current context")
// clang-format on

enum sp_mutant {
    SP_MUTANT_NONE,
#define SP_DEFINE_MUTANT(name, number, text) SP_MUTANT_##name = number,
    SP_MUTANTS(SP_DEFINE_MUTANT)
#undef SP_DEFINE_MUTANT
};

#ifndef SP_MUTANT
#define SP_MUTANT SP_MUTANT_NONE
#endif

#define SP_IS_MUTANT(name)             ((int)SP_MUTANT == (int)SP_MUTANT_##name)
#define SP_MUTATED(name, wrong, right) (SP_IS_MUTANT(name) ? (wrong) : (right))

#endif
