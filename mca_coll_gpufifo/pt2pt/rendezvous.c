/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The boards and engines of this process.
 */
#include "mca_coll_gpufifo/pt2pt/rendezvous.h"

#include <stdlib.h>

#include "mca_coll_gpufifo/module.h"

struct gf_rendezvous {
    struct gf_pull_config config;
    gf_offer_board *boards[GF_MAX_DEVICES];        /* by ordinal; null: not made yet */
    gf_pull_engine *engines[GF_MAX_DEVICES];
    struct gf_reason refused[GF_MAX_DEVICES];      /* why there is no board; empty: not tried */
    int ordinals;                                  /* those in use are below */
    bool failing;                                  /* the last progress of a board failed, which was said */
};

struct gf_rendezvous *gf_rendezvous_create(void)
{
    struct gf_rendezvous *rendezvous = calloc(1, sizeof *rendezvous);

    if (rendezvous) {
        gf_pull_config_default(&rendezvous->config);
    }
    return rendezvous;
}

void gf_rendezvous_destroy(struct gf_rendezvous *rendezvous)
{
    if (!rendezvous) {
        return;
    }
    for (int i = 0; i < rendezvous->ordinals; i++) {
        gf_pull_engine_destroy(rendezvous->engines[i]);
        gf_offer_board_destroy(rendezvous->boards[i]);
    }
    free(rendezvous);
}

static void progress_board(struct gf_rendezvous *rendezvous, gf_offer_board *board)
{
    struct gf_reason why = {""};
    bool failed = gf_offer_board_progress(board, &why) < 0;

    if (failed && !rendezvous->failing) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_WARN, "a message that waits for its receiver cannot be set aside: %s", why.text);
    }
    rendezvous->failing = failed;
}

void gf_rendezvous_progress(struct gf_rendezvous *rendezvous)
{
    for (int i = 0; i < rendezvous->ordinals; i++) {
        if (rendezvous->engines[i]) {
            gf_pull_engine_progress(rendezvous->engines[i]);
        }
        if (rendezvous->boards[i]) {
            progress_board(rendezvous, rendezvous->boards[i]);
        }
    }
}

static gf_device *use_device(struct gf_rendezvous *rendezvous, int ordinal, struct gf_reason *why)
{
    gf_device *device = gf_component_device(ordinal, why);

    if (device && ordinal >= rendezvous->ordinals) {
        rendezvous->ordinals = ordinal + 1;
    }
    return device;
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
        status = gf_offer_board_create(device, &rendezvous->config, &rendezvous->boards[ordinal], why);
        if (status != GF_OK) {
            rendezvous->boards[ordinal] = NULL;
            rendezvous->refused[ordinal] = *why;
            return GF_ERR_UNSUPPORTED;
        }
    }
    *board = rendezvous->boards[ordinal];
    return GF_OK;
}

/* The receiver's buffer is taken to be in device memory. Where this process sees one GPU only, its peers are taken to share it. */
static bool stages(const struct gf_rendezvous *rendezvous, gf_device *device, size_t bytes, struct gf_reason *why)
{
    struct gf_pull_route route = {.bytes = bytes, .same_device = device->driver->ops->device_count(device->driver) == 1,
                                  .concurrent = device->caps.concurrent_processes, .to_device = true};

    if (gf_pull_choose(&rendezvous->config, &route) != GF_PULL_STAGE) {
        return false;
    }
    gf_reason_set(why, "less than %zu bytes, and several processes share the GPU without MPS, so what runs on it waits for time slices",
                  rendezvous->config.solo_bytes);
    return true;
}

gf_status gf_rendezvous_offer(struct gf_rendezvous *rendezvous, const struct gf_pointer *where, const void *address, size_t bytes,
                              bool may_move, struct gf_offering *offering, struct gf_offer_name *name, struct gf_reason *why)
{
    gf_device *device = gf_component_device(where->ordinal, why);
    gf_status status;

    if (!device) {
        return GF_ERR_DEVICE;
    }
    if (stages(rendezvous, device, bytes, why)) {
        return GF_ERR_UNSUPPORTED;
    }
    status = board_of(rendezvous, where->ordinal, &offering->board, why);
    if (status == GF_OK) {
        status = gf_offer_make(offering->board, where, address, bytes, may_move, name, why);
        offering->index = name->index;
    }
    return status;
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
        status = gf_pull_engine_create(device, &rendezvous->config, &rendezvous->engines[ordinal], why);
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
    (void)board_of(rendezvous, ordinal, &board, &why);
}
