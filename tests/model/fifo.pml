/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of a FIFO of slots (kernels/fifo.h): one sender, one receiver, weak stores.
 *
 * What a store may do: each store of the sender waits in a buffer and takes effect at any later time, in any order, but
 * stores to one location keep their order; a release first completes the buffer. What a load may do: a load of the
 * receiver may be carried out early, before loads that stand in front of it, unless an acquire lies between; modelled by
 * a payload that is read ahead. A release of the receiver completes its loads, otherwise head may be seen before the
 * payload has been read.
 *
 * Checked: the receiver gets each step's payload and size; the sender never overwrites a slot that is still to be read;
 * no deadlock, and every step arrives (end states are valid only when all is done).
 *
 * Mutants, each of which must fail:
 *   -DRELAXED_TAIL     the sender publishes tail without a release
 *   -DRELAXED_OBSERVE  the receiver observes tail without an acquire
 *   -DRELAXED_HEAD     the receiver publishes head without a release
 *   -DLATE_SIZE        size is written after tail
 *   -DDEEP             the sender fills one slot more than there are
 */
#ifndef DEPTH
#define DEPTH 2
#endif
#ifndef STEPS
#define STEPS 5
#endif

byte slot[DEPTH];               /* payload: step + 1 */
byte size[DEPTH];
byte tail, head;

/* The sender's stores on their way: at most one a location, since a second one waits for the first. */
bool slot_waits[DEPTH], size_waits[DEPTH], tail_waits;
byte slot_next[DEPTH], size_next[DEPTH], tail_next;

inline complete_all()
{
    atomic {
        i = 0;
        do
        :: i < DEPTH ->
            if :: slot_waits[i] -> slot[i] = slot_next[i]; slot_waits[i] = false :: else fi;
            if :: size_waits[i] -> size[i] = size_next[i]; size_waits[i] = false :: else fi;
            i++
        :: else -> break
        od;
        if :: tail_waits -> tail = tail_next; tail_waits = false :: else fi;
        i = 0
    }
}

/* The memory system: completes any waiting store at any time. */
active proctype memory()
{
    byte i;
end:
    do
    :: atomic {
        (tail_waits) -> tail = tail_next; tail_waits = false }
    :: atomic {
        (slot_waits[0] || slot_waits[DEPTH - 1]) ->
        if
        :: slot_waits[0] -> i = 0
        :: slot_waits[DEPTH - 1] -> i = DEPTH - 1
        fi;
        slot[i] = slot_next[i]; slot_waits[i] = false }
    :: atomic {
        (size_waits[0] || size_waits[DEPTH - 1]) ->
        if
        :: size_waits[0] -> i = 0
        :: size_waits[DEPTH - 1] -> i = DEPTH - 1
        fi;
        size[i] = size_next[i]; size_waits[i] = false }
    od
}

inline store_payload()
{
    atomic { !slot_waits[step % DEPTH] -> slot_next[step % DEPTH] = step + 1; slot_waits[step % DEPTH] = true }
}

inline store_size()
{
    atomic { !size_waits[step % DEPTH] -> size_next[step % DEPTH] = step + 10; size_waits[step % DEPTH] = true }
}

inline publish_tail()
{
#ifdef RELAXED_TAIL
    atomic { !tail_waits -> tail_next = step + 1; tail_waits = true }
#else
    complete_all();
    tail = step + 1
#endif
}

active proctype sender()
{
    byte step, i;
    do
    :: step < STEPS ->
#ifdef DEEP
        (step < head + DEPTH + 1);
#else
        (step < head + DEPTH);
#endif
        store_payload();
#ifndef LATE_SIZE
        store_size();
#endif
        publish_tail();
#ifdef LATE_SIZE
        store_size();
#endif
        step++
    :: else -> break
    od;
    complete_all()
}

active proctype receiver()
{
    byte step, early, got, got_size;
    bool ahead;
    do
    :: step < STEPS ->
        ahead = false;
#ifdef RELAXED_OBSERVE
        if
        :: ahead = true; early = slot[step % DEPTH]
        :: true
        fi;
#endif
        (step < tail);
        got_size = size[step % DEPTH];
        assert(got_size == step + 10);
        if
        :: ahead -> got = early
        :: else ->
#ifdef RELAXED_HEAD
            if
            :: head = step + 1; got = slot[step % DEPTH]
            :: got = slot[step % DEPTH]
            fi
#else
            got = slot[step % DEPTH]
#endif
        fi;
        assert(got == step + 1);
        head = step + 1;
        step++
    :: else -> break
    od;
    assert(tail == STEPS && head == STEPS)
}
