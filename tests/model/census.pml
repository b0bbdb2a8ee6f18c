/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the census of a GPU (kernels/census.h, device/cuda_census.c): as many blocks as the GPU has room for, and another
 * kernel that comes and goes as it likes: of this process, or under MPS of another. The host asks twice.
 *
 * A launch takes part of the room only when the launch before it on its stream has ended. A block that has a place keeps it until
 * it leaves; how long it looks, nobody knows. How long the host looks, neither: it then says that the GPU is not empty, and while
 * the launch has not ended it says so without another one.
 *
 * Checked: when the host says that the GPU is empty, it was, at some time since the host asked; the counts are zeros whenever a
 * launch begins; no deadlock, and a launch ends once the other kernel has gone (end states are valid only when all is done).
 *
 * Mutants, each of which must fail:
 *   -DLAST_JUDGES    who leaves last tells what it saw itself, not what all saw
 *   -DSPLIT_LEAVE    a block counts itself among those that left, and after that among those that gave up
 *   -DNO_CLEAR       the count of those that came is not cleared
 *   -DNO_TICKET      the host takes the answer that lies there, of whatever launch
 *   -DONE_SHORT      the launch has a block less than the GPU has room for
 */
#define ROOM 3
#ifdef ONE_SHORT
#define BLOCKS (ROOM - 1)
#else
#define BLOCKS ROOM
#endif
#define ASKED 2

byte come, left, gave_up;        /* struct gf_census_counts */
byte ended_ticket;               /* the word: a ticket and the answer */
bool ended_empty;

byte ticket;                     /* of the launch that runs or ran last */
byte to_start, running;          /* its blocks */
byte others;                     /* places that the other kernel has */
bool empty_since;                /* since the host asked, the GPU was empty but for a census, which had all its blocks there */

inline look()
{
    if :: running == BLOCKS && others == 0 -> empty_since = true :: else fi
}

active proctype other()
{
    byte times;
    do
    :: times < 2 ->
        atomic { (running + others < ROOM) -> others++ };
        atomic { others--; look() };
        times++
    :: break
    od
}

/* One thread of a block. */
active [ROOM] proctype block()
{
    bool all, last;
end:
    do
    :: atomic { (to_start > 0 && running + others < ROOM) -> to_start--; running++; look() };
        atomic { come++; all = come == BLOCKS };
        /* It looks, or has looked long enough. */
        do
        :: !all && come == BLOCKS -> all = true
        :: all -> break
        :: !all -> break
        od;
#ifdef SPLIT_LEAVE
        atomic { left++; last = left == BLOCKS };
        if :: !all -> gave_up++ :: else fi;
#else
        atomic { left++; gave_up = gave_up + (all -> 0 : 1); last = left == BLOCKS };
#endif
        if
        :: last ->
#ifndef LAST_JUDGES
            all = gave_up == 0;
#endif
#ifndef NO_CLEAR
            come = 0;
#endif
            left = 0;
            gave_up = 0;
            atomic { ended_empty = all; ended_ticket = ticket }
        :: else
        fi;
        atomic { all = false; last = false; running-- }
    od
}

active proctype host()
{
    byte asked;
    do
    :: asked == ASKED -> break
    :: else ->
        asked++;
        if
        :: ended_ticket == ticket ->
            (running == 0 && to_start == 0);     /* the launch waits for this */
            atomic {
                empty_since = false;
                assert(come == 0 && left == 0 && gave_up == 0);
                ticket++;
                to_start = BLOCKS
            };
            /* It looks, or has looked long enough. */
            if
            :: (ended_ticket == ticket)
            :: true
            fi;
            atomic {
                if
#ifdef NO_TICKET
                :: ended_empty -> assert(empty_since)
#else
                :: ended_ticket == ticket && ended_empty -> assert(empty_since)
#endif
                :: else
                fi
            }
        :: else                    /* not empty */
        fi
    od;
    (ended_ticket == ticket)
}
