/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of a FIFO whose slots the sender's proxy copies from device to device (transport/p2p_copy_engine.c): the sender's
 * kernel fills slots of its own and publishes tail to its proxy; the proxy has a copy engine bring the slot to the receiver's,
 * and when it hears of the end publishes tail to the receiver's kernel, and head to the sender's. The receiver's kernel publishes
 * head to the proxy. A copy spoils its target before it fills it, and runs while all others do. The order of one agent's stores
 * and loads is the model fifo.pml's subject: here every publication is one.
 *
 * The proxy's ladder (proxy/stages.h) is checked after each of its steps.
 *
 * Checked: the receiver finds each step's payload; a copy never reads a slot that the kernel fills again meanwhile; the ladder
 * holds; no deadlock, and every step arrives.
 *
 * Mutants, each of which must fail:
 *   -DEARLY_TAIL    the receiver is told when the copy is started
 *   -DEARLY_GRANT   the sender's kernel gets its slot back when the copy is started
 *   -DNO_CREDIT     a copy is started without room at the receiver
 *   -DSHORT_TARGET  the proxy goes to sleep one step before the last one
 */
#define DEPTH 2
#define STEPS 5
#define COPIES 2                        /* that may be under way */

byte from[DEPTH], to[DEPTH];            /* payload: step + 1; 0: spoiled */
byte kernel_tail, kernel_head;          /* between the sender's kernel and its proxy */
byte peer_tail, peer_head;              /* between the proxy and the receiver's kernel */

chan copies = [COPIES] of { byte };     /* steps */
chan ended = [COPIES] of { byte };

active proctype sender_kernel()
{
    byte step;
    do
    :: step < STEPS ->
        (step < kernel_head + DEPTH);
        from[step % DEPTH] = 0;
        from[step % DEPTH] = step + 1;
        kernel_tail = step + 1;
        step++
    :: else -> break
    od
}

active proctype engine()
{
    byte step, payload;
end:
    do
    :: copies?step ->
        to[step % DEPTH] = 0;
        payload = from[step % DEPTH];
        assert(payload == step + 1);
        to[step % DEPTH] = payload;
        ended!step
    od
}

byte granted = DEPTH, filled, sent, done;       /* the first slots are the kernel's from the beginning */
#define ladder_holds (done <= sent && sent <= filled && filled <= granted && granted <= done + DEPTH)
#ifdef EARLY_GRANT
#define returned sent
#else
#define returned done
#endif
#ifdef NO_CREDIT
#define has_room true
#else
#define has_room (sent < peer_head + DEPTH)
#endif
#ifdef SHORT_TARGET
#define TARGET (STEPS - 1)
#else
#define TARGET STEPS
#endif

active proctype proxy()
{
    do
    :: granted < returned + DEPTH ->
        kernel_head = granted + 1 - DEPTH;
        granted++;
#ifndef EARLY_GRANT
        assert(ladder_holds)
#endif
    :: filled < granted && filled < TARGET && kernel_tail > filled ->
        filled++;
        assert(ladder_holds)
    :: sent < filled && nfull(copies) && has_room ->
        copies!sent;
        sent++;
#ifdef EARLY_TAIL
        peer_tail = sent;
#endif
        assert(ladder_holds)
    :: ended?_ ->
        done++;
#ifndef EARLY_TAIL
        peer_tail = done;
#endif
        assert(ladder_holds)
    :: done == TARGET && granted == done + DEPTH -> break
    od
}

active proctype receiver_kernel()
{
    byte step;
    do
    :: step < STEPS ->
        (step < peer_tail);
        assert(to[step % DEPTH] == step + 1);
        peer_head = step + 1;
        step++
    :: else -> break
    od
}
