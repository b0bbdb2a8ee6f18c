/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of an offer (core/offer_board.h): the sender may move it while the receiver takes it. MESSAGES messages use the same
 * offer and buffer, one after the other; message m is the value m.
 *
 * Checked: the receiver gets each message's value, from the buffer or from the slot; an offer is used again only when it is free;
 * nobody waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DBLIND_MOVE     the sender looks and then stores MOVED, instead of comparing and swapping at once
 *   -DBLIND_TAKE     the receiver does so with TAKEN
 *   -DEARLY_MOVE     the offer is MOVED before the copy is finished
 *   -DEARLY_REUSE    the slot is used again as soon as the program has its buffer back
 */
#ifndef MESSAGES
#define MESSAGES 3
#endif

mtype = { FREE, OFFERED, TAKEN, MOVED, DONE };

mtype state = FREE;
byte generation;
byte buffer, slot;
byte named;                     /* the last message whose name has reached the receiver */

inline move_offer(swapped)
{
#ifdef BLIND_MOVE
    if
    :: state == OFFERED -> state = MOVED; swapped = true
    :: else -> swapped = false
    fi
#else
    atomic {
        if
        :: state == OFFERED -> state = MOVED; swapped = true
        :: else -> swapped = false
        fi
    }
#endif
}

inline take_offer(swapped)
{
#ifdef BLIND_TAKE
    if
    :: state == OFFERED -> state = TAKEN; swapped = true
    :: else -> swapped = false
    fi
#else
    atomic {
        if
        :: state == OFFERED -> state = TAKEN; swapped = true
        :: else -> swapped = false
        fi
    }
#endif
}

active proctype sender()
{
    byte m;
    bool moved;

    for (m : 1 .. MESSAGES) {
        assert(state == FREE);
        buffer = m;
        state = OFFERED;
        named = m;
        if
        :: (state == DONE)      /* fetched before patience ran out */
        :: true ->
#ifdef EARLY_MOVE
            move_offer(moved);
            slot = buffer;
#else
            slot = buffer;
            move_offer(moved);
#endif
            if
            :: moved ->
                buffer = 99;    /* the program has it back */
#ifdef EARLY_REUSE
                slot = 98;
#endif
                (state == DONE)
            :: else -> (state == DONE)
            fi
        fi;
        buffer = 99;
        slot = 98;
        state = FREE
    }
}

active proctype receiver()
{
    byte m, got;
    bool taken;

    for (m : 1 .. MESSAGES) {
        (named == m);
        take_offer(taken);
        if
        :: taken -> got = buffer
        :: else -> assert(state == MOVED); got = slot
        fi;
        assert(got == m);
        state = DONE
    }
}
