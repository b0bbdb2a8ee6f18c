/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Carries the mailbox's messages (mailbox.h) between the processes of this job: those on this node, or, where ranks of
 * several may be native, all. What is posted goes with the next exchange, for the PML is never called under a lock.
 *
 * Threads: any; one at a time exchanges, and others pass.
 */
#ifndef GF_MCA_MAIL_H
#define GF_MCA_MAIL_H

#include "mca_coll_gpufifo/module.h"

/* Names a communicator. */
struct gf_mail_address {
    struct gf_mpi_comm_id id;
    int32_t leader;                      /* rank in MPI_COMM_WORLD */
    int32_t size;
};

enum gf_mail_kind { GF_MAIL_REQUEST = 1, GF_MAIL_ANNOUNCE, GF_MAIL_NEVER, GF_MAIL_BALLOT };

/* Plain bytes. */
struct gf_mail_message {
    struct gf_mail_address to;
    int32_t kind;                        /* enum gf_mail_kind */
    int32_t from;                        /* sender's rank in MPI_COMM_WORLD */
    struct gf_segment_name board;        /* what an ANNOUNCE announces, and the others are about; zero: none */
    uint64_t call;                       /* a REQUEST's number, repeated by its own answer, a NEVER, 0: none; a BALLOT's */
    int32_t word;                        /* a BALLOT's: enum gf_ballot_word */
    int32_t why;                         /* of a NEVER, also the ballot's: enum gf_agree_failure */
    int32_t node;                        /* a BALLOT's: the sender's, in the communicator */
};

struct gf_mail;

/* Gets each message that comes, with no lock held; may post. */
typedef void (*gf_mail_handler)(void *ctx, const struct gf_mail_message *message);

/* Null: no memory. */
struct gf_mail *gf_mail_create(gf_mail_handler handler, void *ctx);
/* What is still on its way stays where it is: the PML may read it, and better lost than overwritten. */
void gf_mail_destroy(struct gf_mail *mail);

/* From whom messages may come: so many other processes; one stands for all where they may come from any. */
int gf_mail_peers(const struct gf_mail *mail);

/* To a rank of MPI_COMM_WORLD. */
void gf_mail_post(struct gf_mail *mail, const struct gf_mail_message *message, int destination);

/* Is something of ours still on its way? */
bool gf_mail_busy(const struct gf_mail *mail);

/* Sends what was posted, and takes what came: from all, or from one of gf_mail_peers, the next one each time. How many came. */
int gf_mail_exchange(struct gf_mail *mail);
int gf_mail_exchange_next(struct gf_mail *mail);

#endif
