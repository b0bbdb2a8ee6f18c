/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of a lane of the carrier (transport/carrier.h) over a wire (transport/wire.h): the receiver gives credits, lines of
 * words with their number first and last; the sender takes them, puts, and answers each with one notification that has its
 * number; the receiver flushes, or copies out of its piece, and has room for a credit more. There are three messages: one by
 * pieces at both ends, of which each end has one, in two credits; one whose buffers are registered; one that is refused.
 *
 * The wire reads the source of a put when it likes until it tells the end, and puts arrive in any order; a notification comes
 * after the data of its put and of those before. What has arrived in the device's memory it may show only after a flush. A line's
 * first and last word may show in either order, the rest between them. Copies out of a piece read it when they like.
 *
 * With -DTROUBLE one end may give up at any time: it says so in a line of the wire, destroys its end of the lane, and ends its
 * messages; the other one does likewise when it sees that. What was read before may still arrive at an end that is not destroyed.
 *
 * Checked: each message is found as it was sent; no put reads a buffer that is the sender's program's again, none arrives in one
 * that is the receiver's program's again, or in a piece that another credit has; notifications are expected, and have the right
 * number; nobody waits for ever.
 *
 * Mutants, each of which must fail:
 *   -DNO_ROOM         the receiver gives a credit while all its lines are under way
 *   -DTORN_CREDIT     a credit is believed when its first word is right
 *   -DNO_LAP          a credit's words tell its line, not which lap
 *   -DLATE_EXPECT     a notification is expected after the credit for it has been given
 *   -DNO_FLUSH        a message has ended when the notification has been taken
 *   -DEARLY_PIECE     the receiver's piece is idle when the copy out of it is begun
 *   -DEARLY_COPY      a message has ended when that copy is begun
 *   -DEARLY_PUT       the sender's piece is idle, and its message has ended, when the put is begun
 *   -DUNANSWERED      a refusal is not answered
 * and with -DTROUBLE:
 *   -DSILENT          who gives up does not say so
 *   -DEARLY_FAIL      messages fail before the end of the lane is destroyed
 *   -DCOPY_ON         messages fail while the receiver's copy is under way
 */
#define LINES 2
#define CREDITS 4
#define SLOT(c) ((c) % LINES)
#define MESSAGE(c) ((c) < 2 -> 0 : (c) - 1)
#define IS_LAST(c) ((c) != 0)
#define BY_PIECE(c) ((c) < 2)
#define HAS_DATA(c) ((c) < 3)
#define PAYLOAD(c) ((c) + 1)

byte first[LINES], middle[LINES], last[LINES];         /* lines at the sender; middle: the credit + 1 */
bool s_ended[3], r_ended[3];            /* the message's buffer there is the program's again */
bool s_farewell, r_farewell;            /* the line that says that the other end has given up */
bool gave_up;                           /* one end has, by itself */
bool s_gone, r_gone;                    /* that end of the lane is destroyed */

/* The sender's piece, the receiver's and whose it is, and where messages go: message 0 in two parts, 1 in device memory. */
byte s_piece, r_piece, target[3], unseen;
byte piece_of = 255;
byte copying;                           /* out of the receiver's piece: the credit + 1 */
bool copied[CREDITS];

/* ---- the wire ---- */

#define UNREAD 0
#define GONE 255
byte begun, ended, notified;            /* puts */
byte put_credit[LINES], put_data[LINES];        /* data: UNREAD; on its way: the payload + 1; GONE: arrived */
chan notifications = [LINES] of { byte };
byte expected;

inline move(p)
{
    if
    :: put_data[SLOT(p)] == UNREAD && !s_gone ->
        assert(!s_ended[MESSAGE(put_credit[SLOT(p)])]);
        put_data[SLOT(p)] = (BY_PIECE(put_credit[SLOT(p)]) -> s_piece : PAYLOAD(put_credit[SLOT(p)])) + 1
    :: put_data[SLOT(p)] != UNREAD && !r_gone ->
        assert(!r_ended[MESSAGE(put_credit[SLOT(p)])]);
        if
        :: BY_PIECE(put_credit[SLOT(p)]) ->
            assert(piece_of == put_credit[SLOT(p)]);
            r_piece = put_data[SLOT(p)] - 1
        :: else ->
            if
            :: target[2] = put_data[SLOT(p)] - 1
            :: unseen = put_data[SLOT(p)] - 1
            fi
        fi;
        put_data[SLOT(p)] = GONE
    fi
}

#define CAN_MOVE(p) ((p) < begun && put_data[SLOT(p)] != GONE && (put_data[SLOT(p)] == UNREAD -> !s_gone : !r_gone))

active proctype wire()
{
end:
    do
    :: atomic { CAN_MOVE(notified) -> move(notified) }
    :: atomic { CAN_MOVE(notified + 1) -> move(notified + 1) }
    :: atomic { begun > ended && put_data[SLOT(ended)] != UNREAD -> ended++ }
    :: atomic {
           begun > notified && put_data[SLOT(notified)] == GONE && !r_gone ->
           assert(expected > 0);
           expected--;
           notifications!put_credit[SLOT(notified)];
           notified++
       }
    od
}

chan lines[LINES] = [1] of { byte, byte };

active [LINES] proctype line_wire()
{
    byte me, number, credit;
    me = _pid % LINES;
end:
    do
    :: lines[me]?number, credit ->
        if
        :: first[me] = number; middle[me] = credit; last[me] = number
        :: last[me] = number; middle[me] = credit; first[me] = number
        fi;
        number = 0; credit = 0
    od
}

#ifdef SILENT
#define SAY(line) skip
#else
#define SAY(line) line = true
#endif

