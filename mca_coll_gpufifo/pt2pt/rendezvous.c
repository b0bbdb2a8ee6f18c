/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The boards, engines and pipes of this process.
 */
#include "mca_coll_gpufifo/pt2pt/rendezvous.h"

#include <stdlib.h>

#include "mca_coll_gpufifo/module.h"

struct gf_rendezvous {
    struct gf_pull_config config;
    gf_offer_board *boards[GF_MAX_DEVICES];        /* by ordinal; null: not made yet */
    gf_pull_engine *engines[GF_MAX_DEVICES];
    gf_device *devices[GF_MAX_DEVICES];
    struct gf_reason refused[GF_MAX_DEVICES];      /* why there is no board; empty: not tried */
    int ordinals;                                  /* those in use are below */
    struct gf_pipes *pipes;
    struct gf_chunks *chunks;
    struct gf_links *links;
    unsigned char *sharing;                        /* enum gf_sharing by rank in MPI_COMM_WORLD: is its device ours? */
    int peers;                                     /* length of that */
    bool failing;                                  /* the last progress of a board failed, which was said */
};

struct gf_rendezvous *gf_rendezvous_create(void)
{
    struct gf_rendezvous *rendezvous = calloc(1, sizeof *rendezvous);

    if (!rendezvous) {
        return NULL;
    }
    rendezvous->pipes = gf_pipes_create();
    rendezvous->chunks = gf_chunks_create();
    rendezvous->links = gf_links_create();
    rendezvous->peers = (int)ompi_process_info.num_procs;
    rendezvous->sharing = calloc((size_t)rendezvous->peers, sizeof *rendezvous->sharing);
    if (!rendezvous->pipes || !rendezvous->chunks || !rendezvous->links || !rendezvous->sharing) {
        gf_rendezvous_destroy(rendezvous);
        return NULL;
    }
    rendezvous->config = gf_pull_config_of(mca_coll_gpufifo_component.config.tuning,
                                           (enum gf_force_pull)mca_coll_gpufifo_component.pull);
    rendezvous->config.by_fd = mca_coll_gpufifo_component.config.by_fd;
    rendezvous->config.agent_bytes = mca_coll_gpufifo_component.agent_message_bytes;
    return rendezvous;
}

void gf_rendezvous_destroy(struct gf_rendezvous *rendezvous)
{
    if (!rendezvous) {
        return;
    }
    gf_pipes_destroy(rendezvous->pipes);
    gf_chunks_destroy(rendezvous->chunks);
    gf_links_destroy(rendezvous->links);
    for (int i = 0; i < rendezvous->ordinals; i++) {
        gf_pull_engine_destroy(rendezvous->engines[i]);
        gf_offer_board_destroy(rendezvous->boards[i]);
    }
    free(rendezvous->sharing);
    free(rendezvous);
}

static void progress_board(struct gf_rendezvous *rendezvous, gf_offer_board *board)
{
    struct gf_reason why;
    bool failed;

    why.text[0] = '\0';
    failed = gf_offer_board_progress(board, &why) < 0;
    if (failed && !rendezvous->failing) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_WARN,
               "a message that waits for its receiver cannot be set aside: %s", why.text);
    }
    rendezvous->failing = failed;
}

void gf_rendezvous_progress(struct gf_rendezvous *rendezvous)
{
    gf_pipes_progress(rendezvous->pipes);
    gf_links_progress(rendezvous->links);
    for (int i = 0; i < rendezvous->ordinals; i++) {
        if (rendezvous->engines[i]) {
            gf_pull_engine_progress(rendezvous->engines[i]);
        }
        if (rendezvous->boards[i]) {
            progress_board(rendezvous, rendezvous->boards[i]);
        }
    }
}

bool gf_rendezvous_trails(const struct gf_rendezvous *rendezvous)
{
    for (int i = 0; i < rendezvous->ordinals; i++) {
        if (rendezvous->engines[i] && gf_pull_engine_trails(rendezvous->engines[i])) {
            return true;
        }
    }
    return false;
}

/* Remembered here, since the component asks for its lock. */
static gf_device *use_device(struct gf_rendezvous *rendezvous, int ordinal, struct gf_reason *why)
{
    if (ordinal >= 0 && ordinal < rendezvous->ordinals && rendezvous->devices[ordinal]) {
        return rendezvous->devices[ordinal];
    }

    gf_device *device = gf_component_device(ordinal, why);

    if (device) {
        rendezvous->devices[ordinal] = device;
        rendezvous->ordinals = ordinal >= rendezvous->ordinals ? ordinal + 1 : rendezvous->ordinals;
    }
    return device;
}

static struct gf_imports *imports_of(gf_device *device, struct gf_reason *why)
{
    struct gf_imports *imports = gf_component_imports(device);

    if (!imports) {
        gf_reason_set(why, "out of host memory");
    }
    return imports;
}

