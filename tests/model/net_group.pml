/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of grouped receives between nodes (transport/net.h): one credit is for the slots of several FIFOs at a step, the
 * members, a line each; the sender puts each member's data, then the members' sizes, as an array, with the one notification of
 * the group, whose immediate says nothing. The receiver reads the sizes from the array when it has taken the notification,
 * flushes, and tells each member's kernel. What the wire may do is as in net.pml, whose subject the credit's words are: here
 * a line of it is a message, and lines overtake one another.
 *
 * Checked: each kernel of the receiver finds each step's data and size; nothing arrives in a slot or an array in use; no put
 * without a credit; nobody waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DEARLY_NOTIFY    the group is notified when its first member has been put
 *   -DHALF_FILLED     the group goes when its first member's kernel has filled its slot
 *   -DHALF_CREDIT     the group goes when the line for its first member has come
 *   -DHALF_FREE       the next credit is given when the first member's slot is free
 *   -DONE_ARRAY       the receiver has one array of sizes, not one a credit
 *   -DONE_SOURCE      the sender composes all arrays at one place, without asking whether the last one has left
 *   -DBY_IMMEDIATE    the first member's size is taken from the immediate
 *   -DHALF_ENDED      slots go back when the first member's put has ended
 *   -DFIRST_FLUSHED   the flush is begun before the notification is taken
 */
#define DEPTH 2
#define STEPS 3
#define MEMBERS 2
#define SLOT(step) ((step) % DEPTH)
#define AT(step, member) (SLOT(step) * MEMBERS + (member))
#define BYTES(step, member) ((step) == 1 && (member) == 0 -> 0 : (step) + (member) + 1)    /* one member of a group is empty */

/* Payload: step + 1; 0: spoiled. */
byte from[DEPTH * MEMBERS], s_size[DEPTH * MEMBERS], s_tail[MEMBERS];
byte s_head;
byte seen[DEPTH * MEMBERS], unseen[DEPTH * MEMBERS], sizes[DEPTH * MEMBERS];
byte r_size[DEPTH * MEMBERS], r_head[MEMBERS];
byte r_tail;
chan lines[MEMBERS] = [DEPTH] of { byte };     /* steps */
chan notifications = [DEPTH] of { byte };

#ifdef ONE_ARRAY
#define ARRAY(step) 0
#else
#define ARRAY(step) SLOT(step)
#endif
#ifdef ONE_SOURCE
#define SOURCE(step) 0
#else
#define SOURCE(step) SLOT(step)
#endif

active [MEMBERS] proctype sender_kernel()
{
    byte step, me;
    me = _pid % MEMBERS;
    do
    :: step < STEPS ->
        (step < s_head + DEPTH);
        from[AT(step, me)] = 0;
        from[AT(step, me)] = step + 1;
        s_size[AT(step, me)] = BYTES(step, me);
        s_tail[me] = step + 1;
        step++
    :: else -> break
    od
}

/* ---- the wire: a lane on which a group's puts follow one another ---- */

byte composed[DEPTH * MEMBERS];         /* arrays of sizes, as the sender's proxy composes them */
/* What was put: data[AT(step, member)] and array[SLOT(step)]. NOT_PUT, PUT: not read yet; else on its way, or GONE. */
#define NOT_PUT 0
#define PUT 1
#define READ 2
#define GONE 3
#define MOVES(state) (state == PUT || state == READ)
byte data[DEPTH * MEMBERS], payload[DEPTH * MEMBERS];
byte array[DEPTH], carried[DEPTH * MEMBERS];
byte begun, notified;                   /* groups whose notification was sent, and has come */

inline move_data(step, member)
{
    if
    :: data[AT(step, member)] == PUT -> payload[AT(step, member)] = from[AT(step, member)]; data[AT(step, member)] = READ
    :: else ->
        assert(step < r_head[member] + DEPTH);    /* the slot is not in use */
        if
        :: seen[AT(step, member)] = payload[AT(step, member)]; unseen[AT(step, member)] = 0
        :: unseen[AT(step, member)] = payload[AT(step, member)]
        fi;
        payload[AT(step, member)] = 0;
        data[AT(step, member)] = GONE
    fi
}

inline move_array(step)
{
    if
    :: array[SLOT(step)] == PUT ->
        carried[AT(step, 0)] = composed[SOURCE(step) * MEMBERS];
        carried[AT(step, 1)] = composed[SOURCE(step) * MEMBERS + 1];
        array[SLOT(step)] = READ
    :: else ->
        sizes[ARRAY(step) * MEMBERS] = carried[AT(step, 0)];
        sizes[ARRAY(step) * MEMBERS + 1] = carried[AT(step, 1)];
        array[SLOT(step)] = GONE
    fi
}

/* A put before the notification of this group has arrived, or there was none. */
#define PASSED(step, member) (data[AT(step, member)] == GONE || data[AT(step, member)] == NOT_PUT)

