/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by which a communicator is armed; the header has the protocol.
 */
#include "mca_coll_gpufifo/mailbox.h"

#include "ompi/mca/pml/pml.h"
#include "opal/runtime/opal_progress.h"

#include "mca_coll_gpufifo/agree.h"

enum {
    PROBE_EVERY = 32,                    /* so many calls of the callback, each of which stands for 8 of MPI's progress */
    CLOSE_ROUNDS = 1000                  /* MPI_Finalize must not hang on a message that cannot be sent any more */
};

enum message_kind { MESSAGE_REQUEST = 1, MESSAGE_ANNOUNCE, MESSAGE_REFUSED, MESSAGE_UNREACHABLE };

/* Names a communicator. */
struct address {
    struct gf_mpi_comm_id id;
    int32_t leader;                      /* rank in MPI_COMM_WORLD */
    int32_t size;
};

/* Plain bytes; both ends are on one node. */
struct message {
    struct address to;
    int32_t kind;
    int32_t from;                        /* sender's rank in MPI_COMM_WORLD */
    struct gf_segment_name board;        /* what an ANNOUNCE announces, and the others are about; zero: none */
};

/* A message on its way out, or waiting for its communicator. */
typedef struct parcel_t {
    opal_list_item_t super;
    struct message message;
    int destination;
    ompi_request_t *request;
} parcel_t;
static OBJ_CLASS_INSTANCE(parcel_t, opal_list_item_t, NULL, NULL);

struct gf_mailbox {
    int *near;                           /* ranks in MPI_COMM_WORLD of the other processes of this job on this node */
    int near_count;
    _Atomic unsigned probes;             /* by the callback */
    atomic_flag busy;                    /* a thread is in exchange() */
    _Atomic int outgoing;                /* parcels in outbox and sent */
    opal_mutex_t lock;                   /* protects the lists */
    opal_list_t outbox;                  /* to be sent by the next exchange() */
    opal_list_t waiting;                 /* for a communicator */
    opal_list_t sent;                    /* exchange() only: being sent */
};

static ompi_communicator_t *world(void) { return &ompi_mpi_comm_world.comm; }

static bool same_board(const struct gf_segment_name *a, const struct gf_segment_name *b)
{
    return a->pid == b->pid && a->inode == b->inode && a->device == b->device;
}

static int world_rank_of(ompi_communicator_t *comm, int rank)
{
    return gf_mpi_world_rank(ompi_comm_peer_lookup(comm, rank));
}

static struct address address_of(ompi_communicator_t *comm)
{
    return (struct address){.id = gf_mpi_comm_id_of(comm), .leader = world_rank_of(comm, 0), .size = ompi_comm_size(comm)};
}

static bool same_address(const struct address *a, const struct address *b)
{
    return a->id.words[0] == b->id.words[0] && a->id.words[1] == b->id.words[1] && a->leader == b->leader && a->size == b->size;
}

static parcel_t *parcel_new(const struct message *message, int destination)
{
    parcel_t *parcel = OBJ_NEW(parcel_t);

    if (parcel) {
        parcel->message = *message;
        parcel->destination = destination;
        parcel->request = NULL;
    }
    return parcel;
}

/* The next exchange() sends it: no PML call happens under a lock. */
static void post(struct gf_mailbox *mailbox, const struct message *message, int destination)
{
    parcel_t *parcel = parcel_new(message, destination);

    if (parcel) {
        opal_mutex_lock(&mailbox->lock);
        opal_list_append(&mailbox->outbox, &parcel->super);
        mailbox->outgoing++;
        opal_mutex_unlock(&mailbox->lock);
    }
}

static void post_to_members(struct gf_mailbox *mailbox, mca_coll_gpufifo_module_t *module, const struct message *message)
{
    for (int rank = 1; rank < ompi_comm_size(module->comm); rank++) {
        post(mailbox, message, world_rank_of(module->comm, rank));
    }
}

static struct message message_about(mca_coll_gpufifo_module_t *module, enum message_kind kind)
{
    struct message message = {.to = address_of(module->comm), .kind = kind, .from = ompi_comm_rank(world())};

    if (module->agree) {
        message.board = module->agree->name;
    }
    return message;
}

