/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses and counts injected faults.
 */
#include "core/fault.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *const step_names[GF_FAULT_STEP_COUNT] = {
    [GF_FAULT_SEGMENT] = "segment",
    [GF_FAULT_ATTACH] = "attach",
    [GF_FAULT_REGISTER] = "register",
    [GF_FAULT_DMABUF] = "dmabuf",
    [GF_FAULT_DEVICE_ALLOC] = "device_alloc",
    [GF_FAULT_IPC_EXPORT] = "ipc_export",
    [GF_FAULT_IPC_OPEN] = "ipc_open",
    [GF_FAULT_HOST_SEGMENT] = "host_segment",
    [GF_FAULT_LAUNCH] = "launch",
    [GF_FAULT_PROXY] = "proxy",
    [GF_FAULT_PROXY_COPY] = "proxy_copy",
    [GF_FAULT_PROXY_STALL] = "proxy_stall",
    [GF_FAULT_WIRE] = "wire",
    [GF_FAULT_BETWEEN_COPY] = "between_copy",
    [GF_FAULT_BETWEEN_MESSAGE] = "between_message",
    [GF_FAULT_AGREE] = "agree",
    [GF_FAULT_MEET] = "meet",
    [GF_FAULT_AGENT] = "agent",
    [GF_FAULT_FLIGHT] = "flight",
    [GF_FAULT_OFFERED] = "offered",
    [GF_FAULT_FETCH] = "fetch",
};

static const char kill_word[] = "kill:";

static int find_step(const char *name, size_t length)
{
    for (int step = 0; step < GF_FAULT_STEP_COUNT; step++) {
        if (strlen(step_names[step]) == length && strncmp(step_names[step], name, length) == 0) {
            return step;
        }
    }
    return -1;
}

/* Reads one "[kill:]step:n[+][@rank]" and returns where it ends, or null if it is none. */
static const char *parse_item(const char *item, int rank, struct gf_fault *fault)
{
    bool kills = strncmp(item, kill_word, sizeof kill_word - 1) == 0;

    item += kills ? sizeof kill_word - 1 : 0;

    const char *colon = strchr(item, ':');
    int step = colon ? find_step(item, (size_t)(colon - item)) : -1;

    if (step < 0 || (step >= GF_FAULT_STAGES && !kills) || colon[1] < '0' || colon[1] > '9') {
        return NULL;
    }
    char *end = NULL;
    unsigned long pass = strtoul(colon + 1, &end, 10);
    bool here = true, for_good = *end == '+';

    end += for_good;
    if (*end == '@') {
        const char *number = end + 1;

        here = strtol(number, &end, 10) == rank;
        if (end == number) {
            return NULL;
        }
    }
    if (pass == 0 || pass > 1000000000ul || (*end != '\0' && *end != ',')) {
        return NULL;
    }
    if (here) {
        fault->left[step] = (unsigned)pass;
        fault->for_good[step] = for_good;
        fault->kills[step] = kills;
    }
    return end;
}

gf_status gf_fault_parse(const char *text, int rank, struct gf_fault *fault, struct gf_reason *why)
{
    memset(fault, 0, sizeof *fault);
    if (!text || !*text) {
        return GF_OK;
    }
    for (const char *item = text;; item++) {
        const char *end = parse_item(item, rank, fault);

        if (!end) {
            gf_reason_set(why, "fault is not understood at \"%.16s\": write step:n[+][@rank], with commas: "
                          "segment, attach, register, dmabuf, device_alloc, ipc_export, ipc_open, host_segment, launch, "
                          "proxy, proxy_copy, proxy_stall, wire, between_copy, between_message, or kill:step:n, also: "
                          "agree, meet, agent, flight, offered, fetch", item);
            return GF_ERR_INVALID;
        }
        if (*end == '\0') {
            return GF_OK;
        }
        item = end;
    }
}

bool gf_fault_hits(struct gf_fault *fault, enum gf_fault_step step, struct gf_reason *why)
{
    if (!fault || __atomic_load_n(&fault->left[step], __ATOMIC_RELAXED) == 0
        || __atomic_sub_fetch(&fault->left[step], 1, __ATOMIC_RELAXED) > 0) {
        return false;
    }
    if (fault->kills[step]) {
        raise(SIGKILL);
    }
    __atomic_store_n(&fault->left[step], fault->for_good[step], __ATOMIC_RELAXED);
    gf_reason_set(why, "the step %s was made to fail by the fault setting", step_names[step]);
    return true;
}

void gf_fault_pass(struct gf_fault *fault, enum gf_fault_step stage)
{
    (void)gf_fault_hits(fault, stage, NULL);
}
