/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of a FIFO between nodes (transport/net.h) over a wire (transport/wire.h). The sender's kernel fills a slot, then
 * writes size and tail; its proxy needs a credit, puts the slot's data with one notification that carries their number of bytes,
 * and gives the slot back when the put has ended. The receiver's proxy takes the notification, flushes, and publishes size and
 * tail; its kernel reads, and publishes head; a credit goes out for a slot that is free. As in copy_tail.pml every publication
 * is one of its agent's whole past.
 *
 * The wire does what wire.h lets it do, and no more: it reads the pieces of a put's data when it likes until it tells the end,
 * and they arrive in any order, also with those of other puts; a put may end before they do. A notification comes after
 * all data of its put and of those before. What has arrived the device sees at once, or only after a flush that was begun
 * behind its notification. A credit is a line of words, of which first and last may show in either order, the rest between them.
 *
 * Checked: the receiver's kernel finds each step's data and size, in order, an empty step's too; nothing arrives in a slot in
 * use; no put without a credit, and no notification that is not expected; nobody waits for
 * ever.
 *
 * Mutants, each of which must fail:
 *   -DNO_FLUSH        the receiver's kernel is told when the notification has been taken
 *   -DEARLY_FLUSH     the flush is begun before the notification is taken
 *   -DEARLY_READY     the receiver's kernel is told when the flush is begun
 *   -DLATE_SIZE       the receiver's kernel is told tail before size
 *   -DEARLY_POST      a credit is given for a slot that the kernel has been told of, but has not read
 *   -DEARLY_GRANT     the sender's kernel gets its slot back when the put is begun
 *   -DNO_CREDIT       the sender's proxy looks at no credit
 *   -DTORN_CREDIT     a credit is believed when its first word is right
 *   -DNO_LAP          a credit's words tell its line, not which lap
 *   -DLATE_EXPECT     a notification is expected after the credit for it has been given
 *   -DEMPTY_LOST      an empty step is not put
 *   -DLOOSE_WIRE      the wire lets a notification overtake the data
 *   -DIDLE_WIRE       the wire tells the end of a put whose notification needs the sender's progress: who has ended sleeps
 */
#define DEPTH 2
#define STEPS 4
#define PIECES 2
#define SLOT(step) ((step) % DEPTH)
#define BYTES(step) ((step) == 1 -> 0 : (step) + 2)    /* step 1 is empty */

/* The sender's side. Payload: step + 1; 0: spoiled. */
byte from[DEPTH], s_size[DEPTH];
byte s_tail, s_head;
byte first[DEPTH], middle[DEPTH], last[DEPTH];         /* lines of credits; middle: the slot + 1 */

/* The receiver's. [slot * PIECES + piece] */
byte seen[DEPTH * PIECES], unseen[DEPTH * PIECES];
byte r_size[DEPTH];
byte r_tail, r_head;

active proctype sender_kernel()
{
    byte step;
    do
    :: step < STEPS ->
        (step < s_head + DEPTH);
        from[SLOT(step)] = 0;
        from[SLOT(step)] = step + 1;
        s_size[SLOT(step)] = BYTES(step);
        s_tail = step + 1;
        step++
    :: else -> break
    od
}

/* ---- the wire ---- */

/* Puts begun, ended, notified. Of put p: where it goes, how long it is, and its pieces. */
byte begun, ended, notified;
byte put_slot[DEPTH], put_bytes[DEPTH];
byte piece[DEPTH * PIECES];             /* 0: not read yet; on its way: the payload + 1; GONE: arrived */
#define GONE 255
#define CAN_MOVE(p, i) ((p) < begun && piece[SLOT(p) * PIECES + (i)] != GONE)
#define WAS_READ(p) (piece[SLOT(p) * PIECES] != 0 && piece[SLOT(p) * PIECES + 1] != 0)
#define HAS_ARRIVED(p) (piece[SLOT(p) * PIECES] == GONE && piece[SLOT(p) * PIECES + 1] == GONE)
chan notifications = [DEPTH] of { byte };
byte expected;                          /* notifications that the receiver is ready to take */
bool asleep;                            /* the sender's proxy, when its last put has ended */

inline move(p, i)
{
    if
    :: piece[SLOT(p) * PIECES + i] == 0 -> piece[SLOT(p) * PIECES + i] = from[SLOT(p)] + 1
    :: else ->
        at = put_slot[SLOT(p)] * PIECES + i;
        assert(p < r_head + DEPTH);     /* the slot is not in use */
        if
        :: seen[at] = piece[SLOT(p) * PIECES + i] - 1; unseen[at] = 0
        :: unseen[at] = piece[SLOT(p) * PIECES + i] - 1
        fi;
        piece[SLOT(p) * PIECES + i] = GONE;
        at = 0
    fi
}

#if defined(LOOSE_WIRE)
#define MAY_NOTIFY(p) WAS_READ(p)
#elif defined(IDLE_WIRE)
#define MAY_NOTIFY(p) (HAS_ARRIVED(p) && !asleep)
#else
#define MAY_NOTIFY(p) HAS_ARRIVED(p)
#endif

active proctype wire()
{
    byte at;
end:
    do
    :: atomic { CAN_MOVE(notified, 0) -> move(notified, 0) }
    :: atomic { CAN_MOVE(notified, 1) -> move(notified, 1) }
    :: atomic { CAN_MOVE(notified + 1, 0) -> move(notified + 1, 0) }
    :: atomic { CAN_MOVE(notified + 1, 1) -> move(notified + 1, 1) }
    :: atomic { begun > ended && WAS_READ(ended) -> ended++ }
    :: atomic {
           begun > notified && MAY_NOTIFY(notified) ->
           assert(expected > 0);
           expected--;
           notifications!put_bytes[SLOT(notified)];
           notified++
       }
    od
}

