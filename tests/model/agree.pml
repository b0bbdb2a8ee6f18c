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
 *
 * With -DLATER a rank may also enter a device call without waiting, before it has the board, too; another process finds out about
 * it later, in any order, and shows what had no room. What is done under the lock is one step: the order of its stores is that
 * above. -DARMED: all have the board from the start, which leaves room for a call more.
 * Mutants of that:
 *   -DHOST_SETTLES  a host call settles all before it, verdict or not
 *   -DLAST_SETTLES  a verdict settles all before it
 *   -DOTHERS_ROOM   room needs the others' settlement only
 *   -DALL_ENTERED   what is behind a call that is not shown is entered
 *   -DSETTLE_LATE   the last verdict is out before what it settles
 *   -DNO_LANDING    a blocking device call does not wait for the verdicts of those before it
 *   -DALL_PAST      who comes to see the board takes all its calls for settled, verdict or not
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

#ifdef ONE_THREAD
#define PUBLISH(now) publishing[r] = now
#else
#define PUBLISH(now) skip
#endif

typedef line_t {
    byte entered;
    byte settled;
    byte ring[RING]
};

line_t line[RANKS];
byte calls[RANKS];              /* module->calls */
bool board[RANKS];              /* module->agree; with -DLATER module->later.board, and */
bool armed[RANKS];              /* module->agree */
bool publishing[RANKS];         /* between the counter and the line of a host call; -DONE_THREAD only */
bool wanted;                    /* somebody asked for the board */

/* struct gf_agree_later: calls without a verdict, of which some are not shown yet */
#define HIDDEN 1
#define SHOWN 2
typedef later_t {
    byte count, last, device_calls;
    byte open[CALLS + 1]
};
later_t later[RANKS];

typedef call_t { byte kind[RANKS] };
call_t call_of[CALLS + 1];      /* what each rank passed in each call; 0: not there yet */

inline raise(word, value)
{
    if
    :: word < value -> word = value
    :: else
    fi
}

#ifdef OTHERS_ROOM
#define SETTLED_BY(m, r) (m == r || line[m].settled >= line[r].ring[later[r].device_calls % RING])
#else
#define SETTLED_BY(m, r) (line[m].settled >= line[r].ring[later[r].device_calls % RING])
#endif
#if RANKS > 2
#define ROOM(r) (SETTLED_BY(0, r) && SETTLED_BY(1, r) && SETTLED_BY(2, r))
#else
#define ROOM(r) (SETTLED_BY(0, r) && SETTLED_BY(1, r))
#endif

/* In one step. i: the caller's. */
inline show_calls(r)
{
    i = 1;
    do
    :: i <= CALLS && later[r].open[i] == HIDDEN && ROOM(r) ->
        line[r].ring[later[r].device_calls % RING] = i;
        later[r].device_calls++;
        later[r].open[i] = SHOWN
    :: i <= CALLS && later[r].open[i] != HIDDEN -> i++
    :: i > CALLS || (later[r].open[i] == HIDDEN && !ROOM(r)) -> break
    od;
#ifdef ALL_ENTERED
    line[r].entered = later[r].last;
#else
    line[r].entered = (i > CALLS -> later[r].last : i - 1);
#endif
    i = 0
}

/* What was before the first open call is past. */
inline look_back(r)
{
    seen = calls[r];
#ifndef ALL_PAST
    for (i : 1 .. CALLS) { seen = (later[r].open[i] && i <= seen -> i - 1 : seen) }
#endif
    raise(line[r].settled, seen);
    raise(line[r].entered, seen);
    i = 0
}

inline show_open(r)
{
    if
    :: later[r].count > 0 -> show_calls(r)
    :: else
    fi
}

/* The board reaches rank r. Each line is one step: compare-and-swap, store, load. With -DONE_THREAD all of it is one step, as
 * for a rank without threads, which is not in the midst of publishing when it makes progress. */
proctype attach(byte r)
{
    byte seen;

#ifdef LATER
    byte i;

    (wanted);
    armed[r] = true;
    /* agree_later.h: under its lock, twice */
    atomic { look_back(r); board[r] = true; show_open(r) }
    atomic { look_back(r); show_open(r) }
#else
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
#endif
}

/* Where there are no open calls, and nobody else writes on the line. */
inline tell_host(r, s)
{
    if
    :: board[r] -> line[r].settled = s; line[r].entered = s
    :: else
    fi
}

