/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The stash: lists of messages, each for a share of the communicators, with the lock of the critical sections.
 */
#include "mca_coll_gpufifo/pt2pt/stash.h"

#include <pthread.h>

#include "mca_coll_gpufifo/card.h"
#include "mca_coll_gpufifo/pt2pt/functions.h"

enum { SHELVES = 32 };

/* Communicators that share one wait for one another's critical sections, no more. */
struct shelf {
    pthread_mutex_t lock;              /* recursive; not used where MPI has one thread */
    opal_list_t entries;               /* in the order in which they came out of the PML */
};

struct gf_stash {
    bool open;                         /* messages may come in */
    struct shelf shelves[SHELVES];
};

static void entry_construct(gf_stash_entry_t *entry)
{
    entry->comm = NULL;
    entry->message = NULL;
}

OBJ_CLASS_INSTANCE(gf_stash_entry_t, opal_list_item_t, entry_construct, NULL);

static struct shelf *shelf_of(ompi_communicator_t *comm)
{
    struct gf_mpi_comm_id id = gf_mpi_comm_id_of(comm);

    return &mca_coll_gpufifo_component.pt2pt.stash->shelves[(id.words[0] ^ id.words[1]) % SHELVES];
}

/* Counts the messages in the stash, and threads as one: zero, and a receive need not care. Only a thread that holds a lock
 * writes, or the only one. */
static void guard_add(int change)
{
    atomic_fetch_add_explicit(&mca_coll_gpufifo_component.pt2pt.stash_guard, change, memory_order_relaxed);
}

struct gf_stash *gf_stash_create(void)
{
    struct gf_stash *stash = calloc(1, sizeof *stash);
    pthread_mutexattr_t recursive;

    if (!stash) {
        return NULL;
    }
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    for (int i = 0; i < SHELVES; i++) {
        pthread_mutex_init(&stash->shelves[i].lock, &recursive);
        OBJ_CONSTRUCT(&stash->shelves[i].entries, opal_list_t);
    }
    pthread_mutexattr_destroy(&recursive);
    return stash;
}

void gf_stash_destroy(struct gf_stash *stash)
{
    if (!stash) {
        return;
    }
    for (int i = 0; i < SHELVES; i++) {
        OBJ_DESTRUCT(&stash->shelves[i].entries);
        pthread_mutex_destroy(&stash->shelves[i].lock);
    }
    free(stash);
}

void gf_stash_open(struct gf_stash *stash, bool needed)
{
    stash->open = needed;
    guard_add(needed && gf_mpi_threads() ? 1 : 0);
}

/* The PML's own handles cannot be given back but by a receive of all that they announce. */
void gf_stash_close(struct gf_stash *stash)
{
    for (int i = 0; i < SHELVES; i++) {
        gf_stash_entry_t *entry, *next;

        OPAL_LIST_FOREACH_SAFE(entry, next, &stash->shelves[i].entries, gf_stash_entry_t) {
            struct ompi_message_t *message = gf_stash_take(entry);

            if (gf_pt2pt_message_is_ours(message) && gf_pt2pt_message_ready((gf_pt2pt_message_t *)message)) {
                gf_pt2pt_message_release((gf_pt2pt_message_t *)message);
            }
        }
    }
    stash->open = false;
    atomic_store(&mca_coll_gpufifo_component.pt2pt.stash_guard, 0);
}

bool gf_stash_is_open(void)
{
    return mca_coll_gpufifo_component.pt2pt.stash && mca_coll_gpufifo_component.pt2pt.stash->open;
}

void gf_stash_lock(ompi_communicator_t *comm)
{
    if (gf_mpi_threads()) {
        pthread_mutex_lock(&shelf_of(comm)->lock);
    }
}

void gf_stash_unlock(ompi_communicator_t *comm)
{
    if (gf_mpi_threads()) {
        pthread_mutex_unlock(&shelf_of(comm)->lock);
    }
}

/* Messages in the stash have tags of the program, never reserved ones. */
static bool matches(const gf_stash_entry_t *entry, const ompi_communicator_t *comm, int source, int tag)
{
    return entry->comm == comm && (source == MPI_ANY_SOURCE || entry->source == source) &&
           (tag == MPI_ANY_TAG || entry->tag == tag);
}

gf_stash_entry_t *gf_stash_find(ompi_communicator_t *comm, int source, int tag)
{
    gf_stash_entry_t *entry;

    OPAL_LIST_FOREACH(entry, &shelf_of(comm)->entries, gf_stash_entry_t) {
        if (matches(entry, comm, source, tag)) {
            return entry;
        }
    }
    return NULL;
}

static gf_stash_entry_t *add(ompi_communicator_t *comm, struct ompi_message_t *message, const ompi_status_public_t *status)
{
    gf_stash_entry_t *entry = OBJ_NEW(gf_stash_entry_t);

    if (!entry) {
        return NULL;
    }
    entry->comm = comm;
    entry->source = status->MPI_SOURCE;
    entry->tag = status->MPI_TAG;
    entry->bytes = status->_ucount;
    entry->message = message;
    OBJ_RETAIN(comm);
    opal_list_append(&shelf_of(comm)->entries, &entry->super);
    guard_add(1);
    return entry;
}

bool gf_stash_may_be_rts(ompi_communicator_t *comm, int source, size_t bytes)
{
    return bytes == GF_RTS_BYTES && gf_card_of(mca_coll_gpufifo_component.pt2pt.cards, comm, source) != NULL;
}

/* One message more of this source. Null: none is there, or *result says what went wrong. */
static gf_stash_entry_t *fetch_next(ompi_communicator_t *comm, int source, int *result)
{
    struct ompi_message_t *message = NULL;
    ompi_status_public_t status = ompi_status_empty;
    gf_stash_entry_t *entry;
    int there = 0;

    *result = gf_pt2pt_saved()->pml_improbe(source, MPI_ANY_TAG, comm, &there, &message, &status);
    if (*result != OMPI_SUCCESS || !there) {
        return NULL;
    }
    if (gf_stash_may_be_rts(comm, source, status._ucount)) {
        *result = gf_pt2pt_message_look(&message);
        if (*result != OMPI_SUCCESS) {
            return NULL;
        }
    }
    entry = add(comm, message, &status);
    if (!entry) {
        *result = OMPI_ERR_OUT_OF_RESOURCE;
    }
    return entry;
}

gf_stash_entry_t *gf_stash_fetch(ompi_communicator_t *comm, int source, int tag, int *result)
{
    gf_stash_entry_t *entry;

    do {
        entry = fetch_next(comm, source, result);
    } while (entry && entry->tag != tag);
    return entry;
}

struct ompi_message_t *gf_stash_take(gf_stash_entry_t *entry)
{
    struct ompi_message_t *message = entry->message;

    opal_list_remove_item(&shelf_of(entry->comm)->entries, &entry->super);
    guard_add(-1);
    gf_mpi_release_comm(entry->comm);
    OBJ_RELEASE(entry);
    return message;
}

struct ompi_message_t *gf_stash_enter_slowly(ompi_communicator_t *comm, int source, int tag)
{
    struct ompi_message_t *message;
    gf_stash_entry_t *entry;

    gf_stash_lock(comm);
    entry = gf_stash_find(comm, source, tag);
    if (!entry) {
        return NULL;
    }
    message = gf_stash_take(entry);
    gf_stash_unlock(comm);
    return message;
}

void gf_stash_leave_slowly(ompi_communicator_t *comm)
{
    gf_stash_unlock(comm);
}
