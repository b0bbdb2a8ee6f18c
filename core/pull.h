/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's side of a device message: takes an offer (core/offer_board.h), maps the sender's memory, and fetches the data,
 * by kernel or copy engine, without waiting. Several pulls are under way at a time, on a few streams; those that are started
 * while all streams are busy go as one launch.
 *
 * A pull that has started ends by itself: the device stores the end into the offer, which both sides watch. The only work that
 * is left to gf_pull_engine_progress is to launch what was started, and to rescue kernels that cannot start because the
 * program's own fill the GPU: after config.start_us they are cancelled, and the copy engine does their work, and that of all
 * messages to come until a cancelled kernel has come and gone.
 *
 * Threads: an engine and its pulls are used by one thread at a time; the caller holds a lock round its calls where there are
 * several.
 */
#ifndef GF_CORE_PULL_H
#define GF_CORE_PULL_H

#include "core/agent.h"
#include "core/offer_board.h"
#include "core/pull_plan.h"
#include "device/device.h"

typedef struct gf_pull_engine gf_pull_engine;

struct gf_import;
struct gf_imports;
struct gf_offer;
struct gf_flight;

/* One pull. The caller's memory, which stays where it is from gf_pull_start until gf_pull_poll has said the end; the contents
 * are the engine's. */
struct gf_pull {
    struct gf_pull *next;          /* while it waits for a launch */
    struct gf_flight *flight;      /* null while it waits for a launch */
    uint32_t place;                /* in the flight, or among those with the agent */
    uint32_t returned;             /* the agent has left it lying (gf_agent_post) */
    bool posted;                   /* it is with the agent */
    enum gf_pull_path path;
    struct gf_offer *offer;
    uint64_t *end;                 /* kernel address of the offer's state */
    uint64_t word;                 /* the state, until its end */
    struct gf_import *import;      /* null: moved, or of this process */
    const void *from;              /* user addresses */
    void *to;
    const void *kernel_from;       /* null: kernels do not reach one of the ends */
    void *kernel_to;
    size_t bytes;
    bool to_host;
    bool kept_out;                 /* the device has no room for its kernel, or the driver's */
    bool ended;
    gf_status status;              /* once it has ended */
};

/* Pulls by the device whose mappings these are: into its memory, or into host memory. Device and mappings outlive the engine. */
gf_status gf_pull_engine_create(struct gf_imports *imports, const struct gf_pull_config *config, gf_pull_engine **engine,
                                struct gf_reason *why);

/* From now on messages of up to config.agent_bytes go to the agent of the engine's device, when it is there and has not
 * GF_PULL_POSTED_MOST of them already. It outlives the engine. Null: none. */
enum { GF_PULL_POSTED_MOST = 4 };
void gf_pull_engine_use_agent(gf_pull_engine *engine, gf_agent *agent);

/* Fetches the first `bytes` bytes of the offer to `to`: memory of the engine's device, or host memory of any kind (pinned is
 * fetched best; pageable memory may keep the caller for as long as the copy takes). bytes ≤ what was offered; fewer is a
 * truncated message, which is no error to the sender. where: what gf_driver_pointer says of
 * `to`, null if the caller does not know. The data must not be touched until gf_pull_poll says the end. GF_OK:
 * started; call gf_pull_engine_progress, at once or when other pulls have been started too. Errors: nothing was started, and
 * the sender has been told if that can be. GF_ERR_PEER: no such offer any more, or its process is gone. GF_ERR_UNSUPPORTED: it
 * cannot be mapped here, or the device has no memory for a stream. */
gf_status gf_pull_start(gf_pull_engine *engine, const struct gf_offer_name *name, void *to, const struct gf_pointer *where,
                        size_t bytes, struct gf_pull *pull, struct gf_reason *why);

/* GF_IN_PROGRESS; GF_OK: the data are there, for all later work of the device and, where `to` is host memory, for the host;
 * or an error. A load of one word of host memory. After the end the engine knows nothing of the pull any more. */
gf_status gf_pull_poll(gf_pull_engine *engine, struct gf_pull *pull, struct gf_reason *why);

/* Is the sender's memory, of a pull that has started, on the engine's device? */
enum gf_sharing gf_pull_sharing(const gf_pull_engine *engine, const struct gf_pull *pull);

/* How a pull that has started goes, and why: a phrase, for verbose output. Before gf_pull_poll has said the end. */
void gf_pull_explain_pull(const gf_pull_engine *engine, const struct gf_pull *pull, struct gf_reason *reason);

/* Since the engine was made. */
struct gf_pull_statistics {
    uint64_t launches;             /* of kernels; one may fetch several messages */
    uint64_t by_agent;             /* messages that were given to it, */
    uint64_t returned;             /* and those of them that it left lying, which are counted again */
    uint64_t by_kernel, by_copy_engine;    /* messages that were given to either, */
    uint64_t rescued;              /* and those that went from the kernel to the copy engine, which are counted in both */
};
struct gf_pull_statistics gf_pull_engine_statistics(const gf_pull_engine *engine);

/* Launches what was started, and rescues what cannot start. Costs a few nanoseconds when idle. */
void gf_pull_engine_progress(gf_pull_engine *engine);

/* Is a kernel still to leave, though its pulls may have ended? Until then it keeps what was mapped for it. Any thread; a load. */
bool gf_pull_engine_trails(const gf_pull_engine *engine);

/* Ends an offer that will not be pulled: its sender gets an error. */
gf_status gf_pull_refuse(gf_pull_engine *engine, const struct gf_offer_name *name, struct gf_reason *why);

/* Waits for all pulls (their memory must still be there). What it has mapped is kept. Accepts null. */
void gf_pull_engine_destroy(gf_pull_engine *engine);

#endif
