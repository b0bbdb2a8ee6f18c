/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of commands that nobody waits for (gf_agent_post): a host posts messages to an agent while that runs, several at a
 * time; one that the agent left lying, and one that came when none was running, it moves by itself. The device may be full: then
 * a launch that has not begun does not begin before all messages are moved, which the program's kernels wait for. A message whose
 * end the host knows is the program's again.
 *
 * Checked: each message is moved exactly once, none when it is the program's again, and the host never waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DNOT_RUNNING  a message is posted to a launch that has not begun
 *   -DHASTY        the host moves what has not ended without asking whether the agent has left
 *   -DREUSE        the numbers of what was left lying are given again, and its lines are not wiped
 *   -DOLD_FIRST    a new launch begins with what was left lying
 *   -DNO_ROOM      a line is written again before its command has ended
 */
#define MESSAGES 4
#define LINES 2
#define NUMBERS 10
#define FLAG(n) (1 + (n) / LINES)

byte message[LINES], flag[LINES];
byte done, left;                /* the agent writes them */
byte first, launches, ended;    /* the number that a launch begins with; launches that were queued, and that are over */
byte moved[MESSAGES];
bool end[MESSAGES], back[MESSAGES], filled;

#define NOTHING MESSAGES        /* the command inside a launch */

inline execute(m)
{
    if
    :: m < MESSAGES ->
        assert(!back[m]);
        moved[m]++;
        end[m] = true
    :: else
    fi
}

active proctype agent()
{
    byte n;
end_ready:
    do
    :: launches > ended && !filled ->
        n = first;
#ifdef OLD_FIRST
        execute(message[n % LINES]);
#endif
        done = n + 1;
        n++;
        do
        :: flag[n % LINES] == FLAG(n) -> execute(message[n % LINES]); done = n + 1; n++
        :: true -> break
        od;
        left = n;
        ended++
    od
}

byte put, launched;             /* the host's */
byte number[MESSAGES];
bool posted[MESSAGES];

inline by_host(m)
{
    assert(!end[m]);
    moved[m]++;
    posted[m] = false;
    back[m] = true
}

inline finish(m)
{
    do
    :: end[m] -> posted[m] = false; back[m] = true; break
#ifdef HASTY
    :: !end[m] -> by_host(m); break
#else
    :: left >= launched && left <= number[m] && !end[m] -> by_host(m); break
#endif
    od
}

/* Messages of the launch that is gone are all finished first. */
inline invite()
{
    if
    :: left >= launched && put < NUMBERS ->
        k = 0;
        do
        :: k < MESSAGES && posted[k] -> finish(k); k++
        :: k < MESSAGES && !posted[k] -> k++
        :: k == MESSAGES -> break
        od;
#if defined(REUSE) || defined(OLD_FIRST)
        first = left;
        put = left + 1;
#else
        first = put;
        d_step { message[put % LINES] = NOTHING; flag[put % LINES] = FLAG(put) }
        put++;
#endif
        launched = first + 1;
        launches++
    :: else
    fi
}

#ifdef NOT_RUNNING
#define is_running (launched > 0 && left < launched)
#else
#define is_running (launched > 0 && done >= launched && left < launched)
#endif
#ifdef NO_ROOM
#define has_room true
#else
#define has_room (put < done + LINES)
#endif

active proctype host()
{
    byte m, k;

    if
    :: filled = true
    :: true
    fi;
    do
    :: m < MESSAGES ->
        if
        :: is_running && has_room && put < NUMBERS ->
            number[m] = put;
            posted[m] = true;
            d_step { message[put % LINES] = m; flag[put % LINES] = FLAG(put) };
            put++
        :: else -> by_host(m); invite()
        fi;
        if
        :: posted[m] -> finish(m)       /* one after the other */
        :: true
        fi;
        m++
    :: m == MESSAGES -> break
    od;
    k = 0;
    do
    :: k < MESSAGES && posted[k] -> finish(k); k++
    :: k < MESSAGES && !posted[k] -> k++
    :: k == MESSAGES -> break
    od;
    filled = false;
    (ended == launches);                /* what comes now would come too late */
    k = 0;
    do
    :: k < MESSAGES -> assert(moved[k] == 1); k++
    :: k == MESSAGES -> break
    od
}
