/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of links, for links.c and links_greet.c.
 */
#ifndef GF_MCA_PT2PT_LINKS_PRIVATE_H
#define GF_MCA_PT2PT_LINKS_PRIVATE_H

#include "mca_coll_gpufifo/module.h"
#include "mca_coll_gpufifo/pt2pt/links.h"

enum gf_link_state {
    GF_LINK_NONE,
    GF_LINK_WANTED,                    /* a greeting is to be sent, or to be received */
    GF_LINK_GREETING,                  /* that is under way; at the sender, the answer too */
    GF_LINK_AGAIN,                     /* receiver: its answer is under way, which wants another greeting */
    GF_LINK_ANSWERED,                  /* receiver: its answer is under way; messages may come */
    GF_LINK_OPEN,
    GF_LINK_REFUSED                    /* for good; why says why */
};

/* What both ends tell each other. Plain bytes. */
struct gf_link_greeting {
    int32_t failure;                   /* a gf_status; GF_IN_PROGRESS, of an answer: greet once more, for `adapters` */
    int32_t adapters;                  /* by one of the first so many of them its lane goes: all that this end has, or as many as
                                          it knows the other end to have */
    char wire[16];                     /* its kind */
    char why[128];                     /* of a failure, cut short */
    struct gf_wire_address address;
};

/* One way of a link. Written by who is in the exchange, but for the step from NONE to WANTED, which is the queue's. */
struct gf_link_way {
    _Atomic int state;                 /* enum gf_link_state; published after what belongs to it */
    int ordinal;                       /* of the device whose message wants it */
    struct gf_carrier_lane *lane;
    int adapters;                      /* of the other end, as it has told; 0: not yet */
    struct gf_reason why;
    struct gf_link_greeting said, heard;
    ompi_request_t *requests[2];       /* of what was said, and of what is heard */
};

struct gf_link {
    struct gf_link *next;
    int peer;                          /* rank in MPI_COMM_WORLD */
    struct gf_link_way out, in;
};
/* docs/scaling.md says so. */
_Static_assert(sizeof(struct gf_link_greeting) < 1024, "a greeting is shorter than 1 KiB");
_Static_assert(sizeof(struct gf_link) <= 4096, "a link takes 4 KiB at most");

struct gf_links {
    int peers;
    struct gf_link **of;               /* [peers], by rank; null: none yet. The queue's */
    _Atomic(struct gf_link *) first;   /* all of them; newest first, never taken out */
    uint64_t id;                       /* of the last message. The queue's */
    _Atomic int pending;               /* ways that are being made */
    atomic_flag busy;                  /* a thread is in the exchange; what follows is its, until a way is open */
    bool tried;                        /* to make the carrier, with this result */
    gf_status failure;
    struct gf_reason failure_why;
    int ordinal;                       /* of the carrier's device */
    struct gf_net *net;
    struct gf_fault fault;
    _Atomic(struct gf_carrier *) carrier;
};

/* links.c. Null: no such rank, or no host memory. */
struct gf_link *gf_links_of(struct gf_links *links, int peer);
/* Makes the carrier, if it is not there. */
gf_status gf_links_carrier(struct gf_links *links, int ordinal, struct gf_reason *why);

/* links_greet.c. From NONE to WANTED. */
void gf_links_begin(struct gf_links *links, struct gf_link_way *way, int ordinal);

#endif