active proctype wire()
{
end:
    do
    :: atomic { MOVES(data[AT(notified, 0)]) -> move_data(notified, 0) }
    :: atomic { MOVES(data[AT(notified, 1)]) -> move_data(notified, 1) }
    :: atomic { MOVES(array[SLOT(notified)]) -> move_array(notified) }
    :: atomic { MOVES(data[AT(notified + 1, 0)]) -> move_data(notified + 1, 0) }
    :: atomic { MOVES(data[AT(notified + 1, 1)]) -> move_data(notified + 1, 1) }
    :: atomic { MOVES(array[SLOT(notified + 1)]) -> move_array(notified + 1) }
    :: atomic {
           begun > notified && array[SLOT(notified)] == GONE && PASSED(notified, 0) && PASSED(notified, 1) ->
           notifications!77;
           notified++
       }
    od
}

/* ---- the sender's proxy ---- */

byte sent, s_done;
#ifdef HALF_FILLED
#define IS_FILLED(step) (s_tail[0] > (step))
#else
#define IS_FILLED(step) (s_tail[0] > (step) && s_tail[1] > (step))
#endif
#ifdef HALF_CREDIT
#define HAS_CREDIT(step) lines[0]?[eval(step)]
#else
#define HAS_CREDIT(step) lines[0]?[eval(step)] && lines[1]?[eval(step)]
#endif
#define MEMBER_ENDED(step, member) (data[AT(step, member)] >= READ)
#ifdef HALF_ENDED
#define HAS_ENDED(step) MEMBER_ENDED(step, 0)
#else
#define HAS_ENDED(step) (MEMBER_ENDED(step, 0) && MEMBER_ENDED(step, 1) && array[SLOT(step)] >= READ)
#endif

inline compose(step)
{
    composed[SOURCE(step) * MEMBERS] = s_size[AT(step, 0)];
    composed[SOURCE(step) * MEMBERS + 1] = s_size[AT(step, 1)]
}

/* An empty member's data have arrived when they are put. */
inline put_data(step, member)
{
    data[AT(step, member)] = (s_size[AT(step, member)] == 0 -> GONE : PUT)
}

inline put_sizes(step)
{
    d_step { compose(step); array[SLOT(step)] = PUT; begun++ }
}

active proctype sender_proxy()
{
    do
    :: sent < STEPS && IS_FILLED(sent) && HAS_CREDIT(sent) ->
        assert(nempty(lines[1]));       /* it tells where the second member's data go */
        d_step { lines[0]?_; lines[1]?_; data[AT(sent, 0)] = NOT_PUT; data[AT(sent, 1)] = NOT_PUT };
#ifdef EARLY_NOTIFY
        put_data(sent, 0);
        put_sizes(sent);
        put_data(sent, 1);
#else
        put_data(sent, 0);
        put_data(sent, 1);
        put_sizes(sent);
#endif
        sent++
    :: atomic { s_done < sent && HAS_ENDED(s_done) -> s_done++; s_head = s_done }
    :: s_done == STEPS -> break
    od
}

/* ---- the receiver's proxy ---- */

byte posted, arrived, r_done;
byte length[MEMBERS];
#ifdef HALF_FREE
#define IS_FREE(step) (r_head[0] > (step))
#else
#define IS_FREE(step) (r_head[0] > (step) && r_head[1] > (step))
#endif

/* Here the flush is a moment: what arrived before the notifications of the steps below `behind` shows. */
inline flush(behind)
{
    d_step {
        i = 0;
        do
        :: i < DEPTH * MEMBERS ->
            if
            :: unseen[i] != 0 && unseen[i] <= behind -> seen[i] = unseen[i]; unseen[i] = 0
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

active proctype receiver_proxy()
{
    byte i, immediate;
    do
    :: posted < STEPS && posted < r_done + DEPTH ->
        if
        :: lines[0]!posted; lines[1]!posted
        :: lines[1]!posted; lines[0]!posted
        fi;
        posted++
    :: arrived < posted && nempty(notifications) ->
#ifdef FIRST_FLUSHED
        flush(arrived);
        notifications?immediate;
#else
        notifications?immediate;
        flush(arrived + 1);
#endif
        d_step {
            length[0] = sizes[ARRAY(arrived) * MEMBERS];
            length[1] = sizes[ARRAY(arrived) * MEMBERS + 1];
#ifdef BY_IMMEDIATE
            length[0] = immediate;
#endif
            immediate = 0;
            r_size[AT(arrived, 0)] = length[0];
            r_size[AT(arrived, 1)] = length[1];
            arrived++;
            r_tail = arrived
        }
    :: atomic { r_done < arrived && IS_FREE(r_done) -> r_done++ }
    :: r_done == STEPS -> break
    od
}

active [MEMBERS] proctype receiver_kernel()
{
    byte step, me;
    me = _pid % MEMBERS;
    do
    :: step < STEPS ->
        (step < r_tail);
        assert(r_size[AT(step, me)] == BYTES(step, me));
        assert(BYTES(step, me) == 0 || seen[AT(step, me)] == step + 1);
        r_head[me] = step + 1;
        step++
    :: else -> break
    od
}
