/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the two-shot allreduce over mapped buffers (kernels/two_shot.h): two ranks in place, one block each, two calls.
 * Rank r reduces element r: it loads it from both ranks' buffers and stores the sum into both.
 *
 * What a store of a kernel may do: it waits, and takes effect at any later time, in any order, but stores to one location keep
 * their order; a release first completes what waits. What a load may do: carried out early, unless an acquire stands in front of
 * it; modelled by a result that the host reads ahead.
 *
 * Checked: each rank's host finds both sums in its buffer after the call, and what it then writes for the next call is what that
 * call reduces; no deadlock.
 *
 * Mutants, each of which must fail:
 *   -DRELAXED_FLAG   the flag is published without a release
 *   -DBLIND_FLAG     the flag is observed without an acquire
 *   -DNO_MEETING     a rank leaves before its peer is done
 *   -DNO_ENTRY       a kernel is launched before the peer is known to have entered the call
 */
#define CALLS 2

/* What rank r brings to call c as element i, and the sum. */
#define VALUE(r, c, i) (1 + (r) + 2 * (i) + 4 * (c))
#define SUM(c, i) (VALUE(0, c, i) + VALUE(1, c, i))

byte buffer[4];                  /* [rank * 2 + element] */
byte entered[2];
byte flag[2];                    /* at rank r, written by the other's kernel: the last epoch in which that one was done */

/* The stores of rank r's kernel on their way: into its own buffer and the peer's, and the flag. */
bool own_waits[2], peer_waits[2], flag_waits[2];
byte next_value[2], next_flag[2];

inline complete_own(r) { if :: own_waits[r] -> buffer[r * 2 + r] = next_value[r]; own_waits[r] = false :: else fi }
inline complete_peer(r) { if :: peer_waits[r] -> buffer[(1 - r) * 2 + r] = next_value[r]; peer_waits[r] = false :: else fi }

/* The memory system: completes any waiting store at any time. */
active proctype memory()
{
    byte r;
end:
    do
    :: atomic { (own_waits[0] || own_waits[1]) -> if :: own_waits[0] -> r = 0 :: own_waits[1] -> r = 1 fi; complete_own(r) }
    :: atomic { (peer_waits[0] || peer_waits[1]) -> if :: peer_waits[0] -> r = 0 :: peer_waits[1] -> r = 1 fi; complete_peer(r) }
    :: atomic { (flag_waits[0] || flag_waits[1]) ->
        if :: flag_waits[0] -> r = 0 :: flag_waits[1] -> r = 1 fi;
        flag[1 - r] = next_flag[r]; flag_waits[r] = false }
    od
}

proctype rank(byte me)
{
    byte call, peer, sum, early;
    bool ahead;
    peer = 1 - me;
    do
    :: call == CALLS -> break
    :: else ->
        /* The program, then its host. */
        buffer[me * 2] = VALUE(me, call, 0);
        buffer[me * 2 + 1] = VALUE(me, call, 1);
        call++;
        entered[me] = call;
#ifndef NO_ENTRY
        (entered[peer] >= call);
#endif
        /* The kernel. */
        sum = buffer[me * 2 + me];
        sum = sum + buffer[peer * 2 + me];
        atomic { (!own_waits[me] && !peer_waits[me]) -> next_value[me] = sum; own_waits[me] = true; peer_waits[me] = true }
#ifdef RELAXED_FLAG
        atomic { (!flag_waits[me]) -> next_flag[me] = call; flag_waits[me] = true }
#else
        atomic { complete_own(me); complete_peer(me) }
        flag[peer] = call;
#endif
        ahead = false;
#ifdef BLIND_FLAG
        if
        :: ahead = true; early = buffer[me * 2 + peer]
        :: true
        fi;
#endif
#ifndef NO_MEETING
        (flag[me] >= call);
#endif
        /* The end of a launch completes what its kernel has stored; the host reads. */
        atomic { complete_own(me); complete_peer(me) }
        assert(buffer[me * 2 + me] == SUM(call - 1, me));
        assert((ahead -> early : buffer[me * 2 + peer]) == SUM(call - 1, peer))
    od
}

init {
    atomic { run rank(0); run rank(1) }
}
