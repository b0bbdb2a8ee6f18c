/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the starts of persistent operations (mca_coll_gpufifo/turns.h): RANKS ranks, of which 0 leads, have SLOTS
 * operations. Each rank starts each of them STARTS times, in any order of its own, and again as soon as it has ended; between two
 * starts of a slot it may have been freed and booked again, which changes nothing.
 * A thread of each rank moves on what was started.
 * One operation is under way on a rank at a time, and ends when all ranks are in it.
 *
 * Checked: all ranks have the same operations in the same order; what a rank goes on with was started by all, so it waits for no
 * rank that has not; nobody waits for ever (no invalid end state).
 *
 * Mutants, each of which must fail:
 *   -DEARLY_TURN  the leader gives a turn to what it has started itself
 *   -DLAST_LATE   it looks at all ranks but the last one (of 3)
 *   -DTWO_TURNS   it gives one start a turn each time that it looks
 *   -DANY_TURN    a rank takes what has a turn, in any order
 *   -DRESET       a slot that is booked again counts from 1
 */
#ifndef RANKS
#define RANKS 2
#endif
#define SLOTS 2                 /* each is named below */
#ifndef STARTS
#define STARTS 2
#endif
#define OPERATIONS (SLOTS * STARTS)

typedef rank_t {
    byte shown[SLOTS];          /* on the board: how often it has started each slot */
    byte count[SLOTS];          /* the same, as its flight has it */
    byte made[SLOTS];           /* really, for the checks */
    bool open[SLOTS];           /* in its list */
    bool has_turn[SLOTS];       /* the leader's */
    byte turns                  /* that it has taken */
};
rank_t rank_of[RANKS];
byte turn[SLOTS];               /* on the board: the latest turn of each slot */
byte given;                     /* the leader's */

byte slot_of[OPERATIONS + 2];   /* by turn: what the first rank to take it took, plus 1 */
byte inside[OPERATIONS + 2];    /* by turn: ranks that are in it, or were */

/* start: may the program start slot k? */
#define CAN_START(r, k) (!rank_of[r].open[k] && rank_of[r].made[k] < STARTS)

inline start(r, k)
{
#ifdef RESET
    rank_of[r].count[k] = 1;
#else
    rank_of[r].count[k]++;
#endif
    rank_of[r].made[k]++;
    atomic {
        rank_of[r].has_turn[k] = false;
        rank_of[r].open[k] = true
    }
    rank_of[r].shown[k] = rank_of[r].count[k]
}

proctype program(byte r)
{
    byte k;

    do
    :: CAN_START(r, 0) -> k = 0; start(r, k)
    :: CAN_START(r, 1) -> k = 1; start(r, k)
    :: rank_of[r].made[0] == STARTS && rank_of[r].made[1] == STARTS -> break
    od
}

/* At the leader: has rank m started what the leader has open in slot k? */
#define HAS_STARTED(m, k) (rank_of[m].shown[k] >= rank_of[0].count[k])
#ifdef EARLY_TURN
#define ALL_HAVE(k) HAS_STARTED(0, k)
#else
#if RANKS > 2 && !defined(LAST_LATE)
#define ALL_HAVE(k) (HAS_STARTED(0, k) && HAS_STARTED(1, k) && HAS_STARTED(2, k))
#else
#define ALL_HAVE(k) (HAS_STARTED(0, k) && HAS_STARTED(1, k))
#endif
#endif
#ifdef TWO_TURNS
#define WANTS_TURN(k) (rank_of[0].open[k] && given < OPERATIONS)
#else
#define WANTS_TURN(k) (rank_of[0].open[k] && !rank_of[0].has_turn[k])
#endif

inline give(k)
{
    rank_of[0].has_turn[k] = true;
    given++;
    turn[k] = given
}

#ifdef ANY_TURN
#define IS_NEXT(r, k) (rank_of[r].open[k] && turn[k] > 0 && slot_left[k] < turn[k])
#else
#define IS_NEXT(r, k) (rank_of[r].open[k] && turn[k] == rank_of[r].turns + 1)
#endif

/* All that is under the lock is one step; waiting for the others is not. */
inline go(r, k)
{
    atomic {
        rank_of[r].turns++;
        t = rank_of[r].turns;
        slot_left[k] = turn[k];
        assert(slot_of[t] == 0 || slot_of[t] == k + 1);
        slot_of[t] = k + 1;
        for (m : 0 .. RANKS - 1) { assert(rank_of[m].made[k] >= rank_of[r].made[k]) }
        inside[t]++
    }
    (inside[t] == RANKS);
    rank_of[r].open[k] = false
}

proctype mover(byte r)
{
    byte t, m;
    byte slot_left[SLOTS];

end:
    do
    :: atomic { r == 0 && WANTS_TURN(0) && ALL_HAVE(0) -> give(0) }
    :: atomic { r == 0 && WANTS_TURN(1) && ALL_HAVE(1) -> give(1) }
    :: IS_NEXT(r, 0) -> go(r, 0)
    :: IS_NEXT(r, 1) -> go(r, 1)
    od
}

/* All that was started has ended. The movers wait for more, which is no fault; the programs could not end otherwise. */
init {
    byte r;

    atomic {
        for (r : 0 .. RANKS - 1) {
            run program(r);
            run mover(r)
        }
    }
    (rank_of[0].turns == OPERATIONS && rank_of[RANKS - 1].turns == OPERATIONS)
}
