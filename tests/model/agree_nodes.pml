/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the ballot between the nodes of a communicator (mca_coll_gpufifo/ballot.h, agree.h): in each call each node
 * has device buffers on all its ranks, or not, by free choice; agree.pml shows that its leader finds out. Node 1 has a second
 * rank, which looks for verdicts on the board, where there is room for one. A node's progress callback is a process of its
 * own. The communicator is freed after CALLS calls and made again under the same name, LIVES times in all, each but the last
 * for a single call; words of the ballot may be late and come to the next one. A node frees it as soon as it is through with the
 * last call itself, as in a broadcast, and answers questions about it from then on (gone.h), until all have freed it and it is
 * made again.
 *
 * Checked: all nodes reach the same verdict, the right one; nobody waits for ever (no invalid end state).
 *
 * Mutants, each of which must fail:
 *   -DNO_NAME       NO does not name the communicator that was asked about
 *   -DEARLY_NO      a question is answered NO when the call before has been passed
 *   -DDROP_EARLY    a question about a call that is not there yet is dropped
 *   -DDROP_LATE     YES to a call that the decider has passed is not answered
 *   -DANY_CALL      the decider takes YES to any call for YES to its own
 *   -DHASTY         a node that has said YES leaves the call without the decider's verdict
 *   -DLONE          the leader of node 1 says YES before its other rank has entered the call
 *   -DSILENT_GONE   who has freed the communicator answers no question about it
 *   -DSILENT_LEAVE  who frees it does not answer what it was asked before
 *   -DSILENT_NEXT   who has freed it, and is waiting for the others to make the next one, answers no question about it
 */
#ifndef NODES
#define NODES 3
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef LIVES
#define LIVES 1
#endif

#define UNKNOWN 0
#define HOST 1
#define DEVICE 2
#define KIND(life, s, n) kind[((life) * (CALLS + 1) + (s)) * NODES + (n)]
#define CALLS_OF(life) (life < LIVES -> 1 : CALLS)
#define RANKS (NODES + 1)
#ifdef SILENT_NEXT
#define GONE(n) (alive[n] == 0 && made[n] == LIVES)
#else
#define GONE(n) (alive[n] == 0 && freed < made[n] * RANKS)    /* else it is being made, and words for it wait */
#endif

mtype = { YES, ASK, NO, ALL, STAGE };

/* Words to a node's leader from the decider, node 0, and back, in order: the word, the call, the life whose board a question or
 * an answer to one names. */
chan down[NODES] = [LIVES * (CALLS + 1)] of { mtype, byte, byte };
chan up[NODES] = [LIVES * (CALLS + 1)] of { mtype, byte, byte };

byte kind[(LIVES + 1) * (CALLS + 1) * NODES];    /* what the ranks of a node have in a call; 0: not there yet */
byte alive[NODES];              /* the life of the communicator that the node has; 0: none */
byte made[NODES];               /* the latest life that it has had */
byte calls[NODES];              /* module->calls */
byte said[NODES];
byte verdict[NODES];
byte asked[NODES];
byte asker[NODES];
byte waits[NODES];              /* the decider's */
byte freed;                     /* nodes, and node 1's second rank, that have freed the communicators so far, all together */

byte member_entered;            /* by node 1's second rank */
byte decided, decision;         /* on node 1's board: the call of a verdict, and which */



inline tell_all(s)
{
    for (m : 1 .. NODES - 1) { down[m]!ALL, s, 0; waits[m] = 0 }
    m = 0
}

inline enter(n, s)
{
    atomic {
        said[n] = s;
        verdict[n] = UNKNOWN;
        if
        :: n != 0 ->
            if
            :: asked[n] == s -> asked[n] = 0
            :: else
            fi;
            up[n]!YES, s, 0
        :: else ->
            for (m : 1 .. NODES - 1) {
                if
                :: waits[m] != s -> down[m]!ASK, s, alive[0]
                :: else
                fi
            }
            m = 0
        fi
    }
}

/* The decider's call has YES of all. */
#ifdef ANY_CALL
#define HAS_YES(m, s) (waits[m] != 0)
#else
#define HAS_YES(m, s) (waits[m] == s)
#endif
#if NODES > 2
#define ALL_SAY_YES(s) (HAS_YES(1, s) && HAS_YES(2, s))
#else
#define ALL_SAY_YES(s) HAS_YES(1, s)
#endif

inline find(n, s)
{
    if
    :: n == 0 ->
        if
        :: verdict[0] == UNKNOWN && ALL_SAY_YES(s) -> verdict[0] = DEVICE; tell_all(s)
        :: verdict[0] != UNKNOWN
        fi
    :: else ->
        if
        :: verdict[n] != UNKNOWN
#ifdef HASTY
        :: verdict[n] = HOST
#endif
        fi
    fi
}

/* What is asked and not answered: all calls are passed. */
inline leave(n)
{
    if
#ifndef SILENT_LEAVE
    :: n == 0 ->
        for (m : 1 .. NODES - 1) {
            if
            :: waits[m] != 0 -> down[m]!STAGE, waits[m], 0; waits[m] = 0
            :: else
            fi
        }
        m = 0
    :: n != 0 && asked[n] != 0 -> up[n]!NO, asked[n], asker[n]; asked[n] = 0
#endif
    :: else
    fi
}