inline publish_host(r, s)
{
#if defined(LATER) && !defined(HOST_SETTLES)
    if
    :: later[r].count > 0 ->
        atomic {
            later[r].last = s;
            if
            :: later[r].count > 0 && board[r] -> show_calls(r)
            :: later[r].count > 0 && !board[r]
            :: later[r].count == 0 -> tell_host(r, s)
            fi
        }
    :: later[r].count == 0 -> tell_host(r, s)
    fi
#else
    tell_host(r, s)
#endif
}

inline host_call(r, s)
{
    call_of[s].kind[r] = HOST;
    PUBLISH(true);
    calls[r] = s;
    publish_host(r, s);
    PUBLISH(false)
}

inline publish_device(r, s)
{
#ifdef ENTERED_FIRST
    line[r].entered = s;
    line[r].ring[later[r].device_calls % RING] = s;
#else
    line[r].ring[later[r].device_calls % RING] = s;
    line[r].entered = s;
#endif
    later[r].device_calls++
}

/* Looks at the others in any order, at each once it has entered, until one is found to be a host rank. */
inline find_verdict(r, s)
{
    atomic {
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
}

inline enter_later(r, s)
{
    call_of[s].kind[r] = DEVICE;
    atomic {
        later[r].open[s] = HIDDEN;
        later[r].count++;
        later[r].last = s;
        calls[r] = s;
        if
        :: board[r] -> show_calls(r)
        :: else
        fi
    }
}

#if RANKS > 2
#define ALL_IN(s) (line[0].entered >= s && line[1].entered >= s && line[2].entered >= s)
#else
#define ALL_IN(s) (line[0].entered >= s && line[1].entered >= s)
#endif

/* Finds out about the open calls of rank r, as soon as it can about any of them, and shows what was hidden. At most three
 * calls. */
#define CAN_ANSWER(r, s) (later[r].open[s] == SHOWN && ALL_IN(s))
#define CAN_SHOW(r, s) (board[r] && later[r].open[s] == HIDDEN && ROOM(r))

proctype asker(byte r)
{
    byte s, m, i, left, verdict, settled;
    bool looked[RANKS], found;

end:
    do
    :: atomic { CAN_ANSWER(r, 1) -> s = 1; break }
    :: atomic { CAN_ANSWER(r, 2) -> s = 2; break }
#if CALLS > 2
    :: atomic { CAN_ANSWER(r, 3) -> s = 3; break }
    :: atomic { CAN_SHOW(r, 3) -> show_calls(r) }
#endif
    :: atomic { CAN_SHOW(r, 1) || CAN_SHOW(r, 2) -> show_calls(r) }
    od;
    atomic {
        found = false;
        for (i : 0 .. RING - 1) { found = found || line[r].ring[i] == s }
        assert(found)
    }
    atomic {
        find_verdict(r, s);
        later[r].open[s] = 0;
#ifdef LAST_SETTLES
        raise(line[r].settled, s);
#else
        settled = later[r].last;
        for (i : 1 .. CALLS) { settled = (later[r].open[i] && i <= settled -> i - 1 : settled) }
        i = 0;
#ifndef SETTLE_LATE
        line[r].settled = settled;
#endif
#endif
        later[r].count--
    }
#ifdef SETTLE_LATE
    line[r].settled = settled;
#endif
    goto end
}

proctype rank(byte r)
{
    byte s, m, i, left, verdict;
    bool looked[RANKS], found;

    for (s : 1 .. CALLS) {
        if
        :: host_call(r, s)
#ifdef LATER
        :: enter_later(r, s);
            wanted = true
#endif
        :: call_of[s].kind[r] = DEVICE;
            wanted = true;
#ifdef LATER
            (armed[r]);
#else
            (board[r]);
#endif
#ifndef NO_LANDING
            (later[r].count == 0);
#endif
#ifndef NO_ROOM
            for (m : 0 .. RANKS - 1) { (m == r || line[m].settled >= line[r].ring[later[r].device_calls % RING]) }
#endif
            publish_device(r, s);
#ifdef COUNT_EARLY
            calls[r] = s;
#endif
            find_verdict(r, s);
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
#ifdef LATER
            run asker(r);
#endif
#ifdef ARMED
            armed[r] = true;
            board[r] = true
#else
            run attach(r)
#endif
        }
    }
}
