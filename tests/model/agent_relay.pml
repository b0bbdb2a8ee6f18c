/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of an agent of several blocks (kernels/agent.h): in each of LAUNCHES launches, one behind the other, a leader has
 * some commands, and relays those that it likes to on one line of two words, once all HELPERS helpers have come; a helper tells
 * by a word of its own what it has done. Leader and helpers begin a launch at any time, and helpers even when the leader has
 * left.
 *
 * The words of the line become visible one by one and are loaded in either order; flags repeat after LAST numbers.
 *
 * Checked: each helper does each relayed command once, with its own words, and has done so when the leader tells the host;
 * nobody waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DLONE_DONE      the leader tells the host without looking at the helpers' words
 *   -DEARLY_SHARE    a helper tells before it has done its share
 *   -DONE_FLAG       a helper believes the line by the flag of one word
 *   -DSILENT_LEAVE   the leader leaves without a word to the helpers
 *   -DFROM_ZERO      relayed commands are counted from 0 in each launch
 *   -DLONG_STAY      the leader takes as many commands in a launch as there are flags
 */
#define LAUNCHES 3
#define HELPERS 2
#define LAST 6
#define LEAVE 255
#ifdef LONG_STAY
#define STAY (LAST - 1)
#else
#define STAY (LAST / 2)
#endif
#define FLAG(n) ((n) % LAST + 1)
#ifdef FROM_ZERO
#define BEGIN 0
#else
#define BEGIN first
#endif

byte data0, flag0, data1, flag1;
byte did[HELPERS];              /* each a helper's */
byte share[HELPERS];            /* the last command that it has done, for the check */
byte launch = 1, over;          /* the launch under way; helpers that have ended it */
byte first;                     /* of this launch */

inline relay(number, what)
{
    if
    :: d_step { data0 = what; flag0 = FLAG(number) }
       d_step { data1 = what; flag1 = FLAG(number) }
    :: d_step { data1 = what; flag1 = FLAG(number) }
       d_step { data0 = what; flag0 = FLAG(number) }
    fi
}

active proctype leader()
{
    byte n, relayed, mine, next;
    bool together;

    do
    :: mine == LAUNCHES -> break
    :: mine < LAUNCHES ->
        (launch == mine + 1);
        n = first + 1;
        relayed = BEGIN + 1;
        together = false;
        do
        :: n - first <= STAY ->
            together = together || (did[0] > BEGIN && did[1] > BEGIN);
            if
            :: together ->
                relay(relayed, n);
                relayed++;
#ifndef LONE_DONE
                (did[0] >= relayed && did[1] >= relayed);
#endif
                assert(share[0] == n && share[1] == n)
            :: true                     /* alone */
            fi;
            n++
        :: true -> break
        od;
#ifndef SILENT_LEAVE
        relay(relayed, LEAVE);
#endif
        mine++;
        /* The host passes over the number of a command that was left lying. */
        if
        :: next = n
        :: next = n + 1
        fi;
        (over == HELPERS);
        d_step { over = 0; first = next; launch++ }
    od
}

proctype helper(byte me)
{
    byte number, a, b, f, g, mine;
    bool stays;

    do
    :: mine == LAUNCHES -> break
    :: mine < LAUNCHES ->
        (launch == mine + 1);
        number = BEGIN + 1;
        did[me] = number;
        stays = true;
        do
        :: !stays -> break
        :: stays ->
            (flag0 == FLAG(number) || flag1 == FLAG(number));       /* else it looks again */
            if
            :: d_step { a = data0; f = flag0 }; d_step { b = data1; g = flag1 }
            :: d_step { b = data1; g = flag1 }; d_step { a = data0; f = flag0 }
            fi;
            if
#ifdef ONE_FLAG
            :: f == FLAG(number) ->
#else
            :: f == FLAG(number) && g == FLAG(number) ->
#endif
                assert(a == b);
                if
                :: a == LEAVE -> stays = false
                :: else ->
                    assert(a > share[me]);
#ifdef EARLY_SHARE
                    did[me] = number + 1;
#endif
                    share[me] = a;
                    number++;
                    did[me] = number
                fi
            :: else
            fi
        od;
        mine++;
        over++
    od
}

init { atomic { run helper(0); run helper(1) } }
