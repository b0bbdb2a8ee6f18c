/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of a FIFO whose slots are in the sender's memory (core/layout.h, kernels/fifo.h): the sender stores at home, the
 * receiver loads from afar. Tail is at the receiver, head at the sender, as always.
 *
 * What differs from fifo.pml. A store of the sender to its own memory is seen by others at any later time, and tail, which goes
 * another way, may overtake it unless it is a release. A load of the receiver is a request: it goes out, and is answered from
 * the sender's memory at any later time; or it finds what an earlier load has left in a cache near the receiver, unless an
 * acquire has emptied that. A release waits for the answers. When the sender is done, the slots are given back.
 *
 * Checked: the receiver gets each step's payload; a slot is overwritten, or given back, only when its answer has left; no
 * deadlock, and every step arrives (end states are valid only when all is done).
 *
 * Mutants, each of which must fail:
 *   -DRELAXED_TAIL     tail overtakes the payload
 *   -DRELAXED_OBSERVE  tail observed without an acquire: the request may go out too early, or find the cache
 *   -DRELAXED_HEAD     head published while the answer is still to come
 *   -DDEEP             the sender fills one slot more than there are
 *   -DNO_DRAIN         the sender gives the slots back when it has filled the last one
 */
#define DEPTH 2
#ifndef STEPS
#define STEPS 5
#endif
#define GONE 255

byte slot[DEPTH];               /* what the receiver's requests are answered from: step + 1 */
byte tail, head;

bool slot_waits[DEPTH], tail_waits;       /* the sender's stores on their way */
byte slot_next[DEPTH], tail_next;

byte cache[DEPTH];              /* near the receiver; 0: nothing */
bool asked;                     /* a request is on its way */
byte asked_slot, answer;

/* The memory system: completes any waiting store, and answers a request, at any time. */
active proctype memory()
{
end:
    do
    :: atomic { (tail_waits) -> tail = tail_next; tail_waits = false }
    :: atomic { (slot_waits[0]) -> slot[0] = slot_next[0]; slot_waits[0] = false }
    :: atomic { (slot_waits[1]) -> slot[1] = slot_next[1]; slot_waits[1] = false }
    :: atomic { (asked) -> answer = slot[asked_slot]; asked = false }
    od
}

inline complete_payload()
{
    atomic {
        if :: slot_waits[0] -> slot[0] = slot_next[0]; slot_waits[0] = false :: else fi;
        if :: slot_waits[1] -> slot[1] = slot_next[1]; slot_waits[1] = false :: else fi
    }
}

active proctype sender()
{
    byte step;
    do
    :: step < STEPS ->
#ifdef DEEP
        (step < head + DEPTH + 1);
#else
        (step < head + DEPTH);
#endif
        atomic { !slot_waits[step % DEPTH] -> slot_next[step % DEPTH] = step + 1; slot_waits[step % DEPTH] = true };
#ifndef RELAXED_TAIL
        complete_payload();
#endif
        atomic { !tail_waits -> tail_next = step + 1; tail_waits = true };
        step++
    :: else -> break
    od;
#ifndef NO_DRAIN
    (head == STEPS);
#endif
    complete_payload();
    atomic { slot[0] = GONE; slot[1] = GONE }
}

/* Sends the request for this step's slot, or takes what the cache has. */
inline load()
{
    if
    :: cache[step % DEPTH] != 0 -> answer = cache[step % DEPTH]
    :: cache[step % DEPTH] == 0 -> atomic { asked_slot = step % DEPTH; asked = true }
    fi
}

active proctype receiver()
{
    byte step;
    bool early;
    do
    :: step < STEPS ->
        early = false;
#ifdef RELAXED_OBSERVE
        if
        :: load(); early = true
        :: true
        fi;
        (step < tail);
#else
        atomic { (step < tail) -> cache[0] = 0; cache[1] = 0 };
#endif
        if
        :: !early -> load()
        :: else
        fi;
#ifdef RELAXED_HEAD
        head = step + 1;
        (!asked);
#else
        (!asked);
        head = step + 1;
#endif
        assert(answer == step + 1);
        cache[step % DEPTH] = answer;
        step++
    :: else -> break
    od;
    assert(tail == STEPS && head == STEPS)
}
