/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Probes. They report what was sent: the size of a message that an RTS announces, not that of the RTS.
 */
#include "mca_coll_gpufifo/pt2pt/functions.h"
#include "mca_coll_gpufifo/pt2pt/stash.h"

#include "opal/runtime/opal_progress.h"

/* What a probe found. */
struct found {
    bool there;
    gf_stash_entry_t *entry;           /* in the stash; null: the PML has it */
    ompi_status_public_t status;       /* as the program is to see it */
};

/* A message of the stash is there once its size is known. */
static void found_in_stash(gf_stash_entry_t *entry, struct found *found)
{
    bool ours = gf_pt2pt_message_is_ours(entry->message);

    found->there = !ours || gf_pt2pt_message_ready((gf_pt2pt_message_t *)entry->message);
    found->entry = entry;
    found->status = ompi_status_empty;
    found->status.MPI_SOURCE = entry->source;
    found->status.MPI_TAG = entry->tag;
    found->status._ucount = ours ? entry->message->count : entry->bytes;
}

/* With the lock held. The PML shows the size of the next message that matches; one of an RTS's size moves to the stash. */
static int find(int source, int tag, ompi_communicator_t *comm, struct found *found)
{
    gf_stash_entry_t *entry = gf_stash_find(comm, source, tag);
    int result = OMPI_SUCCESS, there = 0;

    *found = (struct found){.status = ompi_status_empty};
    if (!entry) {
        result = gf_pt2pt_saved()->pml_iprobe(source, tag, comm, &there, &found->status);
        found->there = result == OMPI_SUCCESS && there;
        if (!found->there || !gf_stash_may_be_rts(comm, found->status.MPI_SOURCE, found->status._ucount)) {
            return result;
        }
        entry = gf_stash_fetch(comm, found->status.MPI_SOURCE, found->status.MPI_TAG, &result);
        found->there = false;
    }
    if (entry) {
        found_in_stash(entry, found);
    }
    return result;
}

/* With the lock held: takes what was found, so that no other receive matches it. */
static int take(ompi_communicator_t *comm, struct found *found, struct ompi_message_t **message)
{
    int there = 0, result;

    if (found->entry) {
        *message = gf_stash_take(found->entry);
        return OMPI_SUCCESS;
    }
    result = gf_pt2pt_saved()->pml_improbe(found->status.MPI_SOURCE, found->status.MPI_TAG, comm, &there, message,
                                             &found->status);
    found->there = result == OMPI_SUCCESS && there;
    return result;
}

static void tell(const struct found *found, int *matched, ompi_status_public_t *status)
{
    *matched = found->there;
    if (found->there && status != MPI_STATUS_IGNORE) {
        OMPI_COPY_STATUS(status, found->status, false);
    }
}

int gf_pt2pt_iprobe(int source, int tag, ompi_communicator_t *comm, int *matched, ompi_status_public_t *status)
{
    struct found found;
    int result;

    if (OPAL_UNLIKELY(!gf_stash_is_open())) {
        return gf_pt2pt_saved()->pml_iprobe(source, tag, comm, matched, status);
    }
    gf_stash_lock(comm);
    result = find(source, tag, comm, &found);
    gf_stash_unlock(comm);
    tell(&found, matched, status);
    return result;
}

int gf_pt2pt_improbe(int source, int tag, ompi_communicator_t *comm, int *matched, struct ompi_message_t **message,
                     ompi_status_public_t *status)
{
    struct found found;
    int result;

    if (OPAL_UNLIKELY(!gf_stash_is_open())) {
        return gf_pt2pt_saved()->pml_improbe(source, tag, comm, matched, message, status);
    }
    *message = MPI_MESSAGE_NULL;
    gf_stash_lock(comm);
    result = find(source, tag, comm, &found);
    if (found.there) {
        result = take(comm, &found, message);
    }
    gf_stash_unlock(comm);
    tell(&found, matched, status);
    return result;
}

int gf_pt2pt_probe(int source, int tag, ompi_communicator_t *comm, ompi_status_public_t *status)
{
    int there = 0, result;

    while ((result = gf_pt2pt_iprobe(source, tag, comm, &there, status)) == OMPI_SUCCESS && !there) {
        opal_progress();
    }
    return result;
}

int gf_pt2pt_mprobe(int source, int tag, ompi_communicator_t *comm, struct ompi_message_t **message, ompi_status_public_t *status)
{
    int there = 0, result;

    while ((result = gf_pt2pt_improbe(source, tag, comm, &there, message, status)) == OMPI_SUCCESS && !there) {
        opal_progress();
    }
    return result;
}
