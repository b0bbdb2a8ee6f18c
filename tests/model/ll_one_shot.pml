/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the one-shot allreduce over LL lines (kernels/allreduce.h): two ranks of two threads each, pieces of up
 * to two lines.
 * Thread t stores and reads line t of each slot; the last piece of each launch is short: it has data for thread 0 only.
 *
 * Stores are weak: a word waits in a buffer of one word a line and takes effect at any later time. Nothing completes it:
 * LL needs no release. A launch is LAUNCH pieces; a rank begins the next one when all its threads have ended the one before.
 *
 * Checked: each thread reads the data of the epoch that it waits for; no deadlock: no line is overwritten before it was read.
 *
 * Mutants, each of which must fail:
 *   -DSPLIT_LINE   the flag takes effect apart from its data
 *   -DONE_SLOT     slots do not alternate
 *   -DNO_BARRIER   a thread goes on to the next piece before all threads of its rank have read this one
 */
#define RANKS 2
#define THREADS 2
#ifndef EPOCHS
#define EPOCHS 5
#endif
#ifndef LAUNCH
#define LAUNCH 3
#endif

/* Index of a line: rank that reads it, parity, number. */
#define LINE(rank, parity, number) ((rank) * 4 + (parity) * 2 + (number))

byte flag[8], data[8];
bool flag_waits[8], data_waits[8];
byte flag_next[8], data_next[8];

byte at_barrier[RANKS];         /* arrivals, never reset */

#ifdef ONE_SLOT
#define PARITY 0
#else
#define PARITY (epoch % 2)
#endif

/* Does piece `epoch` of its launch carry a line of thread t? The last one of a launch is short. */
#define HAS_LINE (t == 0 || epoch % LAUNCH != 0)

active proctype memory()
{
    byte i;
end:
    do
    :: atomic {
        (flag_waits[0] || flag_waits[1] || flag_waits[2] || flag_waits[3] || flag_waits[4] || flag_waits[5] || flag_waits[6] ||
         flag_waits[7] || data_waits[0] || data_waits[1] || data_waits[2] || data_waits[3] || data_waits[4] || data_waits[5] ||
         data_waits[6] || data_waits[7]) ->
        i = 0;
        do
        :: i < 7 -> i++
        :: break
        od;
        if
#ifdef SPLIT_LINE
        :: flag_waits[i] -> flag[i] = flag_next[i]; flag_waits[i] = false
        :: data_waits[i] -> data[i] = data_next[i]; data_waits[i] = false
#else
        :: flag_waits[i] -> flag[i] = flag_next[i]; data[i] = data_next[i]; flag_waits[i] = false; data_waits[i] = false
#endif
        :: else
        fi }
    od
}

/* One thread of one rank. */
proctype thread(byte rank; byte t)
{
    byte epoch = 1, line;
    do
    :: epoch <= EPOCHS ->
        if
        :: HAS_LINE ->
            line = LINE(1 - rank, PARITY, t);
            atomic { !flag_waits[line] && !data_waits[line] ->
                     flag_next[line] = epoch; data_next[line] = epoch + 100; flag_waits[line] = true; data_waits[line] = true };
            line = LINE(rank, PARITY, t);
            atomic { flag[line] == epoch -> assert(data[line] == epoch + 100) }
        :: else
        fi;
#ifdef NO_BARRIER
        if
        :: epoch % LAUNCH == 0 ->               /* the end of a launch is a barrier all the same */
            at_barrier[rank]++;
            (at_barrier[rank] >= epoch / LAUNCH * THREADS)
        :: else
        fi;
#else
        at_barrier[rank]++;
        (at_barrier[rank] >= epoch * THREADS);
#endif
        epoch++
    :: else -> break
    od
}

init {
    atomic {
        run thread(0, 0); run thread(0, 1); run thread(1, 0); run thread(1, 1)
    }
}
