/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of a FIFO that two proxies copy through shared host memory (transport/shm_copy_engine.c): the sender's from its
 * device into shared slots, the receiver's from there into slots of its device. Each has a copy engine, whose copies spoil their
 * target before they fill it. The receiver's proxy posts a credit for a slot once its kernel has taken what was in it; the posted
 * receive is the only credit, for the shared slot and for the device's behind it. As in copy_tail.pml every publication is one
 * of its agent's whole past.
 *
 * Checked: each copy and the receiver's kernel find the payload of their step; both ladders hold after each step; no deadlock,
 * and every step arrives.
 *
 * Mutants, each of which must fail:
 *   -DEARLY_TAIL    the receiver's proxy is told when the copy into the shared slot is started
 *   -DEARLY_READY   the receiver's kernel is told before the flush: when the copy into its device is started
 *   -DEARLY_POST    a slot is posted again when the receiver's copy is started
 *   -DNO_CREDIT     the sender's proxy does not wait for a posted receive
 *   -DEARLY_GRANT   the sender's kernel gets its slot back when the copy is started
 */
#define DEPTH 2
#define STEPS 4

byte from[DEPTH], shared[DEPTH], to[DEPTH];     /* payload: step + 1; 0: spoiled */
byte s_tail, s_head;                    /* the sender's kernel and its proxy */
byte wire_tail, wire_head;              /* the two proxies */
byte r_tail, r_head;                    /* the receiver's proxy and its kernel */

chan out = [1] of { byte };             /* steps to copy */
chan out_ended = [1] of { byte };
chan in = [1] of { byte };
chan in_ended = [1] of { byte };

active proctype sender_kernel()
{
    byte step;
    do
    :: step < STEPS ->
        (step < s_head + DEPTH);
        from[step % DEPTH] = 0;
        from[step % DEPTH] = step + 1;
        s_tail = step + 1;
        step++
    :: else -> break
    od
}

active proctype engine_out()
{
    byte step, payload;
end:
    do
    :: out?step ->
        shared[step % DEPTH] = 0;
        payload = from[step % DEPTH];
        assert(payload == step + 1);
        shared[step % DEPTH] = payload;
        out_ended!step
    od
}

active proctype engine_in()
{
    byte step, payload;
end:
    do
    :: in?step ->
        to[step % DEPTH] = 0;
        payload = shared[step % DEPTH];
        assert(payload == step + 1);
        to[step % DEPTH] = payload;
        in_ended!step
    od
}

byte granted = DEPTH, filled, sent, s_done;
#define send_holds (s_done <= sent && sent <= filled && filled <= granted && granted <= s_done + DEPTH)
#ifdef EARLY_GRANT
#define s_returned sent
#else
#define s_returned s_done
#endif
#ifdef NO_CREDIT
#define has_room true
#else
#define has_room (sent < wire_head + DEPTH)
#endif

active proctype sender_proxy()
{
    do
    :: granted < s_returned + DEPTH ->
        s_head = granted + 1 - DEPTH;
        granted++;
#ifndef EARLY_GRANT
        assert(send_holds)
#endif
    :: atomic { filled < granted && filled < STEPS && s_tail > filled -> filled++; assert(send_holds) }
    :: sent < filled && nfull(out) && has_room ->
        out!sent;
        sent++;
#ifdef EARLY_TAIL
        wire_tail = sent;
#endif
        assert(send_holds)
    :: out_ended?_ ->
        s_done++;
#ifndef EARLY_TAIL
        wire_tail = s_done;
#endif
        assert(send_holds)
    :: s_done == STEPS && granted == s_done + DEPTH -> break
    od
}

byte posted = DEPTH, arrived, flushed, ready, r_done;
#define recv_holds \
    (r_done <= ready && ready <= flushed && flushed <= arrived && arrived <= posted && posted <= r_done + DEPTH)
#ifdef EARLY_POST
#define r_returned arrived
#else
#define r_returned r_done
#endif
#ifdef EARLY_READY
#define is_flushed arrived
#else
#define is_flushed flushed
#endif

active proctype receiver_proxy()
{
    do
    :: posted < r_returned + DEPTH ->
        wire_head = posted + 1 - DEPTH;
        posted++;
#ifndef EARLY_POST
        assert(recv_holds)
#endif
    :: arrived < posted && nfull(in) && wire_tail > arrived ->
        in!arrived;
        arrived++
    :: atomic { in_ended?_ -> flushed++; assert(flushed <= arrived) }
    :: ready < is_flushed ->
        r_tail = ready + 1;
        ready++;
#ifndef EARLY_READY
        assert(ready <= flushed)
#endif
    :: atomic { r_done < ready && r_head > r_done -> r_done++; assert(r_done <= ready) }
    :: r_done == STEPS && flushed == STEPS && posted == r_done + DEPTH -> break
    od
}

active proctype receiver_kernel()
{
    byte step;
    do
    :: step < STEPS ->
        (step < r_tail);
        assert(to[step % DEPTH] == step + 1);
        r_head = step + 1;
        step++
    :: else -> break
    od
}
