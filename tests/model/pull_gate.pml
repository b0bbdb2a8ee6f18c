/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the gate before launches of pulls (kernels/pull.h, core/pull_rescue.c): three launches, one after the other on
 * one stream, each of one message whose parts BLOCKS blocks move. The host may close the second and the third at any moment, also
 * before its blocks, or those of the one before, have come or gone; it then has the copy engine do what the kernel has not
 * finished, and cleans the gate in the order of the stream.
 *
 * Checked: each message ends exactly once; nobody stores into its destination after its end; nobody waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DLATE_COUNT   a block looks whether the launch is closed before it counts itself
 *   -DRESET_ALL    the last block to leave opens the gate again
 *   -DLEFT_LAST    the host reads how many have left after how many have entered
 *   -DNO_WAIT      the host does not wait for blocks that are inside
 *   -DNO_JUDGE     the host gives all to the copy engine, also what the kernel has finished
 *   -DNO_FILL      the host does not clean the gate after a launch that it closed
 *   -DFILL_CLOSED  cleaning the gate opens it, when the next launch may be closed already
 */
#ifndef BLOCKS
#define BLOCKS 2
#endif
#define LAUNCHES 3

byte entered, closed, left;     /* entered and closed are one word: a block sees both at once */
byte done, finished;
byte queued;                    /* launches that the host has queued */
byte gone[LAUNCHES + 1];        /* blocks of the launch that have ended */
bool fill[LAUNCHES + 1];        /* in the stream behind the launch */
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

    (queued >= l && gone[l - 1] == BLOCKS && !fill[l - 1]);
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

/* The fill behind a launch that was closed. */
active proctype stream()
{
    byte l;
end:
    do
    :: atomic {
        (fill[1] || fill[2]) ->
        l = (fill[1] -> 1 : 2);
        done = 0;
#ifdef FILL_CLOSED
        closed = 0;
#endif
        fill[l] = false }
    od
}

inline close_launch(n)
{
    closed = n;
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
    :: finished == n
#endif
    :: else -> end_message(n)
    fi;
    (gone[n] == BLOCKS);        /* the stream is empty */
#ifndef NO_FILL
    fill[n] = true
#endif
}

active proctype host()
{
    byte n, l, e;

    for (n : 1 .. LAUNCHES) {
        queued = n;
        if
        :: (ends[n] == 1)       /* it ended soon enough */
        :: n > 1 -> close_launch(n)
        fi;
        (ends[n] == 1)
    }
}

init {
    byte l, b;

    atomic {
        gone[0] = BLOCKS;
        for (l : 1 .. LAUNCHES) {
            for (b : 1 .. BLOCKS) { run block(l) }
        }
    }
}