inline check(life, s, n, found)
{
    d_step {
        host = false;
        for (m : 0 .. NODES - 1) { host = host || KIND(life, s, m) != DEVICE }
        assert(host == (found == HOST));
        host = false;
        m = 0
    }
}

proctype leader(byte n)
{
    byte life, s, m;
    bool host;

    for (life : 1 .. LIVES) {
        (freed >= (life - 1) * RANKS);
        atomic {
            calls[n] = 0; said[n] = 0; verdict[n] = UNKNOWN; asked[n] = 0; asker[n] = 0;
            if
            :: n == 0 -> for (m : 1 .. NODES - 1) { waits[m] = 0 }; m = 0
            :: n == 1 -> decided = 0; member_entered = 0
            :: else
            fi;
            for (s : 1 .. CALLS) { KIND(life - 1, s, n) = 0 };
            s = 0;
            alive[n] = life;
            made[n] = life
        }
        for (s : 1 .. CALLS_OF(life)) {
            if
            :: atomic { KIND(life, s, n) = HOST; calls[n] = s }
            :: KIND(life, s, n) = DEVICE;
#ifndef LONE
                (n != 1 || member_entered >= s);
#endif
                enter(n, s);
                atomic { find(n, s); check(life, s, n, verdict[n]) }
                if
                :: n == 1 -> atomic { decided = s; decision = verdict[n] }
                :: else
                fi;
                calls[n] = s
            fi
        }
        atomic { leave(n); alive[n] = 0; freed++; s = 0 }
    }
}

/* Node 1's second rank. */
proctype member()
{
    byte life, s, m;
    bool host;

    for (life : 1 .. LIVES) {
        for (s : 1 .. CALLS_OF(life)) {
            (KIND(life, s, 1) != 0);
            if
            :: KIND(life, s, 1) == DEVICE ->
                member_entered = s;
                atomic { decided == s -> check(life, s, 1, decision) }
            :: else
            fi
        }
        freed++
    }
}

inline hear_decider(n)
{
    if
    :: word == YES -> waits[n] = call
#ifdef NO_NAME
    :: word == NO && call == said[0] && verdict[0] == UNKNOWN ->
#else
    :: word == NO && about == alive[0] && call == said[0] && verdict[0] == UNKNOWN ->
#endif
        verdict[0] = HOST
    :: else
    fi
}

inline hear_node(n)
{
    if
#ifdef DROP_EARLY
    :: word == ASK -> asked[n] = (call == said[n] || call > calls[n] -> 0 : call); asker[n] = about
#else
    :: word == ASK -> asked[n] = (call == said[n] -> 0 : call); asker[n] = about
#endif
    :: word == ALL && call == said[n] && verdict[n] == UNKNOWN -> verdict[n] = DEVICE
    :: word == STAGE && call == said[n] && verdict[n] == UNKNOWN -> verdict[n] = HOST
    :: else
    fi
}

/* For a communicator that is gone. */
inline answer_node(n)
{
    if
#ifndef SILENT_GONE
    :: word == YES -> down[n]!STAGE, call, 0
#endif
    :: else
    fi
}

inline answer_decider(n)
{
    if
#ifndef SILENT_GONE
    :: word == ASK -> up[n]!NO, call, about
#endif
    :: else
    fi
}

/* The callback of the decider, for one node. */
active [NODES - 1] proctype decider_callback()
{
    byte n = _pid + 1, call, about;
    mtype word;

end:
    do
    :: atomic { alive[0] != 0 && nempty(up[n]) -> up[n]?word, call, about; hear_decider(n); word = 0; call = 0; about = 0 }
    :: atomic { GONE(0) && nempty(up[n]) -> up[n]?word, call, about; answer_node(n); word = 0; call = 0; about = 0 }
#ifndef DROP_LATE
    :: atomic { waits[n] != 0 && alive[0] != 0 && waits[n] <= calls[0] -> down[n]!STAGE, waits[n], 0; waits[n] = 0 }
#endif
    od
}

/* The callback of another node. */
active [NODES - 1] proctype node_callback()
{
    byte n = _pid + 2 - NODES, call, about;
    mtype word;

end:
    do
    :: atomic { alive[n] != 0 && nempty(down[n]) -> down[n]?word, call, about; hear_node(n); word = 0; call = 0; about = 0 }
    :: atomic { GONE(n) && nempty(down[n]) -> down[n]?word, call, about; answer_decider(n); word = 0; call = 0; about = 0 }
#ifdef EARLY_NO
    :: atomic { asked[n] != 0 && alive[n] != 0 && asked[n] <= calls[n] + 1 -> up[n]!NO, asked[n], asker[n]; asked[n] = 0 }
#else
    :: atomic { asked[n] != 0 && alive[n] != 0 && asked[n] <= calls[n] -> up[n]!NO, asked[n], asker[n]; asked[n] = 0 }
#endif
    od
}

init {
    byte r;

    atomic {
        for (r : 0 .. NODES - 1) {
            run leader(r)
        }
        run member()
    }
}
