/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of a pipe (core/pipe.h): messages that share slots, hosts that start copies and hear of their ends, and copy
 * engines that run meanwhile. A copy into a slot spoils it before it completes it. The order of the hosts' own stores and
 * loads is the model fifo.pml's subject: here every publication is one.
 *
 * Checked: a copy out of a slot finds the chunk that it is to find; no copy reads the sender's buffer after its message has
 * ended; every message is received whole, refused, or withdrawn, whatever the order in which the receiver wants them: no
 * deadlock; a sender that the receiver has refused knows it.
 *
 * Mutants, each of which must fail:
 *   -DEARLY_TAIL     tail is published when the copy into the slot is started
 *   -DEARLY_HEAD     head is published when the copy out of the slot is started
 *   -DEARLY_END      the sender's buffer is given back when the last copy is started
 *   -DEAGER_SLOTS    a message takes slots before it is wanted
 *   -DSPLIT_CLAIM    the receiver looks whether the message is offered, and then stores WANTED
 *   -DLATE_REFUSAL   the receiver makes a message wanted, and then finds that it cannot take it
 */
#define MESSAGES 2
#define CHUNKS 3
#define SLOTS 2
#define DEPTH 2

#define OFFERED 1
#define WANTED 2
#define WITHDRAWN 3
#define REFUSED 4

byte content[SLOTS];                    /* message * CHUNKS + chunk + 1 */
byte state[MESSAGES] = OFFERED;
byte tail[MESSAGES], head[MESSAGES];
byte place[4];                          /* [message * DEPTH + chunk % DEPTH]: its slot */
bool given_back[MESSAGES];              /* the buffer is the program's */
bool told_good[MESSAGES];               /* and to the program the message has been sent */

chan out = [SLOTS] of { byte, byte, byte };     /* message, chunk, slot */
chan out_ended = [SLOTS] of { byte };
chan in = [SLOTS] of { byte, byte, byte };
chan in_ended = [SLOTS] of { byte };

active proctype engine_out()
{
    byte m, c, s;
end:
    do
    :: out?m, c, s ->
        content[s] = 0;
        assert(!given_back[m]);
        content[s] = m * CHUNKS + c + 1;
        out_ended!m
    od
}

active proctype engine_in()
{
    byte m, c, s;
end:
    do
    :: in?m, c, s ->
        assert(content[s] == m * CHUNKS + c + 1);
        in_ended!m
    od
}

byte issued[MESSAGES], filled[MESSAGES], returned[MESSAGES];    /* the sender's */
bool free_slot[SLOTS] = true;

inline fill_slot(m)
{
    if
    :: free_slot[0] -> s = 0
    :: else -> s = 1
    fi;
    free_slot[s] = false;
    place[m * DEPTH + issued[m] % DEPTH] = s;
    out!m, issued[m], s;
    issued[m] = issued[m] + 1
#ifdef EARLY_TAIL
    ;
    tail[m] = issued[m]
#endif
}

inline return_slot(m)
{
    free_slot[place[m * DEPTH + returned[m] % DEPTH]] = true;
    returned[m] = returned[m] + 1
}

#ifdef EAGER_SLOTS
#define may_fill(m) (state[m] != WITHDRAWN && state[m] != REFUSED)
#else
#define may_fill(m) (state[m] == WANTED)
#endif
#define wants_slot(m) \
    (may_fill(m) && issued[m] < CHUNKS && issued[m] - returned[m] < DEPTH && (free_slot[0] || free_slot[1]))
#define over(m) (state[m] == WITHDRAWN || state[m] == REFUSED || returned[m] == CHUNKS)
#ifdef EARLY_END
#define all_read(m) (issued[m] == CHUNKS)
#else
#define all_read(m) (filled[m] == CHUNKS)
#endif

active proctype sender()
{
    byte m, s;
    do
    :: d_step { out_ended?m -> filled[m] = filled[m] + 1 };
#ifndef EARLY_TAIL
        tail[m] = filled[m]
#endif
    :: atomic { wants_slot(0) -> fill_slot(0) }
    :: atomic { wants_slot(1) -> fill_slot(1) }
    :: atomic { head[0] > returned[0] -> return_slot(0) }
    :: atomic { head[1] > returned[1] -> return_slot(1) }
    :: atomic { all_read(0) && !given_back[0] -> given_back[0] = true; told_good[0] = true }
    :: atomic { all_read(1) && !given_back[1] -> given_back[1] = true; told_good[1] = true }
    :: atomic { state[0] == REFUSED && !given_back[0] && issued[0] == filled[0] -> given_back[0] = true }
    :: atomic { state[1] == REFUSED && !given_back[1] && issued[1] == filled[1] -> given_back[1] = true }
    :: atomic { state[1] == OFFERED && issued[1] == 0 -> state[1] = WITHDRAWN; given_back[1] = true }
    :: over(0) && over(1) && given_back[0] && given_back[1] -> break
    od
}

byte taken[MESSAGES], emptied[MESSAGES];        /* the receiver's */
bool done[MESSAGES];
#define ours(m) (claimed[m] && !done[m])

inline claim(m)
{
#ifdef SPLIT_CLAIM
    if
    :: state[m] == OFFERED -> state[m] = WANTED; claimed[m] = true
    :: else -> done[m] = true
    fi
#else
    atomic {
        if
        :: state[m] == OFFERED -> state[m] = WANTED; claimed[m] = true
        :: else -> done[m] = true
        fi
    }
#endif
}

/* It has no way to take the message; a message withdrawn meanwhile needs no answer. */
inline refuse(m)
{
#ifdef LATE_REFUSAL
    claim(m);
    if
    :: claimed[m] -> state[m] = REFUSED
    :: else
    fi;
#else
    atomic {
        if
        :: state[m] == OFFERED -> state[m] = REFUSED
        :: else
        fi
    }
#endif
    done[m] = true
}

inline take(m)
{
    in!m, taken[m], place[m * DEPTH + taken[m] % DEPTH];
    taken[m] = taken[m] + 1
#ifdef EARLY_HEAD
    ;
    head[m] = taken[m]
#endif
}

/* Which message is wanted first, and whether the other one is only once that has come, is open. */
active proctype receiver()
{
    bool claimed[MESSAGES];
    byte m, first;
    bool one_by_one, refused;
    if
    :: first = 0
    :: first = 1
    fi;
    if
    :: one_by_one = false
    :: one_by_one = true
    fi;
    if
    :: refused = false
    :: refused = true
    fi;
    claim(first);
    do
    :: !claimed[1 - first] && !done[1 - first] && (!one_by_one || done[first]) ->
        if
        :: refused -> refuse(1 - first)
        :: !refused -> claim(1 - first)
        fi
    :: ours(0) && tail[0] > taken[0] -> take(0)
    :: ours(1) && tail[1] > taken[1] -> take(1)
    :: atomic { in_ended?m -> emptied[m] = emptied[m] + 1; done[m] = (emptied[m] == CHUNKS) };
#ifndef EARLY_HEAD
        head[m] = emptied[m]
#endif
    :: done[0] && done[1] -> break
    od;
    assert(state[0] != REFUSED || !told_good[0]);
    assert(state[1] != REFUSED || !told_good[1])
}
