/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the sweep before the epochs of LL or LL128 lines begin again (core/one_shot.c): two ranks, LAST epochs, two slots
 * of two lines each way. Piece p has the flag of its epoch; the first of each round of epochs has two lines, the others one, so
 * that the second line keeps its old flag all the time. Stores take effect at any later time.
 *
 * Checked: what a rank reads is the piece that it waits for; no deadlock.
 *
 * Mutants, each of which must fail:
 *   -DNO_SWEEP      an old line passes for a new one
 *   -DNO_AGREE      a rank goes on before its peer has swept, too: its new line is swept away
 *   -DEARLY_SWEEP   a rank sweeps before it has read its last piece
 */
#define LAST 3
#ifndef PIECES
#define PIECES 5
#endif
#define FLAG(p) (((p) - 1) % LAST + 1)
#define IS_FULL(p) (FLAG(p) == 1)
/* Index of a line: rank that reads it, parity of its epoch, number. */
#define LINE(reader, p, number) ((reader) * 4 + FLAG(p) % 2 * 2 + (number))

byte flag[8], data[8];
bool waits[8];
byte next_flag[8], next_data[8];
byte swept;                     /* ranks that have swept, never reset */

active proctype memory()
{
    byte i;
end:
    do
    :: atomic {
        (waits[0] || waits[1] || waits[2] || waits[3] || waits[4] || waits[5] || waits[6] || waits[7]) ->
        i = 0;
        do
        :: i < 7 -> i++
        :: break
        od;
        if
        :: waits[i] -> flag[i] = next_flag[i]; data[i] = next_data[i]; waits[i] = false
        :: else
        fi }
    od
}

inline send(number)
{
    line = LINE(1 - me, p, number);
    atomic { !waits[line] -> next_flag[line] = FLAG(p); next_data[line] = p; waits[line] = true }
}

inline receive(number)
{
    line = LINE(me, p, number);
    atomic { flag[line] == FLAG(p) -> assert(data[line] == p) }
}

inline clear()
{
    atomic { flag[me * 4] = 0; flag[me * 4 + 1] = 0; flag[me * 4 + 2] = 0; flag[me * 4 + 3] = 0; swept++ }
}

proctype rank(byte me)
{
    byte p = 1, line;
    do
    :: p <= PIECES ->
#if !defined(NO_SWEEP)
        if
        :: p > 1 && FLAG(p) == 1 ->
#ifndef EARLY_SWEEP
            clear();
#endif
#ifndef NO_AGREE
            (swept >= 2 * ((p - 1) / LAST))
#endif
        :: else
        fi;
#endif
        send(0);
        if
        :: IS_FULL(p) -> send(1)
        :: else
        fi;
#ifdef EARLY_SWEEP
        if
        :: FLAG(p) == LAST -> clear()
        :: else
        fi;
#endif
        receive(0);
        if
        :: IS_FULL(p) -> receive(1)
        :: else
        fi;
        p++
    :: else -> break
    od
}

init {
    atomic {
        run rank(0); run rank(1)
    }
}
