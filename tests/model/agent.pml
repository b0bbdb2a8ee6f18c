/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the agent (kernels/agent.h, core/command_ring.h): a host puts COMMANDS commands into a ring of LINES lines of two
 * words, several at a time or one after the other; a block takes them, one after the other, and leaves when it pleases; the
 * host then launches it again, behind the launch that leaves. Each command has an input, in memory of the device, that the
 * host rewrites when the command that used it before has ended, and a result.
 *
 * The words of a line become visible one by one and are loaded in either order. The block has a cache, which takes in inputs
 * at any time and keeps them until it is emptied; its results become visible late.
 *
 * Checked: each command is done exactly once, in order, with its own words and its own input; where the host sees the end, the
 * result is visible; nobody waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DONE_FLAG       the block believes a line by the flag of one word
 *   -DSAME_FLAG      the flag of a line is the same in each lap
 *   -DSILENT_LEAVE   the block leaves without a word
 *   -DLATE_TAKE      the block looks once more after it has said that it leaves
 *   -DHASTY_HOST     the host launches when a command has not ended, without asking whether the block has left
 *   -DNO_ROOM        the host overwrites a line before its command has ended
 *   -DNO_REFRESH     the block does not empty its cache when it takes a command
 *   -DEARLY_REFRESH  it does so before it looks at the line
 *   -DNO_FLUSH       the end is stored before the result is visible
 */
#define COMMANDS 5
#define LINES 2
#ifdef SAME_FLAG
#define FLAG(n) 1
#else
#define FLAG(n) (1 + (n) / LINES)
#endif
#ifdef ONE_FLAG
#define is_command(n) (n < COMMANDS && f == FLAG(n))
#else
#define is_command(n) (n < COMMANDS && f == FLAG(n) && g == FLAG(n))
#endif

byte data0[LINES], flag0[LINES], data1[LINES], flag1[LINES];
byte input[LINES];
byte done, left;                /* the block writes them */
byte launches, ended;           /* launches that were queued, and that are over */
byte first;                     /* the command inside the launch that was queued last */
byte executed;
bool stored[COMMANDS], visible[COMMANDS];

/* Results become visible. */
active proctype memory()
{
    byte n;
end:
    do
    :: n < COMMANDS && stored[n] -> visible[n] = true; n++
    od
}

inline load(number)
{
    if
    :: d_step { a = data0[number % LINES]; f = flag0[number % LINES] }
       d_step { b = data1[number % LINES]; g = flag1[number % LINES] }
    :: d_step { b = data1[number % LINES]; g = flag1[number % LINES] }
       d_step { a = data0[number % LINES]; f = flag0[number % LINES] }
    fi
}

inline refresh()
{
    d_step { cache[0] = 0; cache[1] = 0 }
}

inline execute(number, x, y)
{
    assert(x == number && y == number);
    assert(executed == number);
    executed++;
    if
    :: cache[number % LINES] == 0 -> cache[number % LINES] = input[number % LINES]
    :: else
    fi;
    assert(cache[number % LINES] == number + 1);
    stored[number] = true;
#ifndef NO_FLUSH
    (visible[number]);
#endif
    done = number + 1
}

active proctype agent()
{
    byte cache[LINES];
    byte n, a, b, f, g, i;
end:
    do
    :: launches > ended ->
        refresh();                      /* every launch begins so */
        n = first;
        execute(n, n, n);
        n++;
        do
        :: true ->
#ifdef EARLY_REFRESH
            refresh();
            if
            :: cache[0] = input[0]
            :: cache[1] = input[1]
            :: true
            fi;
#endif
            load(n);
            if
            :: is_command(n) ->
#if !defined(NO_REFRESH) && !defined(EARLY_REFRESH)
                refresh();
#endif
                execute(n, a, b);
                n++
            :: else
            fi
        :: true -> break                /* it has waited long enough */
        od;
#ifndef SILENT_LEAVE
        left = n;
#endif
#ifdef LATE_TAKE
        load(n);
        if
        :: is_command(n) -> refresh(); execute(n, a, b)
        :: else
        fi;
#endif
        ended++
    od
}

/* Launches if a command lies there that nobody will take. */
inline serve()
{
    atomic {
        l = left;
        if
#ifdef HASTY_HOST
        :: done < put && launches < 2 * COMMANDS -> first = done; launched = done + 1; launches++
#else
        :: l >= launched && l < put -> first = l; launched = l + 1; launches++
#endif
        :: else
        fi
    }
}

/* Until all commands below number have ended. */
inline await(number)
{
    do
    :: done >= number -> break
    :: done < number -> serve();
        (done >= number || (left >= launched && left < put))
    od
}

active proctype host()
{
    byte put, launched, l, seen;

    do
    :: put == COMMANDS -> break
    :: put < COMMANDS ->
#ifndef NO_ROOM
        if
        :: put >= LINES -> await(put - LINES + 1)
        :: else
        fi;
#endif
        if
        :: await(put)                   /* one after the other */
        :: true
        fi;
        input[put % LINES] = put + 1;
        d_step { data0[put % LINES] = put; flag0[put % LINES] = FLAG(put) }
        d_step { data1[put % LINES] = put; flag1[put % LINES] = FLAG(put) }
        put++;
        serve()
    od;
    await(COMMANDS);
    do
    :: seen < COMMANDS -> assert(visible[seen]); seen++
    :: else -> break
    od;
    assert(executed == COMMANDS)
}
