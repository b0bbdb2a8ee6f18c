/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the agreement between ranks that pass host or device buffers (mca_coll_gpufifo/agree.h): RANKS ranks make CALLS
 * calls, each host or device by free choice; the board comes to each rank at any moment, even in the midst of a call, as
 * another thread's progress would bring it. The collectives themselves are not modelled: a rank may run ahead as far as
 * the protocol lets it.
 *
 * Checked: all device ranks of a call reach the same verdict, the right one; nobody waits for ever (no invalid end state).
 *
 * Mutants, each of which must fail:
 *   -DNO_ROOM       a ring entry is overwritten without waiting until it is settled
 *   -DENTERED_FIRST a rank publishes that it entered before it publishes its kind
 *   -DCOUNT_EARLY   a device call is counted before it is settled, so that an attaching thread takes it for settled
 *   -DONE_LOOK      the attaching thread does not look at the counter again once the board is known
 */
#ifndef RANKS
#define RANKS 2                 /* 2 or 3 */
#endif
#ifndef CALLS
#define CALLS 3
#endif
#ifndef RING
#define RING 1
#endif

#define HOST 1
#define DEVICE 2

typedef line_t {
    byte entered;
    byte settled;
    byte ring[RING]
};

line_t line[RANKS];
byte calls[RANKS];              /* module->calls */
bool board[RANKS];              /* module->agree */
bool publishing[RANKS];         /* between the counter and the line of a host call; -DONE_THREAD only */
bool wanted;                    /* somebody asked for the board */

typedef call_t { byte kind[RANKS] };
call_t call_of[CALLS + 1];      /* what each rank passed in each call; 0: not there yet */

inline raise(word, value)
{
    if
    :: word < value -> word = value
    :: else
    fi
}

/* The board reaches rank r. Each line is one step: compare-and-swap, store, load. With -DONE_THREAD all of it is one step, as
 * for a rank without threads, which is not in the midst of publishing when it makes progress. */
proctype attach(byte r)
{
    byte seen;

    (wanted);
#ifdef ONE_THREAD
    atomic {
        (!publishing[r]);
#endif
    seen = calls[r];
    d_step { raise(line[r].settled, seen) }
    d_step { raise(line[r].entered, seen) }
    board[r] = true;
#ifndef ONE_LOOK
    seen = calls[r];
    d_step { raise(line[r].settled, seen) }
    d_step { raise(line[r].entered, seen) }
#endif
#ifdef ONE_THREAD
    }
#endif
}

proctype rank(byte r)
{
    byte s, m, i, left, device_calls, verdict;
    bool looked[RANKS], found;

    for (s : 1 .. CALLS) {
        if
        :: call_of[s].kind[r] = HOST;
#ifdef ONE_THREAD
            publishing[r] = true;
#endif
            calls[r] = s;
            if
            :: board[r] -> line[r].settled = s; line[r].entered = s
            :: else
            fi
#ifdef ONE_THREAD
            ; publishing[r] = false
#endif
        :: call_of[s].kind[r] = DEVICE;
            wanted = true;
            (board[r]);
#ifndef NO_ROOM
            for (m : 0 .. RANKS - 1) { (m == r || line[m].settled >= line[r].ring[device_calls % RING]) }
#endif
#ifdef ENTERED_FIRST
            line[r].entered = s;
            line[r].ring[device_calls % RING] = s;
#else
            line[r].ring[device_calls % RING] = s;
            line[r].entered = s;
#endif
#ifdef COUNT_EARLY
            calls[r] = s;
#endif
            /* Looks at the others in any order, at each once it has entered, until one is found to be a host rank. */
            atomic {
                device_calls++;
                verdict = DEVICE;
                left = RANKS - 1;
                for (m : 0 .. RANKS - 1) { looked[m] = (m == r) }
            }
            do
            :: verdict == HOST || left == 0 -> break
            :: verdict == DEVICE && left > 0 ->
                if      /* blocks while nobody new has entered */
                :: !looked[0] && line[0].entered >= s -> m = 0
                :: !looked[1] && line[1].entered >= s -> m = 1
#if RANKS > 2
                :: !looked[2] && line[2].entered >= s -> m = 2
#endif
                fi;
                atomic {
                    looked[m] = true;
                    left--;
                    found = false;
                    for (i : 0 .. RING - 1) { found = found || line[m].ring[i] == s }
                    if
                    :: !found -> verdict = HOST
                    :: else
                    fi
                }
            od;
            atomic {
                found = false;
                for (m : 0 .. RANKS - 1) { found = found || call_of[s].kind[m] == HOST }
                assert(found == (verdict == HOST));
                m = 0
            }
            line[r].settled = s;
#ifndef COUNT_EARLY
            calls[r] = s;
#endif
        fi
    }
    /* The program ends, progress does not: whoever still wants the board here gets it. */
    wanted = true
}

init {
    byte r;

    atomic {
        for (r : 0 .. RANKS - 1) {
            run rank(r);
            run attach(r)
        }
    }
}
