/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sending, probing and receiving.
 */
#include "mca_coll_gpufifo/mail.h"

#include "ompi/mca/pml/pml.h"

#include "mca_coll_gpufifo/mailbox.h"
#include "mca_coll_gpufifo/nodes.h"

/* A message on its way out. */
typedef struct parcel_t {
    opal_list_item_t super;
    struct gf_mail_message message;
    int destination;
    ompi_request_t *request;
} parcel_t;
static OBJ_CLASS_INSTANCE(parcel_t, opal_list_item_t, NULL, NULL);

struct gf_mail {
    gf_mail_handler handler;
    void *ctx;
    int *sources;                        /* ranks in MPI_COMM_WORLD of the other processes on this node; or any, alone */
    int source_count;
    _Atomic unsigned turns;              /* of gf_mail_exchange_next */
    atomic_flag busy;                    /* a thread is in exchange() */
    _Atomic int outgoing;                /* parcels in outbox and sent */
    opal_mutex_t lock;                   /* protects the outbox */
    opal_list_t outbox;                  /* to be sent by the next exchange() */
    opal_list_t sent;                    /* exchange() only: being sent */
};

static ompi_communicator_t *world(void) { return &ompi_mpi_comm_world.comm; }

static bool is_source(int rank)
{
    return rank != ompi_comm_rank(world()) && gf_mpi_rank_is_near(world(), rank);
}

/* Between nodes any process may lead one, so each probe is for all. */
static bool list_sources(struct gf_mail *mail)
{
    int ranks = ompi_comm_size(world()), near = 0;
    bool any;

    for (int rank = 0; rank < ranks; rank++) {
        near += is_source(rank);
    }
    any = gf_nodes_may_be_native() && near + 1 < ranks;
    mail->sources = calloc((size_t)near + 1, sizeof *mail->sources);
    for (int rank = 0; rank < ranks && mail->sources && !any; rank++) {
        if (is_source(rank)) {
            mail->sources[mail->source_count++] = rank;
        }
    }
    if (any && mail->sources) {
        mail->sources[mail->source_count++] = MPI_ANY_SOURCE;
    }
    return mail->sources != NULL;
}

struct gf_mail *gf_mail_create(gf_mail_handler handler, void *ctx)
{
    struct gf_mail *mail = calloc(1, sizeof(*mail));

    if (mail == NULL || !list_sources(mail)) {
        free(mail);
        return NULL;
    }
    mail->handler = handler;
    mail->ctx = ctx;
    OBJ_CONSTRUCT(&mail->lock, opal_mutex_t);
    OBJ_CONSTRUCT(&mail->outbox, opal_list_t);
    OBJ_CONSTRUCT(&mail->sent, opal_list_t);
    return mail;
}

void gf_mail_destroy(struct gf_mail *mail)
{
    OPAL_LIST_DESTRUCT(&mail->outbox);
    OBJ_DESTRUCT(&mail->lock);
    if (mail->outgoing == 0) {
        OBJ_DESTRUCT(&mail->sent);
        free(mail->sources);
        free(mail);
    }
}

int gf_mail_peers(const struct gf_mail *mail)
{
    return mail->source_count;
}

bool gf_mail_busy(const struct gf_mail *mail)
{
    return mail->outgoing > 0;
}

void gf_mail_post(struct gf_mail *mail, const struct gf_mail_message *message, int destination)
{
    parcel_t *parcel = OBJ_NEW(parcel_t);

    if (parcel) {
        parcel->message = *message;
        parcel->destination = destination;
        parcel->request = NULL;
        opal_mutex_lock(&mail->lock);
        opal_list_append(&mail->outbox, &parcel->super);
        mail->outgoing++;
        opal_mutex_unlock(&mail->lock);
    }
}

/* A message from this source, if there is one. What is not a message of ours is taken too, and dropped. */
static bool take_from(int source, struct gf_mail_message *message)
{
    ompi_status_public_t status;
    int there = 0, from;

    do {
        if (MCA_PML_CALL(iprobe(source, GF_MAILBOX_TAG, world(), &there, &status)) != OMPI_SUCCESS || !there) {
            return false;
        }
        from = status.MPI_SOURCE;
    } while (MCA_PML_CALL(recv(message, sizeof(*message), MPI_BYTE, from, GF_MAILBOX_TAG, world(), &status)) != OMPI_SUCCESS ||
             status._ucount != sizeof(*message));
    return true;
}

static void send_outbox(struct gf_mail *mail)
{
    parcel_t *parcel;

    do {
        opal_mutex_lock(&mail->lock);
        parcel = (parcel_t *)opal_list_remove_first(&mail->outbox);
        opal_mutex_unlock(&mail->lock);
        if (parcel) {
            MCA_PML_CALL(isend(&parcel->message, sizeof(parcel->message), MPI_BYTE, parcel->destination, GF_MAILBOX_TAG,
                               MCA_PML_BASE_SEND_STANDARD, world(), &parcel->request));
            opal_list_append(&mail->sent, &parcel->super);
        }
    } while (parcel);
}

static void reap_sent(struct gf_mail *mail)
{
    opal_list_item_t *item, *next;

    for (item = opal_list_get_first(&mail->sent); item != opal_list_get_end(&mail->sent); item = next) {
        parcel_t *parcel = (parcel_t *)item;
        next = opal_list_get_next(item);
        if (parcel->request == NULL || REQUEST_COMPLETE(parcel->request)) {
            if (parcel->request) {
                ompi_request_free(&parcel->request);
            }
            opal_list_remove_item(&mail->sent, item);
            OBJ_RELEASE(parcel);
            mail->outgoing--;
        }
    }
}

/* Sends, and takes what came from `count` sources from `first` on. One thread at a time; the others come back later. */
static int exchange(struct gf_mail *mail, int first, int count)
{
    struct gf_mail_message message;
    int events = 0;

    if (atomic_flag_test_and_set(&mail->busy)) {
        return 0;
    }
    send_outbox(mail);
    for (int i = first; i < first + count; i++) {
        while (take_from(mail->sources[i], &message)) {
            mail->handler(mail->ctx, &message);
            events++;
        }
    }
    send_outbox(mail);
    reap_sent(mail);
    atomic_flag_clear(&mail->busy);
    return events;
}

int gf_mail_exchange(struct gf_mail *mail)
{
    return exchange(mail, 0, mail->source_count);
}

int gf_mail_exchange_next(struct gf_mail *mail)
{
    unsigned turn = atomic_fetch_add_explicit(&mail->turns, 1, memory_order_relaxed);

    return exchange(mail, (int)(turn % (unsigned)mail->source_count), 1);
}