/* ---- the sender ---- */

#ifdef NO_LAP
#define NUMBER(c) (SLOT(c) + 1)
#else
#define NUMBER(c) ((c) + 1)
#endif
#ifdef TORN_CREDIT
#define HAS_CREDIT(c) (first[SLOT(c)] == NUMBER(c))
#else
#define HAS_CREDIT(c) (first[SLOT(c)] == NUMBER(c) && last[SLOT(c)] == NUMBER(c))
#endif
#ifdef EARLY_PUT
#define s_over begun
#else
#define s_over ended
#endif

byte taken, answered, job[LINES];
bool s_piece_used;

inline put(c)
{
    if
    :: BY_PIECE(c) -> s_piece_used = true; s_piece = PAYLOAD(c)
    :: else
    fi;
    put_credit[SLOT(begun)] = c;
    put_data[SLOT(begun)] = (HAS_DATA(c) -> UNREAD : GONE);
    begun++
}

#ifdef UNANSWERED
#define MUST_ANSWER(c) HAS_DATA(c)
#else
#define MUST_ANSWER(c) true
#endif
#define HAS_ROOM(c) (!BY_PIECE(c) || !s_piece_used)

inline s_fail()
{
    d_step { s_ended[0] = true; s_ended[1] = true; s_ended[2] = true }
}

active proctype sender()
{
    do
    :: atomic {
           taken < answered + LINES && taken < CREDITS && HAS_CREDIT(taken) ->
           assert(middle[SLOT(taken)] == taken + 1);
           job[SLOT(taken)] = middle[SLOT(taken)] - 1;
           taken++
       }
    :: atomic { begun < taken && begun < ended + LINES && MUST_ANSWER(job[SLOT(begun)]) && HAS_ROOM(job[SLOT(begun)]) ->
           put(job[SLOT(begun)]) }
    :: atomic {
           answered < s_over ->
           if
           :: BY_PIECE(put_credit[SLOT(answered)]) -> s_piece_used = false
           :: else
           fi;
           if
           :: IS_LAST(put_credit[SLOT(answered)]) -> s_ended[MESSAGE(put_credit[SLOT(answered)])] = true
           :: else
           fi;
           answered++
       }
    :: answered == CREDITS && answered == ended -> break
#ifdef TROUBLE
    :: atomic { !gave_up -> gave_up = true; SAY(s_farewell) }; goto broken
    :: r_farewell -> goto broken
#endif
    od;
    goto done;
broken:
#ifdef EARLY_FAIL
    s_fail(); s_gone = true;
#else
    s_gone = true; s_fail();
#endif
done:
    skip
}

/* ---- the receiver ---- */

byte given, noticed, flushed, stored, r_done;
#ifdef NO_ROOM
#define CAN_GIVE (given < r_done + LINES + 1)
#else
#define CAN_GIVE (given < r_done + LINES)
#endif
#ifdef EARLY_COPY
#define COPY_OVER(c) true
#else
#define COPY_OVER(c) copied[c]
#endif

inline give()
{
    if
    :: BY_PIECE(given) -> piece_of = given
    :: else
    fi;
#ifdef LATE_EXPECT
    lines[SLOT(given)]!NUMBER(given), given + 1;
    expected++;
#else
    expected++;
    lines[SLOT(given)]!NUMBER(given), given + 1;
#endif
    given++
}

inline finish(c)
{
    if
    :: c == 1 -> assert(target[0] == PAYLOAD(0) && target[1] == PAYLOAD(1))
    :: c == 2 -> assert(target[2] == PAYLOAD(2))
    :: else
    fi;
    if
    :: IS_LAST(c) -> r_ended[MESSAGE(c)] = true
    :: else
    fi
}

inline r_fail()
{
    d_step { r_ended[0] = true; r_ended[1] = true; r_ended[2] = true }
}

/* The copy engine. */
active proctype engine()
{
end:
    do
    :: atomic {
           copying > 0 ->
           assert(!r_ended[0]);
           target[copying - 1] = r_piece;
           copied[copying - 1] = true;
           copying = 0
       }
    od
}

active proctype receiver()
{
    byte number;
    do
    :: given < CREDITS && CAN_GIVE && (!BY_PIECE(given) || piece_of == 255) -> give()
    :: atomic { notifications?number -> assert(number == noticed); number = 0; noticed++ }
    :: atomic {
           flushed < noticed ->
#ifndef NO_FLUSH
           if
           :: flushed == 2 && unseen != 0 -> target[2] = unseen
           :: else
           fi;
#endif
           flushed++
       }
    :: atomic { stored < flushed && (!BY_PIECE(stored) || copying == 0) ->
           if
           :: BY_PIECE(stored) ->
               copying = stored + 1;
#ifdef EARLY_PIECE
               piece_of = 255
#endif
           :: else
           fi;
           stored++
       }
    :: atomic {
           r_done < stored && (!BY_PIECE(r_done) || COPY_OVER(r_done)) ->
           if
           :: piece_of == r_done -> piece_of = 255
           :: else
           fi;
           finish(r_done);
           r_done++
       }
    :: r_done == CREDITS -> break
#ifdef TROUBLE
    :: atomic { !gave_up -> gave_up = true; SAY(r_farewell) }; goto broken
    :: s_farewell -> goto broken
#endif
    od;
    goto done;
broken:
#if defined(EARLY_FAIL)
    r_fail(); r_gone = true;
#elif defined(COPY_ON)
    r_gone = true; r_fail();
#else
    r_gone = true; (copying == 0); r_fail();
#endif
done:
    assert(r_ended[0] && r_ended[1] && r_ended[2])
}
