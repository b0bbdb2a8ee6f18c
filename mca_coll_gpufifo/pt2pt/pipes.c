/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sources and sinks of this process, and their pump.
 */
#include "mca_coll_gpufifo/pt2pt/pipes.h"

#include <stdlib.h>

#include "mca_coll_gpufifo/module.h"
#include "proxy/pump.h"

struct gf_pipes {
    struct gf_pipe_config config;
    struct gf_fault fault;
    _Atomic(gf_pipe_source *) sources[GF_MAX_DEVICES];     /* by ordinal; null: not made yet. The pump reads them, too */
    _Atomic(gf_pipe_sink *) sinks[GF_MAX_DEVICES];
    struct gf_reason refused[GF_MAX_DEVICES];      /* why there is no source; empty: not tried */
    _Atomic int ordinals;                          /* those in use are below */
    bool busy;                                     /* there may be messages */
    gf_pump *pump;                     /* null: there is none, and messages rest while the program is outside of MPI */
};

static enum gf_pipe_turn later(enum gf_pipe_turn a, enum gf_pipe_turn b) { return a > b ? a : b; }

static enum gf_pipe_turn move_all(struct gf_pipes *pipes)
{
    enum gf_pipe_turn turn = GF_PIPE_IDLE;

    for (int i = 0; i < pipes->ordinals; i++) {
        gf_pipe_source *source = pipes->sources[i];
        gf_pipe_sink *sink = pipes->sinks[i];

        if (source) {
            turn = later(turn, gf_pipe_source_progress(source));
        }
        if (sink) {
            turn = later(turn, gf_pipe_sink_progress(sink));
        }
    }
    return turn;
}

static enum gf_pump_turn pump_turn(void *ctx)
{
    switch (move_all(ctx)) {
    case GF_PIPE_MOVED:
        return GF_PUMP_MOVED;
    case GF_PIPE_WAITING:
        return GF_PUMP_WAITING;
    default:
        return GF_PUMP_IDLE;
    }
}

struct gf_pipes *gf_pipes_create(void)
{
    struct gf_pipes *pipes = calloc(1, sizeof *pipes);
    struct gf_reason why;

    if (pipes && gf_pump_create(pump_turn, pipes, &pipes->pump, &why) != GF_OK) {
        free(pipes);
        return NULL;
    }
    return pipes;
}

void gf_pipes_destroy(struct gf_pipes *pipes)
{
    if (!pipes) {
        return;
    }
    gf_pump_destroy(pipes->pump);
    for (int i = 0; i < pipes->ordinals; i++) {
        gf_pipe_sink_destroy(pipes->sinks[i]);
        gf_pipe_source_destroy(pipes->sources[i]);
    }
    free(pipes);
}

void gf_pipes_progress(struct gf_pipes *pipes)
{
    if (pipes->busy) {
        if (pipes->pump) {
            gf_pump_relieve(pipes->pump);
        }
        pipes->busy = move_all(pipes) != GF_PIPE_IDLE;
    }
}

/* Without a thread it moves on inside MPI only, which is right, and said once. */
void gf_pipes_expect(struct gf_pipes *pipes)
{
    struct gf_reason why = {""};

    pipes->busy = true;
    if (pipes->pump && gf_pump_wake(pipes->pump, &why) != GF_OK) {
        gf_log(&mca_coll_gpufifo_component.log, GF_LOG_WARN,
               "messages through host memory rest while the program is outside of MPI: %s",
               why.text);
        gf_pump_destroy(pipes->pump);
        pipes->pump = NULL;
    }
}

static gf_device *use_device(struct gf_pipes *pipes, int ordinal, struct gf_reason *why)
{
    gf_device *device = gf_component_device(ordinal, why);

    if (device && ordinal >= pipes->ordinals) {
        pipes->ordinals = ordinal + 1;
    }
    return device;
}

/* The settings are there only once the component has been asked to serve. */
static gf_status make_source(struct gf_pipes *pipes, gf_device *device, gf_pipe_source **source, struct gf_reason *why)
{
    const mca_coll_gpufifo_component_t *component = &mca_coll_gpufifo_component;
    gf_status status = gf_fault_parse(component->config.fault, ompi_process_info.my_name.vpid, &pipes->fault, why);

    *source = NULL;
    if (status != GF_OK) {
        return status;
    }
    if (gf_fault_hits(&pipes->fault, GF_FAULT_SEGMENT, why)) {
        return GF_ERR_SYSTEM;
    }
    return gf_pipe_source_create(device, &component->pipe, source, why);
}

/* A device that has no source is asked once. */
static gf_status source_of(struct gf_pipes *pipes, int ordinal, gf_pipe_source **source, struct gf_reason *why)
{
    gf_device *device = use_device(pipes, ordinal, why);

    if (!device) {
        return GF_ERR_DEVICE;
    }
    if (pipes->refused[ordinal].text[0]) {
        *why = pipes->refused[ordinal];
        return GF_ERR_UNSUPPORTED;
    }
    *source = pipes->sources[ordinal];
    if (!*source) {
        if (make_source(pipes, device, source, why) != GF_OK) {
            pipes->refused[ordinal] = *why;
            return GF_ERR_UNSUPPORTED;
        }
        pipes->sources[ordinal] = *source;
    }
    return GF_OK;
}

gf_status gf_pipes_offer(struct gf_pipes *pipes, int ordinal, const void *address, size_t bytes, gf_pipe_source **source,
                         struct gf_offer_name *name, struct gf_reason *why)
{
    gf_status status = source_of(pipes, ordinal, source, why);

    if (status == GF_OK) {
        status = gf_pipe_offer(*source, address, bytes, name, why);
    }
    if (status == GF_OK) {
        gf_pipes_expect(pipes);
    }
    return status;
}

gf_status gf_pipes_sink(struct gf_pipes *pipes, int ordinal, gf_pipe_sink **sink, struct gf_reason *why)
{
    gf_device *device = use_device(pipes, ordinal, why);
    gf_status status = GF_OK;

    if (!device) {
        return GF_ERR_DEVICE;
    }
    *sink = pipes->sinks[ordinal];
    if (!*sink) {
        status = gf_pipe_sink_create(device, sink, why);
        pipes->sinks[ordinal] = *sink;
    }
    return status;
}

void gf_pipes_prepare(struct gf_pipes *pipes, int ordinal)
{
    gf_pipe_source *source;
    gf_pipe_sink *sink;
    struct gf_reason why;

    (void)source_of(pipes, ordinal, &source, &why);
    (void)gf_pipes_sink(pipes, ordinal, &sink, &why);
}