/* At the leader, under the component's lock: makes the board and tells everybody, or that there is none. */
static void arm_as_leader(struct gf_mailbox *mailbox, mca_coll_gpufifo_module_t *module)
{
    struct gf_reason why = {""};
    struct message message;

    if (module->agree || module->never_native) {
        return;
    }
    if (gf_agree_create(module, &why) == GF_OK) {
        message = message_about(module, MESSAGE_ANNOUNCE);
    } else {
        gf_agree_give_up(module, why.text);
        message = message_about(module, MESSAGE_REFUSED);
    }
    post_to_members(mailbox, module, &message);
}

/* At a member: if the board cannot be attached, the leader must know, for nobody can be native without this rank. */
static void attach_as_member(struct gf_mailbox *mailbox, mca_coll_gpufifo_module_t *module, const struct message *announce)
{
    struct gf_reason why = {""};
    struct message answer = *announce;

    if (gf_agree_attach(module, &announce->board, &why) != GF_OK) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_DEBUG, "%s: the board was not attached: %s", module->comm->c_name,
               why.text);
        answer.kind = MESSAGE_UNREACHABLE;
        answer.from = ompi_comm_rank(world());
        post(mailbox, &answer, answer.to.leader);
    }
}

/* At the leader: the board is marked first, for those who see it, and the others are told. */
static void refuse_as_leader(struct gf_mailbox *mailbox, mca_coll_gpufifo_module_t *module, const struct message *unreachable)
{
    struct message refusal;

    if (module->agree == NULL || !same_board(&module->agree->name, &unreachable->board)) {
        return;
    }
    if (atomic_exchange(&module->agree->board->failed, 1) == 0) {
        refusal = message_about(module, MESSAGE_REFUSED);
        post_to_members(mailbox, module, &refusal);
    }
}

/* A member that sees the board learns of its failure there; one that does not has been waiting for an answer. */
static void accept_refusal(mca_coll_gpufifo_module_t *module)
{
    if (module->agree == NULL) {
        gf_agree_give_up(module, "its ranks cannot share memory (separate containers, or no memory left?)");
    }
}

/* Under the component's lock. */
static void handle(struct gf_mailbox *mailbox, mca_coll_gpufifo_module_t *module, const struct message *message)
{
    bool leads = ompi_comm_rank(module->comm) == 0;

    if (leads && message->kind == MESSAGE_REQUEST) {
        arm_as_leader(mailbox, module);
    } else if (leads && message->kind == MESSAGE_UNREACHABLE) {
        refuse_as_leader(mailbox, module, message);
    } else if (!leads && message->kind == MESSAGE_ANNOUNCE) {
        attach_as_member(mailbox, module, message);
    } else if (!leads && message->kind == MESSAGE_REFUSED) {
        accept_refusal(module);
    }
}

static mca_coll_gpufifo_module_t *find_module(const struct address *to)
{
    opal_list_t *modules = &mca_coll_gpufifo_component.modules;
    opal_list_item_t *item;

    for (item = opal_list_get_first(modules); item != opal_list_get_end(modules); item = opal_list_get_next(item)) {
        mca_coll_gpufifo_module_t *module = gf_module_of(item);
        if (!OMPI_COMM_IS_INTER(module->comm) && ompi_comm_size(module->comm) == to->size) {
            struct address here = address_of(module->comm);
            if (same_address(&here, to)) {
                return module;
            }
        }
    }
    return NULL;
}

/* Under the component's lock. One message a kind and communicator: a later one says more. */
static void keep_waiting(struct gf_mailbox *mailbox, const struct message *message)
{
    opal_list_t *waiting = &mailbox->waiting;
    opal_list_item_t *item;
    parcel_t *parcel;

    opal_mutex_lock(&mailbox->lock);
    for (item = opal_list_get_first(waiting); item != opal_list_get_end(waiting); item = opal_list_get_next(item)) {
        parcel = (parcel_t *)item;
        if (parcel->message.kind == message->kind && same_address(&parcel->message.to, &message->to)) {
            parcel->message = *message;
            break;
        }
    }
    if (item == opal_list_get_end(waiting) && (parcel = parcel_new(message, -1)) != NULL) {
        opal_list_append(waiting, &parcel->super);
    }
    opal_mutex_unlock(&mailbox->lock);
}