/* A device that cannot offer is asked once. */
static gf_status board_of(struct gf_rendezvous *rendezvous, int ordinal, gf_offer_board **board, struct gf_reason *why)
{
    gf_device *device = use_device(rendezvous, ordinal, why);
    gf_status status;

    if (!device) {
        return GF_ERR_DEVICE;
    }
    if (rendezvous->refused[ordinal].text[0]) {
        *why = rendezvous->refused[ordinal];
        return GF_ERR_UNSUPPORTED;
    }
    if (!rendezvous->boards[ordinal]) {
        struct gf_imports *imports = imports_of(device, why);

        if (!imports) {
            return GF_ERR_NO_MEMORY;
        }
        status = gf_offer_board_create(imports, &rendezvous->config, &rendezvous->boards[ordinal], why);
        if (status != GF_OK) {
            rendezvous->boards[ordinal] = NULL;
            rendezvous->refused[ordinal] = *why;
            return GF_ERR_UNSUPPORTED;
        }
    }
    *board = rendezvous->boards[ordinal];
    return GF_OK;
}

/* What is known of the device of that rank, to be noted there, too. Null: a rank of another job. */
static unsigned char *sharing_of(struct gf_rendezvous *rendezvous, int peer)
{
    return peer >= 0 && peer < rendezvous->peers ? &rendezvous->sharing[peer] : NULL;
}

void gf_rendezvous_learn(struct gf_rendezvous *rendezvous, int peer, enum gf_sharing sharing)
{
    unsigned char *known = sharing_of(rendezvous, peer);

    if (known) {
        *known = (unsigned char)sharing;
    }
}

/* On a GPU without MPS it matters whether the peer shares it: the first message goes as if it did not, and tells. The receiver's
 * buffer is taken to be in device memory. */
static bool stages(const struct gf_rendezvous *rendezvous, gf_device *device, size_t bytes, const unsigned char *sharing,
                   struct gf_reason *why)
{
    struct gf_pull_route route = {.bytes = bytes, .to_device = true};

    if (device->caps.concurrent_processes) {
        return false;
    }
    route.same_device = sharing && *sharing == GF_SHARING_SAME;
    if (gf_pull_choose(&rendezvous->config, &route) != GF_PULL_STAGE) {
        return false;
    }
    gf_reason_set(why, "less than %zu bytes, and both ranks share a GPU without MPS, so what runs on it waits for time slices",
                  rendezvous->config.solo_bytes);
    return true;
}

/* Messages through host memory are moved by copy engines at both ends in any case; those from mapped memory by whatever is
 * fastest. So each way of a FIFO and its copied form are one here. */
static bool asks_for_host_memory(void)
{
    enum gf_force_transport transport = mca_coll_gpufifo_component.config.transport;

    return transport == GF_TRANSPORT_SHM || transport == GF_TRANSPORT_SHM_COPY;
}

static bool asks_for_mapped_memory(void)
{
    enum gf_force_transport transport = mca_coll_gpufifo_component.config.transport;

    return transport == GF_TRANSPORT_P2P || transport == GF_TRANSPORT_P2P_COPY;
}

gf_status gf_rendezvous_offer(struct gf_rendezvous *rendezvous, const struct gf_pointer *where, const void *address, size_t bytes,
                              bool may_move, int peer, struct gf_offering *offering, struct gf_offer_name *name,
                              struct gf_reason *why)
{
    gf_device *device = use_device(rendezvous, where->ordinal, why);
    unsigned char *sharing = sharing_of(rendezvous, peer);
    gf_status status;

