/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which buffers are worth a mapping. To map one costs about as much as some dozens of calls gain by it, and a program may have a
 * new buffer for each call. So where no setting asks for it, a buffer is mapped when it has come in several calls; in how
 * many, experience tells: a mapped buffer that is freed after a few calls doubles the number, one that lasted brings it back.
 *
 * Each rank judges its own buffers.
 */
#ifndef GF_CORE_FAMILIAR_H
#define GF_CORE_FAMILIAR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GF_FAMILIAR_BUFFERS = 8,       /* that are watched; another one takes the place of the least recently seen */
    GF_FAMILIAR_CALLS = 3,         /* it is mapped with so many calls, at first */
    GF_FAMILIAR_CALLS_MOST = 1024,
    GF_FAMILIAR_LASTING = 64       /* with so many calls a mapping has paid */
};

/* Zeroed: nothing is known. One thread at a time. */
struct gf_familiar {
    struct {
        uint64_t id;               /* of a buffer; 0: none */
        uint64_t last;             /* call */
        uint32_t calls;
    } buffers[GF_FAMILIAR_BUFFERS];
    uint32_t doublings;            /* of GF_FAMILIAR_CALLS */
};

/* A buffer that is not mapped comes in a call, which may name it more than once. Calls are numbered, from 1 on. True: it is
 * worth a mapping. */
bool gf_familiar_meet(struct gf_familiar *f, uint64_t id, uint64_t call);

/* A mapped buffer has been freed after so many calls. */
void gf_familiar_part(struct gf_familiar *f, uint64_t calls);

#endif
