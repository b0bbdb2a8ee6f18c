/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of which channels a round has (transport/net_recv.c), where lanes of several channels connect a ring: two ranks,
 * each with a kernel a channel that sends to the other rank and receives from it, and two launches whose channels have
 * different numbers of steps. A lane delivers a round when all of its channels' slots are filled, and rounds in their order
 * (net_group.pml). Round i of a launch has the channels with more than i steps in it.
 *
 * Checked: nobody waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DAS_THEY_COME    a round has any channels that have room, as the receiver finds them
 *   -DRUN_ON          rounds are counted through, so that one may have steps of two launches
 */
#define DEPTH 2
#define LAUNCHES 2
#define MOST 2                          /* steps of channel 0 in a launch */
#define FEW 1                           /* of channel 1 */
#define OF(rank, channel) ((rank) * 2 + (channel))
#define IN_LAUNCH(channel) ((channel) == 0 -> MOST : FEW)

/* [OF(rank, channel)] of the FIFO from that rank: steps that its kernel has filled, that were delivered, that were read. */
byte filled[4], delivered[4], read[4];
byte launched[2], ended[4];             /* by rank: launches begun; by kernel: launches that it has ended */

proctype kernel(byte rank, channel)
{
    byte launch, step, sent, taken;
    do
    :: launch < LAUNCHES ->
        (launched[rank] > launch);
        step = 0;
        do
        :: step < IN_LAUNCH(channel) ->
            (sent < read[OF(rank, channel)] + DEPTH);
            sent++;
            filled[OF(rank, channel)] = sent;
            (taken < delivered[OF(1 - rank, channel)]);
            taken++;
            read[OF(1 - rank, channel)] = taken;
            step++
        :: else -> break
        od;
        launch++;
        ended[OF(rank, channel)] = launch
    :: else -> break
    od
}

/* The program: a launch after the other. */
proctype host(byte rank)
{
    do
    :: launched[rank] < LAUNCHES ->
        (ended[OF(rank, 0)] == launched[rank] && ended[OF(rank, 1)] == launched[rank]);
        launched[rank]++
    :: else -> break
    od
}

/* The lane from `rank`, with both of its proxies: chooses the channels of a round, and delivers it. */
proctype lane(byte rank)
{
    byte round, launch;
    bool has0, has1;
#define STEPS(channel) delivered[OF(rank, channel)]
#define HAS_ROOM(channel) (STEPS(channel) < LAUNCHES * IN_LAUNCH(channel) && STEPS(channel) < read[OF(rank, channel)] + DEPTH)
#define IS_FILLED(channel) (filled[OF(rank, channel)] > STEPS(channel))
    do
    :: STEPS(0) == LAUNCHES * MOST && STEPS(1) == LAUNCHES * FEW -> break
    :: else ->
        /* its credit */
#ifdef AS_THEY_COME
        if
        :: HAS_ROOM(0) -> has0 = true; has1 = false
        :: HAS_ROOM(1) -> has0 = false; has1 = true
        :: HAS_ROOM(0) && HAS_ROOM(1) -> has0 = true; has1 = true
        fi;
#else
#ifdef RUN_ON
        has0 = (round < LAUNCHES * MOST);
        has1 = (round < LAUNCHES * FEW);
        round++;
#else
        (launched[1 - rank] > launch);  /* the receiver has been told of it */
        has0 = (round < MOST);
        has1 = (round < FEW);
        round++;
        if
        :: round == MOST -> round = 0; launch++
        :: else
        fi;
#endif
        ((!has0 || HAS_ROOM(0)) && (!has1 || HAS_ROOM(1)));
#endif
        ((!has0 || IS_FILLED(0)) && (!has1 || IS_FILLED(1)));
        atomic {
            delivered[OF(rank, 0)] = delivered[OF(rank, 0)] + has0;
            delivered[OF(rank, 1)] = delivered[OF(rank, 1)] + has1
        }
    od
}

init {
    atomic {
        run kernel(0, 0); run kernel(0, 1); run kernel(1, 0); run kernel(1, 1);
        run host(0); run host(1);
        run lane(0); run lane(1)
    }
}
