/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the communicators that messages are for, keeps those that come too early, and looks for new ones in MPI's progress.
 */
#include "mca_coll_gpufifo/mailbox.h"

#include "opal/runtime/opal_progress.h"

#include "mca_coll_gpufifo/agree.h"
#include "mca_coll_gpufifo/agree_nodes.h"
#include "mca_coll_gpufifo/arming.h"
#include "mca_coll_gpufifo/gone.h"

enum {
    PROBE_EVERY = 32,                    /* so many calls of the callback, each of which stands for 8 of MPI's progress */
    CLOSE_ROUNDS = 1000                  /* MPI_Finalize must not hang on a message that cannot be sent any more */
};

/* A message whose communicator this process has not got. */
typedef struct waiting_t {
    opal_list_item_t super;
    struct gf_mail_message message;
} waiting_t;
static OBJ_CLASS_INSTANCE(waiting_t, opal_list_item_t, NULL, NULL);

struct gf_mailbox {
    struct gf_mail *mail;
    atomic_bool questions;               /* modules may have some to answer (agree_nodes.h); written under the component's lock */
    opal_mutex_t lock;                   /* protects what follows */
    opal_list_t waiting;                 /* for their communicators */
};

static ompi_communicator_t *world(void) { return &ompi_mpi_comm_world.comm; }

static int world_rank_of(ompi_communicator_t *comm, int rank)
{
    return gf_mpi_world_rank(ompi_comm_peer_lookup(comm, rank));
}

static struct gf_mail_address address_of(ompi_communicator_t *comm)
{
    return (struct gf_mail_address){.id = gf_mpi_comm_id_of(comm), .leader = world_rank_of(comm, 0),
                                    .size = ompi_comm_size(comm)};
}

static bool same_address(const struct gf_mail_address *a, const struct gf_mail_address *b)
{
    return gf_mpi_same_comm_id(a->id, b->id) && a->leader == b->leader && a->size == b->size;
}

struct gf_mail_message gf_mailbox_message(const mca_coll_gpufifo_module_t *module, enum gf_mail_kind kind)
{
    return (struct gf_mail_message){.to = address_of(module->comm), .kind = kind, .from = ompi_comm_rank(world())};
}

void gf_mailbox_post(const mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message, int rank)
{
    if (mca_coll_gpufifo_component.mailbox) {      /* MPI_Finalize closes it before it frees what the program has left */
        gf_mail_post(mca_coll_gpufifo_component.mailbox->mail, message, world_rank_of(module->comm, rank));
    }
}

void gf_mailbox_answer(const struct gf_mail_message *question, const struct gf_mail_message *answer)
{
    gf_mail_post(mca_coll_gpufifo_component.mailbox->mail, answer, question->from);
}

/* Under the component's lock. */
static void handle(struct gf_mailbox *mailbox, mca_coll_gpufifo_module_t *module, const struct gf_mail_message *message)
{
    if (message->kind != GF_MAIL_BALLOT) {
        gf_arming_handle(module, message);
    } else if (gf_agree_nodes_hear(module, message)) {
        atomic_store_explicit(&mailbox->questions, true, memory_order_relaxed);
    }
}

/* That process, by its rank in MPI_COMM_WORLD. By names: no process becomes known to Open MPI by this question. */
static bool has_member(ompi_communicator_t *comm, int process)
{
    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        opal_process_name_t name = ompi_group_get_proc_name(comm->c_local_group, rank);

        if (name.jobid == OMPI_PROC_MY_NAME->jobid && (int)name.vpid == process) {
            return true;
        }
    }
    return false;
}

/* One of the same name in which the sender is not is another one: this process has freed that which the message is about. */
static bool is_for(const struct gf_mail_message *message, const mca_coll_gpufifo_module_t *module)
{
    if (OMPI_COMM_IS_INTER(module->comm) || ompi_comm_size(module->comm) != message->to.size) {
        return false;
    }
    struct gf_mail_address here = address_of(module->comm);

    return same_address(&here, &message->to) && has_member(module->comm, message->from);
}

static mca_coll_gpufifo_module_t *find_module(const struct gf_mail_message *message)
{
    opal_list_t *modules = &mca_coll_gpufifo_component.modules;
    opal_list_item_t *item;

    for (item = opal_list_get_first(modules); item != opal_list_get_end(modules); item = opal_list_get_next(item)) {
        if (is_for(message, gf_module_of(item))) {
            return gf_module_of(item);
        }
    }
    return NULL;
}

/* Under the component's lock. One message a kind, communicator and sender: a later one says more. */
static void keep_waiting(struct gf_mailbox *mailbox, const struct gf_mail_message *message)
{
    opal_list_t *waiting = &mailbox->waiting;
    opal_list_item_t *item;
    waiting_t *one;

    opal_mutex_lock(&mailbox->lock);
    for (item = opal_list_get_first(waiting); item != opal_list_get_end(waiting); item = opal_list_get_next(item)) {
        one = (waiting_t *)item;
        if (one->message.kind == message->kind && one->message.from == message->from &&
            same_address(&one->message.to, &message->to)) {
            one->message = *message;
            break;
        }
    }
    if (item == opal_list_get_end(waiting) && (one = OBJ_NEW(waiting_t)) != NULL) {
        one->message = *message;
        opal_list_append(waiting, &one->super);
    }
    opal_mutex_unlock(&mailbox->lock);
}

/* Under the component's lock. Whether it has been dealt with. */
static bool is_for_gone(const struct gf_mail_message *message)
{
    struct gf_mail_message answer;

    if (!gf_gone_is(message)) {
        return false;
    }
    if (gf_gone_answer(message, &answer)) {
        gf_mailbox_answer(message, &answer);
    }
    return true;
}

