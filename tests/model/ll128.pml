/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of LL128 lines (kernels/ll128.h): a unit of two lines, stored and loaded by two lanes, of which the second has the
 * flag. A line waits and takes effect at any later time, whole; the lines of a unit in any order. A load takes a line as it is
 * at that moment; the lines of a unit at different moments. The sender stores epoch e when e - 1 has been read.
 *
 * Checked: each lane gets the words of the epoch that it waits for; no deadlock.
 *
 * Mutants, each of which must fail:
 *   -DTORN       the halves of a line take effect apart: what a device without the capability may do
 *   -DONE_FLAG   only the first line's flag is looked at
 *   -DNO_VOTE    the lane without the flag takes its words without asking the other
 */
#define LINES 2
#ifndef EPOCHS
#define EPOCHS 3
#endif

byte left[LINES], right[LINES], flag[LINES];      /* the first lane's word, the second lane's, and its flag */
bool left_waits[LINES], right_waits[LINES];
byte next[LINES];
byte have_read;

inline take_effect(i)
{
#ifdef TORN
    if
    :: left_waits[i] -> left[i] = next[i]; left_waits[i] = false
    :: right_waits[i] -> right[i] = next[i]; flag[i] = next[i]; right_waits[i] = false
    fi
#else
    left[i] = next[i]; right[i] = next[i]; flag[i] = next[i]; left_waits[i] = false; right_waits[i] = false
#endif
}

active proctype memory()
{
end:
    do
    :: atomic { (left_waits[0] || right_waits[0]) -> take_effect(0) }
    :: atomic { (left_waits[1] || right_waits[1]) -> take_effect(1) }
    od
}

active proctype sender()
{
    byte epoch = 1, i;
    do
    :: epoch <= EPOCHS ->
        (have_read == epoch - 1);
        i = 0;
        do
        :: i < LINES ->
            atomic { !left_waits[i] && !right_waits[i] -> next[i] = epoch; left_waits[i] = true; right_waits[i] = true };
            i++
        :: else -> break
        od;
        epoch++
    :: else -> break
    od
}

active proctype receiver()
{
    byte epoch = 1, first[LINES], second[LINES];
    bool arrived, once;
    do
    :: epoch <= EPOCHS ->
        arrived = false;
        once = false;
        do
        :: !arrived ->
            atomic {
                if :: !once -> first[0] = left[0] :: else fi;
                second[0] = right[0]; arrived = flag[0] == epoch };
            atomic {
                if :: !once -> first[1] = left[1] :: else fi;
                second[1] = right[1];
#ifndef ONE_FLAG
                arrived = arrived && flag[1] == epoch
#endif
            };
#ifdef NO_VOTE
            once = true
#endif
        :: else -> break
        od;
        assert(first[0] == epoch && first[1] == epoch && second[0] == epoch && second[1] == epoch);
        have_read = epoch;
        epoch++
    :: else -> break
    od
}
