/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of the address word and its reuse (kernels/ring.h, struct gf_conn): steps that go straight to a buffer of the
 * program, launch after launch. The owner of the buffer tells where it is, in one of two places, drawn anew in each launch; the
 * visitor goes there: it stores (the owner is the receiver), or, with -DREADS, it loads (the owner is the sender).
 *
 * What a store of a kernel may do: it waits, and takes effect at any later time, in any order; a release first completes what
 * waits. What a load may do: carried out early, unless an acquire stands in front of it; and a load from afar is a request,
 * answered at any later time, for which a release waits. Between launches the program writes to both places.
 *
 * Checked: each step's data arrive; what is not lent stays as the program left it; no deadlock.
 *
 * Mutants, each of which must fail:
 *   -DRELAXED_ADDRESS  the epoch is published without a release
 *   -DEARLY_EPOCH      the epoch is published before the word that it stands for
 *   -DBLIND_ADDRESS    the epoch is observed without an acquire
 *   -DOLD_ADDRESS      the visitor believes an address of a launch before
 *   -DRELAXED_TAIL     tail is published without a release
 *   -DLEAVE_EARLY      the owner leaves before all has come, or has been read
 *   -DRELAXED_HEAD     with READS: head is published while the answer is still to come
 */
#define LAUNCHES 3
#define EACH 2                   /* steps of a launch */
#define DATA(launch, i) (1 + (launch) * EACH + (i))
#define LEFT(launch) (100 + (launch))        /* what the program leaves in both places before that launch */

byte buffer[2 * EACH];           /* [place * EACH + i] */
byte epoch, word;                /* near the visitor */
byte tail, head;

/* Stores on their way. The data are the visitor's, with READS the owner's. */
bool epoch_waits, word_waits, tail_waits, data_waits[EACH];
byte epoch_next, word_next, tail_next, data_next[EACH], data_at[EACH];

bool asked;                      /* a request of the visitor */
byte asked_at, answer;

inline complete_word() { if :: word_waits -> word = word_next; word_waits = false :: else fi }
inline complete_data(i) { if :: data_waits[i] -> buffer[data_at[i]] = data_next[i]; data_waits[i] = false :: else fi }

/* The memory system: completes any waiting store, and answers a request, at any time. */
active proctype memory()
{
end:
    do
    :: atomic { (epoch_waits) -> epoch = epoch_next; epoch_waits = false }
    :: atomic { (word_waits) -> complete_word() }
    :: atomic { (tail_waits) -> tail = tail_next; tail_waits = false }
    :: atomic { (data_waits[0]) -> complete_data(0) }
    :: atomic { (data_waits[1]) -> complete_data(1) }
    :: atomic { (asked) -> answer = buffer[asked_at]; asked = false }
    od
}

inline publish_epoch()
{
#ifdef RELAXED_ADDRESS
    atomic { (!epoch_waits) -> epoch_next = launch * EACH + 1; epoch_waits = true }
#else
    atomic { complete_word(); epoch = launch * EACH + 1 }
#endif
}

inline tell()
{
#ifdef EARLY_EPOCH
    publish_epoch();
#endif
    atomic { (!word_waits) -> word_next = place; word_waits = true }
#ifndef EARLY_EPOCH
    publish_epoch();
#endif
}

/* One step's data, and tail. */
inline put(at)
{
    atomic { (!data_waits[i]) -> data_at[i] = at; data_next[i] = DATA(launch, i); data_waits[i] = true }
#ifdef RELAXED_TAIL
    atomic { (!tail_waits) -> tail_next = launch * EACH + i + 1; tail_waits = true }
#else
    atomic { complete_data(0); complete_data(1); tail = launch * EACH + i + 1 }
#endif
}

active proctype owner()
{
    byte launch, i, place;
    do
    :: launch == LAUNCHES -> break
    :: else ->
        atomic { buffer[0] = LEFT(launch); buffer[1] = LEFT(launch); buffer[2] = LEFT(launch); buffer[3] = LEFT(launch) }
        if :: place = 0 :: place = 1 fi;
        tell();
#ifdef READS
        i = 0;
        do
        :: i < EACH -> put(place * EACH + i); i++
        :: else -> break
        od;
#ifndef LEAVE_EARLY
        (head == (launch + 1) * EACH);
#endif
        /* The end of a launch completes what its kernel has stored. */
        atomic { complete_data(0); complete_data(1); complete_word() }
#else
#ifndef LEAVE_EARLY
        (tail == (launch + 1) * EACH);
#endif
        atomic { complete_word() }
        assert(buffer[place * EACH] == DATA(launch, 0) && buffer[place * EACH + 1] == DATA(launch, 1));
#endif
        assert(buffer[(1 - place) * EACH] == LEFT(launch) && buffer[(1 - place) * EACH + 1] == LEFT(launch));
        launch++
    od
}

inline get(at)
{
    (tail > launch * EACH + i);
    atomic { asked_at = at; asked = true }
#ifdef RELAXED_HEAD
    head = launch * EACH + i + 1;
    (!asked);
#else
    (!asked);
    head = launch * EACH + i + 1;
#endif
    assert(answer == DATA(launch, i))
}

active proctype visitor()
{
    byte launch, i, where, early;
    bool ahead;
    do
    :: launch == LAUNCHES -> break
    :: else ->
        ahead = false;
#ifdef BLIND_ADDRESS
        if
        :: ahead = true; early = word
        :: true
        fi;
#endif
#ifdef OLD_ADDRESS
        (epoch != 0);
#else
        (epoch == launch * EACH + 1);
#endif
        where = (ahead -> early : word);
        i = 0;
        do
        :: i < EACH ->
#ifdef READS
            get(where * EACH + i);
#else
            put(where * EACH + i);
#endif
            i++
        :: else -> break
        od;
        launch++
    od
}