    if (!device) {
        return GF_ERR_DEVICE;
    }
    if (asks_for_host_memory()) {
        gf_reason_set(why, "coll_gpufifo_transport is shm");
        return GF_ERR_UNSUPPORTED;
    }
    if (stages(rendezvous, device, bytes, sharing, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    *offering = (struct gf_offering){.sharing = device->caps.concurrent_processes ? NULL : sharing};
    status = board_of(rendezvous, where->ordinal, &offering->board, why);
    if (status == GF_OK) {
        status = gf_offer_make(offering->board, where, address, bytes, may_move, name, why);
        offering->index = name->index;
    }
    return status;
}

/* What the user decides. */
static bool may_be_cut(size_t bytes, struct gf_reason *why)
{
    const mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;

    if (component->config.strict && !asks_for_host_memory()) {
        gf_reason_set(why, "coll_gpufifo_strict allows no slower path");
    } else if (bytes < component->pipe.least_bytes) {
        gf_reason_set(why, "less than coll_gpufifo_pipe_bytes (%zu) bytes", component->pipe.least_bytes);
    } else {
        return true;
    }
    return false;
}

static bool may_be_piped(size_t bytes, struct gf_reason *why)
{
    if (asks_for_mapped_memory()) {
        gf_reason_set(why, "coll_gpufifo_transport is p2p");
        return false;
    }
    return may_be_cut(bytes, why);
}

gf_status gf_rendezvous_offer_piped(struct gf_rendezvous *rendezvous, const struct gf_pointer *where, const void *address,
                                    size_t bytes, struct gf_offering *offering, struct gf_offer_name *name, struct gf_reason *why)
{
    struct gf_reason first = *why, second = {""};
    gf_status status = GF_ERR_UNSUPPORTED;

    *offering = (struct gf_offering){0};
    if (may_be_piped(bytes, &second)) {
        status = gf_pipes_offer(rendezvous->pipes, where->ordinal, address, bytes, &offering->source, name, &second);
    }
    if (status == GF_OK) {
        offering->index = name->index;
    } else {
        gf_reason_set(why, "%.150s; not in pieces through shared host memory: %.150s", first.text, second.text);
    }
    return status;
}

gf_status gf_rendezvous_offer_chunks(struct gf_rendezvous *rendezvous, const struct gf_pointer *where, const void *address,
                                     size_t bytes, bool must, int peer, struct gf_offering *offering, struct gf_chunks_name *name,
                                     struct gf_reason *why)
{
    struct gf_reason second = {""};
    gf_status status = GF_ERR_UNSUPPORTED;

    *offering = (struct gf_offering){.chunks = rendezvous->chunks};
    if (must || may_be_cut(bytes, &second)) {
        status = gf_chunks_offer(rendezvous->chunks, where->ordinal, address, bytes, peer, 0, &offering->message, name, &second);
    }
    if (status != GF_OK && !why->text[0]) {
        *why = second;
    }
    return status;
}

gf_status gf_rendezvous_offer_again(struct gf_rendezvous *rendezvous, const struct gf_pointer *where, const void *address,
                                    size_t bytes, int peer, uint64_t id, struct gf_offering *offering, struct gf_reason *why)
{
    struct gf_chunks_name ignored;

    *offering = (struct gf_offering){.chunks = rendezvous->chunks};
    return gf_chunks_offer(rendezvous->chunks, where->ordinal, address, bytes, peer, id, &offering->message, &ignored, why);
}

struct gf_chunks *gf_rendezvous_chunks(struct gf_rendezvous *rendezvous)
{
    return rendezvous->chunks;
}

struct gf_links *gf_rendezvous_links(struct gf_rendezvous *rendezvous)
{
    return rendezvous->links;
}

static void note_sharing(const struct gf_offering *offering)
{
    enum gf_sharing sharing = gf_offer_sharing(offering->board, offering->index);

    if (sharing != GF_SHARING_UNKNOWN) {
        *offering->sharing = (unsigned char)sharing;
    }
}

gf_status gf_offering_poll(const struct gf_offering *offering, struct gf_reason *why)
{
    if (offering->sharing) {
        note_sharing(offering);
    }
    if (offering->link.lane) {
        return gf_links_offer_poll(&offering->link, why);
    }
    if (offering->chunks) {
        return gf_chunks_offer_poll(offering->chunks, offering->message, why);
    }
    return offering->source ? gf_pipe_offer_poll(offering->source, offering->index, why)
                            : gf_offer_poll(offering->board, offering->index, why);
}

gf_status gf_offering_withdraw(const struct gf_offering *offering)
{
    if (offering->link.lane) {
        gf_links_offer_withdraw(&offering->link);
        return GF_OK;
    }
    if (offering->chunks) {
        gf_chunks_offer_withdraw(offering->chunks, offering->message);
        return GF_OK;
    }
    return offering->source ? gf_pipe_offer_withdraw(offering->source, offering->index)
                            : gf_offer_withdraw(offering->board, offering->index);
}

struct gf_pipes *gf_rendezvous_pipes(struct gf_rendezvous *rendezvous)
{
    return rendezvous->pipes;
}

int gf_rendezvous_any_device(void)
{
    for (int i = 0; i < GF_MAX_DEVICES; i++) {
        if (mca_coll_gpufifo_component.devices[i]) {
            return i;
        }
    }
    return 0;
}

gf_status gf_rendezvous_engine(struct gf_rendezvous *rendezvous, int ordinal, gf_pull_engine **engine, struct gf_reason *why)
{
    gf_device *device = use_device(rendezvous, ordinal, why);
    gf_status status = GF_OK;

    if (!device) {
        return GF_ERR_DEVICE;
    }
    if (!rendezvous->engines[ordinal]) {
        struct gf_imports *imports = imports_of(device, why);

        if (!imports) {
            return GF_ERR_NO_MEMORY;
        }
        status = gf_pull_engine_create(imports, &rendezvous->config, &rendezvous->engines[ordinal], why);
        if (status == GF_OK && rendezvous->config.agent_bytes > 0) {
            gf_pull_engine_use_agent(rendezvous->engines[ordinal], gf_component_agent(device));
        }
    }
    *engine = rendezvous->engines[ordinal];
    return status;
}

void gf_rendezvous_prepare(struct gf_rendezvous *rendezvous, int ordinal)
{
    struct gf_reason why;
    gf_offer_board *board;
    gf_pull_engine *engine;

    (void)gf_rendezvous_engine(rendezvous, ordinal, &engine, &why);
    if (board_of(rendezvous, ordinal, &board, &why) != GF_OK || asks_for_host_memory()) {
        gf_pipes_prepare(rendezvous->pipes, ordinal);
    }
}