/* One line on its way at a time; lines overtake one another. */
chan lines[DEPTH] = [1] of { byte, byte };

active [DEPTH] proctype line_wire()
{
    byte me, index, slot;
    me = _pid % DEPTH;
end:
    do
    :: lines[me]?index, slot ->
        if
        :: first[me] = index; middle[me] = slot; last[me] = index
        :: last[me] = index; middle[me] = slot; first[me] = index
        fi;
        index = 0; slot = 0
    od
}

/* ---- the sender's proxy ---- */

byte granted = DEPTH, filled, sent, s_done;
byte posted;                            /* of the receiver's ladder: the sender looks at it in an assertion only */
#ifdef EARLY_GRANT
#define s_returned sent
#else
#define s_returned s_done
#endif
#ifdef NO_LAP
#define INDEX(step) (SLOT(step) + 1)
#else
#define INDEX(step) ((step) + 1)
#endif
#if defined(NO_CREDIT)
#define HAS_CREDIT(step) true
#define WHERE(step) SLOT(step)
#elif defined(TORN_CREDIT)
#define HAS_CREDIT(step) (first[SLOT(step)] == INDEX(step))
#define WHERE(step) (middle[SLOT(step)] - 1)
#else
#define HAS_CREDIT(step) (first[SLOT(step)] == INDEX(step) && last[SLOT(step)] == INDEX(step))
#define WHERE(step) (middle[SLOT(step)] - 1)
#endif

inline put()
{
    d_step {
        assert(sent < posted);
        assert(WHERE(sent) == SLOT(sent));
        put_slot[SLOT(sent)] = WHERE(sent);
        put_bytes[SLOT(sent)] = s_size[SLOT(sent)];
        piece[SLOT(sent) * PIECES] = (s_size[SLOT(sent)] == 0 -> GONE : 0);
        piece[SLOT(sent) * PIECES + 1] = (s_size[SLOT(sent)] == 0 -> GONE : 0);
        begun++;
#ifdef EMPTY_LOST
        if
        :: s_size[SLOT(sent)] == 0 -> ended++; notified++; expected--
        :: else
        fi
#endif
    }
}

active proctype sender_proxy()
{
    do
    :: granted < s_returned + DEPTH && granted < STEPS + DEPTH ->
        s_head = granted + 1 - DEPTH;
        granted++
    :: atomic { filled < granted && filled < STEPS && s_tail > filled -> filled++ }
    :: atomic { sent < filled && HAS_CREDIT(sent) -> put(); sent++ }
    :: atomic { s_done < sent && ended > s_done -> s_done++ }
    :: s_done == STEPS && granted == s_done + DEPTH -> asleep = true; break
    od
}

/* ---- the receiver's proxy ---- */

byte arrived, flush_begun, flushed, ready, r_done;
byte length[DEPTH];
chan flush = [1] of { byte };           /* all steps below this have been notified */
chan flush_ended = [1] of { bit };
#ifdef EARLY_POST
#define r_returned ready
#else
#define r_returned r_done
#endif
#ifdef EARLY_FLUSH
#define to_flush posted
#else
#define to_flush arrived
#endif
#if defined(NO_FLUSH)
#define is_flushed arrived
#elif defined(EARLY_READY)
#define is_flushed flush_begun
#else
#define is_flushed flushed
#endif

/* What arrived before the notifications of the steps below `behind` shows; a later step's may or may not. */
active proctype flusher()
{
    byte behind, at;
end:
    do
    :: flush?behind ->
        atomic {
            do
            :: at < DEPTH * PIECES ->
                if
                :: unseen[at] != 0 && unseen[at] <= behind -> seen[at] = unseen[at]; unseen[at] = 0
                :: else
                fi;
                at++
            :: else -> break
            od;
            at = 0; behind = 0;
            flush_ended!1
        }
    od
}

active proctype receiver_proxy()
{
    do
    :: posted < r_returned + DEPTH && posted < STEPS ->
#ifdef LATE_EXPECT
        posted++;
        lines[SLOT(posted - 1)]!INDEX(posted - 1), SLOT(posted - 1) + 1;
        expected++
#else
        expected++;
        posted++;
        lines[SLOT(posted - 1)]!INDEX(posted - 1), SLOT(posted - 1) + 1
#endif
    :: atomic { arrived < posted && notifications?[_] ->
           notifications?length[SLOT(arrived)];
           assert(length[SLOT(arrived)] == BYTES(arrived));
           arrived++
       }
#ifndef NO_FLUSH
    :: atomic { flush_begun == flushed && flush_begun < to_flush -> flush_begun = to_flush; flush!arrived }
    :: atomic { flush_ended?_ -> flushed = flush_begun }
#endif
    :: ready < is_flushed && ready < arrived ->
#ifdef LATE_SIZE
        r_tail = ready + 1;
        r_size[SLOT(ready)] = length[SLOT(ready)];
#else
        r_size[SLOT(ready)] = length[SLOT(ready)];
        r_tail = ready + 1;
#endif
        ready++
    :: atomic { r_done < ready && r_head > r_done -> r_done++ }
    :: r_done == STEPS && flushed == flush_begun -> break
    od
}

active proctype receiver_kernel()
{
    byte step;
    do
    :: step < STEPS ->
        (step < r_tail);
        assert(r_size[SLOT(step)] == BYTES(step));
        assert(BYTES(step) == 0 || seen[SLOT(step) * PIECES] == step + 1);
        assert(BYTES(step) == 0 || seen[SLOT(step) * PIECES + 1] == step + 1);
        r_head = step + 1;
        step++
    :: else -> break
    od
}
