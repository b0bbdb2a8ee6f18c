/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of a lane of several queue pairs (transport/verbs_move.c). A pair's writes arrive in the order in which they were
 * posted, and those of different pairs in any. Long data go in shares, one a pair; a notification goes over each pair, with the
 * last of its share or with nothing, and the receiver takes the n-th one when the n-th of each pair has come. A put's word is
 * told when the sends of all pairs have ended.
 *
 * Checked: when a notification is taken all data that were put with it or before it are there; a write reads what the sender had
 * there, which writes it again when the word was told; no notification finds no receive; nobody waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DLONE_NOTICE    the receiver takes a notification when the first pair's has come
 *   -DSUM            ... when as many have come as pairs bring, whichever they are of
 *   -DONE_PAIR       the notification goes over the first pair alone
 *   -DONE_EXPECT     the receiver posts a receive on the first pair alone
 *   -DEARLY_END      the word is told when the send of one pair has ended
 *   -DLATE_SHARE     a pair's share is posted behind its notification
 */
#define PAIRS 2
#define DEPTH 2
#define ROUNDS 5
#define SLOT(round, pair) ((round) % DEPTH * PAIRS + (pair))

mtype = { LONG_NOTIFIED, LONG_THEN_NOTIFIED, SHORT };

byte source[4], target[4];              /* payload: round + 1; 0: spoiled */
mtype kind[ROUNDS];
byte granted;                           /* rounds for which the sender has a credit */
byte left[DEPTH], told[DEPTH];          /* of a put: sends that have not ended; round + 1 when they have */
byte posted[PAIRS], arrived[PAIRS];     /* receives and notifications of each pair */

/* Round, with data?, with the notification? */
chan pair[PAIRS] = [4] of { byte, bool, bool };

#define post(p, round, data, notify) pair[p]!round, data, notify

active proctype sender()
{
    byte round;
    do
    :: round < ROUNDS && round < granted && (round < DEPTH || told[round % DEPTH] == round - DEPTH + 1) ->
        atomic {
            if
            :: kind[round] = LONG_NOTIFIED
            :: kind[round] = LONG_THEN_NOTIFIED
            :: kind[round] = SHORT
            fi;
            source[SLOT(round, 0)] = round + 1;
            source[SLOT(round, 1)] = round + 1;
            left[round % DEPTH] = PAIRS
        }
#ifdef ONE_PAIR
        left[round % DEPTH] = 1;
        if
        :: kind[round] != SHORT -> post(1, round, true, false)
        :: else
        fi;
        post(0, round, true, true);
#else
        if
        :: kind[round] == LONG_NOTIFIED ->
            post(0, round, true, true);
            post(1, round, true, true)
        :: kind[round] == LONG_THEN_NOTIFIED ->
            post(0, round, true, false);
#ifdef LATE_SHARE
            post(0, round, false, true);
            post(1, round, false, true);
            post(1, round, true, false)
#else
            post(1, round, true, false);
            post(0, round, false, true);
            post(1, round, false, true)
#endif
        :: else ->
            post(0, round, true, true);
            post(1, round, false, true)
        fi;
#endif
        round++
    :: round == ROUNDS -> break
    od
}

/* One of the adapter's pairs at both ends. What it has read it may write later. */
active [PAIRS] proctype carry()
{
    byte me = _pid - 1, round;
    bool data, notify;
end:
    do
    :: pair[me]?round, data, notify ->
        if
        :: data ->
            target[SLOT(round, me)] = 0;
            assert(source[SLOT(round, me)] == round + 1);
            target[SLOT(round, me)] = round + 1
        :: else
        fi;
        if
        :: notify ->
            assert(arrived[me] < posted[me]);
            arrived[me]++;
            atomic {
                left[round % DEPTH]--;
                if
#ifdef EARLY_END
                :: left[round % DEPTH] == PAIRS - 1 -> told[round % DEPTH] = round + 1
#else
                :: left[round % DEPTH] == 0 -> told[round % DEPTH] = round + 1
#endif
                :: else
                fi
            }
        :: else
        fi
    od
}

#ifdef LONE_NOTICE
#define HAS_COME(round) (arrived[0] > round)
#elif defined(ONE_PAIR)
#define HAS_COME(round) (arrived[0] > round)
#elif defined(SUM)
#define HAS_COME(round) (arrived[0] + arrived[1] >= PAIRS * (round + 1))
#else
#define HAS_COME(round) (arrived[0] > round && arrived[1] > round)
#endif

active proctype receiver()
{
    byte round;
    do
    :: granted < ROUNDS && granted < round + DEPTH ->
        posted[0]++;
#ifndef ONE_EXPECT
        posted[1]++;
#endif
        granted++
    :: round < granted && HAS_COME(round) ->
        assert(target[SLOT(round, 0)] == round + 1);
        assert(kind[round] == SHORT || target[SLOT(round, 1)] == round + 1);
        round++
    :: round == ROUNDS -> break
    od
}
