/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the gate before launches of pulls (kernels/pull.h, core/pull_rescue.c): three launches, one after the other on
 * one stream, each of one message whose parts BLOCKS blocks move. The host may close the second at any moment, also before its
 * blocks, or those of the first, have come or gone; it then has the copy engine do what the kernel has not finished.
 *
 * Checked: each message ends exactly once; nobody stores into its destination after its end; the third launch, which finds the
 * gate as the others left it, works.
 *
 * Mutants, each of which must fail:
 *   -DLATE_COUNT   a block looks whether the launch is closed before it counts itself
 *   -DRESET_ALL    the last block to leave opens the gate again
 *   -DLEFT_LAST    the host reads how many have left after how many have entered
 *   -DNO_WAIT      the host does not wait for blocks that are inside
 *   -DNO_JUDGE     the host gives all to the copy engine, also what the kernel has finished
 *   -DNO_FILL      the host does not clean the gate after a launch that it closed
 */
#ifndef BLOCKS
#define BLOCKS 2
#endif
#define LAUNCHES 3

byte entered, closed, left;     /* entered and closed are one word: a block sees both at once */
byte done, finished;
byte queued;                    /* launches that the host has queued */
byte gone[LAUNCHES + 1];        /* blocks of the launch that have ended */
byte ends[LAUNCHES + 1];        /* how often the message was said to have ended */

inline end_message(l)
{
    atomic {
        assert(ends[l] == 0);
        ends[l]++
    }
}

proctype block(byte l)
{
    byte last;
    bool open;

    (queued >= l && gone[l - 1] == BLOCKS);
#ifdef LATE_COUNT
    open = closed != l;
    entered++;
#else
    d_step { open = closed != l; entered++ }
#endif
    if
    :: open ->
        assert(ends[l] == 0);   /* a store into the destination */
        d_step { done++; last = (done == BLOCKS -> 1 : 0) }
        if
        :: last ->
            done = 0;
            end_message(l);
            finished = l
        :: else
        fi
    :: else
    fi;
    d_step { left++; last = (left == BLOCKS -> 1 : 0) }
    if
    :: last ->
        left = 0;
#ifdef RESET_ALL
        d_step { entered = 0; closed = 0 }
#else
        entered = 0
#endif
    :: else
    fi;
    gone[l]++
}

proctype host()
{
    byte l, e;

    queued = 1;
    (ends[1] == 1);
    queued = 2;
    if
    :: (ends[2] == 1)           /* it ended soon enough */
    :: true ->
        closed = 2;
        do
        :: true ->
#ifdef LEFT_LAST
            e = entered;
            l = left;
#else
            l = left;
            e = entered;
#endif
#ifdef NO_WAIT
            break
#else
            if
            :: l == e -> break
            :: else
            fi
#endif
        od;
        if
#ifndef NO_JUDGE
        :: finished == 2
#endif
        :: else -> end_message(2)
        fi;
        (gone[2] == BLOCKS);    /* the stream is empty */
#ifndef NO_FILL
        d_step { entered = 0; left = 0; done = 0 }
#endif
    fi;
    queued = 3;
    (ends[1] == 1 && ends[2] == 1 && ends[3] == 1)
}

init {
    byte l, b;

    atomic {
        gone[0] = BLOCKS;
        for (l : 1 .. LAUNCHES) {
            for (b : 1 .. BLOCKS) { run block(l) }
        }
        run host()
    }
}
