/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of how two ends of a FIFO between nodes agree that a step's data go from buffer to buffer (transport/net_loan.h).
 * What net.pml has checked, words, credits, arrivals and flushes, is taken for granted here: a step's credit, its notification
 * and its flush are one each.
 *
 * Both ends make the same launches, one when they like. In each launch each of them has a buffer of its own, which the wire
 * knows or does not know, as chance will have it. Every step's data are in the sender's buffer, and are to be in the receiver's;
 * through a slot at either end where one of them cannot do without. When its launch has ended a kernel's buffer is the program's,
 * which writes into it, and the wire may know another one by then.
 *
 * Checked: the receiver's kernel finds each step's data where the words say that they are; a put reads what the sender's kernel
 * had there; nothing arrives in a buffer that is the program's; nobody waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DIMPLIED         the receiver takes its offer for accepted
 *   -DHALF_YES        the sender says yes whether the wire knows its own buffer or not
 *   -DEARLY_CREDIT    a credit offers a buffer before the launch that it belongs to
 *   -DEARLY_ANSWER    an offer is answered before the sender's own launch
 *   -DNO_ANSWER       the sender's kernel does not wait for the answer: it leaves the slot empty where there was an offer once
 *   -DNO_DONE         the sender's kernel ends when all is handed over
 *   -DEARLY_FLUSH     what has arrived in slots is flushed, not what has arrived in buffers
 */
#define DEPTH 2
#define LAUNCHES 2
#define EACH 2                          /* steps of a launch */
#define STEPS 4
#define SLOT(step) ((step) % DEPTH)
#define OF(step) ((step) / EACH)        /* its launch */
#define SPOILED 99

/* Launches begun and ended at either end, and what the wire knows in the current one. */
byte s_begun, s_ended, r_begun, r_ended;
bool s_known, r_known;

/* Payload: step + 1. The buffers have a place a step of a launch. */
byte s_slot[DEPTH], r_slot[DEPTH], s_buffer[EACH], r_buffer[EACH], unseen[EACH];
byte s_tail, s_head, r_tail, r_head;
byte answer[DEPTH];                     /* 2 * (step + 1), and 1 more: yes */
bool came[DEPTH];                       /* the flag in the receiver's size */

/* Credits and notifications are taken in order. */
chan credits = [DEPTH] of { bool };     /* with an offer? */
chan notes = [DEPTH] of { bool };       /* did the data go to the buffer? */

active proctype sender_kernel()
{
    byte step;
    bool stay;
    do
    :: step < STEPS ->
        if
        :: step % EACH == 0 ->
            atomic {
                if
                :: s_known = true
                :: s_known = false
                fi;
                s_begun++
            }
        :: else
        fi;
        (step < s_head + DEPTH);
#ifdef NO_ANSWER
        stay = (answer[SLOT(step)] % 2 == 1);
#else
        (answer[SLOT(step)] / 2 == step + 1);
        stay = (answer[SLOT(step)] % 2 == 1);
#endif
        s_buffer[step % EACH] = step + 1;
        if
        :: !stay -> s_slot[SLOT(step)] = step + 1
        :: else
        fi;
        s_tail = step + 1;
        step++;
        if
        :: step % EACH == 0 ->
#ifndef NO_DONE
            (s_head == step);
#endif
            atomic { s_buffer[0] = SPOILED; s_buffer[1] = SPOILED; s_ended++; s_known = false }
        :: else
        fi
    :: else -> break
    od;
    stay = false
}

active proctype sender_proxy()
{
    byte step;
    bool offered, lent;
    do
    :: step < STEPS ->
#ifndef EARLY_ANSWER
        (s_begun > OF(step));
#endif
        credits?offered;
#ifdef HALF_YES
        lent = offered;
#else
        lent = offered && s_known;
#endif
        answer[SLOT(step)] = 2 * (step + 1) + lent;
        (s_tail > step);
        atomic {
            if
            :: lent && s_known ->
                assert(s_buffer[step % EACH] == step + 1);
                assert(r_begun == OF(step) + 1 && r_ended == OF(step));     /* it is not the program's */
                unseen[step % EACH] = step + 1
            :: lent && !s_known -> assert(false)                            /* the wire cannot read it */
            :: else -> assert(s_slot[SLOT(step)] == step + 1); r_slot[SLOT(step)] = step + 1
            fi;
            notes!lent
        }
        s_head = step + 1;
        step++
    :: else -> break
    od
}

#ifdef EARLY_CREDIT
#define WAS_LAUNCHED(step) true
#define KNOWS_ITS true
#else
#define WAS_LAUNCHED(step) (r_begun > OF(step))
#define KNOWS_ITS r_known
#endif

active proctype receiver_proxy()
{
    byte posted, ready;
    bool offers[DEPTH], lent;
    do
    :: posted < STEPS && posted < r_head + DEPTH && WAS_LAUNCHED(posted) ->
        offers[SLOT(posted)] = KNOWS_ITS;
        credits!offers[SLOT(posted)];
        posted++
    :: notes?lent ->
#ifdef IMPLIED
        lent = offers[SLOT(ready)];
#endif
#ifndef EARLY_FLUSH
        if
        :: lent -> r_buffer[ready % EACH] = unseen[ready % EACH]
        :: else
        fi;
#endif
        came[SLOT(ready)] = lent;
        r_tail = ready + 1;
        ready++
    :: ready == STEPS -> break
    od
}

active proctype receiver_kernel()
{
    byte step;
    do
    :: step < STEPS ->
        if
        :: step % EACH == 0 ->
            atomic {
                if
                :: r_known = true
                :: r_known = false
                fi;
                r_begun++
            }
        :: else
        fi;
        (step < r_tail);
        if
        :: came[SLOT(step)] -> assert(r_buffer[step % EACH] == step + 1)
        :: else -> assert(r_slot[SLOT(step)] == step + 1)
        fi;
        r_head = step + 1;
        step++;
        if
        :: step % EACH == 0 -> atomic { r_buffer[0] = SPOILED; r_buffer[1] = SPOILED; r_ended++; r_known = false }
        :: else
        fi
    :: else -> break
    od
}
