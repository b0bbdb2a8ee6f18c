/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spin model of mapped buffers (core/registry.h): two ranks, each with one place for its buffers, records that two share by
 * turns.
 *
 * In each call a rank uses the buffer at its place or a new one, which takes the place. Hosts of one machine are ordered (every
 * store here is a release on x86 and by core/host_ordered.h), so stores take effect at once.
 *
 * Checked: who reads a record reads that of the call; who maps a place maps the buffer of the call; both ranks come to the same
 * conclusion; after the call each has mapped the buffer that the other uses, if the conclusion was to go on; no deadlock.
 *
 * Mutants, each of which must fail:
 *   -DONE_RECORD    one record a rank instead of two by turns
 *   -DNO_VERDICT    who has mapped goes on without waiting for what the other could map
 *   -DALONE         who has no fresh place of its own takes no part in mapping
 */
#define RANKS 2
#define CALLS 4

#ifdef ONE_RECORD
#define RECORD(call) 0
#else
#define RECORD(call) ((call) % 2)
#endif

/* Pages; [rank * 2 + record] for records. */
byte entered[RANKS], judged[RANKS];
bool could[RANKS];
byte record_call[4], record_buffer[4];
bool record_fresh[4];
byte place[RANKS];               /* the buffer that lies there: its id */

/* What each rank concluded of a call, for the assertions. */
byte concluded[8];               /* [rank * 4 + call - 1]: 0 not yet, 1 go on, 2 take another path */

proctype rank(byte me)
{
    byte call, buffer, mapped, peer, last_id;
    bool fresh, all_could, refused;
    peer = 1 - me;
    do
    :: call == CALLS -> break
    :: else ->
        call++;
        /* 1, 2: the record */
        fresh = false;
        if
        :: last_id > 0
        :: last_id++; buffer = last_id * 2 + me; place[me] = buffer; fresh = true
        fi;
        record_buffer[me * 2 + RECORD(call)] = buffer;
        record_fresh[me * 2 + RECORD(call)] = fresh;
        record_call[me * 2 + RECORD(call)] = call;
        entered[me] = call;
        (entered[peer] >= call);
        assert(record_call[peer * 2 + RECORD(call)] == call);
#ifdef ALONE
        if
        :: fresh ->
#else
        if
        :: fresh || record_fresh[peer * 2 + RECORD(call)] ->
#endif
            /* 3: mapping may fail */
            all_could = true;
            if
            :: record_fresh[peer * 2 + RECORD(call)] ->
                mapped = place[peer];
                assert(mapped == record_buffer[peer * 2 + RECORD(call)]);
                if
                :: true
                :: all_could = false
                fi
            :: else
            fi;
            could[me] = all_could;
            judged[me] = call;
#ifndef NO_VERDICT
            (judged[peer] >= call);
            assert(judged[peer] == call);
            all_could = all_could && could[peer];
#endif
            refused = !all_could
        :: else
        fi;
        concluded[me * 4 + call - 1] = (refused -> 2 : 1);
        assert(concluded[peer * 4 + call - 1] == 0 || concluded[peer * 4 + call - 1] == concluded[me * 4 + call - 1]);
        assert(refused || mapped == record_buffer[peer * 2 + RECORD(call)])
    od
}

init {
    atomic { run rank(0); run rank(1) }
}