static void deliver(struct gf_mailbox *mailbox, const struct message *message)
{
    mca_coll_gpufifo_module_t *module;

    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    module = find_module(&message->to);
    if (module) {
        handle(mailbox, module, message);
    } else {
        keep_waiting(mailbox, message);
    }
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
}

void gf_mailbox_deliver_waiting(mca_coll_gpufifo_module_t *module)
{
    struct gf_mailbox *mailbox = mca_coll_gpufifo_component.mailbox;
    opal_list_item_t *item, *next;
    struct address here;

    if (mailbox == NULL || opal_list_is_empty(&mailbox->waiting) || OMPI_COMM_IS_INTER(module->comm)) {
        return;
    }
    here = address_of(module->comm);
    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    for (item = opal_list_get_first(&mailbox->waiting); item != opal_list_get_end(&mailbox->waiting); item = next) {
        parcel_t *parcel = (parcel_t *)item;
        next = opal_list_get_next(item);
        if (same_address(&parcel->message.to, &here)) {
            handle(mailbox, module, &parcel->message);
            opal_mutex_lock(&mailbox->lock);
            opal_list_remove_item(&mailbox->waiting, item);
            opal_mutex_unlock(&mailbox->lock);
            OBJ_RELEASE(parcel);
        }
    }
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
}

void gf_mailbox_arm(mca_coll_gpufifo_module_t *module)
{
    struct gf_mailbox *mailbox = mca_coll_gpufifo_component.mailbox;
    struct message request;

    if (mailbox == NULL) {
        gf_agree_give_up(module, "this process has no mailbox");
        return;
    }
    if (ompi_comm_rank(module->comm) == 0) {
        opal_mutex_lock(&mca_coll_gpufifo_component.lock);
        arm_as_leader(mailbox, module);
        opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
    } else {
        request = message_about(module, MESSAGE_REQUEST);
        post(mailbox, &request, request.to.leader);
    }
    gf_mailbox_progress();
}

/* A message from this process, if there is one. What is not a message of ours is taken too, and dropped. */
static bool take_from(int source, struct message *message)
{
    ompi_status_public_t status;
    int there = 0;

    do {
        if (MCA_PML_CALL(iprobe(source, GF_MAILBOX_TAG, world(), &there, &status)) != OMPI_SUCCESS || !there) {
            return false;
        }
    } while (MCA_PML_CALL(recv(message, sizeof(*message), MPI_BYTE, source, GF_MAILBOX_TAG, world(), &status)) != OMPI_SUCCESS ||
             status._ucount != sizeof(*message));
    return true;
}

static void send_outbox(struct gf_mailbox *mailbox)
{
    parcel_t *parcel;

    do {
        opal_mutex_lock(&mailbox->lock);
        parcel = (parcel_t *)opal_list_remove_first(&mailbox->outbox);
        opal_mutex_unlock(&mailbox->lock);
        if (parcel) {
            MCA_PML_CALL(isend(&parcel->message, sizeof(parcel->message), MPI_BYTE, parcel->destination, GF_MAILBOX_TAG,
                               MCA_PML_BASE_SEND_STANDARD, world(), &parcel->request));
            opal_list_append(&mailbox->sent, &parcel->super);
        }
    } while (parcel);
}

static void reap_sent(struct gf_mailbox *mailbox)
{
    opal_list_item_t *item, *next;

    for (item = opal_list_get_first(&mailbox->sent); item != opal_list_get_end(&mailbox->sent); item = next) {
        parcel_t *parcel = (parcel_t *)item;
        next = opal_list_get_next(item);
        if (parcel->request == NULL || REQUEST_COMPLETE(parcel->request)) {
            if (parcel->request) {
                ompi_request_free(&parcel->request);
            }
            opal_list_remove_item(&mailbox->sent, item);
            OBJ_RELEASE(parcel);
            mailbox->outgoing--;
        }
    }
}

