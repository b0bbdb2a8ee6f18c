/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a function of gpufifo returns, and how it says why.
 */
#ifndef GF_BASE_STATUS_H
#define GF_BASE_STATUS_H

/* Zero is success, positive values ask the caller to come back, negative ones are errors. */
typedef enum gf_status {
    GF_OK = 0,
    GF_IN_PROGRESS = 1,        /* under way: poll again, nothing to undo */
    GF_NO_RESOURCE = 2,        /* nothing was started: make progress elsewhere, then call again */
    GF_ERR_INVALID = -1,       /* an argument is wrong: null, freed, out of range */
    GF_ERR_UNSUPPORTED = -2,   /* legal, but this path cannot do it: take the next path */
    GF_ERR_NO_MEMORY = -3,     /* host, pinned, shared or device memory is exhausted */
    GF_ERR_DEVICE = -4,        /* the device or its driver reported a failure */
    GF_ERR_SYSTEM = -5,        /* a system call failed; errno's text is in the reason */
    GF_ERR_PEER = -6,          /* a peer died or broke the protocol; the reason names it */
    GF_ERR_ABORTED = -7,       /* the communicator was aborted, here or by a peer */
    GF_ERR_TIMEOUT = -8        /* a deadline passed */
} gf_status;

/* A short English name, never null, valid for ever. */
const char *gf_status_string(gf_status status);

/* Why something was declined or failed: one sentence for a person, owned by the caller. Functions that take one
 * accept null. It is written only when the function does not return GF_OK. */
struct gf_reason {
    char text[320];
};

/* Says nothing. For calls of a few microseconds: an initialiser writes all of the text. */
static inline void gf_reason_clear(struct gf_reason *why)
{
    why->text[0] = '\0';
}

/* Fills it as snprintf does; what is too long is cut. Accepts null. */
void gf_reason_set(struct gf_reason *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