/* Messages wait for communicators that were being freed when they came. */
static void look_for_gone(struct gf_mailbox *mailbox)
{
    opal_list_item_t *item, *next;

    if (OPAL_LIKELY(opal_list_is_empty(&mailbox->waiting))) {
        return;
    }
    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    opal_mutex_lock(&mailbox->lock);
    for (item = opal_list_get_first(&mailbox->waiting); item != opal_list_get_end(&mailbox->waiting); item = next) {
        const struct gf_mail_message *message = &((waiting_t *)item)->message;

        next = opal_list_get_next(item);
        /* One that is there by now gets its messages from the thread that makes it. */
        if (!find_module(message) && is_for_gone(message)) {
            opal_list_remove_item(&mailbox->waiting, item);
            OBJ_RELEASE(item);
        }
    }
    opal_mutex_unlock(&mailbox->lock);
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
}

static void deliver(void *ctx, const struct gf_mail_message *message)
{
    struct gf_mailbox *mailbox = ctx;
    mca_coll_gpufifo_module_t *module;

    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    module = find_module(message);
    if (module) {
        handle(mailbox, module, message);
    } else if (!is_for_gone(message)) {
        keep_waiting(mailbox, message);
    }
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
}

void gf_mailbox_deliver_waiting(mca_coll_gpufifo_module_t *module)
{
    struct gf_mailbox *mailbox = mca_coll_gpufifo_component.mailbox;
    opal_list_item_t *item, *next;

    if (mailbox == NULL || opal_list_is_empty(&mailbox->waiting)) {
        return;
    }
    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    for (item = opal_list_get_first(&mailbox->waiting); item != opal_list_get_end(&mailbox->waiting); item = next) {
        waiting_t *one = (waiting_t *)item;
        next = opal_list_get_next(item);
        if (is_for(&one->message, module)) {
            handle(mailbox, module, &one->message);
            opal_mutex_lock(&mailbox->lock);
            opal_list_remove_item(&mailbox->waiting, item);
            opal_mutex_unlock(&mailbox->lock);
            OBJ_RELEASE(one);
        }
    }
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
}

void gf_mailbox_arm(mca_coll_gpufifo_module_t *module)
{
    if (mca_coll_gpufifo_component.mailbox == NULL) {
        gf_agree_give_up(module, "this process has no mailbox");
        return;
    }
    gf_mailbox_progress();               /* what came about an earlier communicator of this name is no answer to this question */
    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    gf_arming_begin(module);
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
    gf_mailbox_progress();
}

/* What modules could not answer when they were asked. */
static void answer_questions(struct gf_mailbox *mailbox)
{
    if (OPAL_LIKELY(!atomic_load_explicit(&mailbox->questions, memory_order_relaxed))) {
        return;
    }
    bool left = false;

    opal_mutex_lock(&mca_coll_gpufifo_component.lock);
    for (opal_list_item_t *item = opal_list_get_first(&mca_coll_gpufifo_component.modules);
         item != opal_list_get_end(&mca_coll_gpufifo_component.modules); item = opal_list_get_next(item)) {
        left |= gf_agree_nodes_answer(gf_module_of(item));
    }
    atomic_store_explicit(&mailbox->questions, left, memory_order_relaxed);
    opal_mutex_unlock(&mca_coll_gpufifo_component.lock);
}

void gf_mailbox_progress(void)
{
    struct gf_mailbox *mailbox = mca_coll_gpufifo_component.mailbox;

    if (mailbox) {
        answer_questions(mailbox);
        look_for_gone(mailbox);
        gf_mail_exchange(mailbox->mail);
    }
}

/* Called with MPI's progress, by host-only programs too: a nanosecond counts here. A probe costs as much as a few progress calls,
 * so most calls end at once. The count begins anew with each host call, so a program that makes one short call after the other
 * never probes; but a rank that others wait for will be held in the very call that they wait in, and then it does. Threads may
 * disturb the count, which does no harm. */
static int progress_callback(void)
{
    unsigned calls = __atomic_load_n(&mca_coll_gpufifo_component.progress_calls, __ATOMIC_RELAXED) + 1;

    __atomic_store_n(&mca_coll_gpufifo_component.progress_calls, calls, __ATOMIC_RELAXED);
    if (OPAL_LIKELY(calls % PROBE_EVERY != 0)) {
        return 0;
    }
    answer_questions(mca_coll_gpufifo_component.mailbox);
    look_for_gone(mca_coll_gpufifo_component.mailbox);
    /* Of one process: who waits for an answer has time. */
    return gf_mail_exchange_next(mca_coll_gpufifo_component.mailbox->mail);
}

void gf_mailbox_open(void)
{
    struct gf_mailbox *mailbox = calloc(1, sizeof(*mailbox));

    if (mailbox == NULL || (mailbox->mail = gf_mail_create(deliver, mailbox)) == NULL) {
        free(mailbox);
        return;
    }
    OBJ_CONSTRUCT(&mailbox->lock, opal_mutex_t);
    OBJ_CONSTRUCT(&mailbox->waiting, opal_list_t);
    mca_coll_gpufifo_component.mailbox = mailbox;
    if (gf_mail_peers(mailbox->mail) > 0) {
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
    if (gf_mail_peers(mailbox->mail) > 0) {
        opal_progress_unregister(progress_callback);
    }
    for (int round = 0; round < CLOSE_ROUNDS && (round < CLOSE_ROUNDS / 10 || gf_mail_busy(mailbox->mail)); round++) {
        opal_progress();
        gf_mailbox_progress();
    }
    mca_coll_gpufifo_component.mailbox = NULL;
    gf_mail_destroy(mailbox->mail);
    OPAL_LIST_DESTRUCT(&mailbox->waiting);
    OBJ_DESTRUCT(&mailbox->lock);
    free(mailbox);
}
