/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the agent (kernels/agent.h, core/command_ring.h, core/agent_run.c): a host has COMMANDS commands, one after the
 * other. It gives each to a block that runs, in a ring of LINES lines of two words, or plays it itself when no block comes to
 * run; the block takes what it finds and leaves when it pleases, and is launched again. Commands that wait for nobody, and
 * several at a time, are agent_post.pml's. Each command has an input, in memory of the device, that the host rewrites when the
 * command that used it before has ended, and a result.
 *
 * The words of a line become visible one by one and are loaded in either order. The block has a cache, which takes in inputs
 * at any time and keeps them until it is emptied; its results become visible late. The device may be full: then a launch does not
 * begin before all commands are over, since the program's kernels may last as long as that.
 *
 * Checked: each command is done exactly once, in order, with its own words and its own input; where the host sees the end, the
 * result is visible; nobody waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DONE_FLAG       the block believes a line by the flag of one word
 *   -DSAME_FLAG      the flag of a line is the same in each lap
 *   -DSILENT_LEAVE   the block leaves without a word
 *   -DLATE_TAKE      the block looks once more after it has said that it leaves
 *   -DNOT_RUNNING    the host gives a command to a launch that has not begun, and plays it when it has waited long enough
 *   -DHASTY_HOST     the host plays a command that it has given, without asking whether the block has left
 *   -DSTUBBORN_HOST  the host waits for the end of what it has given, and does not ask whether the block has left
 *   -DNO_REFRESH     the block does not empty its cache when it takes a command
 *   -DEARLY_REFRESH  it does so before it looks at the line
 *   -DNO_FLUSH       the end is stored before the result is visible
 */
#define COMMANDS 4
#define LINES 2
#define LAUNCHES 2              /* for one command, at most */
#define NOTHING COMMANDS
#ifdef SAME_FLAG
#define FLAG(n) 1
#else
#define FLAG(n) (1 + (n) / LINES)
#endif
#ifdef ONE_FLAG
#define is_command(n) (f == FLAG(n))
#else
#define is_command(n) (f == FLAG(n) && g == FLAG(n))
#endif

byte data0[LINES], flag0[LINES], data1[LINES], flag1[LINES];
byte input[2];
byte done, left;                /* the block writes them */
byte launches, ended;           /* launches that were queued, and that are over */
byte first;                     /* the number of the launch that was queued last */
byte executed;
bool stored[COMMANDS], visible[COMMANDS];
bool filled;

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
    assert(x == y && x == executed);
    executed++;
    if
    :: cache[x % 2] == 0 -> cache[x % 2] = input[x % 2]
    :: else
    fi;
    assert(cache[x % 2] == x + 1);
    stored[x] = true;
#ifndef NO_FLUSH
    (visible[x]);
#endif
    done = number + 1
}

active proctype agent()
{
    byte cache[2];
    byte n, a, b, f, g;
end:
    do
    :: launches > ended && !filled ->
        refresh();                      /* every launch begins so */
        n = first;
        done = n + 1;
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
            :: else ->
                if
                :: cache[0] = input[0]
                :: true
                fi
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

#define is_served (left < launched)
#define is_running (is_served && done >= launched)

inline write(what)
{
    d_step { data0[put % LINES] = what; flag0[put % LINES] = FLAG(put) }
    d_step { data1[put % LINES] = what; flag1[put % LINES] = FLAG(put) }
    put++
}

/* The next command, by the host. Its copies go past the block's cache. */
inline play()
{
    assert(command == executed);
    executed++;
    stored[command] = true;
    (visible[command])
}

active proctype host()
{
    byte put, launched, command, tries, number;
    bool over;

    if
    :: filled = true
    :: true
    fi;
    do
    :: command == COMMANDS -> break
    :: command < COMMANDS ->
        input[command % 2] = command + 1;
        tries = 0;
        over = false;
        do
        :: over -> break
        :: !over && !is_served ->
            if
            :: tries < LAUNCHES -> tries++; first = put; launched = put + 1; write(NOTHING); launches++
            :: tries == LAUNCHES -> play(); over = true
            fi
#ifdef NOT_RUNNING
        :: !over && is_served ->
#else
        :: !over && is_running ->
#endif
            number = put;
            write(command);
            do
            :: done > number -> over = true; break
#ifndef STUBBORN_HOST
            :: left >= launched && left <= number ->
                break
#endif
#ifdef HASTY_HOST
            :: done <= number -> play(); over = true; break
#endif
#ifdef NOT_RUNNING
            :: done < launched -> play(); over = true; break
#endif
            od
        :: !over && is_served && done < launched ->     /* it has waited long enough for the block to begin */
            play();
            over = true
        od;
        command++
    od;
    filled = false;
    tries = 0;
    do
    :: tries < COMMANDS -> assert(visible[tries]); tries++
    :: else -> break
    od;
    assert(executed == COMMANDS)
}