/* Sends, and takes what came from `count` near processes from `first` on. One thread at a time; the others come back later. */
static int exchange(struct gf_mailbox *mailbox, int first, int count)
{
    struct message message;
    int events = 0;

    if (atomic_flag_test_and_set(&mailbox->busy)) {
        return 0;
    }
    send_outbox(mailbox);
    for (int i = first; i < first + count; i++) {
        while (take_from(mailbox->near[i], &message)) {
            deliver(mailbox, &message);
            events++;
        }
    }
    send_outbox(mailbox);
    reap_sent(mailbox);
    atomic_flag_clear(&mailbox->busy);
    return events;
}

void gf_mailbox_progress(void)
{
    struct gf_mailbox *mailbox = mca_coll_gpufifo_component.mailbox;

    if (mailbox) {
        exchange(mailbox, 0, mailbox->near_count);
    }
}

/* Asks one process, the next one each time: who waits for an answer has time. */
static int probe_next(struct gf_mailbox *mailbox)
{
    unsigned probe = atomic_fetch_add_explicit(&mailbox->probes, 1, memory_order_relaxed);

    return exchange(mailbox, (int)(probe % (unsigned)mailbox->near_count), 1);
}

/* Called with MPI's progress, by host-only programs too: a nanosecond counts here. A probe costs as much as a few progress calls, so
 * most calls end at once. The count begins anew with each host call, so a program that makes one short call after the other never probes;
 * but a rank that others wait for will be held in the very call that they wait in, and then it does. Threads may disturb the count, which
 * does no harm. */
static int progress_callback(void)
{
    unsigned calls = __atomic_load_n(&mca_coll_gpufifo_component.progress_calls, __ATOMIC_RELAXED) + 1;

    __atomic_store_n(&mca_coll_gpufifo_component.progress_calls, calls, __ATOMIC_RELAXED);
    if (OPAL_LIKELY(calls % PROBE_EVERY != 0)) {
        return 0;
    }
    return probe_next(mca_coll_gpufifo_component.mailbox);
}

static bool list_near_processes(struct gf_mailbox *mailbox)
{
    int me = ompi_comm_rank(world()), ranks = ompi_comm_size(world()), near = 0;

    for (int rank = 0; rank < ranks; rank++) {
        near += rank != me && gf_mpi_rank_is_near(world(), rank);
    }
    mailbox->near = calloc((size_t)near + 1, sizeof(*mailbox->near));
    for (int rank = 0; rank < ranks && mailbox->near; rank++) {
        if (rank != me && gf_mpi_rank_is_near(world(), rank)) {
            mailbox->near[mailbox->near_count++] = rank;
        }
    }
    return mailbox->near != NULL;
}

void gf_mailbox_open(void)
{
    struct gf_mailbox *mailbox = calloc(1, sizeof(*mailbox));

    if (mailbox == NULL || !list_near_processes(mailbox)) {
        free(mailbox);
        return;
    }
    OBJ_CONSTRUCT(&mailbox->lock, opal_mutex_t);
    OBJ_CONSTRUCT(&mailbox->outbox, opal_list_t);
    OBJ_CONSTRUCT(&mailbox->waiting, opal_list_t);
    OBJ_CONSTRUCT(&mailbox->sent, opal_list_t);
    mca_coll_gpufifo_component.mailbox = mailbox;
    if (mailbox->near_count > 0) {
        opal_progress_register_lp(progress_callback);
    }
}

/* All processes are past MPI_Finalize's fence. What they sent before is taken, for some PMLs complain about messages left
 * over. */
void gf_mailbox_close(void)
{
    struct gf_mailbox *mailbox = mca_coll_gpufifo_component.mailbox;

    if (mailbox == NULL) {
        return;
    }
    if (mailbox->near_count > 0) {
        opal_progress_unregister(progress_callback);
    }
    for (int round = 0; round < CLOSE_ROUNDS && (round < CLOSE_ROUNDS / 10 || mailbox->outgoing > 0); round++) {
        opal_progress();
        gf_mailbox_progress();
    }
    mca_coll_gpufifo_component.mailbox = NULL;
    OPAL_LIST_DESTRUCT(&mailbox->outbox);
    OPAL_LIST_DESTRUCT(&mailbox->waiting);
    OBJ_DESTRUCT(&mailbox->lock);
    if (mailbox->outgoing == 0) {
        OBJ_DESTRUCT(&mailbox->sent);
        free(mailbox->near);
        free(mailbox);       /* else the PML may still read it: better lost than overwritten */
    }
}
