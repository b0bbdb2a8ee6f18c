/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults that can be compiled into the protocols, to prove that the tests would notice them (tests/unit/mutants.sh).
 * A product build has GF_MUTANT = GF_MUTANT_NONE, and the compiler drops every other branch.
 */
#ifndef GF_KERNELS_MUTANTS_H
#define GF_KERNELS_MUTANTS_H

enum gf_mutant {
    GF_MUTANT_NONE = 0,
    GF_MUTANT_RELAXED_TAIL = 1,      /* tail published without a release */
    GF_MUTANT_RELAXED_OBSERVE = 2,   /* tail observed without an acquire */
    GF_MUTANT_RELAXED_HEAD = 3,      /* head published without a release */
    GF_MUTANT_LATE_SIZE = 4,         /* size written after tail */
    GF_MUTANT_EARLY_TAIL = 5,        /* tail published before the block's barrier */
    GF_MUTANT_DEEP = 6,              /* one slot more in flight than there is */
    GF_MUTANT_SPLIT_LINE = 7,        /* the flags of a LL line stored apart from its data */
    GF_MUTANT_ONE_SLOT = 8,          /* LL slots do not alternate */
    GF_MUTANT_NO_BARRIER = 9,        /* a block starts the next LL piece before all its threads have read this one */
    GF_MUTANT_SILENT_BLOCK = 10,     /* a block without data in a LL piece sends no line */
    GF_MUTANT_OPEN_GATE = 11,        /* a pull does not mind that its launch was closed */
    GF_MUTANT_EARLY_END = 12,        /* a pull's end published before the block's barrier */
    GF_MUTANT_AGENT_EARLY_END = 17,  /* the same by the agent */
    GF_MUTANT_UNCOUNTED = 13,        /* a pull's end published by its first block instead of the last */
    GF_MUTANT_TEAR_LINE = 14,        /* a LL128 line stored word by word */
    GF_MUTANT_ONE_FLAG = 15,         /* of the lines of a LL128 unit only the first one's flag is looked at */
    GF_MUTANT_TORN = 16,             /* a device that tears lines is used for LL128 all the same */
    GF_MUTANT_SHORT_TAIL = 18,       /* tail published in 32 bits */
    GF_MUTANT_SHORT_HEAD = 19,       /* head published in 32 bits */

    /* Of the two-shot allreduce. */
    GF_MUTANT_EARLY_FLAG = 20,       /* a two-shot flag published before the block's barrier */
    GF_MUTANT_RELAXED_FLAG = 21,     /* a two-shot flag published without a release */
    GF_MUTANT_BLIND_FLAG = 22,       /* a two-shot flag observed without an acquire */
    GF_MUTANT_NO_MEETING = 23,       /* a rank leaves a two-shot before its peers are done */

    /* Of the ring that goes straight to the neighbour's buffers. */
    GF_MUTANT_EARLY_EPOCH = 24,      /* the epoch of an address published before the words */
    GF_MUTANT_RELAXED_ADDRESS = 25,  /* the same without a release */
    GF_MUTANT_BLIND_ADDRESS = 26,    /* observed without an acquire */
    GF_MUTANT_OLD_ADDRESS = 27,      /* an address of a launch before is believed */
    GF_MUTANT_LEAVE_UNREAD = 28,     /* a rank leaves before its buffers have been read */

    GF_MUTANT_SPLIT_COMMAND = 31,    /* the agent believes a command by the flag of its first word */
    GF_MUTANT_RELAXED_COMMAND = 32,  /* the agent observes a command without an acquire */
    GF_MUTANT_EARLY_DONE = 33,       /* a command's end published before the block's barrier */
    GF_MUTANT_SILENT_LEAVE = 34,     /* the agent leaves and does not say so */
    GF_MUTANT_OLD_TABLE = 35,        /* the agent keeps a table that has been given to another communicator */
    GF_MUTANT_EARLY_SHARE = 36,      /* a helper tells its leader before the block's barrier */
    GF_MUTANT_LONE_DONE = 37,        /* a command's end published without a word of the helpers */
    GF_MUTANT_BLIND_SHARE = 50,      /* the leader observes its helpers' words without an acquire */
    GF_MUTANT_EARLY_RESULT = 51,     /* a block reduces what its threads have gathered before they meet */
    GF_MUTANT_LAST_LAP = 52,         /* commands keep the last flag there is when they should begin again with the first */
    GF_MUTANT_LAST_RELAY = 53,       /* the same of commands that are relayed */

    /* Of the FIFOs whose slots the host copies (transport/, proxy/). */
    GF_MUTANT_COPY_EARLY_TAIL = 40,  /* the peer is told when the copy is started */
    GF_MUTANT_COPY_EARLY_GRANT = 41, /* the sender's kernel gets its slot back when the copy is started */
    GF_MUTANT_COPY_NO_CREDIT = 42,   /* the copy does not wait for room at the peer */
    GF_MUTANT_COPY_EARLY_READY = 43, /* the receiver's kernel is told before the flush */
    GF_MUTANT_COPY_EARLY_POST = 44,  /* a slot is posted again when its data are passed on, not when they are taken */
    GF_MUTANT_COPY_LATE_SIZE = 45,   /* size written after tail */
    GF_MUTANT_COPY_LOST_WAKE = 46,   /* the thread goes to sleep without looking again whether it was woken */

    /* Of the FIFOs whose slots go over a network (transport/net*.c). */
    GF_MUTANT_NET_HALF_CREDIT = 60,  /* a credit is believed by its first word */
    GF_MUTANT_NET_EARLY_HEAD = 61,   /* the sender's kernel gets its slot back when the put is begun */
    GF_MUTANT_NET_UNEXPECTED = 62,   /* the wire is not told that a notification may come */
    GF_MUTANT_NET_EARLY_READY = 63,  /* the receiver's kernel is told before the flush has ended */
    GF_MUTANT_NET_IMPLIED = 64       /* an offer is taken for accepted, whatever the sender said */
};

#ifndef GF_MUTANT
#define GF_MUTANT 0
#endif

#endif
