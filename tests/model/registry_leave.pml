/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the end of an exchange in place over mapped buffers (core/exchange.c, gf_registry_leave): three ranks, each with
 * a block for each other one. The kernels of a pair swap its two blocks, half of the bytes by either; here that of the lower
 * rank is looked at: it loads both, and stores into its own memory and into the peer's. What it stores into the peer's arrives
 * when it likes, but not later than the kernel's flush at system scope. Hosts of one machine are ordered
 * (core/host_ordered.h); two records a rank are registry.pml's subject.
 *
 * Checked: after each call every rank finds in its memory what its peers had for it, and goes on to write there; no deadlock.
 *
 * Mutants, each of which must fail:
 *   -DNO_ENTRY       a kernel is launched before all ranks have entered
 *   -DNO_MEETING     a rank leaves when it has told that it is done
 *   -DONE_PEER       ... or when the next rank has told it, too
 *   -DEARLY_WORD     a rank tells that it is done when its kernel is launched
 *   -DNO_FLUSH       a kernel ends without a flush at system scope
 *   -DLATE_FLUSH     ... or flushes when its host has told that it is done
 *   -DNO_NUMBER      the word says that a rank is done, but not with which call
 */
#define RANKS 3
#define CALLS 2
#define AT(rank, peer) ((rank) * RANKS + (peer))
#define VALUE(call, rank, peer) ((call) * 16 + AT(rank, peer))

byte block[RANKS * RANKS];              /* in the memory of `rank`, for `peer` */
byte late[RANKS * RANKS];               /* stored by the kernel of `peer` into the memory of `rank`, and not there yet; 0: none */
byte entered[RANKS], is_done[RANKS];    /* the last call */

#ifdef NO_NUMBER
#define IS_DONE(rank) (is_done[rank] > 0)
#else
#define IS_DONE(rank) (is_done[rank] >= call)
#endif
#define OTHER(me, i) (((me) + (i)) % RANKS)

inline arrive(rank, peer)
{
    if
    :: late[AT(rank, peer)] != 0 -> block[AT(rank, peer)] = late[AT(rank, peer)]; late[AT(rank, peer)] = 0
    :: else
    fi
}

/* Stores arrive. */
active proctype memory()
{
end:
    do
    :: atomic { late[AT(1, 0)] != 0 -> arrive(1, 0) }
    :: atomic { late[AT(2, 0)] != 0 -> arrive(2, 0) }
    :: atomic { late[AT(2, 1)] != 0 -> arrive(2, 1) }
    od
}

inline flush()
{
    d_step {
        if
        :: me == 0 -> arrive(1, 0); arrive(2, 0)
        :: me == 1 -> arrive(2, 1)
        :: else
        fi
    }
}

/* The two blocks of a pair; its lower rank does it. */
inline swap(peer)
{
    mine = block[AT(me, peer)];
    block[AT(me, peer)] = block[AT(peer, me)];
    atomic { late[AT(peer, me)] = mine; mine = 0 }
}

proctype rank(byte me)
{
    byte call, mine;
    do
    :: call == CALLS -> break
    :: else ->
        call++;
        /* the program */
        block[AT(me, OTHER(me, 1))] = VALUE(call, me, OTHER(me, 1));
        block[AT(me, OTHER(me, 2))] = VALUE(call, me, OTHER(me, 2));
        entered[me] = call;
#ifndef NO_ENTRY
        (entered[OTHER(me, 1)] >= call && entered[OTHER(me, 2)] >= call);
#endif
#ifdef EARLY_WORD
        is_done[me] = call;
#endif
        /* the kernel */
        if
        :: me == 0 -> swap(1); swap(2)
        :: me == 1 -> swap(2)
        :: else
        fi;
#if !defined(NO_FLUSH) && !defined(LATE_FLUSH)
        flush();
#endif
        /* the host */
#ifndef EARLY_WORD
        is_done[me] = call;
#endif
#ifdef LATE_FLUSH
        flush();
#endif
#ifdef ONE_PEER
        IS_DONE(OTHER(me, 1));
#elif !defined(NO_MEETING)
        (IS_DONE(OTHER(me, 1)) && IS_DONE(OTHER(me, 2)));
#endif
        assert(block[AT(me, OTHER(me, 1))] == VALUE(call, OTHER(me, 1), me));
        assert(block[AT(me, OTHER(me, 2))] == VALUE(call, OTHER(me, 2), me))
    od
}

init {
    atomic { run rank(0); run rank(1); run rank(2) }
}
