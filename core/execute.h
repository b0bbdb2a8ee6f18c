/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs one communicating kernel from launch to end: tells it who it is, waits for its completion word, and finds out why it
 * gave up. And copies on the same stream.
 *
 * Either blocks (run, copy), or is started and polled: what was started last is asked for its end, and with it all that was
 * started before has ended.
 */
#ifndef GF_CORE_EXECUTE_H
#define GF_CORE_EXECUTE_H

#include <stddef.h>
#include <stdint.h>

#include "core/agent.h"
#include "core/fault.h"
#include "core/watch.h"
#include "device/device.h"

/* What was started last and has not ended, as far as is known. */
enum gf_execution_kind { GF_EXECUTION_NONE, GF_EXECUTION_KERNEL, GF_EXECUTION_COPY };

/* Owned by the communicator; one thread at a time. Host and kernel addresses of the words of struct gf_task. */
struct gf_execution {
    gf_device *device;
    gf_stream *stream;
    struct gf_watch *watch;
    struct gf_fault *fault;
    char *words;                   /* pinned: abort, error and done, a line each */
    char *kernel_words;            /* the same for kernels */
    void *blocks_done;             /* device memory */
    uint32_t *kernel_blocks_done;
    uint64_t deadline_ns;
    uint64_t ticket;               /* of the last launch */
    enum gf_execution_kind last;
    uint32_t turns;                /* polls that found a kernel running */
};

/* Allocates the words. device, stream, watch and fault outlive it. */
gf_status gf_execution_create(struct gf_execution *e, gf_device *device, gf_stream *stream, struct gf_watch *watch,
                              struct gf_fault *fault, uint64_t deadline_ms, struct gf_reason *why);
/* No kernel may run any more. Idempotent. */
void gf_execution_destroy(struct gf_execution *e);

/* The abort word, for the host. */
uint32_t *gf_execution_abort_word(const struct gf_execution *e);

/* Launches and waits. work begins with a struct gf_task, which is filled here. After an error no kernel of ours runs, but
 * peers may still wait for it: the caller aborts the communicator. */
gf_status gf_execution_run(struct gf_execution *e, enum gf_kernel kernel, int blocks, int threads, struct gf_task *work,
                           size_t bytes, struct gf_reason *why);

/* The parts of it that do not wait. start: launches, with the errors of a launch. poll: GF_IN_PROGRESS, or what became of all
 * that was started since the last such answer; GF_OK where that is nothing. */
gf_status gf_execution_start(struct gf_execution *e, enum gf_kernel kernel, int blocks, int threads, struct gf_task *work,
                             size_t bytes, struct gf_reason *why);
gf_status gf_execution_start_copy(struct gf_execution *e, void *to, const void *from, size_t bytes, struct gf_reason *why);
gf_status gf_execution_poll(struct gf_execution *e, struct gf_reason *why);

/* The same by an agent that was claimed (gf_agent_run), with its GF_NO_RESOURCE. The task that the agent was told of is that of
 * gf_execution_describe. */
gf_status gf_execution_run_by_agent(struct gf_execution *e, gf_agent *agent, int table, struct gf_command *command,
                                    struct gf_reason *why);

/* Identity, abort and error words and deadline, as the communicator's kernels get them. */
void gf_execution_describe(const struct gf_execution *e, struct gf_task *task);

/* Copies on the communicator's stream and waits for it. */
gf_status gf_execution_copy(struct gf_execution *e, void *to, const void *from, size_t bytes, struct gf_reason *why);

#endif
